import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'
import { FolderCache } from './folder-cache.ts'

test('FolderCache reads a folder again if its entries changed, even if its modification time did not change', async () => {
  using folder = new TemporaryFolder()
  let reads = 0
  const cache = new FolderCache(async path => {
    reads++
    return readdirSync(path)
  })
  const readsOfOne = async (): Promise<number> => {
    const before = reads
    await cache.get(folder.path)
    return reads - before
  }
  // Wait, because a folder that has just changed may change again within the same tick of the file clock.
  expect(await readsOfOne()).toBe(1)
  await expect.poll(readsOfOne).toBe(0)
  const { atime, mtime } = statSync(folder.path)
  mkdirSync(folder.at('.git'))
  utimesSync(folder.path, atime, mtime)
  expect(await cache.get(folder.path)).toEqual(['.git'])
  await expect.poll(readsOfOne).toBe(0)
  writeFileSync(folder.at('.git/config'), 'x')
  expect(await readsOfOne()).toBe(0)
})
