import { renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import type { SkillRuntime } from '@skillstoke/core'
import { SkillError } from '@skillstoke/core'
import { openSkillStore } from '@skillstoke/core/node'
import { MemorySkillStore } from '@skillstoke/core/source'
import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import { until } from '../fixtures/follow.ts'
import { commandText, countScriptProcesses, openScripts, recordLog } from '../fixtures/scripts.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

const IMPORT = "import { defineCommand } from 'skillstoke/command'\n"
const command = (name: string, result: string, description = `Does ${name}.`): string =>
  `${IMPORT}export const ${name} = defineCommand({ name: '${name}', description: '${description}', input: { type: 'object' }, run: async (input: any) => ${result} })\n`

async function run(skills: SkillRuntime, id: string, input: unknown = {}): Promise<unknown> {
  return (await skills.scripts.execute(id, input)).value
}

function ids(skills: SkillRuntime): readonly string[] {
  return skills.scripts.list().map(({ id }) => id)
}

function problems(skills: SkillRuntime, name: string): readonly unknown[] {
  return skills.current
    .reports()
    .filter(report => report.name === name)
    .flatMap(({ diagnostics }) =>
      diagnostics.map(({ code, path, line, column, message }) => [
        code,
        path?.slice(path.lastIndexOf(`/${name}/scripts`) + name.length + 2),
        line,
        column,
        message,
      ]),
    )
}

describe('a command', () => {
  test(`a command called by its id, skill.command, runs the code that is on the disk at that moment ${verifies('OMNI-01', 'OMNI-02', 'OMNI-14', 'OMNI-15')}`, async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('git')
    const file = folder.write('git/scripts/status.ts', command('status', '"old"'))
    // Watching is off, so the call itself must read the disk.
    await using skills = await openScripts(folder.path, { source: { watching: 'off' } })
    expect(await run(skills, 'git.status')).toBe('old')
    writeFileSync(file, command('status', '"new"'))
    expect(await run(skills, 'git.status')).toBe('new')
  })

  test(`an edit of an imported module takes effect, even with an older time and the same size ${verifies('OMNI-04', 'OMNI-B02')}`, async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('git')
    folder.write(
      'git/scripts/status.ts',
      `import { text } from './lib/deep/text.ts'\n${command('status', 'text')}`,
    )
    const helper = folder.write('git/scripts/lib/deep/text.ts', 'export const text: string = "one"\n')
    await using skills = await openScripts(folder.path)
    expect(await run(skills, 'git.status')).toBe('one')
    const { atime, mtime } = statSync(helper)
    writeFileSync(helper, 'export const text: string = "two"\n')
    utimesSync(helper, atime, new Date(mtime.getTime() - 60_000))
    expect(await run(skills, 'git.status')).toBe('two')
  })

  test(`when files change, their commands appear, disappear, or get new names and descriptions ${verifies('OMNI-08', 'OMNI-10', 'OMNI-11', 'OMNI-X01', 'OMNI-B01')}`, async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('git')
    folder.write('git/scripts/a.ts', command('one', '1'))
    await using skills = await openScripts(folder.path)
    const told: string[] = []
    skills.scripts.subscribe(({ added, removed, modified }) => {
      const names = (kind: string, list: typeof added): string[] => list.map(({ id }) => `${kind}${id}`)
      told.push([...names('+', added), ...names('-', removed), ...names('~', modified)].join(' '))
    })
    const follow = async (expected: readonly string[]): Promise<void> => {
      await skills.reload()
      // On a slow machine, the code of a new revision may load after the reload.
      await expect.poll(() => ids(skills)).toEqual(expected)
    }
    await follow(['git.one'])
    told.length = 0
    folder.write('git/scripts/b.ts', command('two', '2'))
    await follow(['git.one', 'git.two'])
    folder.write('git/scripts/b.ts', command('second', '2'))
    await follow(['git.one', 'git.second'])
    folder.write('git/scripts/b.ts', command('second', '2', 'Described anew.'))
    await follow(['git.one', 'git.second'])
    folder.remove('git/scripts/a.ts')
    await follow(['git.second'])
    folder.remove('git/scripts')
    await follow([])
    expect(told).toEqual(['+git.two', '+git.second -git.two', '~git.second', '-git.one', '-git.second'])
    await expect(run(skills, 'git.one')).rejects.toMatchObject({ code: 'COMMAND_NOT_FOUND' })
  })

  test(`new code starts without the state of the older code, and other skills keep their state ${verifies('OMNI-05', 'OMNI-06', 'OMNI-07', 'OMNI-B04', 'OMNI-B10', 'P23')}`, async () => {
    using folder = new TemporaryFolder()
    for (const name of ['git', 'git-extra', 'zod']) {
      folder.writeSkill(name)
      // Functions and variables have the same names in all skills. The third skill is named like a library.
      folder.write(`${name}/scripts/lib/count.js`, 'let n = 0\nexport const count = () => ++n\n')
      folder.write(
        `${name}/scripts/count.js`,
        `import { count as next } from './lib/count.js'\nimport { z } from 'zod'\n${command('count', 'next() + (typeof z.object === "function" ? 0 : 100)').replace(': any', '')}`,
      )
    }
    await using skills = await openScripts(folder.path, { maxProcesses: 1 })
    for (const id of ['git.count', 'git-extra.count', 'zod.count'])
      expect([await run(skills, id), await run(skills, id)]).toEqual([1, 2])
    folder.write(
      'git/scripts/count.js',
      `${command('count', '"fresh " + next()').replace(': any', '')}import { count as next } from './lib/count.js'\n`,
    )
    expect(await run(skills, 'git.count')).toBe('fresh 1')
    expect(await run(skills, 'git-extra.count')).toBe(3)
    expect(await run(skills, 'zod.count')).toBe(3)
  })

  test(`the code of a command is not loaded again when nothing changed ${verifies('OMNI-09')}`, async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('git')
    folder.write('git/scripts/a.ts', command('one', '(globalThis.calls = (globalThis.calls ?? 0) + 1)'))
    const { logger, lines } = recordLog()
    await using skills = await openScripts(folder.path, { maxProcesses: 1, runtime: { logger } })
    for (let i = 1; i <= 3; i++) expect(await run(skills, 'git.one')).toBe(i)
    await skills.reload()
    expect(await run(skills, 'git.one')).toBe(4)
    expect(lines.filter(line => line.startsWith('commands are loaded'))).toHaveLength(1)
  })

  test(`each reload of code is logged with its duration and the number of commands ${verifies('OMNI-16', 'OMNI-X09')}`, async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('git')
    folder.write('git/scripts/a.ts', command('one', '1'))
    const { logger, lines } = recordLog()
    await using skills = await openScripts(folder.path, { runtime: { logger } })
    await run(skills, 'git.one')
    lines.length = 0
    folder.write('git/scripts/a.ts', command('one', '2'))
    await run(skills, 'git.one')
    expect(lines[0]).toMatch(/^Hot reloading skill \{"skill":"git","revision":"sha256:/)
    expect(lines[1]).toMatch(/^commands are loaded \{"skill":"git","commands":1,"durationMs":\d+\}$/)
    folder.write('git/scripts/a.ts', `throw new Error('no')\n${command('one', '3')}`)
    await run(skills, 'git.one')
    expect(lines.at(-1)).toBe('commands do not load {"skill":"git","place":"scripts/a.ts:1:7","reason":"no"}')
  })

  test(`a command may be synchronous or asynchronous, and its error names each wrong field of the input ${verifies('OMNI-X05')}`, async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('git')
    folder.write(
      'git/scripts/a.ts',
      `${IMPORT}
      export const sync = defineCommand({ name: 'sync', description: 'd', run: () => 'at once' })
      export const log = defineCommand({ name: 'log', description: 'd', run: async ({ count, path }) => [count, path],
        input: { type: 'object', properties: { count: { type: 'integer' }, path: { type: 'string' } }, required: ['count'], additionalProperties: false } })
      export const fail = defineCommand({ name: 'fail', description: 'd', run: () => { throw new Error('it went wrong') } })`,
    )
    await using skills = await openScripts(folder.path)
    expect(await run(skills, 'git.sync')).toBe('at once')
    expect(await run(skills, 'git.log', { count: 1, path: 'x' })).toEqual([1, 'x'])
    const message = async (id: string, input?: unknown): Promise<string> => {
      const error: unknown = await run(skills, id, input).catch((thrown: unknown) => thrown)
      return SkillError.isInstance(error) ? `${error.code} ${error.message}` : String(error)
    }
    expect(await message('git.log', { cuont: 1, path: 7 })).toBe(
      'INPUT_INVALID git.log: missing: "count"; there is no field "cuont"; "path": it is of type "number" and must be "string"; given: "cuont", "path"; the fields are "count", "path"',
    )
    expect(await message('git.sync', { x: 1 })).toBe(
      'INPUT_INVALID git.sync: there is no field "x"; given: "x"; there are no fields',
    )
    expect(await message('git.fail')).toMatch(
      /^SCRIPT_FAILED git\.fail: it went wrong \(scripts\/a\.ts:6:\d+\)$/,
    )
    expect(await message('git.lgo')).toBe(
      'COMMAND_NOT_FOUND there is no command "git.lgo"; did you mean "git.log"?',
    )
    expect(await message('git.unknown-one')).toBe(
      'COMMAND_NOT_FOUND there is no command "git.unknown-one"; there are: git.fail, git.log, git.sync',
    )
    expect(await message('status')).toBe(
      'COMMAND_NOT_FOUND "status" is not a command id; use "skill.command"',
    )
    expect(await message('nobody.status')).toContain('SKILL_NOT_FOUND there is no skill "nobody"')
  })

  test('a schema from a library is read by running the code, and the command is marked as dynamic', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('git')
    folder.write(
      'git/scripts/a.ts',
      `${IMPORT}import { z } from 'zod'
      export const add = defineCommand({ name: 'add', description: 'Adds.', input: z.object({ a: z.number(), b: z.number().default(1) }), run: ({ a, b }) => a + b })`,
    )
    await using skills = await openScripts(folder.path)
    await expect
      .poll(() => skills.scripts.list())
      .toMatchObject([
        {
          id: 'git.add',
          isDynamic: true,
          inputSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
        },
      ])
    expect(await run(skills, 'git.add', { a: 1 })).toBe(2)
    await expect(run(skills, 'git.add', { a: 'x' })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      data: { wrong: [{ field: 'a' }] },
    })
  })
})

