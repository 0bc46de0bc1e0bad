import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, describe, expect, test } from 'vitest'
import { hasGroup, killGroup } from './process-group.ts'

const children: ChildProcess[] = []

/** Spawns a process whose child keeps the output pipe open. Resolves when both run. */
async function spawnPair(): Promise<ChildProcess> {
  const sleep = 'setInterval(() => undefined, 1000)'
  const program = `
    const stdio = ['ignore', 'inherit', 'inherit']
    require('node:child_process').spawn(process.execPath, ['-e', 'console.log(1);${sleep}'], { stdio })
    ${sleep}`
  const child = spawn(process.execPath, ['-e', program], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  await once(child.stdout, 'data')
  return child
}

afterEach(() => {
  for (const child of children.splice(0)) killGroup(child)
})

describe('killGroup()', () => {
  test.skipIf(process.platform === 'win32')('kills a process together with its children', async () => {
    const child = await spawnPair()
    expect(hasGroup(child.pid)).toBe(true)
    const closed = once(child, 'close') // emitted when no process holds the output open
    killGroup(child)
    await closed
    expect(child.signalCode).toBe('SIGKILL')
    killGroup(child)
  })

  test('kills only the process itself on Windows if its children cannot be killed', async () => {
    const child = await spawnPair()
    const exited = once(child, 'exit')
    killGroup(child, 'win32') // taskkill does not exist here
    await exited
    expect(child.signalCode).toBe('SIGKILL')
  })

  test('kills nothing on Windows if the process has already ended, because another process may have its id', () => {
    let kills = 0
    const kill = (): boolean => ++kills > 0
    const ended = { pid: process.pid, signalCode: null, kill }
    killGroup({ ...ended, exitCode: 0 }, 'win32')
    killGroup({ ...ended, exitCode: null, signalCode: 'SIGTERM' }, 'win32')
    killGroup(undefined, 'win32')
    expect([kills, hasGroup(process.pid, 'win32')]).toEqual([0, false])
  })
})
