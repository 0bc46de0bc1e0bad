import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import {
  MemoryConversationStore,
  openConversationStore,
  resolveModel,
  SkillAgent,
  type SqlConversationStore,
} from '@skillstoke/agent'
import { checkSet, checkSkill, findCollisions, readSkillTests } from '@skillstoke/author'
import { runAnswerTrials, runTriggerTrials } from '@skillstoke/author/trials'
import {
  collectSkills,
  EventBus,
  SkillRegistry as ExoRegistry,
  fromWatcher,
  GitHubPollingWatcher,
  LocalFileWatcher,
  parseScriptContent,
  ScriptSkill,
  SkillHandler,
  SkillManager,
  SkillSyncManager,
  SkillToolset,
  scanPaths,
  toWatcher,
} from '@skillstoke/compat'
import {
  createAuthorTools,
  createScopeTest,
  createSkillRuntime,
  MemorySource,
  parseSkill,
  renderCatalog,
  type SkillRuntime,
  type SkillSession,
  type SkillWriter,
  validateSkill,
} from '@skillstoke/core'
import {
  collectGarbage,
  directory,
  openDecisions,
  openRevisionLog,
  openState,
  openWriteLock,
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
import {
  examineFleet,
  FleetConnection,
  FleetReporter,
  FleetStatus,
  fleetSource,
  LivePublisher,
  prepareFleet,
  SkillPublisher,
} from '@skillstoke/fleet'
import { createSkillsServer, SkillMcp } from '@skillstoke/mcp'
import { mcpServer } from '@skillstoke/mcp/source'
import { childProcesses } from '@skillstoke/scripts'
import {
  archive,
  checkUrl,
  createGuardedFetch,
  git,
  npmPackages,
  sftpFileSystem,
  wellKnown,
} from '@skillstoke/sources'
import { ApiClient } from 'skillstoke/client'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** Options that a program without types could pass. */
type Loose = never

/** The test calls the methods of these objects with a misspelt option. */
interface World {
  readonly skills: SkillRuntime
  readonly session: SkillSession
  readonly writer: SkillWriter
  readonly talk: ReturnType<SkillAgent['conversation']>
  readonly mcp: SkillMcp
  readonly handler: SkillHandler
  readonly store: SqlConversationStore
  readonly folder: string
}

const files = new MemoryFileSystem({
  '/skills/pdf/SKILL.md': '---\nname: pdf\ndescription: Does it.\n---\nBody.\n',
})
const simple = { list: async () => [], stat: async () => undefined, read: async () => undefined } as never
const place = { fileSystem: files, root: '/skills', label: 'skills' }
const remote = { label: 'r', origin: 'r' }
const agent = { addTool: () => undefined, removeTool: () => undefined }
const watcher = { watch: () => undefined, stop: () => undefined } as never
const client = new ApiClient({ url: 'http://127.0.0.1:9' })
const folderPlace = { origin: 'skills', location: 'pdf' }
const GITHUB = 'https://github.com/acme/skills'
const file = { skill: 'pdf', path: 'a.md', content: '' }
const access = { privateHosts: [] }
const digest = 'sha256:00' as never

/**
 * Calls every function, class and method that accepts options. The keys are the names under which the functions,
 * classes and methods are declared.
 */
const NO_TESTS = readSkillTests('pdf', [])

const CALLS: Readonly<Record<string, (options: Loose, world: World) => unknown>> = {
  // The core
  createSkillRuntime: options => createSkillRuntime({ sources: [], ...(options as object) }),
  'createSkillRuntime state': state => createSkillRuntime({ sources: [], state }),
  'createSkillRuntime review': review => createSkillRuntime({ sources: [], review }),
  'createSkillRuntime tuning': tuning => createSkillRuntime({ sources: [], tuning }),
  'createSkillRuntime triggers': triggers => createSkillRuntime({ sources: [], tuning: { triggers } }),
  'createSkillRuntime preScan': options =>
    createSkillRuntime({ sources: [], preScan: { hook: () => undefined, ...(options as object) } }),
  'SkillRuntime.subscribe': (options, { skills }) => skills.subscribe(() => undefined, options),
  'SkillRuntime.session': (options, { skills }) => skills.session({ id: 's', ...(options as object) }),
  'SkillRuntime.session scope': (scope, { skills }) => skills.session({ id: 's', scope }),
  'SkillRuntime.tools': (options, { skills }) => skills.tools(options),
  'SkillRuntime.adminTools': (options, { skills }) => skills.adminTools(options),
  'SkillRuntime.commandTools': (options, { skills }) => skills.commandTools(options),
  'SkillRuntime.describeUnknownTool': (options, { skills }) => skills.describeUnknownTool('x', [], options),
  'SkillRuntime.lookup': (options, { skills }) => skills.lookup('pdf', options),
  'SkillRuntime.expandSlash': (options, { skills }) => skills.expandSlash('/pdf', options),
  'SkillRuntime.bind': (options, { skills }) => skills.bind(agent, options),
  'SkillRuntime.writer': (options, { skills }) => skills.writer(options),
  'SkillReader.fresh': (options, { skills }) => skills.fresh(options),
  'SkillReader.search': (options, { skills }) => skills.search('x', options),
  'SkillReader.forConversation': (options, { skills }) => skills.forConversation(options),
  'SkillSession.offer': (options, { session }) => session.offer(options),
  'SkillSession.update': (options, { session }) => session.update(options),
  'SkillSession.expandSlash': (options, { session }) => session.expandSlash('/pdf', options),
  'SkillSession.rebase': (options, { session }) => session.rebase(options),
  'SkillSession.child': (options, { session }) => session.child({ id: 'c', ...(options as object) }),
  'SkillScripts.execute': (options, { skills }) => skills.scripts.execute('pdf.x', {}, options),
  'SkillScripts.run': (options, { skills }) => skills.scripts.run('pdf', 'x.sh', [], options),
  'SkillWriter.write': (options, { writer }) => writer.write({ ...file, ...(options as object) }),
  'SkillWriter.write agent': (author, { writer }) => writer.write({ ...file, agent: author }),
  'SkillReview.approve': (options, { skills }) => skills.review.approve('pdf', options),
  'SkillReview.approveAll': (options, { skills }) => skills.review.approveAll(options),
  'SkillReview.reject': (options, { skills }) => skills.review.reject('pdf', options),
  'SkillReview.withdraw': (options, { skills }) => skills.review.withdraw('pdf', options),
  'SkillReview.pin': (options, { skills }) => skills.review.pin('pdf', options),
  'SkillReview.pinAt': (options, { skills }) => skills.review.pinAt(folderPlace, digest, options),
  'SkillReview.unpin': (options, { skills }) => skills.review.unpin('pdf', options),
  'SkillReview.disable': (options, { skills }) => skills.review.disable('pdf', options),
  'SkillReview.enable': (options, { skills }) => skills.review.enable('pdf', options),
  'SkillReview.grant': (options, { skills }) => skills.review.grant('pdf', [], options),
  'SkillReview.revoke': (options, { skills }) => skills.review.revoke('pdf', [], options),
  'SkillHistory.rollback': (options, { skills }) => skills.history.rollback('pdf', options),
  createAuthorTools: (options, { writer }) => createAuthorTools(writer, options),
  'createAuthorTools author': (author, { writer }) => createAuthorTools(writer, { author }),
  createScopeTest: scope => createScopeTest(scope),
  'createScopeTest outer': outer => createScopeTest({ outer }),
  renderCatalog: options => renderCatalog([], options),
  adaptFileSystem: options => adaptFileSystem(simple, options),
  MemoryRevisionLog: options => new MemoryRevisionLog(options),
  MemorySkillStore: options => new MemorySkillStore(options),
  parseSkill: options => parseSkill(new Uint8Array(), options),
  validateSkill: options => validateSkill(new Uint8Array(), options),
  FileSource: options => new FileSource({ ...place, ...(options as object) }),
  'FileSource layout': layout => new FileSource({ ...place, layout }),
  'FileSource reading': reading => new FileSource({ ...place, reading }),
  'FileSource limits': limits => new FileSource({ ...place, limits }),
  'FileSource settle': settle => new FileSource({ ...place, settle }),
  'FileSource.findNotSkills': query => new FileSource(place).findNotSkills(query),
  fromAllowedPaths: options => fromAllowedPaths(files, [], options),
  MemorySource: options => new MemorySource({ label: 'm', ...(options as object) }),
  'MemorySource reading': reading => new MemorySource({ label: 'm', reading }),
  RemoteSource: options => new RemoteSource({} as never, { ...remote, ...(options as object) }),
  'RemoteSource limits': limits => new RemoteSource({} as never, { ...remote, limits }),
  'RemoteSource.findNotSkills': query => new RemoteSource({} as never, remote).findNotSkills(query),
  // Node
  directory: options => directory('skills', options),
  'directory reading': reading => directory('skills', { reading }),
  git: options => git('acme/skills', options),
  archive: options => archive('x.zip', options),
  'archive limits': archiveLimits => archive('x.zip', { archiveLimits }),
  wellKnown: options => wellKnown('https://example.com', options),
  npmPackages: options => npmPackages('.', options),
  createGuardedFetch: options => createGuardedFetch({ ...access, ...(options as object) }),
  checkUrl: options => checkUrl(new URL('https://example.com'), { ...access, ...(options as object) }),
  sftpFileSystem: options => sftpFileSystem({} as never, options),
  collectGarbage: options => collectGarbage('nowhere', options),
  openState: options => openState('', options),
  'openState decisions': (decisions, { folder }) => openState(folder, { decisions }),
  'openState history': (history, { folder }) => openState(folder, { history }),
  'openState writeLock': (writeLock, { folder }) => openState(folder, { writeLock }),
  openDecisions: options => openDecisions('', options),
  openRevisionLog: options => openRevisionLog('', options),
  openWriteLock: options => openWriteLock('', options),
  // exports for the five designs
  EventBus: options => new EventBus(options),
  fromWatcher: options => fromWatcher(watcher, { label: 'x', ...(options as object) }),
  toWatcher: options => toWatcher(new MemorySource({ label: 'm' }), options),
  'toWatcher settle': settle => toWatcher(new MemorySource({ label: 'm' }), { settle }),
  LocalFileWatcher: options => new LocalFileWatcher('skills', options),
  GitHubPollingWatcher: options => new GitHubPollingWatcher(GITHUB, options),
  checkSet: options => checkSet([], options),
  checkSkill: async options => await checkSkill({ path: 'SKILL.md', bytes: new Uint8Array() }, options),
  runTriggerTrials: async (options, { skills }) =>
    await runTriggerTrials(
      NO_TESTS,
      { agent: new SkillAgent({ skills, model: 'none' }), model: 'none' },
      options,
    ),
  runAnswerTrials: async options => await runAnswerTrials(NO_TESTS, options),
  findCollisions: options => findCollisions([], options),
  SkillRegistry: options => new ExoRegistry(options),
  'SkillRegistry.registerSource': options => new ExoRegistry().registerSource(GITHUB, options),
  'SkillRegistry.search': options => new ExoRegistry().search(options),
  collectSkills: options => collectSkills(GITHUB, options),
  SkillSyncManager: options => new SkillSyncManager(new ExoRegistry(), {}, options),
  'SkillHandler.load': options => SkillHandler.load([], options),
  'SkillHandler.skills': (scope, { handler }) => handler.skills(scope),
  'SkillHandler.call': (scope, { handler }) => handler.call({ name: 'pdf' }, scope),
  'SkillHandler.resolveSlash': (scope, { handler }) => handler.resolveSlash('/pdf', scope),
  'SkillHandler.renderResources': (scope, { handler }) => handler.renderResources(scope),
  'SkillManager.open': options => SkillManager.open('skills', options),
  'ScriptSkill.execute': (options, { skills }) => new ScriptSkill('pdf', skills, 0).execute('x', {}, options),
  SkillToolset: options => new SkillToolset('skills', options),
  scanPaths: options => scanPaths([], 'pdf', options),
  parseScriptContent: options => parseScriptContent('a.js', '', 'pdf', options),
  // The other packages
  childProcesses: options => childProcesses(options),
  'childProcesses limits': limits => childProcesses({ limits }),
  SkillAgent: (options, { skills }) => new SkillAgent({ skills, model: 'none', ...(options as object) }),
  'Conversation.send': (options, { talk }) => talk.send('Hello.', options),
  'Conversation.stream': (options, { talk }) => talk.stream('Hello.', options).next(),
  resolveModel: config => resolveModel(config),
  'Conversation.compact': (options, { talk }) => talk.compact(options),
  'SkillAgent.close': async (options, { skills }) =>
    await new SkillAgent({ skills, model: 'none' }).close(options),
  'MemoryConversationStore.append': options =>
    new MemoryConversationStore().append('local', 'c', 0, [], options),
  'SqlConversationStore.append': (options, { store }) => store.append('local', 'c', 0, [], options),
  'MemoryConversationStore.read': range => new MemoryConversationStore().read('local', 'c', range),
  'MemoryConversationStore.list': page => new MemoryConversationStore().list('local', page),
  'SqlConversationStore.list': (page, { store }) => store.list('local', page),
  'SqlConversationStore.read': (range, { store }) => store.read('local', 'c', range),
  SkillMcp: (options, { skills }) => new SkillMcp(skills, options),
  createSkillsServer: (options, { skills }) => createSkillsServer(skills, options),
  'SkillMcp.serveStdio': (options, { mcp }) => mcp.serveStdio(options),
  mcpServer: options => mcpServer('https://example.com/mcp', options),
  'mcpServer command': options => mcpServer({ command: 'x', ...(options as object) }),
  FleetConnection: options => new FleetConnection({ servers: 'nats://127.0.0.1:1', ...(options as object) }),
  'FleetConnection tls': tls => new FleetConnection({ servers: 'nats://127.0.0.1:1', tls }),
  fleetSource: options => fleetSource('nats://127.0.0.1:1', options),
  prepareFleet: options => prepareFleet(fleet, options),
  examineFleet: options => examineFleet(fleet, options),
  FleetStatus: options => new FleetStatus(fleet, options),
  FleetReporter: (options, { skills }) =>
    new FleetReporter(fleetSource(fleet), { runtime: skills, ...(options as object) }),
  SkillPublisher: options => new SkillPublisher(fleet, options),
  'SkillPublisher.publish': options => publisher.publish('./skills', options),
  'SkillPublisher.remove': options => publisher.remove('pdf', options),
  'SkillPublisher.rollback': options => publisher.rollback('pdf', options),
  'SkillPublisher.promote': options => publisher.promote({ from: 'a', to: 'b' }, options),
  'SkillPublisher.history': options => publisher.history('pdf', options),
  'SkillPublisher.collectGarbage': options => publisher.collectGarbage(options),
  LivePublisher: (options, { skills }) => new LivePublisher(publisher, skills, options),
  ApiClient: options => new ApiClient(options),
  'ApiClient.skill': options => client.skill('pdf', options),
  'ApiClient.why': options => client.why('pdf', options),
  'ApiClient.run': options => client.run({ skill: 'pdf', command: 'x' } as never, options).next(),
  'ApiClient.runTests': options => client.runTests('pdf', options).next(),
  'ApiClient.ask': options => client.ask({ question: 'Hello.' }, options).next(),
  'ApiClient.reload': options => client.reload(options),
  'ApiClient.events': options => client.events(options).next(),
}

const fleet = new FleetConnection({ servers: 'nats://127.0.0.1:1' })
const publisher = new SkillPublisher(fleet)
let world: World

beforeAll(async () => {
  const skills = await createSkillRuntime({
    sources: [new FileSource({ ...place, writable: files, trust: 'review' })],
    state: { history: new MemoryRevisionLog() },
  })
  const folder = mkdtempSync(join(tmpdir(), 'options-'))
  world = {
    skills,
    session: skills.session({ id: 'chat' }),
    writer: skills.writer(),
    talk: new SkillAgent({ skills, model: resolveModel() }).conversation('talk'),
    mcp: new SkillMcp(skills),
    handler: await SkillHandler.load([]),
    store: await openConversationStore(join(folder, 'conversations.sqlite')),
    folder,
  }
})

afterAll(async () => {
  await world.mcp.close()
  await world.handler.close()
  await world.store.close()
  await world.skills.close()
  rmSync(world.folder, { recursive: true })
})

/** Removes the second-to-last letter. */
function misspell(name: string): string {
  return name.slice(0, -2) + name.slice(-1)
}

async function messageOf(call: () => unknown): Promise<string> {
  const failure = await (async () => await call())().then(
    () => ({ code: 'no option was refused' }),
    (thrown: unknown) => thrown,
  )
  expect(failure).toMatchObject({ code: 'INVALID_OPTION', message: expect.any(String) })
  return (failure as Error).message
}

test.each(Object.entries(CALLS))(
  '%s refuses each misspelt option and suggests the nearest name',
  async (_name, call) => {
    const refuse = (name: string): Promise<string> =>
      messageOf(() => call({ [name]: undefined } as Loose, world))
    const [, path = '', list = ''] =
      /^unknown option "([\w.]*)qzqzqzqz"; .+ has ("\w+"(?:, "\w+")*)$/.exec(await refuse('qzqzqzqz')) ?? []
    const known = list.split(', ').map(each => each.slice(1, -1))
    expect(known.every(name => name.length > 1)).toBe(true)
    for (const name of known)
      expect(await refuse(misspell(name))).toBe(
        `unknown option "${path}${misspell(name)}"; did you mean "${path}${name}"?`,
      )
  },
)

test('a call with a misspelt option has no effect: it shows no skill text and writes nothing', async () => {
  const { skills, writer } = world
  const scoped = { scop: { include: ['maps'] } } as Loose
  await messageOf(() => skills.lookup('pdf', scoped))
  await messageOf(() => skills.expandSlash('/pdf', scoped))
  const before = await files.read('/skills/pdf/SKILL.md', { inside: ['/skills'], maxBytes: 1_000 })
  const content = '---\nname: pdf\ndescription: Other.\n---\n'
  for (const typo of [{ baseDigst: 'none' }, { agnet: { name: 'x' } }])
    await messageOf(() => writer.write({ ...file, path: 'SKILL.md', content, ...typo }))
  const after = await files.read('/skills/pdf/SKILL.md', { inside: ['/skills'], maxBytes: 1_000 })
  expect(after.bytes).toEqual(before.bytes)
})

const PACKAGES = ['core', 'sources', 'compat', 'scripts', 'agent', 'author', 'mcp', 'fleet', 'cli']
const ENTRIES: Readonly<Record<string, readonly string[]>> = {
  core: ['core/src/index', 'core/src/source-entry', 'core/src/node-entry'],
  cli: ['cli/src/client/index'],
}

/** Returns the text of the entry points of a package. */
function readEntries(name: string): string {
  const entries = ENTRIES[name] ?? [`${name}/src/index`]
  return entries.map(entry => readFileSync(resolve('packages', `${entry}.ts`), 'utf8')).join('\n')
}

/** Matches parameters that are options objects. */
const BAG =
  /(?:^|, )(?:options|query|range|view|config|scope|request|access|\{[^}]*\})\??: (?:\w+<)*(?:\{|[A-Z]\w*(?:Options|Note|Query|Range|View|Config|Scope|Access|WriteRequest)\b)/

interface Taker {
  readonly name: string
  /** The parameters as they are declared. */
  readonly parameters: string
}

/** Searches the built declarations of a package for the exported functions, classes and methods that accept options. */
function findTakers(name: string): Taker[] {
  const exported = new Set(readEntries(name).match(/\w+/g))
  const folder = join('packages', name, name === 'cli' ? 'dist/client' : 'dist')
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.d.ts') && !path.startsWith('testing'))
    .flatMap(path => {
      const text = readFileSync(join(folder, path), 'utf8')
        .replace(/\/\*.*?\*\//gs, '')
        .replace(/\s+/g, ' ')
      return text.split(/(?=export (?:declare|interface|type) )/).flatMap(declaration => {
        const [, kind, owner = ''] = /^export declare (class|function) (\w+)/.exec(declaration) ?? []
        if (kind === undefined || !exported.has(owner)) return []
        const members = declaration.matchAll(/(#?\w+)(?:<[^();]*>)?\(((?:[^()]|\([^()]*\))*)\)[:;]/g)
        return [...members].flatMap(([, member = '', parameters = '']) => {
          if (!BAG.test(parameters)) return []
          const isOwner = kind === 'function' || member === 'constructor'
          return { name: isOwner ? owner : `${owner}.${member}`, parameters }
        })
      })
    })
}

// The test skips these exports: methods that hosts also implement, classes that only our own functions construct, and
// errors. If the constructor of an error refused its options, the original failure would be hidden.
const EXEMPT_TAKERS = [
  ...['MemoryFileSystem.write', 'MemoryFileSystem.remove', 'MemoryFileSystem.move', 'MemoryFileSystem.read'],
  ...['NodeFileSystem.read', 'NodeFileSystem.write', 'NodeFileSystem.remove', 'NodeFileSystem.move'],
  ...[
    'SkillReader',
    'SkillSession',
    'SkillWriter',
    'SkillScripts',
    'SkillReview',
    'SkillHistory',
    'AgentBinding',
    'FleetSource',
  ],
  'SkillError',
]

test('every exported function, class and method that accepts options is called in this test', () => {
  const takers = [...new Set(PACKAGES.flatMap(findTakers).map(({ name }) => name))]
  expect(takers.length).toBeGreaterThan(70)
  expect(takers.filter(name => !Object.hasOwn(CALLS, name) && !EXEMPT_TAKERS.includes(name))).toEqual([])
  expect(EXEMPT_TAKERS.filter(name => !takers.includes(name))).toEqual([])
})

// Options of methods that hosts implement in file systems.
const EXEMPT = ['FileReadOptions', 'FileWriteOptions']

test('every interface of options is checked, except options of methods that hosts implement', () => {
  const texts = PACKAGES.flatMap(name => [
    readEntries(name),
    ...findTakers(name).flatMap(taker => (EXEMPT_TAKERS.includes(taker.name) ? [] : [taker.parameters])),
  ])
  const accepted = [...texts, 'LiveOptions, LiveChildOptions'].flatMap(
    text => text.match(/\b[A-Z]\w+Options\b/g) ?? [],
  )
  expect(new Set(accepted).size).toBeGreaterThan(40)
  const sources = readdirSync(resolve('packages'), { recursive: true, encoding: 'utf8' })
    .filter(path => /^\w+\/src\/.*\.ts$/.test(path) && !path.endsWith('.test.ts'))
    .map(path => readFileSync(join('packages', path), 'utf8'))
    .join('\n')
  const isChecked = (name: string): boolean => sources.includes(`KnownOptions<${name}>`)
  expect([...new Set(accepted.filter(name => !isChecked(name)))].sort()).toEqual(EXEMPT)
})
