import { describe, expect, test } from 'vitest'
import { readPlainFields } from './plain-fields.ts'
import { loadYaml } from './yaml-text.ts'

/** Returns the fields that the YAML parser reads from a text. */
function asYaml(yaml: string): readonly (readonly [string, unknown])[] | undefined {
  const loaded = loadYaml(yaml, 1)
  return loaded.ok && typeof loaded.value === 'object' && loaded.value !== null
    ? Object.entries(loaded.value)
    : undefined
}

describe('readPlainFields() returns the result of the YAML parser for:', () => {
  test.each([
    ['fields', 'name: pdf\ndescription: Reads files, and (some) more.\n'],
    ['quoted fields', 'name: "pdf"\ndescription: \'Use it: always # and ever\'\n'],
    ['maps', 'name: pdf\nmetadata:\n  author: "me"\n  version: \'1.0\'\nlicense: MIT\n'],
    ['colons within words', 'name: a:b\ndescription: see http://example.org/x#y\n'],
    ['spaces at the end', 'name: pdf   \ndescription:   Reads.  \n'],
    ['other scripts', 'name: pdf\ndescription: Prüft Größen 文書\n'],
  ])('%s', (_, yaml) => {
    const fields = readPlainFields(yaml)
    expect([...(fields ?? [])]).toEqual(asYaml(yaml))
    expect(fields?.size).toBeGreaterThan(1)
  })
})

describe('readPlainFields() returns undefined for:', () => {
  test.each([
    ['numbers', 'name: 7'],
    ['words that are not text', 'name: TRUE'],
    ['empty values', 'name:\nlicense: MIT'],
    ['folded text', 'description: >\n  a\n  b'],
    ['values on two lines', 'description: a\n  b'],
    ['a second colon', 'description: use: it'],
    ['comments', 'name: pdf # comment'],
    ['lists', 'tags: [a, b]'],
    ['the same field twice', 'name: a\nname: b'],
    ['escapes', String.raw`name: "a\u200b"`],
    ['the prototype', '__proto__: x'],
    ['tabs', 'name:\tpdf'],
    ['carriage returns', 'name: pdf\r\n'],
    ['deeper maps', 'metadata:\n  a:\n    b: c'],
    ['emoji', 'description: It is \u{1f600}.'],
  ])('%s', (_, yaml) => {
    expect(readPlainFields(yaml)).toBeUndefined()
  })
})

test('readPlainFields() returns undefined or the result of the YAML parser', () => {
  const pieces = [
    ...[
      'name',
      'a',
      'metadata',
      'x-y',
      '_',
      ': ',
      ':',
      ' ',
      '  ',
      '\n',
      '\n  ',
      '\n    ',
      '"',
      "'",
      '#',
      ' #',
      '-',
      '- ',
      '...',
    ],
    ...[
      '---',
      'true',
      'Null',
      '7',
      '1.5e3',
      'text',
      'two words',
      '(x)',
      ')',
      '[',
      ']',
      '{',
      '}',
      ',',
      '&',
      '*',
      '!',
      '|',
      '>',
      '%',
    ],
    ...[
      '@',
      '`',
      '\\',
      '\t',
      '\r',
      '\u00a0',
      '\u2028',
      'ü',
      '=',
      '<<',
      '~',
      '?',
      '? ',
      'http://x',
      'a: b\n',
      "b: 'c'\n",
      'c: "d"\n',
    ],
  ]
  let seed = 11
  const next = (limit: number): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((seed / 2 ** 32) * limit)
  }
  let accepted = 0
  for (let round = 0; round < 30_000; round++) {
    const start = ['', 'name: a\n', 'metadata:\n  a: b\n', 'description: '][next(4)] as string
    const yaml = start + Array.from({ length: 1 + next(9) }, () => pieces[next(pieces.length)]).join('')
    const fields = readPlainFields(yaml)
    if (fields === undefined) continue
    accepted++
    expect([...fields], JSON.stringify(yaml)).toEqual(asYaml(yaml))
  }
  expect(accepted).toBeGreaterThan(500)
})
