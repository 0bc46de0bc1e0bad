import { rmSync } from 'node:fs'
import { watch } from 'chokidar'
import { type Figure, type MeasureOptions, round } from '../figure.ts'
import { of, type Start, startOnce } from '../starts.ts'
import { Tree } from '../tree.ts'

const RUNS = 7

/** Measures a cold start with a warm disk cache: the time until the first generation exists and all watches are set. */
export async function* b3(_options: MeasureOptions): AsyncGenerator<Figure> {
  using tree = await Tree.make(10_000)
  const state = `${tree.path}-state`
  const memory: Start[] = []
  const disk: Start[] = []
  const plain: Start[] = []
  const texts: Start[] = []
  for (let i = 0; i < RUNS; i++) {
    plain.push(startOnce('plain', tree))
    memory.push(startOnce('runtime', tree))
    texts.push(startOnce('texts', tree))
    disk.push(startOnce('runtime', tree, state))
    rmSync(state, { recursive: true })
  }
  const figure = (what: string, value: Figure['value'], target: string, peers: Figure['peers']): Figure => ({
    ...{ id: 'B3', what, n: tree.size, value, unit: 'ms', target, peers },
  })
  const watching = round(await chokidar(tree))
  const peers = {
    'readFile, YAML and hash of SKILL.md only, not watched': of(texts, 'ms'),
    'list, open, verify, read, hash, watch in a plain script': of(plain, 'ms'),
    'chokidar 6, watching only': watching,
  }
  const target = 'as long as SKILL.md only'
  yield figure('cold start, captured in memory', of(memory, 'ms'), target, peers)
  yield figure('cold start, captured on disk', of(disk, 'ms'), target, peers)
  yield figure(
    'processor time of a cold start, in memory',
    of(memory, 'cpuMs'),
    '<= 1.8 times the plain script',
    {
      'list, open, verify, read, hash, watch in a plain script': of(plain, 'cpuMs'),
    },
  )
  yield figure('longest block of the event loop', of([...memory, ...disk], 'longestBlockMs'), '<= 20', {})
}

async function chokidar(tree: Tree): Promise<number> {
  const begin = performance.now()
  const watching = watch(tree.path, { ignoreInitial: true })
  await new Promise<void>(resolve => watching.once('ready', () => resolve()))
  const ms = performance.now() - begin
  await watching.close()
  return ms
}
