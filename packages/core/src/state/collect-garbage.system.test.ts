import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createSkillRuntime, type SkillRuntime } from '../index.ts'
import { digestOf } from '../internal-entry.ts'
import { collectGarbage, directory, nodeHasher, openRevisionLog, openSkillStore } from '../node-entry.ts'

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
    state: { store: await openSkillStore(state), history: await openRevisionLog(state) },
  })

/** Sets all times in the store back by `ms` milliseconds. */
function age(ms: number): void {
  const store = new DatabaseSync(join(state, 'store.sqlite'))
  for (const [table, column] of Object.entries({ blob: 'at', tree: 'until' }))
    store.prepare(`UPDATE ${table} SET ${column} = ${column} - ?`).run(ms)
  store.close()
}

const size = (): number => statSync(join(state, 'store.sqlite')).size

const HOUR = 3_600_000

test('collectGarbage() removes content that neither the history nor a served skill needs, and frees the disk space', async () => {
  const noise = (seed: string): string => seed.repeat(50_000)
  for (const [index, seed] of ['a', 'b', 'c', 'd'].entries()) {
    write('SKILL.md', text(`Number ${index}.`))
    write('noise.txt', noise(seed))
    await (await open()).close()
  }
  age(2 * HOUR)
  const before = size()
  const planned = await collectGarbage(state, { keepRevisions: 2, isDryRun: true })
  expect([size(), planned.forgotten]).toEqual([before, 2])
  const done = await collectGarbage(state, { keepRevisions: 2 })
  expect(done).toEqual(planned)
  expect(done).toMatchObject({ forgotten: 2, trees: 2, blobs: 4, freedBytes: expect.any(Number) })
  expect(done.freedBytes).toBeGreaterThan(100_000)
  expect(size()).toBeLessThan(before - 90_000)
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
  const store = await openSkillStore(state)
  const digest = digestOf('orphan', nodeHasher)
  store.put(digest, Buffer.from('orphan'))
  await store.flush()
  expect((await collectGarbage(state)).blobs).toBe(0)
  expect(await store.get(digest)).toBeDefined()
  await store.close()
})

test('collectGarbage() fails with NOT_FOUND if there is no store', async () => {
  await expect(collectGarbage(join(folder, 'nothing'))).rejects.toMatchObject({ code: 'NOT_FOUND' })
})
