import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { SkillAgent } from '@skillstoke/agent'
import {
  EventBus,
  SkillRegistry as ExoRegistry,
  fromWatcher,
  GitHubPollingWatcher,
  LocalFileWatcher,
  parseScriptContent,
  SkillHandler,
  SkillManager,
  SkillSyncManager,
  SkillToolset,
  scanPaths,
  toWatcher,
} from '@skillstoke/compat'
import {
  createAuthorTools,
  createSkillRuntime,
  MemorySource,
  parseSkill,
  renderCatalog,
  type SkillRuntime,
} from '@skillstoke/core'
import {
  archive,
  collectGarbage,
  createGuardedFetch,
  directory,
  git,
  npmPackages,
  openDecisions,
  openRevisionLog,
  openState,
  openWriteLock,
  sftpFileSystem,
  wellKnown,
} from '@skillstoke/core/node'
import {
  adaptFileSystem,
  FileSource,
  fromAllowedPaths,
  MemoryFileSystem,
  MemoryRevisionLog,
  MemorySkillStore,
  RemoteSource,
} from '@skillstoke/core/source'
import { mcpServer, SkillMcp } from '@skillstoke/mcp'
import { childProcesses } from '@skillstoke/scripts'
import { ApiClient } from 'skillstoke/client'
import { expect, test } from 'vitest'
import { InProcessEventBus } from '../packages/core/src/events/event-bus.ts'
import { createReviewAdmission } from '../packages/core/src/history/review-admission.ts'
import { SkillRegistry } from '../packages/core/src/registry/skill-registry.ts'

/** Options as a program without types gives them. */
type Loose = never

const TYPO = { lable: 'x' } as Loose
const files = new MemoryFileSystem()
const simple = { list: async () => [], stat: async () => undefined, read: async () => undefined } as never
const place = { fileSystem: files, root: '/skills', label: 'skills' }
const remote = { label: 'r', origin: 'r' }
const agent = { addTool: () => undefined, removeTool: () => undefined }
const watcher = { watch: () => undefined, stop: () => undefined } as never

const nested = (name: string): Loose => ({ [name]: TYPO }) as Loose

const CALLS: Readonly<Record<string, (skills: SkillRuntime) => unknown>> = {
  // The core.
  createSkillRuntime: () => createSkillRuntime({ sources: [], ...(TYPO as object) }),
  session: skills => skills.session({ id: 's', ...(TYPO as object) }),
  tools: skills => skills.tools(TYPO),
  fresh: skills => skills.fresh(TYPO),
  'search of a reader': skills => skills.search('x', TYPO),
  forConversation: skills => skills.forConversation(TYPO),
  adminTools: skills => skills.adminTools(TYPO),
  commandTools: skills => skills.commandTools(TYPO),
  bind: skills => skills.bind(agent, TYPO),
  writer: skills => skills.writer(TYPO),
  approve: skills => skills.review.approve('pdf', TYPO),
  rollback: skills => skills.history.rollback('pdf', TYPO),
  createAuthorTools: skills => createAuthorTools(skills.writer(), TYPO),
  renderCatalog: () => renderCatalog([], TYPO),
  InProcessEventBus: () => new InProcessEventBus(TYPO),
  adaptFileSystem: () => adaptFileSystem(simple, TYPO),
  createReviewAdmission: () => createReviewAdmission(TYPO),
  MemoryRevisionLog: () => new MemoryRevisionLog(TYPO),
  MemorySkillStore: () => new MemorySkillStore(TYPO),
  SkillRegistry: () => new SkillRegistry({ store: new MemorySkillStore(), ...(TYPO as object) }),
  parseSkill: () => parseSkill(new Uint8Array(), TYPO),
  FileSource: () => new FileSource({ ...place, ...(TYPO as object) }),
  'FileSource layout': () => new FileSource({ ...place, ...(nested('layout') as object) }),
  'FileSource reading': () => new FileSource({ ...place, ...(nested('reading') as object) }),
  'FileSource limits': () => new FileSource({ ...place, ...(nested('limits') as object) }),
  fromAllowedPaths: () => fromAllowedPaths(files, [], TYPO),
  MemorySource: () => new MemorySource({ label: 'm', ...(TYPO as object) }),
  'MemorySource reading': () => new MemorySource({ label: 'm', ...(nested('reading') as object) }),
  RemoteSource: () => new RemoteSource({} as never, { ...remote, ...(TYPO as object) }),
  'RemoteSource limits': () => new RemoteSource({} as never, { ...remote, ...(nested('limits') as object) }),
  // Node.
  directory: () => directory('skills', TYPO),
  'directory reading': () => directory('skills', nested('reading')),
  git: () => git('acme/skills', TYPO),
  archive: () => archive('x.zip', TYPO),
  'archive limits': () => archive('x.zip', nested('archiveLimits')),
  wellKnown: () => wellKnown('https://example.com', TYPO),
  npmPackages: () => npmPackages('.', TYPO),
  childProcesses: () => childProcesses(TYPO),
  'childProcesses limits': () => childProcesses(nested('limits')),
  createGuardedFetch: () => createGuardedFetch({ privateHosts: [], ...(TYPO as object) }),
  sftpFileSystem: () => sftpFileSystem({} as never, TYPO),
  collectGarbage: () => collectGarbage('nowhere', TYPO),
  openState: () => openState('', TYPO),
  openDecisions: () => openDecisions('', TYPO),
  openRevisionLog: () => openRevisionLog('', TYPO),
  openWriteLock: () => openWriteLock('', TYPO),
  // The names of the five designs.
  EventBus: () => new EventBus(TYPO),
  fromWatcher: () => fromWatcher(watcher, { label: 'x', ...(TYPO as object) }),
  toWatcher: () => toWatcher(new MemorySource({ label: 'm' }), TYPO),
  'toWatcher settle': () => toWatcher(new MemorySource({ label: 'm' }), nested('settle')),
  LocalFileWatcher: () => new LocalFileWatcher('skills', TYPO),
  GitHubPollingWatcher: () => new GitHubPollingWatcher('https://github.com/acme/skills', TYPO),
  registerSource: () => new ExoRegistry().registerSource('https://github.com/acme/skills', TYPO),
  'compat SkillRegistry': () => new ExoRegistry(TYPO),
  search: () => new ExoRegistry().search(TYPO),
  SkillSyncManager: () => new SkillSyncManager(new ExoRegistry(), {}, TYPO),
  SkillHandler: () => SkillHandler.load([], TYPO),
  SkillManager: () => SkillManager.open('skills', TYPO),
  SkillToolset: () => new SkillToolset('skills', TYPO),
  scanPaths: () => scanPaths([], 'pdf', TYPO),
  parseScriptContent: () => parseScriptContent('a.js', '', 'pdf', TYPO),
  // The other packages.
  SkillAgent: skills => new SkillAgent({ skills, model: 'none', ...(TYPO as object) }),
  SkillMcp: skills => new SkillMcp(skills, TYPO),
  mcpServer: () => mcpServer('https://example.com/mcp', TYPO),
  'mcpServer command': () => mcpServer({ command: 'x', ...(TYPO as object) }),
  ApiClient: () => new ApiClient(TYPO),
  events: () => new ApiClient({ url: 'http://127.0.0.1:9' }).events(TYPO).next(),
}

