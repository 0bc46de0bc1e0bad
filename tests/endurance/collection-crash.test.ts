import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Digest } from '@skillstoke/core'
import { openSkillStore } from '@skillstoke/core/node'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

const CRASHES = 30

interface Crash {
  /** The complete output lines of the process, except the first line. */
  readonly said: readonly string[]
  /** The mean duration of a round. */
  readonly roundMs: number
}

/** Runs the process, and kills it `afterMs` after the given number of rounds. */
async function crash(state: string, rounds: number, afterMs: number): Promise<Crash> {
  const child = spawn(process.execPath, [resolve('tests/fixtures/collecting-crasher.ts'), state], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  let failure = ''
  let [start, end] = [0, 0]
  const reached = Promise.withResolvers<void>()
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString()
    if (start === 0) start = performance.now()
    // The first line says that the process is ready.
    if (said.split('\n').length - 2 < rounds || end > 0) return
    end = performance.now()
    reached.resolve()
  })
  child.stderr.on('data', (chunk: Buffer) => (failure += chunk.toString()))
  const ended = new Promise<void>(done => child.once('exit', () => done()))
  await Promise.race([reached.promise, ended])
  await Promise.race([ended, new Promise(done => setTimeout(done, afterMs))])
  child.kill('SIGKILL')
  await ended
  expect(failure).toBe('')
  // Leave out the last line, because the kill may have cut it off.
  return { said: said.split('\n').slice(1, -1), roundMs: (end - start) / Math.max(rounds, 1) }
}

test('kill -9 during a garbage collection keeps every revision that is in use, and leaks no disk space', async () => {
  using folder = new TemporaryFolder()
  const named = new Map<string, Digest>()
  let rounds = 0
  // Spread the crashes over the duration of two rounds. This duration depends on the machine.
  const { roundMs } = await crash(folder.path, 10, 0)
  for (let i = 0; i < CRASHES; i++) {
    const { said } = await crash(folder.path, i % 3, ((i * 37) % CRASHES) * ((2 * roundMs) / CRASHES))
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
  expect(rounds).toBeGreaterThanOrEqual(CRASHES)
  // Each round writes 21 files of 20 kB each, and only one of these files stays in use. The files of the last rounds may
  // still be on the disk.
  expect(statSync(folder.at('store.sqlite')).size).toBeLessThan(rounds * 21 * 20_000 * 0.5)
}, 120_000)
