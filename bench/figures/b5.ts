import { rmSync } from 'node:fs'
import { createSkillRuntime } from '@skillstoke/core'
import { directory, nodeHasher, openSkillStore } from '@skillstoke/core/node'
import { watch } from 'chokidar'
import { type Figure, type MeasureOptions, round } from '../figure.ts'
import { Tree } from '../tree.ts'

/** Measures the memory of 10,000 watched skills. Run with `--expose-gc`. */
export async function* b5(_options: MeasureOptions): AsyncGenerator<Figure> {
  using tree = await Tree.make(10_000)
  const state = `${tree.path}-state`
  const store = await openSkillStore(state)
  const before = settled()
  const skills = await createSkillRuntime({
    sources: [directory(tree.path, { label: 'bench' })],
    tuning: { hasher: nodeHasher },
    state: { store },
  })
  await store.flush()
  const after = settled()
  await skills.close()
  rmSync(state, { recursive: true })
  const empty = settled()
  const watching = watch(tree.path, { ignoreInitial: true })
  await new Promise<void>(resolve => watching.once('ready', () => resolve()))
  const watched = settled()
  await watching.close()
  const perSkill = (from: NodeJS.MemoryUsage, to: NodeJS.MemoryUsage): { heap: number; rss: number } => ({
    heap: round((to.heapUsed + to.external - from.heapUsed - from.external) / 1024 / tree.size),
    rss: round((to.rss - from.rss) / 1024 / tree.size),
  })
  const own = perSkill(before, after)
  const peer = perSkill(empty, watched)
  yield {
    id: 'B5',
    what: 'heap kept per skill',
    n: tree.size,
    value: { p50: own.heap, p99: own.heap },
    unit: 'KB',
    target: '<= 5',
    peers: { 'chokidar 6, watching only': peer.heap },
  }
  yield {
    id: 'B5',
    what: 'resident memory added per skill, start-up included',
    n: tree.size,
    value: { p50: own.rss, p99: own.rss },
    unit: 'KB',
    target: '<= 5',
    peers: { 'chokidar 6, watching only': peer.rss },
  }
}

function settled(): NodeJS.MemoryUsage {
  for (let i = 0; i < 5; i++) globalThis.gc?.()
  return process.memoryUsage()
}