test.each(Object.entries(CALLS))('%s refuses an option that it does not have', async (_name, call) => {
  files.write('/skills/pdf/SKILL.md', '---\nname: pdf\ndescription: Does it.\n---\nBody.\n')
  await using skills = await createSkillRuntime({
    sources: [new FileSource({ ...place, writable: files, trust: 'review' })],
    state: { history: new MemoryRevisionLog() },
  })
  await expect((async () => await call(skills))()).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringMatching(/^unknown option "(\w+\.)?lable"; /),
  })
})

// What is handed to a method that is called all the time, or to functions that a host writes itself.
const EXEMPT = [
  // The type that lists the others.
  'KnownOptions',
  'ProgramLoadOptions',
  'FileReadOptions',
  'OfferOptions',
  'RebaseOptions',
  'ScriptRunOptions',
  'ServeStdioOptions',
  'SkillErrorOptions',
  'SlashOptions',
  'TurnOptions',
  'FileWriteOptions',
  // Extends another interface by one option that is added where it is checked.
  'GitHubPollingWatcherOptions',
]

test('every options interface that can be imported is checked, or has a reason not to be', () => {
  const entries = [
    ...['core/src/index', 'core/src/source-entry', 'core/src/types-entry', 'core/src/node/index'],
    ...['compat/src/index', 'scripts/src/index', 'agent/src/index', 'mcp/src/index', 'cli/src/client/index'],
  ]
  const exported = entries.flatMap(entry =>
    [...readFileSync(resolve('packages', `${entry}.ts`), 'utf8').matchAll(/\b(\w+Options)\b/g)].map(
      ([, name]) => name ?? '',
    ),
  )
  expect(exported.length).toBeGreaterThan(40)
  const sources = readdirSync(resolve('packages'), { recursive: true, encoding: 'utf8' })
    .filter(path => /^\w+\/src\/.*\.ts$/.test(path) && !path.endsWith('.test.ts'))
    .map(path => readFileSync(join('packages', path), 'utf8'))
    .join('\n')
  const isChecked = (name: string): boolean => sources.includes(`KnownOptions<${name}>`)
  expect(exported.filter(name => !isChecked(name) && !EXEMPT.includes(name))).toEqual([])
})
