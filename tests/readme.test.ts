import { spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { BIN, stoke } from './fixtures/cli.ts'
import { type Fence, fillGaps, PAGES, readFences, toComparable } from './fixtures/pages.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

const fences = PAGES.flatMap(readFences)

/** The first line of a fence that shows a file of the demo. */
const DEMO_FILE = /^\/\/ (skills\/\S+)\n/
// The tests in `tests/sdks` run the programs of `docs/sdks`, because these programs need other packages.
const programs = fences.filter(
  ({ page, mark, code }) =>
    mark.split(' ')[0] === 'ts' && !DEMO_FILE.test(code) && !page.startsWith('docs/sdks/'),
)
/** The skill that the programs of the pages find in `./skills`. */
const SKILL = { description: 'Handles support-pdf things.', body: 'Do the support-pdf thing.' }
const PRINTS = /\/\/ prints (.*)$/gm
const isChecked = ({ code, output }: Fence): boolean => output !== undefined || code.search(PRINTS) >= 0

// The folder is inside the repository so that package names resolve.
const FOLDER = resolve('.tmp', `page-examples-${process.pid}`)
const toFile = ({ name }: Fence): string => join(FOLDER, `${name.replaceAll(/[/:]/g, '.')}.ts`)

function expectOutput(printed: string, folder: TemporaryFolder, shown: string): void {
  const comparable = toComparable(printed, folder.path)
  expect(comparable).toBe(fillGaps(shown, comparable))
}

beforeAll(() => {
  mkdirSync(FOLDER, { recursive: true })
  for (const fence of programs) writeFileSync(toFile(fence), fence.code)
})

afterAll(() => rmSync(FOLDER, { recursive: true, force: true }))

describe('a program of a page', () => {
  const runnable = programs.filter(({ mark }) => mark === 'ts')

  test.each(runnable)('runs and prints what the page says: $name', fence => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/support-pdf', SKILL)
    const { status, stdout, stderr } = spawnSync(process.execPath, [toFile(fence)], {
      cwd: folder.path,
      encoding: 'utf8',
      env: { ...process.env, XDG_STATE_HOME: folder.at('state') },
    })
    expect(stderr).toBe('')
    expect(status).toBe(0)
    if (fence.output !== undefined) expectOutput(stdout, folder, fence.output)
    const lines = stdout.split('\n')
    for (const [, promised = ''] of fence.code.matchAll(PRINTS)) {
      expect(lines).toContain(promised)
      lines.splice(0, lines.indexOf(promised) + 1)
    }
  })

  test('every program compiles', { timeout: 120_000 }, () => {
    const compilerOptions = { incremental: false, tsBuildInfoFile: null, moduleDetection: 'force' }
    const config = { extends: resolve('tsconfig.json'), compilerOptions, include: ['*.ts'], references: [] }
    writeFileSync(join(FOLDER, 'tsconfig.json'), JSON.stringify(config))
    const args = ['--noEmit', '-p', FOLDER]
    const { status, stdout, stderr } = spawnSync(resolve('node_modules/.bin/tsc'), args, { encoding: 'utf8' })
    expect([status, stdout + stderr]).toEqual([0, ''])
  })

  test('the pages have at least as many programs and outputs as now', () => {
    expect(runnable.length).toBeGreaterThanOrEqual(54)
    expect(runnable.filter(isChecked).length).toBeGreaterThanOrEqual(27)
  })

  test('every fence has a mark that a test or a reader knows', () => {
    const known = ['ts', 'ts no-run', 'tsx', 'sh', 'console', 'text', 'json', 'yaml', 'markdown']
    expect(fences.filter(({ mark }) => !known.includes(mark)).map(({ name, mark }) => [name, mark])).toEqual(
      [],
    )
  })
})

test.each(fences.filter(({ code }) => DEMO_FILE.test(code)))(
  'a file of the demo has the content that the page shows: $name',
  ({ code }) => {
    const [first = '', path = ''] = DEMO_FILE.exec(code) ?? []
    expect(readFileSync(join('demo', path), 'utf8')).toBe(code.slice(first.length))
  },
)

