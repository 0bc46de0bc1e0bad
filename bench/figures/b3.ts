import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createSkillRuntime } from '@skillstoke/core'
import { directory, nodeHasher, openPackStore } from '@skillstoke/core/node'
import { watch } from 'chokidar'
import { load } from 'js-yaml'
import { type Figure, type MeasureOptions, percentiles, round } from '../figure.ts'
import { Tree } from '../tree.ts'

const RUNS = 5

/** Cold start of a process, warm cache: discovered, read, parsed, hashed, captured, watched, first generation. */
export async function* b3(_options: MeasureOptions): AsyncGenerator<Figure> {
  using tree = await Tree.make(10_000)
  const memory: number[] = []
  const disk: number[] = []
  const lags: number[] = []
  for (let i = 0; i < RUNS; i++) {
    memory.push((await start(tree, undefined)).ms)
    const state = `${tree.path}-state-${i}`
    const run = await start(tree, state)
    rmSync(state, { recursive: true })
    disk.push(run.ms)
    lags.push(run.longestBlockMs)
  }
  const peers = {
    'readFile, YAML and hash of SKILL.md only, not watched': round(await naive(tree)),
    'chokidar 6, watching only': round(await chokidar(tree)),
  }
  const target = '<= 1500 with every file hashed, captured and watched'
  yield {
    id: 'B3',
    what: 'cold start, captured in memory',
    n: tree.size,
    value: percentiles(memory),
    unit: 'ms',
    target,
    peers,
  }
  yield {
    id: 'B3',
    what: 'cold start, captured on disk',
    n: tree.size,
    value: percentiles(disk),
    unit: 'ms',
    target,
    peers,
  }
  yield {
    id: 'B3',
    what: 'longest block of the event loop',
    n: tree.size,
    value: percentiles(lags),
    unit: 'ms',
    target: '<= 20',
    peers: {},
  }
}

async function start(tree: Tree, state: string | undefined): Promise<{ ms: number; longestBlockMs: number }> {
  const store = state === undefined ? undefined : await openPackStore(state)
  let last = performance.now()
  let longestBlockMs = 0
  let isRunning = true
  const tick = (): void => {
    const now = performance.now()
    longestBlockMs = Math.max(longestBlockMs, now - last)
    last = now
    if (isRunning) setImmediate(tick)
  }
  setImmediate(tick)
  const begin = performance.now()
  const skills = await createSkillRuntime({
    sources: [directory(tree.path, { label: 'bench' })],
    tuning: { hasher: nodeHasher },
    ...(store === undefined ? {} : { state: { store } }),
  })
  const ms = performance.now() - begin
  if (skills.current.list().length !== tree.size)
    throw new Error(`${skills.current.list().length} skills instead of ${tree.size}`)
  await store?.flush()
  isRunning = false
  await skills.close()
  return { ms, longestBlockMs }
}

async function naive(tree: Tree): Promise<number> {
  const begin = performance.now()
  const names = await readdir(tree.path)
  await Promise.all(
    names.map(async name => {
      const text = await readFile(join(tree.path, name, 'SKILL.md'), 'utf8')
      load(text.slice(4, text.indexOf('\n---', 4)))
      createHash('sha256').update(text).digest('hex')
    }),
  )
  return performance.now() - begin
}

async function chokidar(tree: Tree): Promise<number> {
  const begin = performance.now()
  const watching = watch(tree.path, { ignoreInitial: true })
  await new Promise<void>(resolve => watching.once('ready', () => resolve()))
  const ms = performance.now() - begin
  await watching.close()
  return ms
}