describe('code that does not load', () => {
  test.each([
    ['a syntax error', 'const x = {{', ['SCRIPT_INVALID', 'scripts/lib/h.ts', 2, 12]],
    [
      'TypeScript that is more than types',
      'export enum Kind { A }',
      ['SCRIPT_INVALID', 'scripts/lib/h.ts', 2, 8],
    ],
    ['an import of a missing file', "import './gone.ts'", ['IMPORT_MISSING', 'scripts/lib/h.ts', 2, 8]],
    [
      'an import of a missing export',
      "import { gone } from '../a.ts'",
      ['SCRIPT_FAILED', 'scripts/lib/h.ts', 2, undefined],
    ],
    [
      'an import at run time',
      "await import('left' + '-pad')",
      ['SCRIPT_FAILED', 'scripts/lib/h.ts', undefined, undefined],
    ],
    [
      'a throw at top level',
      "  throw new Error('top') as Error",
      ['SCRIPT_FAILED', 'scripts/lib/h.ts', 2, 9],
    ],
    ['an early error', 'let a: number; let a: string', ['SCRIPT_INVALID', 'scripts/lib/h.ts', 2, 20]],
    ['an end of its process', 'process.exit(0)', ['SCRIPT_FAILED', 'scripts/a.ts', undefined, undefined]],
  ])(
    `keeps the old code in service after %s, reports the position, and the next fix recovers ${verifies('OMNI-B03', 'OMNI-X13', 'PROMISE-3')}`,
    async (_, text, expected) => {
      using folder = new TemporaryFolder()
      folder.writeSkill('git')
      folder.write('git/scripts/a.ts', `import './lib/h.ts'\n${command('one', '"good"')}`)
      const good = 'export const h: number = 1\n'
      folder.write('git/scripts/lib/h.ts', good)
      folder.writeSkill('other')
      folder.write('other/scripts/a.ts', command('one', '"other"'))
      await using skills = await openScripts(folder.path)
      expect(await run(skills, 'git.one')).toBe('good')
      folder.write('git/scripts/lib/h.ts', `${good}${text}\n`)
      expect((await skills.reloadSkill('git')).status).toBe('failed')
      expect(await run(skills, 'git.one')).toBe('good')
      expect(await run(skills, 'other.one')).toBe('other')
      expect(ids(skills)).toEqual(['git.one', 'other.one'])
      const [problem] = problems(skills, 'git') as [unknown[]]
      expect(problem.slice(0, 4)).toEqual(expected)
      expect(problem[4]).toMatch(/; the commands of [0-9a-f]{8} stay$/)
      folder.write('git/scripts/lib/h.ts', `${good}// mended\n`)
      expect((await skills.reloadSkill('git')).status).toBe('reloaded')
      expect(problems(skills, 'git')).toEqual([])
      expect(await run(skills, 'git.one')).toBe('good')
    },
  )

  test('a process is ended if its code never finishes loading', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('git')
    folder.write('git/scripts/a.ts', command('one', '"good"'))
    await using skills = await openScripts(folder.path, { loadTimeoutMs: 1_000 })
    expect(await run(skills, 'git.one')).toBe('good')
    folder.write('git/scripts/a.ts', `for (;;);\n${command('one', '"never"')}`)
    expect(await run(skills, 'git.one')).toBe('good')
    await skills.reload()
    expect(problems(skills, 'git')).toMatchObject([
      [
        'SCRIPT_FAILED',
        'scripts/a.ts',
        undefined,
        undefined,
        expect.stringContaining('did not finish within 1000 ms'),
      ],
    ])
  })

  test('a skill whose code never loaded has no commands, and a call fails with the reason', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('git')
    folder.write('git/scripts/a.ts', `throw new Error('top')\n${command('one', '1')}`)
    await using skills = await openScripts(folder.path)
    await expect(run(skills, 'git.one')).rejects.toMatchObject({
      code: 'SCRIPT_FAILED',
      message: 'the command "git.one" does not load; scripts/a.ts:1:7: top',
    })
    folder.write('git/scripts/a.ts', command('one', '"mended"'))
    expect(await run(skills, 'git.one')).toBe('mended')
  })

  test(`a host that starts later runs the last good code and not the broken code ${verifies('PROMISE-3')}`, async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('git')
    folder.write('git/scripts/a.ts', command('one', '"good"'))
    const open = async (): Promise<SkillRuntime> =>
      await openScripts(folder.path, { runtime: { state: { store: await openSkillStore(state.path) } } })
    await using first = await open()
    expect(await run(first, 'git.one')).toBe('good')
    await first.close()
    for (const broken of [
      `throw new Error('top')\n${command('one', '"bad"')}`,
      `${command('one', '"bad"')}{{`,
    ]) {
      folder.write('git/scripts/a.ts', broken)
      await using later = await open()
      expect(await run(later, 'git.one')).toBe('good')
      expect(problems(later, 'git')).toMatchObject([
        [
          expect.stringMatching(/^SCRIPT_/),
          'scripts/a.ts',
          expect.any(Number),
          expect.any(Number),
          expect.stringContaining('stay'),
        ],
      ])
    }
  })
})

