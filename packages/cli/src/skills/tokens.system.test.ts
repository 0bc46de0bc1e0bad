import fc from 'fast-check'
import { expect, test } from 'vitest'
import { countTokens, createCatalogCounter } from './tokens.ts'

const texts = fc.string({
  unit: fc.oneof(fc.constantFrom(' ', 'skill', '<|endoftext|>', '\n'), fc.string({ unit: 'binary' })),
})

test('a text never has more tokens than bytes', () => {
  fc.assert(fc.property(texts, text => countTokens(text) <= Buffer.byteLength(text)))
})

test('createCatalogCounter() accepts exactly the texts that an exact count finds within the limit', () => {
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 20 }), (text, maxTokens) => {
      const fits = createCatalogCounter(maxTokens)(text) <= maxTokens
      expect(fits).toBe(countTokens(text) <= maxTokens)
    }),
  )
  expect(createCatalogCounter(4)('four')).toBe(4)
  expect(createCatalogCounter(3)('four')).toBe(countTokens('four'))
})
