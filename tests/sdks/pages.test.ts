import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { AGENT_SDKS } from '../../packages/cli/src/commands/agent-sdks.ts'
import { startDev } from '../fixtures/dev.ts'
import { readFences } from '../fixtures/pages.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'
import { createEnv } from './claude-agent-sdk.ts'
import { World } from './world.ts'

/** What a page tells a reader to save and to run. */
interface Steps {
  readonly program: string
  /** The line that calls `main`, and the output in the comment below it. */
  readonly call: string
  readonly output: string
  readonly install: string
  readonly check: string
  readonly run: string
}

function readSteps(id: string): Steps {
  const fences = readFences(`docs/sdks/${id}.md`)
  const find = (mark: string): string => fences.find(fence => fence.mark === mark)?.code ?? ''
  const [call = '', ...comment] = find('ts no-run').trim().split('\n')
  const [install = '', check = '', run = ''] = find('sh').trim().split('\n')
  const output = comment.map(line => line.replace(/^\/\/ /, '')).join('\n')
  return { program: find('ts'), call, output, install, check, run }
}

/** Returns the packages of an install line, without versions. */
function packagesOf({ install }: Steps): readonly string[] {
  const [, names = ''] = /^npm install (.+)$/.exec(install) ?? []
  return names.split(' ').map(name => name.replace(/(?<=.)@.*$/, ''))
}

const PLACES = ['tests/sdks/node_modules', 'node_modules']

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

/** Links packages and all that npm installs with them, and nothing else. */
function link(folder: TemporaryFolder, names: readonly string[]): void {
  const wanted = new Set(names)
  for (const name of wanted) {
    const place = PLACES.map(parent => resolve(parent, name)).find(path => existsSync(path))
    if (place === undefined) continue
    const at = folder.at('node_modules', name)
    mkdirSync(dirname(at), { recursive: true })
    symlinkSync(place, at)
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
      readFileSync(join(place, 'package.json'), 'utf8'),
    ) as Manifest
    const peers = Object.keys(peerDependencies ?? {}).filter(
      peer => peerDependenciesMeta?.[peer]?.optional !== true,
    )
    const all = { ...dependencies, ...optionalDependencies }
    for (const needed of [...Object.keys(all), ...peers]) wanted.add(needed)
  }
}

function save(folder: TemporaryFolder, steps: Steps): void {
  link(folder, packagesOf(steps))
  folder.write('agent.mts', `${steps.program}\n${steps.call}\n`)
  folder.writeSkill('skills/support-pdf', {
    description: 'Handles support-pdf things.',
    body: 'Do the support-pdf thing.',
  })
}

const COMPILERS = {
  '5.9': 'tests/sdks/node_modules/typescript-5/bin/tsc',
  '7': 'node_modules/typescript/bin/tsc',
}

/** Runs the command of a page in a folder, with Node as `node`. */
async function run(folder: TemporaryFolder, command: string, env: NodeJS.ProcessEnv): Promise<string> {
  const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter)
  const options = { cwd: folder.path, env: { ...process.env, ...env, PATH } }
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', command], options)
  return stdout.trim()
}

/** The pages with whole programs. */
const PAGES = [...AGENT_SDKS, { id: 'workflow-agent', name: 'WorkflowAgent' }]

describe.each(PAGES)('the page about $name', ({ id }) => {
  const steps = readSteps(id)

  test('installs every package that the program imports', () => {
    const imported = [...steps.program.matchAll(/ from '((?:@[^/']+\/)?[^/']+)/g)].map(([, name]) => name)
    expect(packagesOf(steps)).toEqual(expect.arrayContaining([...imported, '@types/node', 'typescript']))
  })

  test.each(Object.entries(COMPILERS))(
    'its program passes the check with TypeScript %s',
    (version, compiler) => {
      using folder = new TemporaryFolder()
      save(folder, steps)
      const tsc = (...args: readonly string[]): string =>
        spawnSync(process.execPath, [resolve(compiler), ...args], { cwd: folder.path, encoding: 'utf8' })
          .stdout
      expect(tsc('--version')).toContain(`Version ${version}.`)
      const [, flags = ''] = /^npx tsc (--strict --noEmit .+)$/.exec(steps.check) ?? []
      // The linked packages resolve their own dependencies from the folder, as installed packages do.
      expect(tsc('--preserveSymlinks', ...flags.split(' '))).toBe('')
    },
  )
})

/** Their models cannot be the offline model, which answers chat completions. */
const SCRIPTED = ['claude-agent-sdk', 'copilot']
const OFFLINE = PAGES.filter(({ id }) => !SCRIPTED.includes(id))

test.each(OFFLINE)(
  'the command of the page about $name prints the answer that the page shows',
  async ({ id }) => {
    const steps = readSteps(id)
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    save(folder, steps)
    const [, SKILLSTOKE_TOKEN] = /MODEL_KEY=(\S+)/.exec(steps.run) ?? []
    const root = folder.at('skills')
    await using dev = await startDev({
      root,
      state: state.path,
      args: ['--no-agent'],
      env: { SKILLSTOKE_TOKEN },
    })
    const command = steps.run.replace('http://127.0.0.1:4114', dev.url)
    expect(command).toContain(dev.url)
    expect(await run(folder, command, {})).toBe(steps.output)
  },
)

test.each([
  ['claude-agent-sdk', 'mcp__skills__skill'],
  ['copilot', 'load_skill'],
] as const)('the command of the page %s prints the answer of the model', async (page, tool) => {
  using folder = new TemporaryFolder()
  await using world = await World.open()
  const steps = readSteps(page)
  save(folder, steps)
  world.server.play(
    { kind: 'call', name: tool, input: { name: 'support-pdf' } },
    { kind: 'text', text: 'I have done the support-pdf thing.' },
  )
  const command = steps.run.replace('https://api.openai.com', world.server.url)
  const env = { ...createEnv(world), MODEL_URL: world.server.url, OPENAI_API_KEY: 'none' }
  expect(await run(folder, command, env)).toBe(steps.output)
  expect(world.server.requests.at(-1)?.text).toContain('Do the support-pdf thing.')
})
