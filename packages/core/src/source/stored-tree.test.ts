import { expect, test } from 'vitest'
import { refuseTreeEntry } from './stored-tree.ts'

test('the diagnostic of refuseTreeEntry() says whether the entry is left out or keeps its last state', () => {
  expect(refuseTreeEntry('https://example.com/', 'skills[0] is not an object').message).toBe(
    'skills[0] is not an object; the entry is left out',
  )
  expect(refuseTreeEntry('https://example.com/', 'pdf: it is gone', true).message).toBe(
    'pdf: it is gone; the entry keeps its last state',
  )
})
