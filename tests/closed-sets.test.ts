import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type CatalogFormatName, createAuthorTools, createSkillRuntime } from '@skillstoke/core'
import {
  CALL_TIMEOUT_MS,
  CAPABILITY_FORMS,
  CATALOG_FORMAT_NAMES,
  CATALOG_FORMATS,
  DEFAULT_CATALOG,
  DEFAULT_HISTORY_LENGTH,
  findCapabilityForm,
  READING_CHOICES,
  TOOL_NAMES,
} from '@skillstoke/core/internal'
import { DEFAULT_SETTLE, FileSource, MemoryFileSystem, type SkillDecision } from '@skillstoke/core/source'
import { childProcesses, DEFAULT_SCRIPT_RUNNER_OPTIONS, SANDBOX_MODES } from '@skillstoke/scripts'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { DEFAULT_MAX_SESSIONS, DEFAULT_PORT } from '../packages/cli/src/config/defaults.ts'
import { ALLOWED_TOOLS_POLICIES } from '../packages/core/src/activation/allowed-tools.ts'
import {
  DECISION_VERBS,
  type DecisionVerb,
  GRANT_VERBS,
  type GrantVerb,
} from '../packages/core/src/answers/decide-skill.ts'
import { UNBIND_MODES } from '../packages/core/src/binding/agent-binding.ts'
import { IS_ABOUT_CODE } from '../packages/core/src/history/decisions.ts'
import { INVALID_POLICIES } from '../packages/core/src/registry/candidate-builder.ts'
import { DUPLICATE_POLICIES } from '../packages/core/src/registry/duplicate-policy.ts'
import { PHASES } from '../packages/core/src/registry/subscriptions.ts'
import { APPLY_AT, DELIVERY_MODES } from '../packages/core/src/session/session-options.ts'
import { FACETS } from '../packages/core/src/skill/diff-skills.ts'
import { MISSING_ROOT_POLICIES } from '../packages/core/src/source/check-file-source-options.ts'
import { SYMLINK_POLICIES } from '../packages/core/src/source/entry-classifier.ts'
import { WATCHING_MODES } from '../packages/core/src/source/event-trust.ts'
import { DEFAULT_MCP_OPTIONS } from '../packages/mcp/src/mcp-options.ts'
import { stoke, stokeProcess } from './fixtures/cli.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

describe('a catalog format that is added only to CATALOG_FORMATS', () => {
  const hook = pathToFileURL(resolve('tests/fixtures/add-catalog-format.ts')).href
  const env = { NODE_OPTIONS: `--import=${hook}` }

  /** Runs a program against the built packages, with the added format. */
  const run = (program: string): unknown =>
    JSON.parse(
      execFileSync(process.execPath, ['--input-type=module', '-e', program], {
        env: { ...process.env, ...env },
        encoding: 'utf8',
      }),
    )

  test('the library accepts the added format, and the error for an unknown format lists the added format', () => {
    const result = run(`
      import { createSkillRuntime, MemorySource } from '@skillstoke/core'
      const sources = () => [new MemorySource({ label: 'm' }, ['pdf', 'maps'].map(name => ({ name, description: 'Does it.', body: '' })))]
      const skills = await createSkillRuntime({ sources: sources(), catalog: { format: 'names-only' } })
      const refused = await createSkillRuntime({ sources: [], catalog: { format: 'html' } }).catch(error => error.message)
      console.log(JSON.stringify({ text: skills.session({ id: 'chat' }).catalog, refused }))
      await skills.close()`)
    expect(result).toEqual({
      text: 'maps pdf',
      refused: expect.stringContaining(
        'catalog.format is "html"; use one of "names-only", "agentskills-tool-xml"',
      ),
    })
  })

  test('the command line and its configuration accept the added format, and both help and schema list this format', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    const flags = ['--root', 'skills', '--state', folder.at('state')]
    const options = { cwd: folder.path, env }
    expect(stokeProcess(['render', '--format', 'names-only', ...flags], options).stdout.trim()).toBe('pdf')
    expect(stokeProcess(['render', '--help'], options).stdout).toContain('names-only')
    expect(stokeProcess(['render', '--format', 'html', ...flags], options).stderr).toContain('names-only')
    folder.write('skillstoke.json', '{ "catalog": { "format": "names-only" } }')
    expect(stokeProcess(['render', ...flags], options).stdout.trim()).toBe('pdf')
    const schema = pathToFileURL(resolve('packages/cli/src/config/config-schema.ts')).href
    expect(
      run(`
        import { toJsonSchema } from ${JSON.stringify(schema)}
        console.log(JSON.stringify(toJsonSchema().properties.catalog.properties.format.enum))`),
    ).toEqual(['names-only', ...CATALOG_FORMAT_NAMES])
  })

  test('has a type', () => {
    expectTypeOf<CatalogFormatName>().toEqualTypeOf<keyof typeof CATALOG_FORMATS>()
    expect(CATALOG_FORMAT_NAMES).toEqual(Object.keys(CATALOG_FORMATS))
  })
})

