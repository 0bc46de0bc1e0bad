import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Figure, type MeasureOptions, round } from '../figure.ts'
import { of, type Start, startOnce } from '../starts.ts'
import { nameOf, Tree } from '../tree.ts'

const RUNS = 7

/** Measures how long a process takes to start when an earlier process has read the same tree. */
export async function* b4({ large }: MeasureOptions): AsyncGenerator<Figure> {
  for (const size of large ? [10_000, 100_000] : [10_000]) {
    using tree = await Tree.make(size)
    const state = `${tree.path}-state`
    const cold: Start[] = []
    const warm: Start[] = []
    for (let i = 0; i < (size > 10_000 ? 2 : RUNS); i++) {
      rmSync(state, { recursive: true, force: true })
      cold.push(startOnce('runtime', tree, state))
      warm.push(startOnce('runtime', tree, state))
    }
    rmSync(state, { recursive: true })
    const peers = {
      'cold start, captured on disk': of(cold, 'ms'),
      'stat of every file and folder': statEverything(tree),
    }
    yield {
      id: 'B4',
      what: 'start over an unchanged tree',
      n: size,
      value: of(warm, 'ms'),
      unit: 'ms',
      target: '<= 0.15 of a cold start',
      peers,
    }
    yield {
      id: 'B4',
      what: 'resident memory after it',
      n: size,
      value: of(warm, 'residentMB'),
      unit: 'MB',
      target: '<= 1,000 for 100,000 skills',
      peers: { 'after a cold start': of(cold, 'residentMB') },
    }
  }
}

function statEverything(tree: Tree): number {
  const begin = performance.now()
  for (let i = 0; i < tree.size; i++)
    for (const part of ['.', 'scripts', 'SKILL.md', 'reference.md', 'scripts/main.ts'])
      statSync(join(tree.path, nameOf(i), part))
  return round(performance.now() - begin)
}
