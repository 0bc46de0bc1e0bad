import { describe, expect, test } from 'vitest'
import { describeLookalikes, LookalikeNames, skeletonOf } from './lookalike-names.ts'

describe('LookalikeNames', () => {
  test.each([
    ['рdf', 'pdf', 'Cyrillic'],
    ['ρdf', 'pdf', 'Greek'],
    ['ｐｄｆ', 'pdf', 'fullwidth'],
    ['PDF', 'pdf', 'capitals'],
    ['paypa1', 'paypal', 'a digit'],
    ['paypaI', 'paypal', 'a capital I'],
    ['too1s', 't00ls', 'digits on both sides'],
    ['p\u200bdf', 'pdf', 'an invisible character'],
    ['git–ops', 'git-ops', 'another dash'],
  ])('%s looks like %s because of: %s', (name, other) => {
    const names = new LookalikeNames([name, other, 'something-else'])
    expect([names.like(name), names.like(other)]).toEqual([[other], [name]])
    names.remove(name)
    expect(names.like(other)).toEqual([])
  })

  test.each([
    ['pdf', 'pdfs'],
    ['step-2', 'step-3'],
    ['карта', 'карты'],
    ['日本', '日木'],
    ['vnw', 'vmv'],
  ])('%s does not look like %s', (name, other) => {
    expect(skeletonOf(name)).not.toBe(skeletonOf(other))
  })

  test('in LookalikeNames, names can be removed in any order', () => {
    const names = new LookalikeNames(['pdf', 'рdf', 'ρdf', 'pdf'])
    expect(names.like('pdf')).toEqual(['ρdf', 'рdf'])
    names.remove('pdf')
    names.remove('nothing')
    expect(names.like('рdf')).toEqual(['ρdf'])
    names.remove('ρdf')
    names.remove('рdf')
    expect(names.like('рdf')).toEqual([])
  })
})

test('describeLookalikes() returns a message with both names and the foreign letters', () => {
  expect(describeLookalikes('рdf', ['pdf'])).toBe(
    'skill name "рdf" (with U+0440) looks like "pdf", which is another skill',
  )
})