test('a subscription with an unknown phase is refused, because its subscriber would never be called', async () => {
  await using skills = await createSkillRuntime({ sources: [] })
  expect(() => skills.subscribe(() => undefined, { phase: 'tool' as 'tools' })).toThrow(
    `phase is "tool"; use one of ${PHASES.map(phase => JSON.stringify(phase)).join(', ')}`,
  )
})

test('every listed form of a capability is accepted and appears in the help', () => {
  const forms = CAPABILITY_FORMS.split(', ')
  for (const form of forms) expect(findCapabilityForm(form)).toBe(form)
  for (const word of ['network', 'env', 'env:', 'env:1A', 'fs.read:', 'fs.delete', 'exec:ls', ' net'])
    expect([word, findCapabilityForm(word)]).toEqual([word, undefined])
  expect(stoke(['grant', '--help']).stdout.replace(/\s+/g, ' ')).toContain(CAPABILITY_FORMS)
})

test('TOOL_NAMES lists exactly the tools that models get', async () => {
  const fileSystem = new MemoryFileSystem()
  const source = new FileSource({
    fileSystem,
    writable: fileSystem,
    root: '/skills',
    label: 's',
    watching: 'off',
  })
  await using skills = await createSkillRuntime({ sources: [source], scripts: childProcesses() })
  const names = [
    ...skills.session({ id: 's' }).tools,
    ...createAuthorTools(skills.writer()),
    ...skills.adminTools(),
  ].map(({ name }) => name)
  expect(names.sort()).toEqual(Object.values(TOOL_NAMES).sort())
})

test('every kind of decision has a verb, except `write`, which agents record, and the kinds that --frozen records', () => {
  type Others = 'write' | 'freeze' | 'thaw'
  expectTypeOf<DecisionVerb | GrantVerb | Others>().toEqualTypeOf<SkillDecision['kind']>()
  expect([...DECISION_VERBS, ...GRANT_VERBS, 'write', 'freeze', 'thaw'].sort()).toEqual(
    Object.keys(IS_ABOUT_CODE).sort(),
  )
})

test('the default session limit is the same in the command line and in the MCP server', () => {
  expect(DEFAULT_MAX_SESSIONS).toBe(DEFAULT_MCP_OPTIONS.maxSessions)
})

test.each<[verb: string, option: string, text: string]>([
  ['dev', '--port', `(default: ${DEFAULT_PORT},`],
  ['dev', '--max-sessions', `(default: ${DEFAULT_MAX_SESSIONS})`],
  ['render', '--max-tokens', `(default: ${DEFAULT_CATALOG.maxTokens})`],
  ['gc', '--keep', `(default: ${DEFAULT_HISTORY_LENGTH})`],
  [
    'run',
    '--timeout',
    `at most ${CALL_TIMEOUT_MS.longest / 1_000} (default: ${CALL_TIMEOUT_MS.default / 1_000})`,
  ],
  ...SANDBOX_MODES.map((mode): [string, string, string] => ['run', '--sandbox', `${mode}: `]),
  [
    'run',
    '--sandbox',
    `${DEFAULT_SCRIPT_RUNNER_OPTIONS.sandbox}: run scripts in bubblewrap if it works (default)`,
  ],
])('the help of %s shows for %s: %s', (verb, option, text) => {
  const help = stoke([verb, '--help']).stdout.replace(/\s+/g, ' ')
  expect(help.slice(help.indexOf(` ${option} `))).toContain(text)
})

