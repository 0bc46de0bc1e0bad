import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { HAS_BUBBLEWRAP } from '../../../../tests/fixtures/scripts.ts'
import { TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'
import { TYPESCRIPT_FLAGS } from '../../../../tests/fixtures/typescript-flags.ts'
import { ProgramFolders } from '../folders/program-folders.ts'

const FLAGS = [...TYPESCRIPT_FLAGS, '--input-type=module']

const at = (name: string): string => JSON.stringify(fileURLToPath(new URL(name, import.meta.url)))

describe.skipIf(!HAS_BUBBLEWRAP)('a process in a sandbox', () => {
  test('a sandboxed process counts as running if no file descriptor is free to read its status', () => {
    const program = `
      import { closeSync, openSync } from 'node:fs'
      import { once } from 'node:events'
      import { ContainedProcess } from ${at('./contained-process.ts')}
      import { toSandboxed } from ${at('./launch.ts')}
      const access = { readable: [], writable: [], partial: [], hasNetwork: false, hasPrograms: false, secrets: {} }
      const launch = toSandboxed(
        { path: 'bwrap', hasSize: false },
        { command: '/bin/sh', args: ['-c', 'echo ready; exec sleep 600'] },
        { access, readable: [], scratch: '/tmp', workingDirectory: '/' },
      )
      const contained = new ContainedProcess(launch, { env: process.env, workingDirectory: '/', hasChannel: false })
      await once(contained.child.stdout, 'data')
      // Wait until all pipes are closed, because closing a pipe during the test would free file descriptors.
      const pipes = contained.child.stdio.filter(each => each !== null && !each.closed)
      const closed = pipes.map(each => once(each, 'close'))
      contained.child.stdout.destroy()
      contained.child.stderr.destroy()
      await Promise.all(closed)
      const taken = []
      try { for (;;) taken.push(openSync('/dev/null')) } catch {}
      contained.kill()
      await contained.ended
      console.log(contained.isGone)
      for (const descriptor of taken) closeSync(descriptor)
      const timer = setTimeout(() => undefined, 60_000)
      await contained.gone
      clearTimeout(timer)
      console.log(contained.isGone)`
    const { stdout, stderr } = spawnSync(
      '/bin/sh',
      ['-c', 'ulimit -n 100; exec "$0" "$@"', process.execPath, ...FLAGS, '-e', program],
      { encoding: 'utf8' },
    )
    expect(stderr).toBe('')
    expect(stdout).toBe('false\ntrue\n')
  }, 20_000)
})

test.skipIf(!HAS_BUBBLEWRAP)(
  'sweep() ends the sandboxes of a killed host, but not those of others',
  async () => {
    using folder = new TemporaryFolder()
    const start = (owner: string): ChildProcess => {
      folder.write(`${owner}/scratch-1/file`, 'x')
      const scratch = folder.at(owner, 'scratch-1')
      return spawn('bwrap', ['--ro-bind', '/', '/', '--bind', scratch, scratch, 'sleep', '600'])
    }
    const left = start('4194305-1-abcdef') // no process has such a high ID
    const other = start(`${process.pid}--abcdef`)
    const ended = once(left, 'exit')
    await expect.poll(() => readFileSync(`/proc/${left.pid}/cmdline`, 'utf8')).toContain('scratch-1')
    const folders = new ProgramFolders(folder.path)
    folders.sweep()
    await ended
    await folders.close()
    expect(existsSync(folder.at('4194305-1-abcdef'))).toBe(false)
    expect(other.exitCode).toBeNull()
    other.kill('SIGKILL')
  },
)

test('unref() lets the host exit while a program runs', () => {
  const program = `
    import { ContainedProcess, endWithHost } from ${at('./contained-process.ts')}
    endWithHost()
    const launch = { command: process.execPath, args: ['-e', 'setInterval(() => undefined, 1_000)'] }
    new ContainedProcess(launch, { env: {}, workingDirectory: '/', hasChannel: true }).unref()`
  const { status } = spawnSync(process.execPath, [...FLAGS, '-e', program], { timeout: 20_000 })
  expect(status).toBe(0)
})
