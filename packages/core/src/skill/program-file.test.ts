import { describe, expect, test } from 'vitest'
import { mayRun } from './program-file.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

describe('mayRun()', () => {
  test.each([
    ['an executable file', 'notes.md', true, bytes('x')],
    ['a file in a folder "scripts"', 'tools/scripts/data', false, bytes('x')],
    ['the ending of an interpreter', 'tools/plot.R', false, bytes('x')],
    ['the ending of a program that no runner knows', 'tools/run.awk', false, bytes('x')],
    ['a first line', 'tools/run', false, bytes('#!/bin/sh\n')],
    ['a first line in a file with the ending of a text', 'notes.md', false, bytes('#!/bin/sh\n')],
    ['a first line after a byte order mark', 'tools/run', false, bytes('\ufeff#!/bin/sh\n')],
    ['a name without an ending while the bytes are unknown', 'tools/run', false, undefined],
  ])('accepts %s', (_, path, isExecutable, first) => {
    expect(mayRun(path, isExecutable, first)).toBe(true)
  })

  test.each([
    ['a text', 'notes.md', bytes('# Notes')],
    ['a name without an ending and without a first line', 'Makefile', bytes('all:\n')],
    ['a licence while the bytes are unknown', 'LICENSE', undefined],
    ['an image', 'assets/logo.png', undefined],
  ])('refuses %s', (_, path, first) => {
    expect(mayRun(path, false, first)).toBe(false)
  })
})
