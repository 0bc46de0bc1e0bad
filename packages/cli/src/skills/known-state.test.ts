import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSkillRuntime, MemorySource } from '@skillstoke/core'
import { createStateDirectory, openDecisions } from '@skillstoke/core/node'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openKnownState } from './known-state.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skillstoke-known-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('openKnownState() continues in memory where no state directory can be made, reports why, and refuses decisions', async () => {
  writeFileSync(join(folder, 'file'), '')
  const { state, isStored } = await openKnownState(join(folder, 'file/state'), false)
  expect(isStored).toBe(false)
  const source = new MemorySource({ label: 'own' }, [{ name: 'pdf', description: 'Does it.' }])
  await using skills = await createSkillRuntime({ sources: [source], state })
  await expect
    .poll(() => skills.current.sources().flatMap(({ diagnostics }) => diagnostics))
    .toMatchObject([{ code: 'STORE_FAILED', message: expect.stringContaining('cannot be made') }])
  await expect(skills.review.disable('pdf', { by: 'ada' })).rejects.toMatchObject({
    code: 'IO_FAILED',
    message: expect.stringMatching(/cannot be made.*; nothing was decided$/),
  })
  expect(skills.current.find('pdf')).toBeDefined()
})

test('openKnownState() fails if decisions are in a directory that other users may write to', async () => {
  const directory = createStateDirectory(join(folder, 'state'))
  await (await openDecisions(directory)).close()
  chmodSync(directory, 0o777)
  await expect(openKnownState(directory, false)).rejects.toMatchObject({
    code: 'IO_FAILED',
    message: expect.stringContaining('other users may write to the state directory'),
  })
})
