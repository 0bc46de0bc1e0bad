import { expect, test } from 'vitest'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import { FileSource } from '../source/file-source.ts'
import { MemorySkillStore } from '../store/memory-skill-store.ts'
import { FakeClock } from '../testing/index.ts'
import type { ScriptScan, ScriptText, SkillCommand } from './command.ts'
import type { LoadedProgram, ProgramLoad, ScriptProgram, ScriptRunner } from './script-runner.ts'

/** A runner in which each command returns the text of its script. */
class TextRunner implements ScriptRunner {
  onScan: (text: string) => unknown = () => undefined

  async containment(): Promise<{ kind: 'sandbox'; detail: string }> {
    return { kind: 'sandbox', detail: 'a test' }
  }

  async scan(skill: string, files: readonly ScriptText[]): Promise<ScriptScan> {
    const scripts = files.filter(({ path }) => path.startsWith('scripts/'))
    for (const { text } of scripts) await this.onScan(text)
    const commands = scripts.map(({ path, digest }) => ({
      ...toCommand(skill, path, digest),
      exportName: 'go',
    }))
    const modules = scripts.map(({ path }) => path)
    return { commands, modules, sources: modules, isComplete: true, diagnostics: [] }
  }

  async load(program: ScriptProgram, scan: ScriptScan): Promise<ProgramLoad> {
    const answer = new TextDecoder().decode(await program.readFile('scripts/go.js'))
    const loaded: LoadedProgram = {
      revision: program.revision,
      commands: scan.commands.map(({ path, digest }) => toCommand(program.skill, path, digest)),
      call: async () => answer,
      close: async () => undefined,
    }
    return { kind: 'loaded', program: loaded }
  }

  mayRun(): boolean {
    return false
  }

  async runFile(): Promise<never> {
    throw new Error('no file is run here')
  }

  async close(): Promise<void> {}
}

function toCommand(skill: string, path: string, digest: SkillCommand['digest']): SkillCommand {
  return {
    id: `${skill}.go`,
    skill,
    name: 'go',
    description: 'd',
    inputSchema: {},
    isDynamic: false,
    hints: {},
    path,
    digest,
  }
}

const files = new MemoryFileSystem({
  '/skills/pdf/SKILL.md': '---\nname: pdf\ndescription: d\n---\nx\n',
  '/skills/pdf/scripts/go.js': 'old',
})

async function open(store: MemorySkillStore, scripts: TextRunner, clock?: FakeClock): Promise<SkillRuntime> {
  const source = new FileSource({ fileSystem: files, root: '/skills', label: 'skills' })
  const given = clock === undefined ? {} : { clock }
  return await createSkillRuntime({ sources: [source], state: { store }, scripts, ...given })
}

/** Opens the skills of a machine that has not scanned any code yet. */
async function openUnscanned(): Promise<{
  readonly clock: FakeClock
  readonly scan: PromiseWithResolvers<void>
  readonly opening: Promise<SkillRuntime>
}> {
  const clock = new FakeClock()
  const runner = new TextRunner()
  const scan = Promise.withResolvers<void>()
  runner.onScan = () => scan.promise
  const opening = open(new MemorySkillStore(), runner, clock)
  await clock.advance(5_000)
  return { clock, scan, opening }
}

test('a call waits for the first code of a skill, however long its scan takes', async () => {
  const { clock, scan, opening } = await openUnscanned()
  await using skills = await opening
  const call = skills.scripts.execute('pdf.go')
  await clock.advance(60_000)
  scan.resolve()
  expect((await call).value).toBe('old')
})

test('a script of a command is not run as a file while the commands of its skill are still unknown', async () => {
  const { scan, opening } = await openUnscanned()
  await using skills = await opening
  const run = skills.scripts.run('pdf', 'scripts/go.js')
  scan.resolve()
  await expect(run).rejects.toMatchObject({
    code: 'SCRIPT_REFUSED',
    message: expect.stringContaining('run pdf.go'),
  })
})

test('after a failure of the machine, ProgramSlot tries again to load the newest code, even if older code has answered a call', async () => {
  const store = new MemorySkillStore()
  {
    await using skills = await open(store, new TextRunner())
    expect((await skills.scripts.execute('pdf.go')).value).toBe('old')
  }
  files.write('/skills/pdf/scripts/go.js', 'new')
  const runner = new TextRunner()
  let isOut = true
  runner.onScan = text => {
    if (isOut && text === 'new') throw new Error('EAGAIN')
  }
  await using skills = await open(store, runner)
  expect((await skills.scripts.execute('pdf.go')).value).toBe('old')
  isOut = false
  expect((await skills.scripts.execute('pdf.go')).value).toBe('new')
})
