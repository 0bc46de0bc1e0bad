import { rmSync, statSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { createSkillRuntime } from '@skillstoke/core'
import { directory, nodeHasher, openSkillStore } from '@skillstoke/core/node'
import { type Figure, type MeasureOptions, round } from '../figure.ts'
import { Tree } from '../tree.ts'

// The first sweep runs 30 s after the start, the second sweep one minute later, and each further sweep two minutes later.
const START_SECONDS = 100
const SECONDS = 240

/** Measures the processor time that is used after the start while no file changes. This includes the sweeps over every file. */
export async function* b6(_options: MeasureOptions): AsyncGenerator<Figure> {
  using tree = await Tree.make(10_000)
  const state = `${tree.path}-state`
  const skills = await createSkillRuntime({
    sources: [directory(tree.path, { label: 'bench' })],
    tuning: { hasher: nodeHasher },
    state: { store: await openSkillStore(state) },
  })
  await skills.reload()
  await setTimeout(START_SECONDS * 1_000)
  const share = await idleShare(SECONDS)
  await skills.close()
  rmSync(state, { recursive: true })
  const begin = process.cpuUsage()
  for (let i = 0; i < tree.size; i++) statSync(tree.fileOf(i))
  const { user, system } = process.cpuUsage(begin)
  yield {
    id: 'B6',
    what: 'idle processor time, sweeps included',
    n: tree.size,
    value: { p50: share, p99: share },
    unit: '%',
    target: '<= 0.5',
    peers: { 'stat of SKILL.md alone, once a second': round((user + system) / 1e4) },
  }
}

async function idleShare(seconds: number): Promise<number> {
  const begin = process.cpuUsage()
  const start = performance.now()
  await setTimeout(seconds * 1_000)
  const { user, system } = process.cpuUsage(begin)
  return round((user + system) / 10 / (performance.now() - start))
}
