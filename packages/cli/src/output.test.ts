import { describe, expect, test } from 'vitest'
import { toCommandLine } from './command-line.ts'

describe('a command to paste', () => {
  test.each([
    ['pdf@3f2a', 'pdf@3f2a'],
    ['/home/me/my skills', "'/home/me/my skills'"],
    ["it's", String.raw`'it'\''s'`],
    ['', "''"],
  ])('writes %j as %s for a POSIX shell', (word, expected) => {
    expect(toCommandLine([word], 'linux')).toBe(expected)
  })

  test.each([
    ['pdf@3f2a', 'pdf@3f2a'],
    ['C:\\skills\\pdf', 'C:\\skills\\pdf'],
    ['C:\\Program Files\\nodejs\\node.exe', '"C:\\Program Files\\nodejs\\node.exe"'],
    ['C:\\my skills\\', "'C:\\my skills\\'"],
    ['a,b', '"a,b"'],
    ['@pdf', '"@pdf"'],
    ["it's", '"it\'s"'],
    ['$(calc)', "'$(calc)'"],
    ['"; calc', "'\"; calc'"],
    ["$'; calc", "'$''; calc'"],
    ['$\u2019; calc', "'$\u2019\u2019; calc'"],
    ['', "''"],
  ])('writes %j as %s on Windows', (word, expected) => {
    expect(toCommandLine([word], 'win32')).toBe(expected)
  })
})
