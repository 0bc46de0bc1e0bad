import { execFileSync } from 'node:child_process'
import { readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'
import { digestOf } from '../skill/digest.ts'
import { nodeHasher } from './node-hasher.ts'
import { openPackStore } from './pack-store.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

function packsOf(folder: TemporaryFolder): string[] {
  return readdirSync(folder.at('store')).filter(name => name.endsWith('.pack'))
}

test('what was flushed is there after a restart, and is not stored twice', async () => {
  using folder = new TemporaryFolder()
  const digest = digestOf('text', nodeHasher)
  const first = await openPackStore(folder.path)
  first.put(digest, bytesOf('text'))
  first.setRef('name', digest)
  await first.close()
  const second = await openPackStore(folder.path)
  expect(second.getRef('name')).toBe(digest)
  expect(await second.get(digest)).toEqual(bytesOf('text'))
  second.put(digest, bytesOf('text'))
  await second.close()
  expect(packsOf(folder)).toHaveLength(1)
})

test('bytes that were damaged on the disk are not given out, and can be stored anew', async () => {
  using folder = new TemporaryFolder()
  const digest = digestOf('some text', nodeHasher)
  const first = await openPackStore(folder.path)
  first.put(digest, bytesOf('some text'))
  await first.close()
  const pack = folder.at('store', packsOf(folder)[0] ?? '')
  writeFileSync(pack, 'SOME text')
  const second = await openPackStore(folder.path)
  expect(await second.get(digest)).toBeUndefined()
  expect(second.has(digest)).toBe(false)
  second.put(digest, bytesOf('some text'))
  expect(await second.get(digest)).toEqual(bytesOf('some text'))
  await second.close()
  truncateSync(pack, 2)
  const third = await openPackStore(folder.path)
  expect(await third.get(digest)).toEqual(bytesOf('some text'))
  await third.close()
})

test('bytes whose pack was lost are missing, and stored anew when they are put again', async () => {
  using folder = new TemporaryFolder()
  const digest = digestOf('text', nodeHasher)
  const first = await openPackStore(folder.path)
  first.put(digest, bytesOf('text'))
  await first.close()
  for (const pack of packsOf(folder)) rmSync(folder.at('store', pack))
  const second = await openPackStore(folder.path)
  expect(second.has(digest)).toBe(false)
  expect(await second.get(digest)).toBeUndefined()
  second.put(digest, bytesOf('text'))
  await second.close()
  const third = await openPackStore(folder.path)
  expect(await third.get(digest)).toEqual(bytesOf('text'))
  await third.close()
})

test('many small files take one write buffer at a time, not one file each', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  const digests = Array.from({ length: 5_000 }, (_, i) => digestOf(`text ${i}`, nodeHasher))
  digests.forEach((digest, i) => {
    store.put(digest, bytesOf(`text ${i}`))
  })
  await store.flush()
  expect(packsOf(folder)).toHaveLength(1)
  expect(await store.get(digests[4_321] ?? 'sha256:')).toEqual(bytesOf('text 4321'))
  await store.close()
})

test('close() twice at once closes once', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  store.put(digestOf('x', nodeHasher), bytesOf('x'))
  await Promise.all([store.close(), store.close()])
})

test('the state is readable by its owner only', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.at('state'))
  store.put(digestOf('x', nodeHasher), bytesOf('x'))
  await store.close()
  expect(statSync(folder.at('state')).mode & 0o777).toBe(0o700)
  expect(statSync(folder.at('state/store')).mode & 0o777).toBe(0o700)
})

test('killed at any moment, the index never names bytes that are not there', {
  timeout: 60_000,
}, async () => {
  using folder = new TemporaryFolder()
  const script = `
    const { openPackStore, nodeHasher } = await import(${JSON.stringify(resolve('packages/core/dist/node/index.js'))})
    const { digestOf } = await import(${JSON.stringify(resolve('packages/core/dist/index.js'))})
    const store = await openPackStore(${JSON.stringify(folder.path)})
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), Number(process.argv[1]))
    for (let i = 0; ; i++) {
      const text = process.argv[1] + ' ' + i + 'x'.repeat(i % 997)
      const digest = digestOf(text, nodeHasher)
      store.put(digest, new TextEncoder().encode(text))
      store.setRef('newest', digest)
      await store.flush()
    }`
  for (let ms = 1; ms <= 40; ms += 3) {
    try {
      execFileSync(process.execPath, ['--input-type=module', '-e', script, String(ms)], { stdio: 'ignore' })
    } catch {
      // killed, as it is meant to be
    }
    const store = await openPackStore(folder.path)
    const newest = store.getRef('newest')
    if (newest !== undefined) expect(await store.get(newest)).toBeDefined()
    await store.close()
  }
})

test('two stores share one state directory', async () => {
  using folder = new TemporaryFolder()
  const [one, two] = [await openPackStore(folder.path), await openPackStore(folder.path)]
  const digest = digestOf('shared', nodeHasher)
  one.put(digest, bytesOf('shared'))
  one.setRef('by one', digest)
  two.setRef('by two', digest)
  await Promise.all([one.flush(), two.flush()])
  expect(await two.get(digest)).toEqual(bytesOf('shared'))
  expect(one.getRef('by two')).toBe(digest)
  await one.close()
  await two.close()
})
