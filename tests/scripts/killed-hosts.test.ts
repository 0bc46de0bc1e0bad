import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { HostSetup } from '../fixtures/script-host.ts'
import { commandText, HAS_BUBBLEWRAP } from '../fixtures/scripts.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

// Node 22 strips types only with this flag.
const HOST = [
  '--experimental-strip-types',
  '--disable-warning=ExperimentalWarning',
  fileURLToPath(new URL('../fixtures/script-host.ts', import.meta.url)),
]
const BUBBLEWRAP = spawnSync('/bin/sh', ['-c', 'command -v bwrap'], { encoding: 'utf8' }).stdout.trim()

const folders: TemporaryFolder[] = []

/** Returns the running processes whose command line names a folder. */
function processesOf({ path }: TemporaryFolder): readonly number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter(pid => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(path)
      } catch {
        return false // ended in the meantime
      }
    })
    .map(Number)
}

afterEach(() => {
  for (const folder of folders.splice(0)) {
    for (const pid of processesOf(folder)) process.kill(pid, 'SIGKILL')
    folder[Symbol.dispose]()
  }
})

/** Starts a host that runs one endless script. */
function startHost(
  script: string,
  path = process.env['PATH'],
): { folder: TemporaryFolder; host: ChildProcess } {
  const folder = new TemporaryFolder()
  folders.push(folder)
  folder.writeSkill('skills/probe')
  folder.write('skills/probe/scripts/wait.sh', 'while :; do :; done\n')
  folder.write('skills/probe/scripts/go.js', commandText('go', 'for (;;);', "import fs from 'node:fs'"))
  const setup: HostSetup = {
    skills: folder.at('skills'),
    grants: [],
    scripts: [script],
    runner: { sandbox: 'require', directory: folder.at('own'), env: { PATH: path } },
  }
  const host = spawn(process.execPath, [...HOST, JSON.stringify(setup)], { stdio: 'ignore' })
  return { folder, host }
}

describe.skipIf(!HAS_BUBBLEWRAP).each(['scripts/wait.sh', 'probe.go'])(
  'a host that was killed while it started %s',
  script => {
    test('leaves no process if it is killed before bubblewrap begins', async () => {
      const tools = new TemporaryFolder()
      folders.push(tools)
      // Begins only when its host is gone. Lets the check of the sandbox pass.
      tools.write(
        'bwrap',
        `#!/bin/sh
case "$*" in *--check*) exec ${BUBBLEWRAP} "$@" ;; esac
: > ${tools.at('begun')}
while [ -d /proc/$PPID ]; do sleep 0.01; done
: > ${tools.at('alone')}
exec ${BUBBLEWRAP} "$@"
`,
      )
      chmodSync(tools.at('bwrap'), 0o755)
      const { folder, host } = startHost(script, `${tools.path}:${process.env['PATH']}`)
      await vi.waitFor(() => expect(existsSync(tools.at('begun'))).toBe(true), 20_000)
      host.kill('SIGKILL')
      await once(host, 'exit')
      await vi.waitFor(() => expect(existsSync(tools.at('alone'))).toBe(true), 20_000)
      await expect.poll(() => processesOf(folder)).toEqual([])
    }, 60_000)

    test('leaves no process whenever it is killed', async () => {
      for (let round = 0; round < 12; round++) {
        const { folder, host } = startHost(script)
        const ended = once(host, 'exit')
        // The first process of a sandbox that has a scratch folder is not the check of the sandbox.
        await vi.waitFor(() => expect(processesOf(folder).length).toBeGreaterThan(1), {
          timeout: 20_000,
          interval: 1,
        })
        await delay(round)
        host.kill('SIGKILL')
        await ended
        await expect.poll(() => processesOf(folder)).toEqual([])
      }
    }, 120_000)
  },
)
