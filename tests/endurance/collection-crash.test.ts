import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Digest } from '@skillstoke/core'
import { openSkillStore } from '@skillstoke/core/node'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

const CRASHES = 30

/**
 * Runs the process and kills it `afterMs` after its first output. Returns the complete output lines of the process
 * except the first line.
 */
async function crash(state: string, afterMs: number): Promise<readonly string[]> {
  const child = spawn(process.execPath, [resolve('tests/fixtures/collecting-crasher.ts'), state], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  let failure = ''
  const begun = Promise.withResolvers<void>()
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString()
    begun.resolve()
  })
  child.stderr.on('data', (chunk: Buffer) => (failure += chunk.toString()))
  const ended = new Promise<void>(done => child.once('exit', () => done()))
  await Promise.race([begun.promise, ended])
  await Promise.race([ended, new Promise(done => setTimeout(done, afterMs))])
  child.kill('SIGKILL')
  await ended
  expect(failure).toBe('')
  // Leave out the last line, because the kill may have cut it off.
  return said.split('\n').slice(1, -1)
}

test('kill -9 during a garbage collection keeps every revision that is in use, and leaks no disk space', async () => {
  using folder = new TemporaryFolder()
  const named = new Map<string, Digest>()
  let rounds = 0
  for (let i = 0; i < CRASHES; i++) {
    const said = await crash(folder.path, 20 + ((i * 37) % CRASHES) * 10)
    rounds += said.length
    for (const line of said) {
      const [name = '', revision = ''] = line.split('=')
      named.set(name, revision as Digest)
    }
    const store = await openSkillStore(folder.path)
    for (const [name, revision] of named) {
      // The killed process may have stored a later revision without printing it.
      const files = await store.getTree(store.getRef(name) ?? revision)
      expect([name, files?.length]).toEqual([name, 1])
      for (const { digest, size } of files ?? []) expect(await store.get(digest)).toHaveLength(size)
    }
    expect(store.fault).toBeUndefined()
    await store.close()
  }
  expect(rounds).toBeGreaterThan(30)
  // Each round writes 21 files of 20 kB each, and only one of these files stays in use. The files of the last rounds may
  // still be on the disk.
  expect(statSync(folder.at('store.sqlite')).size).toBeLessThan(rounds * 21 * 20_000 * 0.5)
}, 120_000)
