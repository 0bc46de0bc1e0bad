import { describe, expect, test } from 'vitest'
import { toCommandLine } from './output.ts'

describe('a command to paste', () => {
  test.each([
    ['pdf@3f2a', 'pdf@3f2a'],
    ['/home/me/my skills', "'/home/me/my skills'"],
    ["it's", String.raw`'it'\''s'`],
    ['', "''"],
  ])('in a shell of POSIX has %j as %s', (word, expected) => {
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
  ])('on Windows has %j as %s', (word, expected) => {
    expect(toCommandLine([word], 'win32')).toBe(expected)
  })
})