describe('newer code', () => {
  test(`new calls run the newer code, and running calls finish on the old code ${verifies('P23', 'PROMISE-4')}`, async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('git')
    const waiting = (text: string): string =>
      commandText(
        'wait',
        `if (input.wait) { context.log('begun'); await new Promise(resolve => setTimeout(resolve, 600)) }
         const { readFileSync } = await import('node:fs')
         return '${text} ' + readFileSync(context.skillDirectory + '/note.txt', 'utf8')`,
      )
    folder.write('git/scripts/a.js', waiting('old'))
    folder.write('git/note.txt', 'old')
    await using skills = await openScripts(folder.path)
    const begun = Promise.withResolvers<void>()
    const underWay = skills.scripts.execute('git.wait', { wait: true }, { onLine: () => begun.resolve() })
    await begun.promise
    folder.write('git/note.txt', 'new')
    folder.write('git/scripts/a.js', waiting('new'))
    expect(await run(skills, 'git.wait')).toBe('new new')
    // The running call ends normally even if the skill is removed.
    rmSync(folder.at('git'), { recursive: true })
    await skills.reload()
    const { value, revision } = await underWay
    expect(value).toBe('old old')
    expect(revision).not.toBe(skills.current.find('git')?.revision)
  })

  test('running calls of the old code are ended when they exceed the drain time', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('git')
    const waiting = (text: string): string =>
      commandText(
        'wait',
        `context.log('begun'); if (input.wait) await new Promise(resolve => setTimeout(resolve, 60_000)); return '${text}'`,
      )
    folder.write('git/scripts/a.js', waiting('old'))
    await using skills = await openScripts(folder.path, { drainMs: 100 })
    const begun = Promise.withResolvers<void>()
    const underWay = skills.scripts.execute('git.wait', { wait: true }, { onLine: () => begun.resolve() })
    const failed = expect(underWay).rejects.toMatchObject({ code: 'SCRIPT_FAILED' })
    await begun.promise
    folder.write('git/scripts/a.js', waiting('new'))
    expect(await run(skills, 'git.wait')).toBe('new')
    await failed
  })

  test('the commands of newer code appear in the tools of an open session and in the text of a loaded skill', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('git')
    folder.write('git/scripts/a.ts', command('one', '"first"', 'Counts things.'))
    await using skills = await openScripts(folder.path)
    const session = skills.session({ id: 's' })
    expect(session.tools.map(({ name }) => name)).toEqual([
      'skill',
      'read_skill_file',
      'run_skill_command',
      'run_skill_script',
    ])
    const call = async (name: string, input: unknown): Promise<string> =>
      (await session.tools.find(tool => tool.name === name)?.execute(input))?.text ?? ''
    expect(await call('skill', { name: 'git' })).toContain(
      'Commands (call them with run_skill_command):\n- one: Counts things. Input: {"type":"object"}',
    )
    expect(await call('run_skill_command', { skill: 'git', command: 'one' })).toBe('first')
    folder.write('git/scripts/a.ts', command('one', '"second"', 'Counts things.'))
    expect(await call('run_skill_command', { skill: 'git', command: 'git.one', input: '{}' })).toMatch(
      /^second\nNote: you loaded "git" at [0-9a-f]{8}; this ran at [0-9a-f]{8}\.$/,
    )
  })
})

