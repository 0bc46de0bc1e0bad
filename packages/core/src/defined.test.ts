import { expect, test } from 'vitest'
import { defined } from './defined.ts'

test('defined() leaves out undefined fields, and keeps all others in their order', () => {
  const fields = defined({ b: undefined, c: null, a: 0, d: '' })
  expect(Object.entries(fields)).toEqual([
    ['c', null],
    ['a', 0],
    ['d', ''],
  ])
})