test('stoke --help lists every environment variable and exit code that docs/cli.md lists', () => {
  const page = readFileSync('docs/cli.md', 'utf8')
  const help = stoke(['--help']).stdout
  const variables = new Set(page.match(/\bSKILLSTOKE_[A-Z_]+/g))
  expect(variables.size).toBeGreaterThan(10)
  expect([...variables].filter(name => !help.includes(name))).toEqual([])
  const codes = [...page.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => code)
  expect(codes).toEqual(['0', '1', '2', '130'])
  expect(help.slice(help.indexOf('Exit codes:')).match(/\d+/g)).toEqual(codes)
})

test.each<[string, readonly string[]]>([
  ['`onDuplicate` of', DUPLICATE_POLICIES],
  ['`onInvalid`', [...INVALID_POLICIES, 'throw']],
  ['`tuning.modifiedOn`', FACETS],
  ['`catalog.format`', CATALOG_FORMAT_NAMES],
  ['`onMissing`', MISSING_ROOT_POLICIES],
  ['`reading.names`', READING_CHOICES.names],
  ['`reading.matchDirectory`', READING_CHOICES.matchDirectory],
  ['`reading.description`', READING_CHOICES.description],
  ['`symlinks`', SYMLINK_POLICIES],
  ['`watching`', WATCHING_MODES],
  ['`delivery`', DELIVERY_MODES],
  ['`applyAt`', APPLY_AT],
  ['`allowedTools`', ALLOWED_TOOLS_POLICIES],
  ['`unbind`', UNBIND_MODES],
])('docs/policies.md lists the values of %s', (option, values) => {
  const page = readFileSync('docs/policies.md', 'utf8')
  const row = page.split('\n').find(line => line.startsWith('| ') && line.split(' | ')[1]?.startsWith(option))
  const listed = [...(row?.split(' | ')[2]?.matchAll(/`([a-z-]+)`/g) ?? [])].map(([, value]) => value)
  expect(new Set(listed)).toEqual(new Set(values))
})

test('docs/reference-agent.md lists every event of a turn, with its fields', () => {
  const source = readFileSync('packages/agent/src/agent-event.ts', 'utf8')
  const [, union = ''] = /type AgentEvent =\n(.*?)\n\n/s.exec(source) ?? []
  const page = readFileSync('docs/reference-agent.md', 'utf8')
  const events = union.split("kind: '").slice(1)
  expect(events.length).toBeGreaterThan(9)
  for (const event of events) {
    const [kind = '', ...fields] =
      event.replaceAll(/\/\*\*.*?\*\//gs, '').match(/^[a-z-]+|(?<=readonly )\w+(?=:)/g) ?? []
    const row = page.split('\n').find(line => line.split(' | ')[0]?.includes(`\`${kind}\``))
    expect([kind, fields.filter(field => row?.includes(`\`${field}\``) !== true)]).toEqual([kind, []])
    expect(row).toContain(' | ')
  }
})

test('docs/policies.md and ARCHITECTURE.md state the default settle windows', () => {
  const { settleMs, burstMs, maxWaitMs, maxBusyMs } = DEFAULT_SETTLE
  const defaults = `{ settleMs: ${settleMs}, burstMs: ${burstMs}, maxWaitMs: ${maxWaitMs}, maxBusyMs: ${maxBusyMs} }`
  expect(readFileSync('docs/policies.md', 'utf8')).toContain(`\`${defaults}\``)
  expect(readFileSync('ARCHITECTURE.md', 'utf8')).toContain(
    `waits for quiet: ${settleMs} ms after a lone change, ${burstMs} ms in a burst, while git holds its lock, and never more than ${maxWaitMs / 1000} s (${maxBusyMs / 1000} s for git)`,
  )
})