test(`a missing scripts folder is no error, and the processes of a removed skill end ${verifies('OMNI-X02', 'OMNI-27')}`, async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('plain')
  folder.writeSkill('git')
  folder.write('git/scripts/a.ts', command('one', '1'))
  await using skills = await openScripts(folder.path)
  expect(ids(skills)).toEqual(['git.one'])
  expect(skills.scripts.find('git.two')).toBeUndefined()
  expect(skills.scripts.find('nobody.one')).toBeUndefined()
  expect(await run(skills, 'git.one')).toBe(1)
  expect(countScriptProcesses()).toBe(1)
  renameSync(folder.at('git'), folder.at('.gone'))
  await skills.reload()
  await until(skills, 'git is removed', generation => generation.find('git') === undefined)
  expect(ids(skills)).toEqual([])
  await expect.poll(countScriptProcesses).toBe(0)
})

test('a runtime without scripts offers no commands and no script tools', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('git')
  folder.write('git/scripts/a.ts', command('one', '1'))
  await using skills = await openScripts(folder.path, {
    runtime: { scripts: undefined as never, state: { store: new MemorySkillStore() } },
  })
  expect(skills.scripts.canRun).toBe(false)
  expect(skills.scripts.list()).toEqual([])
  await expect(skills.scripts.execute('git.one')).rejects.toThrow(
    'the runtime has no runner for scripts; pass scripts: childProcesses()',
  )
  expect(skills.session({ id: 's' }).tools).toHaveLength(2)
})
