import { spawnSync } from 'node:child_process'
import { nodeHasher } from '@skillstoke/core/node'
import type { ScriptScan, ScriptText } from '@skillstoke/core/source'
import { verifies } from '@skillstoke/requirements'
import { scanScripts } from '@skillstoke/scripts'
import { describe, expect, test } from 'vitest'

// All contents are in memory, so no test needs a folder.
const file = (path: string, text = ''): ScriptText => ({
  path,
  text,
  digest: `sha256:${nodeHasher.sha256(text)}`,
})
const scan = async (files: Readonly<Record<string, string>>, skill = 'git'): Promise<ScriptScan> =>
  await scanScripts(skill, [
    file('SKILL.md'),
    ...Object.entries(files).map(([path, text]) => file(path, text)),
  ])

const IMPORT = "import { defineCommand } from 'skillstoke/command'\n"
const STATUS = `${IMPORT}
export const status = defineCommand({
  name: 'status',
  description: 'Shows what has changed.',
  input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  hints: { readOnly: true },
  run: ({ path }) => path,
})
`

describe('scanScripts()', () => {
  test(`the scan finds all commands and their complete definitions ${verifies('OMNI-22', 'OMNI-23', 'OMNI-26', 'OMNI-X12')}`, async () => {
    const { commands, modules, isComplete, diagnostics } = await scan({ 'scripts/status.ts': STATUS })
    expect({ modules, isComplete, diagnostics }).toEqual({
      modules: ['scripts/status.ts'],
      isComplete: true,
      diagnostics: [],
    })
    expect(commands).toEqual([
      {
        id: 'git.status',
        skill: 'git',
        name: 'status',
        exportName: 'status',
        description: 'Shows what has changed.',
        inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
        hints: { readOnly: true },
        path: 'scripts/status.ts',
        line: 3,
        digest: `sha256:${nodeHasher.sha256(STATUS)}`,
      },
    ])
  })

  test(`the scan reads no files except our own code ${verifies('OMNI-22', 'OMNI-26')}`, () => {
    const program = `
      import { scanScripts } from '@skillstoke/scripts'
      const files = [{ path: 'scripts/status.ts', text: ${JSON.stringify(STATUS)}, digest: 'sha256:0' }]
      console.log((await scanScripts('git', files)).commands.map(({ id }) => id).join())`
    const flags = ['--permission', '--allow-addons', `--allow-fs-read=${process.cwd()}`]
    const run = spawnSync(process.execPath, [...flags, '--input-type=module', '-e', program], {
      encoding: 'utf8',
    })
    expect(run).toMatchObject({ stdout: 'git.status\n', status: 0 })
  })

  test(`the scan gives each record the digest of its file ${verifies('OMNI-24')}`, async () => {
    const [one] = (await scan({ 'scripts/status.ts': STATUS })).commands
    const [same] = (await scan({ 'scripts/status.ts': STATUS })).commands
    const [other] = (await scan({ 'scripts/status.ts': `${STATUS}// a remark\n` })).commands
    expect(same?.digest).toBe(one?.digest)
    expect(other?.digest).not.toBe(one?.digest)
  })

  test(`a command disappears with its file and returns with the same id ${verifies('OMNI-25')}`, async () => {
    const ids = async (files: Readonly<Record<string, string>>): Promise<readonly string[]> =>
      (await scan(files)).commands.map(({ id }) => id)
    expect(await ids({ 'scripts/status.ts': STATUS })).toEqual(['git.status'])
    expect(await ids({})).toEqual([])
    expect(await ids({ 'scripts/status.ts': STATUS })).toEqual(['git.status'])
  })

  test('the scan reads literals in every notation', async () => {
    const { commands, isComplete } = await scan({
      'scripts/a.ts': `${IMPORT}
        const KIND = 'string' as const
        const schema = { type: 'object', properties: { 'a-b': { type: KIND, enum: ['x', \`y\`] }, n: { minimum: -1.5, default: null, nested: [true, {}] } } } satisfies object
        const made = defineCommand({ 'name': 'from-const', description: 'One ' + 'text.', input: (schema), run() {} })
        export { made as renamed }
        export default defineCommand({ name: 'by-default', description: 'd', run: () => 1 })`,
      'scripts/deep/b.mjs': `import * as command from 'skillstoke/command'
        export const c = command.defineCommand({ name: 'namespaced', description: 'd', run() {} })`,
      'scripts/c.js': `import { defineCommand as define } from 'skillstoke/command'
        export const c = define({ name: 'aliased', description: 'd', run() {} })`,
    })
    expect(isComplete).toBe(true)
    expect(commands.map(({ name, exportName, path }) => [name, exportName, path])).toEqual([
      ['aliased', 'c', 'scripts/c.js'],
      ['by-default', 'default', 'scripts/a.ts'],
      ['from-const', 'renamed', 'scripts/a.ts'],
      ['namespaced', 'c', 'scripts/deep/b.mjs'],
    ])
    expect(commands[2]).toMatchObject({
      description: 'One text.',
      inputSchema: {
        type: 'object',
        properties: {
          'a-b': { type: 'string', enum: ['x', 'y'] },
          n: { minimum: -1.5, default: null, nested: [true, {}] },
        },
      },
    })
  })

  test(`a missing description is taken from the preceding comment or generated ${verifies('OMNI-X12')}`, async () => {
    const { commands } = await scan({
      'scripts/a.js': `${IMPORT}
        /**
         * Counts
         * commits.
         * @returns nothing of interest
         */
        export const a = defineCommand({ name: 'count', run() {} })
        /** of something else */ const x = 1
        export const b = defineCommand({ name: 'bare', run() {} })`,
    })
    expect(commands.map(({ description }) => description)).toEqual(['Execute git.bare', 'Counts commits.'])
  })

  test.each([
    ['a schema from a library', "import { z } from 'zod'\n", 'input: z.object({}), '],
    ['a schema with a function call', '', 'input: { type: "object", title: String(1) }, '],
    ['a schema with a spread', 'const base = {}\n', 'input: { ...base }, '],
  ])('%s must be listed by running the module', async (_, head, input) => {
    const { commands, isComplete } = await scan({
      'scripts/a.ts': `${IMPORT}${head}export const a = defineCommand({ name: 'a', description: 'd', ${input}run() {} })`,
    })
    expect(isComplete).toBe(false)
    expect(commands).toHaveLength(1)
    expect(commands[0]?.inputSchema).toBeUndefined()
  })

  test.each([
    [
      'a command that a function creates',
      'const make = n => defineCommand({ name: n, run() {} })\nexport const a = make("x")',
    ],
    ['a computed name', 'export const a = defineCommand({ name: "a".trim(), run() {} })'],
    ['an imported definition', 'import { d } from "./d.ts"\nexport const a = defineCommand(d)'],
    ['a module that exports no command', 'export const x = 1'],
  ])('%s is known only after the module has run', async (_, code) => {
    const { commands, isComplete, modules } = await scan({
      'scripts/a.ts': IMPORT + code,
      'scripts/d.ts': 'export const d = {}',
    })
    expect({ commands, isComplete, modules }).toEqual({
      commands: [],
      isComplete: false,
      modules: ['scripts/a.ts'],
    })
  })

  test(`the scan ignores files that are not modules with commands ${verifies('OMNI-X12')}`, async () => {
    const { modules, commands, diagnostics } = await scan({
      'scripts/_private.ts': STATUS,
      'scripts/status.test.ts': STATUS,
      'scripts/types.d.ts': STATUS,
      'scripts/node_modules/x/index.js': STATUS,
      'scripts/status.py': STATUS,
      'lib/status.ts': STATUS,
      'scripts/program.js': 'console.log("no command, and { not even whole"',
      'scripts/types-only.ts': "import type { CommandContext } from 'skillstoke/command'\nexport const x = 1",
    })
    expect({ modules, commands, diagnostics }).toEqual({ modules: [], commands: [], diagnostics: [] })
  })

  test('the scan orders modules by depth, then by path', async () => {
    const { modules } = await scan({
      'scripts/b/a.ts': STATUS.replaceAll('status', 'one'),
      'scripts/c.ts': STATUS.replaceAll('status', 'two'),
      'scripts/a.ts': STATUS,
    })
    expect(modules).toEqual(['scripts/a.ts', 'scripts/c.ts', 'scripts/b/a.ts'])
  })

  test.each([
    ['a syntax error', 'scripts/a.ts', 'const ä = 1\nconst x = {{\n', 'SCRIPT_INVALID', 3, 12],
    ['a syntax error in a helper', 'scripts/lib/h.ts', 'export const h = (\n', 'SCRIPT_INVALID', 2, 1],
    ['a package', 'scripts/lib/h.ts', "import 'left-pad'\n", 'IMPORT_REFUSED', 1, 8],
    [
      'a Node module without its prefix',
      'scripts/lib/h.ts',
      "import fs from 'fs'\n",
      'IMPORT_REFUSED',
      1,
      16,
    ],
    [
      'a path out of the folder',
      'scripts/lib/h.ts',
      "export * from '../../../x.ts'\n",
      'IMPORT_REFUSED',
      1,
      15,
    ],
    ['an absolute path', 'scripts/lib/h.ts', "import '/etc/x.js'\n", 'IMPORT_REFUSED', 1, 8],
    ['a URL', 'scripts/lib/h.ts', "import 'https://example.com/x.js'\n", 'IMPORT_REFUSED', 1, 8],
    ['a missing file', 'scripts/lib/h.ts', "\nimport { x } from './missing.ts'\n", 'IMPORT_MISSING', 2, 19],
  ])('the scan reports %s with its position', async (_, path, text, code, line, column) => {
    const { diagnostics } = await scan({
      'scripts/a.ts': `${IMPORT}import './lib/h.ts'\nexport const a = defineCommand({ name: 'a', run() {} })`,
      'scripts/lib/h.ts': '',
      [path]: path.endsWith('a.ts') ? IMPORT + text : text,
    })
    expect(diagnostics).toHaveLength(1)
    expect(diagnostics[0]).toMatchObject({ severity: 'error', code, path, line, column })
  })

  test('the error for an import of a missing file suggests an existing file', async () => {
    const { diagnostics } = await scan({
      'scripts/a.ts': `${IMPORT}import './lib/h'\nimport './lib/h.js'\nexport const a = defineCommand({ name: 'a', run() {} })`,
      'scripts/lib/h.ts': '',
    })
    expect(diagnostics.map(({ fix }) => fix)).toEqual(['write "./lib/h.ts"', 'write "./lib/h.ts"'])
  })

  test('type imports from anywhere are allowed, because they are removed before the code runs', async () => {
    const { diagnostics } = await scan({
      'scripts/a.ts': `${IMPORT}import type { X } from 'somewhere'\nexport type { Y } from 'elsewhere'\nimport { readFile } from 'node:fs/promises'\nimport data from '../assets/data.json' with { type: 'json' }\nexport const a = defineCommand({ name: 'a', run() {} })`,
      'assets/data.json': '{}',
    })
    expect(diagnostics).toEqual([])
  })

  test('the scan reports a command that is defined twice, and invalid command names', async () => {
    const named = (name: string): string =>
      `${IMPORT}export const a = defineCommand({ name: '${name}', run() {} })`
    const { diagnostics } = await scan({
      'scripts/a.ts': named('one'),
      'scripts/b.ts': named('one'),
      'scripts/c.ts': named('two words'),
      'scripts/d.ts': `${IMPORT}export const a = defineCommand({ run() {} })`,
    })
    expect(diagnostics.map(({ code, path, message }) => [code, path, message])).toEqual([
      [
        'COMMAND_INVALID',
        'scripts/c.ts',
        'the name of the command is "two words"; use 1 to 64 letters, digits, "_" and "-"',
      ],
      [
        'COMMAND_INVALID',
        'scripts/d.ts',
        'the name of the command is undefined; use 1 to 64 letters, digits, "_" and "-"',
      ],
      ['COMMAND_INVALID', 'scripts/b.ts', 'the command "git.one" is defined twice, also at scripts/a.ts:2'],
    ])
  })

  test('an input field may be named __proto__', async () => {
    const { commands } = await scan({
      'scripts/a.js': `${IMPORT}export const a = defineCommand({ name: 'a', description: 'd', input: { type: 'object', properties: { "__proto__": { type: 'string' } } }, run() {} })`,
    })
    const properties = commands[0]?.inputSchema?.['properties'] as object
    expect(Object.keys(properties)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(properties)).toBe(Object.prototype)
  })
})

test('a command that is not exported, and an unknown type, are reported with their positions', async () => {
  const kept = await scan({ 'scripts/a.ts': STATUS.replace('export const', 'const') })
  expect(kept.commands).toEqual([])
  expect(kept.diagnostics).toMatchObject([
    {
      severity: 'warning',
      message: 'the command "status" is not exported, so it cannot be called',
      path: 'scripts/a.ts',
      line: 3,
      column: 16,
    },
  ])
  const handed = await scan({
    'scripts/a.ts': `${STATUS.replace('export const', 'const')}\nexport const x = wrap(status)\n`,
  })
  expect(handed.diagnostics).toEqual([])
  const typo = await scan({ 'scripts/a.ts': STATUS.replace("type: 'string'", "type: 'strin'") })
  expect(typo.diagnostics).toMatchObject([
    {
      severity: 'error',
      message:
        'the type of "path" in its input is "strin"; use one of string, number, integer, boolean, array, object, null',
    },
  ])
})