describe('the page about Next.js', () => {
  const FILE = /^\/\/ ((?:app|lib)\/\S+)\n/
  const files = fences.flatMap(({ page, code }) => {
    const [first = '', path] = (page === 'docs/sdks/nextjs.md' && FILE.exec(code)) || []
    return path === undefined ? [] : [{ path, shown: code.slice(first.length) }]
  })

  test('shows every file of the example that the application needs', () => {
    const all = readdirSync('examples/nextjs-chat', { recursive: true, encoding: 'utf8' })
    const needed = all.filter(path => /^(?:app|lib)\/.*\.tsx?$/.test(path) && path !== 'app/layout.tsx')
    expect(files.map(({ path }) => path).sort()).toEqual(needed.sort())
  })

  test.each(files)('shows the content of $path', ({ path, shown }) => {
    expect(shown).toBe(readFileSync(join('examples/nextjs-chat', path), 'utf8'))
  })
})

describe('a command of a page', () => {
  const commands = fences.filter(
    ({ mark, code, output }) => mark === 'sh' && output !== undefined && code.startsWith('npx skillstoke '),
  )

  test.each(commands)('prints what the page says: $name', async ({ page, code, output = '' }) => {
    using folder = new TemporaryFolder()
    cpSync('demo/skills', folder.at('demo/skills'), { recursive: true })
    for (const { code: text } of readFences(page).filter(({ mark }) => mark === 'markdown')) {
      const [, name = ''] = /^name: (\S+)$/m.exec(text) ?? []
      folder.write(`skills/${name}/SKILL.md`, text)
    }
    const command = code.replace('npx skillstoke', `exec "${process.execPath}" "${BIN}"`)
    const child = spawn('/bin/sh', ['-c', command], {
      cwd: folder.path,
      env: { ...process.env, HOME: folder.at('home'), XDG_STATE_HOME: folder.at('state'), NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let printed = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data: Buffer) => {
        printed += data.toString()
      })
    const ended = new Promise(resolve => child.once('close', resolve))
    try {
      // `dev` runs until it is ended.
      await vi.waitFor(() => expectOutput(printed, folder, output), 10_000)
    } finally {
      child.kill('SIGTERM')
      await ended
    }
  })

  test('the pages have at least as many commands with output as now', () => {
    expect(commands.length).toBeGreaterThanOrEqual(4)
  })
})

describe('a configuration of a page', () => {
  const configurations = fences.filter(({ mark }) => mark === 'json')
  const validate = new Ajv2020({ strict: false }).compile(
    JSON.parse(readFileSync('packages/cli/skillstoke.schema.json', 'utf8')) as object,
  )

  test.each(configurations)('fits the schema of skillstoke.json: $name', ({ code }) => {
    validate(JSON.parse(code))
    expect(validate.errors).toBe(null)
  })

  test('the schema refuses a wrong configuration, and the pages have at least as many configurations as now', () => {
    expect(validate({ roots: 'skills' })).toBe(false)
    expect(configurations.length).toBeGreaterThanOrEqual(2)
  })
})

describe('the pages', () => {
  test('pages name only npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>
    }
    const named = PAGES.flatMap(page =>
      [
        ...readFileSync(page, 'utf8').matchAll(
          /npm (?:run )?(start|check|test:watch|test:only|test|bench|format|changeset|soak|torture|requirements|cli-reference|checks-page|docs|pictures)\b/g,
        ),
      ].map(match => match[1] ?? ''),
    )
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter(name => scripts[name] === undefined)).toEqual([])
  })

  test('pages name only verbs that exist', () => {
    const verbs = new Set(
      PAGES.flatMap(page =>
        [...readFileSync(page, 'utf8').matchAll(/(?:npx skillstoke|`stoke) ([a-z]+)/g)].map(
          match => match[1] ?? '',
        ),
      ),
    )
    expect(verbs.size).toBeGreaterThanOrEqual(7)
    for (const verb of verbs) expect(stoke([verb, '--help']).status, verb).toBe(0)
  })
})
