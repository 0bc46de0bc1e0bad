import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SkillRuntime } from '@skillstoke/core'
import { verifies } from '@skillstoke/requirements'
import type { SandboxMode, ScriptRunnerOptions } from '@skillstoke/scripts'
import { describe, expect, test } from 'vitest'
import {
  commandText,
  countScriptProcesses,
  HAS_BUBBLEWRAP,
  openScripts,
  scriptProcesses,
  waitForReserve,
} from '../fixtures/scripts.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

const TIERS = [
  ['permissions', 'off'],
  ['sandbox', 'require'],
] as const satisfies readonly (readonly [name: string, mode: SandboxMode])[]

// Reads everything that a module can learn about its location.
const LOOK = `
  const fs = await import('node:fs')
  const here = import.meta.dirname
  return {
    version: VERSION,
    folder: context.skillDirectory,
    url: import.meta.url,
    path: import.meta.filename,
    cwd: process.cwd(),
    data: data.value,
    text: fs.readFileSync(new URL('../notes.txt', import.meta.url), 'utf8'),
    entries: fs.readdirSync(context.skillDirectory, { recursive: true }).sort(),
    stack: new Error('x').stack.split('\\n')[1],
    writable: (() => { try { fs.writeFileSync(here + '/new', 'x'); return true } catch { return false } })(),
  }`

function write(folder: TemporaryFolder, version: number, { head = '', body = LOOK, fields = '' } = {}): void {
  folder.write('look/SKILL.md', `---\nname: look\ndescription: Looks around.\n${fields}---\nLook.\n`)
  folder.write('look/notes.txt', `notes ${version}`)
  folder.write('look/scripts/data.json', JSON.stringify({ value: version }))
  folder.write('look/scripts/lib/version.ts', `export const VERSION: number = ${version}\n`)
  folder.write(
    'look/scripts/look.ts',
    commandText(
      'look',
      body,
      `import { VERSION } from './lib/version.ts'\nimport data from './data.json' with { type: 'json' }\n${head}`,
    ),
  )
}

interface Look {
  readonly version: number
  readonly folder: string
  readonly [field: string]: unknown
}

async function look(skills: SkillRuntime): Promise<Look> {
  return (await skills.scripts.execute('look.look')).value as Look
}

/** Returns the processes whose arguments contain the given folder, except bubblewrap processes. */
function findContained(folder: string): readonly number[] {
  const { stdout } = spawnSync('ps', ['-e', '-ww', '-o', 'pid=,comm=,args='], { encoding: 'utf8' })
  const lines = stdout.split('\n').filter(line => line.includes(folder) && !/^ *\d+ bwrap/.test(line))
  return lines.map(line => Number.parseInt(line, 10))
}

/** Edits the script until a reserve process exists. Returns the folder of that process. */
async function edit(folder: TemporaryFolder, skills: SkillRuntime): Promise<string> {
  write(folder, 1)
  await look(skills)
  write(folder, 2)
  await look(skills)
  return await waitForReserve()
}

test('a host whose scripts are never edited has no reserve process', async () => {
  using folder = new TemporaryFolder()
  write(folder, 1)
  await using skills = await openScripts(folder.path, { sandbox: 'off', idleMs: 20 })
  await look(skills)
  await expect.poll(countScriptProcesses).toBe(0)
  // Each call starts its own process. Without an edit, no reserve process is started.
  await look(skills)
  await expect.poll(countScriptProcesses).toBe(0)
})

