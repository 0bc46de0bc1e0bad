import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createSkillRuntime, type Digest, type SkillRuntime } from '../index.ts'
import { digestOf } from '../internal-entry.ts'
import { collectGarbage, directory, nodeHasher, openPackStore, openRevisionLog } from './index.ts'

let folder: string
let state: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'collect-'))
  state = join(folder, 'state')
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

function write(path: string, content: string): void {
  mkdirSync(join(folder, 'skills/pdf'), { recursive: true })
  writeFileSync(join(folder, 'skills/pdf', path), content)
}

const text = (body: string): string => `---\nname: pdf\ndescription: Does it.\n---\n${body}\n`

const open = async (): Promise<SkillRuntime> =>
  await createSkillRuntime({
    sources: [directory(join(folder, 'skills'), { watching: 'off' })],
    state: { store: await openPackStore(state), history: await openRevisionLog(state) },
  })

/** Sets all times in the store back by `ms` milliseconds. */
function age(ms: number): void {
  const index = new DatabaseSync(join(state, 'store/index.db'))
  for (const table of ['blob', 'tree']) index.prepare(`UPDATE ${table} SET at = at - ?`).run(ms)
  index.close()
  const when = new Date(Date.now() - ms)
  for (const name of readdirSync(join(state, 'store')))
    if (name.endsWith('.pack')) utimesSync(join(state, 'store', name), when, when)
}

const packBytes = (): number =>
  readdirSync(join(state, 'store'))
    .filter(name => name.endsWith('.pack'))
    .reduce((sum, name) => sum + statSync(join(state, 'store', name)).size, 0)

const HOUR = 3_600_000

test('collectGarbage() removes content that neither the history nor a served skill needs, and frees the disk space', async () => {
  const noise = (seed: string): string => seed.repeat(50_000)
  for (const [index, seed] of ['a', 'b', 'c', 'd'].entries()) {
    write('SKILL.md', text(`Number ${index}.`))
    write('noise.txt', noise(seed))
    await (await open()).close()
  }
  age(2 * HOUR)
  const before = packBytes()
  const planned = await collectGarbage(state, { keepRevisions: 2, isDryRun: true })
  expect([packBytes(), planned.forgotten]).toEqual([before, 2])
  const done = await collectGarbage(state, { keepRevisions: 2 })
  expect(done).toMatchObject({ forgotten: 2, trees: 2, blobs: 4 })
  expect(packBytes()).toBe(before - done.freedBytes)
  expect(packBytes()).toBeLessThan(0.6 * before)
  await using skills = await open()
  expect((await skills.load('pdf')).body).toBe('Number 3.')
  const { before: older } = await skills.history.diff('pdf')
  expect(Buffer.from(await skills.readFile(older as never, 'noise.txt')).toString()).toBe(noise('c'))
  const [, , gone] = await skills.history.log('pdf')
  await expect(skills.history.diff('pdf', gone?.revision)).rejects.toMatchObject({
    code: 'REVISION_NOT_FOUND',
  })
})

test('collectGarbage() removes nothing right after another collection', async () => {
  write('SKILL.md', text('Body.'))
  await (await open()).close()
  age(2 * HOUR)
  await collectGarbage(state)
  expect(await collectGarbage(state)).toMatchObject({ forgotten: 0, trees: 0, blobs: 0, freedBytes: 0 })
})

test('collectGarbage() keeps content that is younger than the grace period', async () => {
  const store = await openPackStore(state)
  const digest = digestOf('orphan', nodeHasher)
  store.put(digest, Buffer.from('orphan'))
  await store.flush()
  expect((await collectGarbage(state)).blobs).toBe(0)
  expect(await store.get(digest)).toBeDefined()
  await store.close()
})

test('collectGarbage() keeps bytes that a process has just looked up', async () => {
  const store = await openPackStore(state)
  const digest: Digest = digestOf('again', nodeHasher)
  store.put(digest, Buffer.from('again'))
  await store.flush()
  age(2 * HOUR)
  const collecting = collectGarbage(state)
  expect(store.has(digest)).toBe(true)
  await store.flush()
  expect((await collecting).blobs).toBe(0)
  expect(Buffer.from((await store.get(digest)) ?? []).toString()).toBe('again')
  await store.close()
})

test('a process whose pack was removed stores later content in a new pack', async () => {
  const store = await openPackStore(state)
  const put = async (word: string): Promise<Digest> => {
    const digest = digestOf(word, nodeHasher)
    store.put(digest, Buffer.from(word))
    await store.flush()
    return digest
  }
  await put('first')
  // Simulates another machine that considers this process dead and removes the pack of this process.
  const [pack] = readdirSync(join(state, 'store')).filter(name => name.endsWith('.pack'))
  rmSync(join(state, 'store', pack as string))
  const second = await put('second')
  await store.close()
  const reopened = await openPackStore(state)
  expect(Buffer.from((await reopened.get(second)) ?? []).toString()).toBe('second')
  await reopened.close()
})

test('collectGarbage() fails with NOT_FOUND if there is no store', async () => {
  await expect(collectGarbage(join(folder, 'nothing'))).rejects.toMatchObject({ code: 'NOT_FOUND' })
})
