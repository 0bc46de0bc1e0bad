import fs, { mkdirSync, renameSync, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import { directory, nodeHasher } from '@skillstoke/core/node'
import { type Figure, type MeasureOptions, percentiles } from '../figure.ts'
import { McpSessions } from '../mcp-sessions.ts'
import { nameOf, Tree } from '../tree.ts'

const CALLERS = 200
const SKILLS = 100
const EDIT_EVERY_MS = 50
const ROUND_MS = 4_000
const ROUNDS = 3
const MAX_PAUSE_MS = 100
const REFUSED_SKILLS = 1_000
const FRESH_CALLS = 300
/** How many added folders exist at the same time; for each further folder, the oldest added folder is removed. */
const ADDED = 5

/** Writes the next edit. */
type Edit = (count: number) => void
/** The work that each caller repeats. It gets the number of the caller and the name of the caller's skill. */
type Call = (caller: number, name: string) => Promise<unknown>
type Percentiles = ReturnType<typeof percentiles>

/** Measures how long callers wait while skills change or while folders cannot be watched. */
export async function* b14(_options: MeasureOptions): AsyncGenerator<Figure> {
  yield* underEdits()
  yield* unwatched()
}

async function* underEdits(): AsyncGenerator<Figure> {
  using tree = await Tree.make(SKILLS)
  using other = await Tree.make(SKILLS)
  using aside = await Tree.make(0)
  await using skills = await createSkillRuntime({
    sources: [directory(tree.path, { label: 'bench' }), directory(other.path, { label: 'other' })],
    tuning: { hasher: nodeHasher },
  })
  const edits: Readonly<Record<string, Edit>> = {
    'one skill': count => tree.save(0, `edit ${count}`),
    'five skills in turn': count => tree.save(count % 5, `edit ${count}`),
    'five skills of two sources': count => (count % 2 === 0 ? tree : other).save(count % 5, `edit ${count}`),
    'two skills saved together': count => {
      for (const index of [0, 1]) tree.save(index, `edit ${count}`)
    },
    'one added and an older one removed': count => addAndRemove(tree, count),
    'a folder replaced by a rename': count => replace(tree, aside, count),
  }
  const figure = (what: string, own: Percentiles, peers: Figure['peers']): Figure => ({
    id: 'B14',
    what,
    n: CALLERS,
    value: own,
    unit: 'ms',
    target: 'p99 at most 3 times that without edits',
    peers,
  })
  const inProcess = await measure(edits, (_, name) => lookAndLoad(skills, name))
  const { 'one skill': one, ...others } = inProcess
  yield figure('fresh() and load(), an edit of one skill every 50 ms', one as Percentiles, others)
  await using server = await McpSessions.open(skills)
  const sessions = await Promise.all(Array.from({ length: CALLERS }, () => server.begin()))
  const call: Call = async (caller, name) => await sessions[caller]?.load(name)
  const overHttp = await measure({ 'one skill': edits['one skill'] as Edit }, call)
  const { 'one skill': mcp, ...rest } = overHttp
  yield figure('the tool `skill` over MCP, one session a caller, the same edits', mcp as Percentiles, rest)
}

function addAndRemove(tree: Tree, count: number): void {
  mkdirSync(join(tree.path, nameOf(SKILLS + count)), { recursive: true })
  tree.save(SKILLS + count, `edit ${count}`)
  if (count < ADDED) return
  rmSync(join(tree.path, nameOf(SKILLS + count - ADDED)), { recursive: true, force: true })
}

/** Creates a folder outside the source, and renames it over an existing skill folder. */
function replace(tree: Tree, aside: Tree, count: number): void {
  const shown = join(tree.path, nameOf(0))
  const next = join(aside.path, nameOf(0))
  mkdirSync(next)
  aside.save(0, `edit ${count}`)
  renameSync(shown, `${next}-old`)
  renameSync(next, shown)
  rmSync(`${next}-old`, { recursive: true })
}

async function lookAndLoad(skills: SkillRuntime, name: string): Promise<void> {
  await skills.fresh()
  await skills.load(name)
}

/** Measures calls without edits and with each kind of edit. The measurements alternate, so that other load on the machine affects all of them. */
async function measure(
  edits: Readonly<Record<string, Edit>>,
  call: Call,
): Promise<Record<string, Percentiles>> {
  const kinds: Record<string, Edit | undefined> = { 'without edits': undefined, ...edits }
  const samples = Object.fromEntries(Object.keys(kinds).map(kind => [kind, [] as number[]]))
  await round(undefined, call)
  for (let i = 0; i < ROUNDS; i++) {
    for (const [kind, edit] of Object.entries(kinds)) samples[kind]?.push(...(await round(edit, call)))
  }
  return Object.fromEntries(Object.entries(samples).map(([kind, took]) => [kind, percentiles(took)]))
}

async function round(edit: Edit | undefined, call: Call): Promise<number[]> {
  const took: number[] = []
  const end = performance.now() + ROUND_MS
  let count = 0
  const timer = setInterval(() => edit?.(count++), EDIT_EVERY_MS)
  const caller = async (index: number): Promise<void> => {
    while (performance.now() < end) {
      await delay(Math.random() * MAX_PAUSE_MS)
      const start = performance.now()
      await call(index, nameOf(index % SKILLS))
      took.push(performance.now() - start)
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, (_, index) => caller(index)))
  clearInterval(timer)
  return took
}

/** Makes `fs.watch` fail for some folders, as if the kernel's limit for watches was reached. */
function refuseWatches(isRefused: (path: string) => boolean): Disposable {
  const { watch } = fs
  const refusing = (path: string, ...rest: never[]): fs.FSWatcher => {
    if (isRefused(path)) throw Object.assign(new Error(`ENOSPC: watch ${path}`), { code: 'ENOSPC' })
    return watch(path, ...rest)
  }
  const install = (value: unknown): void => {
    Object.assign(fs, { watch: value })
    syncBuiltinESMExports()
  }
  install(refusing)
  return { [Symbol.dispose]: () => install(watch) }
}

async function* unwatched(): AsyncGenerator<Figure> {
  using tree = await Tree.make(REFUSED_SKILLS)
  const took = async (isRefused: (path: string) => boolean): Promise<Percentiles> => {
    using _ = refuseWatches(isRefused)
    await using skills = await createSkillRuntime({
      sources: [directory(tree.path, { label: 'bench' })],
      tuning: { hasher: nodeHasher },
    })
    await skills.fresh()
    const samples: number[] = []
    for (let i = 0; i < FRESH_CALLS; i++) {
      const start = performance.now()
      await skills.fresh()
      samples.push(performance.now() - start)
    }
    return percentiles(samples)
  }
  yield {
    id: 'B14',
    what: 'fresh(), nothing changed, one folder cannot be watched',
    n: REFUSED_SKILLS,
    value: await took(path => path.endsWith(nameOf(7))),
    unit: 'ms',
    target: '2 more than with all watches',
    peers: {
      'all watches': await took(() => false),
      'the root cannot be watched': await took(path => path === tree.path),
      '10 of them': await took(path => /skill-\d+00$/.test(path)),
      'every second skill': await took(path => /skill-\d+[02468]$/.test(path)),
    },
  }
}
