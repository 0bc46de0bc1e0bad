import { expect, test } from 'vitest'
import { mapConcurrently, walkBreadthFirst } from './walk.ts'

const { signal } = new AbortController()

test('walkBreadthFirst() visits level by level', async () => {
  const visited: string[] = []
  const children: Record<string, string[]> = { a: ['b', 'c'], b: ['d'], c: ['e'] }
  await walkBreadthFirst(
    ['a'],
    async item => {
      visited.push(item)
      return children[item] ?? []
    },
    1,
    signal,
  )
  expect(visited).toEqual(['a', 'b', 'c', 'd', 'e'])
})

test('mapConcurrently() returns results in the order of the items and respects its limit', async () => {
  let running = 0
  let most = 0
  const results = await mapConcurrently(
    [3, 1, 2],
    async item => {
      most = Math.max(most, ++running)
      for (let i = 0; i < item; i++) await Promise.resolve()
      running--
      return item * 10
    },
    2,
    signal,
  )
  expect(results).toEqual([30, 10, 20])
  expect(most).toBe(2)
})

test('mapConcurrently() starts no further call after a failure, and waits for the running calls', async () => {
  const begun: number[] = []
  const done: number[] = []
  const items = Array.from({ length: 100 }, (_, i) => i)
  const mapping = mapConcurrently(
    items,
    async item => {
      begun.push(item)
      if (item === 1) throw new Error('full')
      for (let i = 0; i < 20; i++) await Promise.resolve()
      done.push(item)
    },
    4,
    signal,
  )
  await expect(mapping).rejects.toThrow('full')
  expect(begun).toEqual([0, 1, 2, 3])
  expect(done).toEqual([0, 2, 3])
})

test('mapConcurrently() rejects with the reason of the abort', async () => {
  const controller = new AbortController()
  const mapping = mapConcurrently(
    [1, 2, 3],
    async () => controller.abort(new Error('enough')),
    1,
    controller.signal,
  )
  await expect(mapping).rejects.toThrow('enough')
})
