import { describe, expect, test } from 'vitest'
import { contentStems, spellings } from './content-words.ts'
import { cutNegativeClauses } from './negative-clauses.ts'
import { isEnglish, rarityBeside } from './rarity.ts'
import { stem } from './stem.ts'

describe('stem()', () => {
  test.each([
    ['merge', 'merges', 'merged', 'merging'],
    ['file', 'files', 'filed', 'filing'],
    ['plan', 'plans', 'planned', 'planning'],
    ['query', 'queries', 'query'],
    ['match', 'matches', 'matched', 'matching'],
    ['fill', 'fills', 'filled', 'filling'],
  ])('%s has one stem in all its forms', (...forms) => {
    expect(new Set(forms.map(stem)).size).toBe(1)
  })

  test('words that only look like forms of another word stay as they are', () => {
    for (const word of ['bus', 'analysis', 'red', 'ring', 'status', 'pdf', 'año', 'k8s'])
      expect(stem(word)).toBe(word)
  })
})

test('contentStems() folds, leaves out stop words and keeps repetitions', () => {
  expect(contentStems('Please MERGE the scans, then merge ﬁles')).toEqual(['merg', 'scan', 'merg', 'fil'])
  expect([...spellings('Merged files, merging')]).toEqual([
    ['merg', 'merged'],
    ['fil', 'files'],
  ])
})

describe('cutNegativeClauses()', () => {
  test.each([
    ['Do not use for tags or pushes.', 'Commits. Do not use for tags or pushes. Use when asked.'],
    ['Not for scans', 'Commits. Not for scans'],
    ['never use it offline!', 'Commits, but never use it offline! Use when asked.'],
    ['Skip when the tree is clean.', 'Commits. Skip when the tree is clean. Use when asked.'],
    ['For pull requests, use ship.', 'Commits. For pull requests, use ship. Use when asked.'],
  ])('cuts %s', (clause, description) => {
    const { positive, negative } = cutNegativeClauses(description)
    expect(negative).toEqual([clause])
    expect(positive).toContain('Commits')
    expect(positive).not.toContain(clause)
  })

  test('a description without such a clause stays whole', () => {
    const description = 'Fills forms for offices. Use for PDF files, e.g. contracts.'
    expect(cutNegativeClauses(description)).toEqual({ positive: description, negative: [] })
  })
})

test('rarityBeside() rates a word of many public skills below a rare one', () => {
  const rarity = rarityBeside(new Map([['pdf', 3]]), 10)
  expect(rarity('code'.replace(/e$/, ''))).toBeLessThan(rarity('pdf'))
  expect(rarity('pdf')).toBeLessThan(rarity('zeppelin'))
})

describe('isEnglish()', () => {
  test.each([
    'why does my PDF viewer flicker',
    'pdf merge',
    'servicebus receiver error',
    'kubectl',
    'Fix the flaky CI test in packages/core',
  ])('is true for %s', text => {
    expect(isEnglish(text)).toBe(true)
  })

  test.each([
    'convierte este pdf en texto',
    'No me deja rellenar el formulario',
    'Bitte fülle das PDF Formular für mich aus',
    '请把这个文件合并',
    'переведи документ',
  ])('is false for %s', text => {
    expect(isEnglish(text)).toBe(false)
  })
})