for (const [tier, sandbox] of TIERS)
  describe.skipIf(tier === 'sandbox' && !HAS_BUBBLEWRAP)(`new code with ${tier}`, () => {
    test(`the code loads in the reserve process ${verifies('PROMISE-2')}`, async () => {
      using folder = new TemporaryFolder()
      write(folder, 1)
      await using skills = await openScripts(folder.path, { sandbox })
      const first = await look(skills)
      const waiting = await edit(folder, skills)
      write(folder, 3)
      const third = await look(skills)
      expect(third).toMatchObject({ version: 3, folder: waiting, cwd: waiting, writable: false })
      // In the reserve process, the code sees the same environment as in a process that was started for this revision.
      const toForm = (each: Look): string =>
        JSON.stringify(each)
          .replaceAll(each.folder, '<folder>')
          .replaceAll(/(?<=data":|notes |version":)\d/g, '<n>')
      expect(first.folder).not.toBe(third.folder)
      expect(toForm(third)).toEqual(toForm(first))
    })

    test('code in a reserve process reports the position of a thrown error', async () => {
      using folder = new TemporaryFolder()
      write(folder, 1)
      await using skills = await openScripts(folder.path, { sandbox })
      await look(skills)
      await edit(folder, skills)
      write(folder, 3, { body: '\n\n    throw new Error("broken")' })
      await expect(look(skills)).rejects.toThrow(/broken \(scripts\/look\.ts:\d+:11\)/)
    })

    test('a reserve process cannot see files of other skills, before and after it loads code', async () => {
      using folder = new TemporaryFolder()
      write(folder, 1)
      folder.writeSkill('other')
      folder.write('other/scripts/other.ts', commandText('other', 'return context.skillDirectory'))
      await using skills = await openScripts(folder.path, { sandbox })
      await look(skills)
      const other = String((await skills.scripts.execute('other.other')).value)
      const waiting = await edit(folder, skills)
      const root = dirname(dirname(waiting))
      write(folder, 3, {
        body: `
      const fs = await import('node:fs')
      const list = path => { try { return fs.readdirSync(path) } catch { return [] } }
      return { folder: context.skillDirectory, seen: list(${JSON.stringify(root)}), other: list(${JSON.stringify(other)}) }`,
      })
      expect(existsSync(join(other, 'SKILL.md'))).toBe(true)
      expect(await look(skills)).toEqual({ folder: waiting, seen: [], other: [] })
    })

    test('code with a grant for files or a secret gets its own process', async () => {
      using folder = new TemporaryFolder()
      using work = new TemporaryFolder()
      work.write('docs/a', 'text')
      const fields = 'metadata:\n  capabilities: env:LOOK_TOKEN fs.read:docs\n'
      write(folder, 1, { fields })
      await using skills = await openScripts(folder.path, {
        sandbox,
        workspace: work.path,
        env: { ...process.env, LOOK_TOKEN: 'token' },
      })
      await skills.review.grant('look', ['env:LOOK_TOKEN', 'fs.read:docs'])
      await look(skills)
      write(folder, 2, { fields })
      await look(skills)
      // From here on, the skill has no grants.
      const waiting = await edit(folder, skills)
      const body = "return { folder: context.skillDirectory, hasToken: process.env.LOOK_TOKEN === 'token' }"
      write(folder, 3, { fields, body })
      const granted = await look(skills)
      expect(granted).toMatchObject({ hasToken: true })
      expect(granted.folder).not.toBe(waiting)
      // The reserve process has no access to the token.
      write(folder, 4, { body })
      expect(await look(skills)).toEqual({ folder: waiting, hasToken: false })
    })

    test.each([
      ['was killed', 'SIGKILL'],
      ['stalls', 'SIGSTOP'],
    ] as const)('new code loads even if the reserve process %s', async (_name, signal) => {
      using folder = new TemporaryFolder()
      write(folder, 1)
      await using skills = await openScripts(folder.path, { sandbox })
      await look(skills)
      const waiting = await edit(folder, skills)
      for (const pid of findContained(waiting)) process.kill(pid, signal)
      write(folder, 3)
      expect((await look(skills)).version).toBe(3)
      write(folder, 4)
      expect((await look(skills)).version).toBe(4)
    })

    test('new code loads in the reserve process even if no older process of the skill is running', async () => {
      using folder = new TemporaryFolder()
      write(folder, 1)
      await using skills = await openScripts(folder.path, { sandbox, idleMs: 20 })
      await look(skills)
      const waiting = await edit(folder, skills)
      await expect.poll(countScriptProcesses).toBe(1)
      const called = await look(skills)
      expect(called).toMatchObject({ version: 2, folder: waiting, text: 'notes 2' })
      // An answer may contain the path of a file, so the folder stays while calls can still run the code in this
      // folder.
      await expect.poll(() => scriptProcesses().some(({ args }) => args.includes(waiting))).toBe(false)
      expect(existsSync(join(waiting, 'notes.txt'))).toBe(true)
      write(folder, 3)
      await look(skills)
      await expect.poll(() => existsSync(waiting)).toBe(false)
    })
  })

