import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSkillRuntime, MemorySource, SkillError } from '../index.ts'
import { openState } from '../node-entry.ts'
import { MemoryRevisionLog } from '../source-entry.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skillstoke-state-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const pdf = { name: 'pdf', description: 'Does it.', body: 'First.' }

/** Returns the paths of all files in the folder that this process has open. */
function openFiles(): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap(descriptor => {
    try {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`)
      return path.startsWith(folder) ? [path] : []
    } catch {
      return [] // the descriptor of the listing itself
    }
  })
}

test('a runtime uses the state that an earlier runtime stored in the directory', async () => {
  {
    const source = new MemorySource({ label: 'own', trust: 'review' }, [pdf])
    await using skills = await createSkillRuntime({ sources: [source], state: await openState(folder) })
    await skills.review.approve('pdf', { by: 'ada' })
    await skills.delivered()
  }
  expect(readdirSync(folder).sort()).toEqual([
    'decisions.sqlite',
    'history.sqlite',
    'store.sqlite',
    'write-lock.sqlite',
  ])
  const source = new MemorySource({ label: 'own', trust: 'review' }, [{ ...pdf, body: 'Second.' }])
  await using skills = await createSkillRuntime({ sources: [source], state: await openState(folder) })
  expect((await skills.load('pdf')).body.trim()).toBe('First.')
  expect((await skills.history.log('pdf')).length).toBeGreaterThan(0)
})

test('a runtime that received only a part of an opened state closes the complete state', async () => {
  const state = await openState(folder)
  await (await createSkillRuntime({ sources: [], state })).close()
  await expect(state.writeLock.run(async () => undefined)).rejects.toMatchObject({ code: 'CLOSED' })
  await expect(state.decisions.list({ origin: 'a', location: 'b' })).rejects.toMatchObject({
    code: 'CLOSED',
  })
  await expect(state.history.append([])).resolves.toEqual([])
  await expect(state.store.get(`sha256:${'0'.repeat(64)}`)).rejects.toMatchObject({ code: 'CLOSED' })
  await state.close()
  expect(openFiles()).toEqual([])

  const { writeLock } = await openState(folder)
  await (await createSkillRuntime({ sources: [], state: { writeLock } })).close()
  await expect(writeLock.run(async () => undefined)).rejects.toMatchObject({ code: 'CLOSED' })
})

test('disposing an opened state closes all its files if no runtime received the state', async () => {
  {
    await using state = await openState(folder)
    expect(openFiles()).not.toEqual([])
    await state.store.flush()
  }
  expect(openFiles()).toEqual([])
})

test.each([
  ['store.sqlite', 'the contents of the store'],
  ['history.sqlite', 'the steps of the history'],
  ['write-lock.sqlite', 'the write lock'],
  ['decisions.sqlite', 'the decisions'],
])(
  'if %s cannot be opened, openState() closes all files and its error names the failed part',
  async (name, what) => {
    mkdirSync(join(folder, name), { recursive: true })
    await expect(openState(folder)).rejects.toMatchObject({
      code: 'IO_FAILED',
      message: expect.stringMatching(
        new RegExp(
          `^${what} in "${join(folder, name)}" cannot be opened: .*; choose another state directory$`,
        ),
      ),
    })
    expect(openFiles()).toEqual([])
  },
)

test('createSkillRuntime() accepts a state that contains only a history', async () => {
  const history = new MemoryRevisionLog()
  const sources = [new MemorySource({ label: 'own' }, [pdf])]
  await using skills = await createSkillRuntime({ sources, state: { history } })
  await skills.delivered()
  expect(await skills.history.log('pdf')).toHaveLength(1)
})

test.each([
  ['an unknown option', { souces: [] }],
  ['an invalid source', { sources: ['./skills'] }],
  ['two sources with the same label', { sources: [1, 2].map(() => new MemorySource({ label: 'own' })) }],
])('createSkillRuntime() closes the state when it refuses %s', async (_what, wrong) => {
  const state = await openState(folder)
  expect(openFiles()).not.toEqual([])
  const isClosed = vi.fn()
  const scripts = { close: async () => isClosed() }
  const options = { sources: [], state, scripts, ...wrong } as never
  await expect(createSkillRuntime(options)).rejects.toThrow(SkillError)
  expect(openFiles()).toEqual([])
  expect(isClosed).toHaveBeenCalledOnce()
})
