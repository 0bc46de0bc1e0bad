import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSkillRuntime } from '@skillstoke/core'
import { directory, nodeHasher } from '@skillstoke/core/node'
import { load } from 'js-yaml'
import { type Figure, type MeasureOptions, percentiles, round } from '../figure.ts'
import { Tree } from '../tree.ts'

/** Measures how long it takes to check before a request that no skill has changed. */
export async function* b2(_options: MeasureOptions): AsyncGenerator<Figure> {
  for (const size of [1_000, 10_000]) {
    using tree = await Tree.make(size)
    await using skills = await createSkillRuntime({
      sources: [directory(tree.path, { label: 'bench' })],
      tuning: { hasher: nodeHasher },
    })
    const peers = { 'read, YAML and hash of each SKILL.md (ms)': round(rescan(tree)) }
    const before = skills.current
    const compares: number[] = []
    let same = 0
    for (let i = 0; i < 200; i++) {
      const start = performance.now()
      for (let j = 0; j < 10_000; j++) if (skills.current === before) same++
      compares.push(((performance.now() - start) / 10_000) * 1e6)
    }
    if (same !== 2_000_000) throw new Error('the generation changed while nothing was saved')
    yield {
      id: 'B2',
      what: 'compare of the current generation',
      n: size,
      value: percentiles(compares),
      unit: 'ns',
      target: '<= 1000',
      peers,
    }
    const barriers: number[] = []
    for (let i = 0; i < 5_000; i++) {
      const start = performance.now()
      await skills.fresh()
      barriers.push((performance.now() - start) * 1e3)
    }
    yield {
      id: 'B2',
      what: 'fresh(), nothing changed',
      n: size,
      value: percentiles(barriers),
      unit: 'µs',
      target: 'p50 <= 50',
      peers,
    }
  }
}

function rescan(tree: Tree): number {
  const start = performance.now()
  for (const name of readdirSync(tree.path)) {
    const text = readFileSync(join(tree.path, name, 'SKILL.md'), 'utf8')
    const yaml = text.slice(4, text.indexOf('\n---', 4))
    load(yaml)
    createHash('sha256').update(yaml).digest('hex')
  }
  return performance.now() - start
}