test.skipIf(!HAS_BUBBLEWRAP)(
  'code with network access loads only in a process with network access',
  async () => {
    using folder = new TemporaryFolder()
    write(folder, 1)
    await using skills = await openScripts(folder.path, { sandbox: 'require' })
    await look(skills)
    const offline = await edit(folder, skills)
    const fields = 'metadata:\n  capabilities: net\n'
    await skills.review.grant('look', ['net'])
    write(folder, 3, { fields })
    expect(await look(skills)).toMatchObject({ version: 3, folder: expect.not.stringContaining(offline) })
    await expect.poll(() => existsSync(offline)).toBe(false)
    const online = await waitForReserve()
    expect(scriptProcesses().find(({ args }) => args.includes(online))?.args).toContain('--share-net')
    write(folder, 4, { fields })
    expect(await look(skills)).toMatchObject({ version: 4, folder: online })
    // The next revision has no grants. The code of that revision must not run in the current reserve process, which
    // has network access.
    await expect.poll(async () => await waitForReserve()).not.toBe(online)
    write(folder, 5)
    const { folder: plain } = await look(skills)
    expect(scriptProcesses().find(({ args }) => args.includes(plain))?.args).not.toContain('--share-net')
  },
)

test('the reserve process ends some time after the last edit', async () => {
  using folder = new TemporaryFolder()
  write(folder, 1)
  await using skills = await openScripts(folder.path, { sandbox: 'off', reserveMs: 1_000 })
  await look(skills)
  const waiting = await edit(folder, skills)
  await expect.poll(() => existsSync(waiting)).toBe(false)
  expect(scriptProcesses().some(({ args }) => args.includes(waiting))).toBe(false)
  expect((await look(skills)).version).toBe(2)
})

test('close() ends the reserve process, and with reserveMs 0 no reserve process is started', async () => {
  using folder = new TemporaryFolder()
  write(folder, 1)
  const skills = await openScripts(folder.path, { sandbox: 'off' })
  await look(skills)
  await edit(folder, skills)
  await skills.close()
  expect(countScriptProcesses()).toBe(0)
  await using without = await openScripts(folder.path, { sandbox: 'off', reserveMs: 0, idleMs: 20 })
  for (const version of [3, 4, 5]) {
    write(folder, version)
    expect((await look(without)).version).toBe(version)
  }
  await expect.poll(countScriptProcesses).toBe(0)
})

test('the reserve process ends when its host is killed, and the next host removes the folder of this process', async () => {
  using folder = new TemporaryFolder()
  using state = new TemporaryFolder()
  const options = { sandbox: 'off', directory: state.path } as const
  const host = spawn(process.execPath, ['--input-type=module', '-e', toHost(folder.path, options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [said] = (await once(host.stdout, 'data')) as [Buffer]
  expect(said.toString()).toBe('waiting\n')
  expect(readdirSync(state.path)).toHaveLength(1)
  expect(findContained(state.path).length).toBeGreaterThan(1)
  host.kill('SIGKILL')
  await expect.poll(() => findContained(state.path)).toEqual([])
  expect(readdirSync(state.path)).toHaveLength(1)
  await using next = await openScripts(folder.path, options)
  expect(next.scripts.list().map(({ id }) => id)).toEqual(['host.run'])
  await expect.poll(() => readdirSync(state.path)).toEqual([])
})

/** Returns a host program that edits its only skill until a reserve process exists, and then keeps running. */
function toHost(path: string, options: ScriptRunnerOptions): string {
  return `
  import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
  import { setTimeout as delay } from 'node:timers/promises'
  import { createSkillRuntime } from '@skillstoke/core'
  import { directory, nodeHasher } from '@skillstoke/core/node'
  import { childProcesses } from '@skillstoke/scripts'
  const path = ${JSON.stringify(path)}
  mkdirSync(path + '/host/scripts', { recursive: true })
  writeFileSync(path + '/host/SKILL.md', '---\\nname: host\\ndescription: Runs.\\n---\\nRun.\\n')
  const write = version => writeFileSync(path + '/host/scripts/run.mjs', \`import { defineCommand } from 'skillstoke/command'
    export const run = defineCommand({ name: 'run', description: 'Runs.', input: { type: 'object' }, run: () => \${version} })\`)
  write(0)
  const skills = await createSkillRuntime({
    sources: [directory(path)], tuning: { hasher: nodeHasher }, scripts: childProcesses(${JSON.stringify(options)}),
  })
  const folder = ${JSON.stringify(options.directory)}
  const isWaiting = () => readdirSync(folder, { recursive: true }).filter(name => /scratch-\\d+$/.test(name)).length > 1
  for (let version = 1; version < 3 || !isWaiting(); version++) {
    write(version)
    await skills.scripts.execute('host.run')
    await delay(100)
  }
  console.log('waiting')
  setInterval(() => undefined, 1_000)
  `
}
