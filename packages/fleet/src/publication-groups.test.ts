import { expect, test } from 'vitest'
import type { Head } from './feed-state.ts'
import { findCompanions } from './publication-groups.ts'

/** A head with only the fields that decide about its companions. */
function headOf(skill: string, seq: number, version: number, publishId: string, count: number = 2): Head {
  const publication = count === 1 ? {} : { publication: { index: 0, count } }
  return { skill, seq, manifest: { skill, version, publishId, ...publication } } as unknown as Head
}

/** Returns which heads wait, and for which one. */
function companionsOf(heads: readonly Head[], failed: readonly string[], served: readonly Head[]): object {
  const findBefore = ({ skill }: Head): Head | undefined => served.find(each => each.skill === skill)
  const failing = heads.filter(({ skill }) => failed.includes(skill))
  const companions = findCompanions(heads, failing, findBefore)
  return Object.fromEntries(companions.map(({ head, cause }) => [head.skill, cause.skill]))
}

test('findCompanions() returns the other heads of the publication, and no others', () => {
  const heads = [
    headOf('a', 5, 2, 'p'),
    headOf('b', 6, 2, 'p'),
    headOf('c', 7, 2, 'q'),
    headOf('d', 8, 1, 'r', 1),
  ]
  const served = heads.slice(0, 3).map(({ skill }, index) => headOf(skill, index + 1, 1, 'o'))
  expect(companionsOf(heads, ['a'], served)).toEqual({ b: 'a' })
  expect(companionsOf(heads, ['a'], [])).toEqual({ b: 'a' })
})

test('findCompanions() follows publications whose versions the agent has skipped', () => {
  // The agent serves version 1 of "b". Version 2 was published with "a", and version 3 with "c".
  const heads = [
    headOf('a', 5, 2, 'p'),
    headOf('b', 8, 3, 'q'),
    headOf('c', 9, 2, 'q'),
    headOf('d', 2, 2, 'o'),
  ]
  const served = [headOf('a', 1, 1, 'm'), headOf('b', 3, 1, 'n'), headOf('c', 4, 1, 'n')]
  expect(companionsOf(heads, ['c'], served)).toEqual({ b: 'c', a: 'b' })
})
