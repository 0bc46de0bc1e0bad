import { createSkillRuntime, renderCatalog, type Skill } from '@skillstoke/core'
import { FileSource, MemoryFileSystem, NO_SETTLE } from '@skillstoke/core/source'
import Fuse from 'fuse.js'
import MiniSearch from 'minisearch'
import { SkillSearch } from '../../packages/core/src/catalog/skill-search.ts'
import { type Figure, type MeasureOptions, percentiles } from '../figure.ts'
import { descriptionOf, nameOf, wordOf } from '../tree.ts'

const QUERIES = [[20, 400], [7, 55, 1_200], [300], [4, 90, 210, 2_500], [33, 34]].map(ranks =>
  ranks.map(wordOf).join(' '),
)

/** Measures the time to render the catalog of 1,000 skills and to search 10,000 skills. */
export async function* b10(_options: MeasureOptions): AsyncGenerator<Figure> {
  const few = await listOf(1_000)
  const copies = Array.from({ length: 200 }, () => few.skills.map(skill => ({ ...skill })))
  yield {
    id: 'B10',
    what: 'catalog, from scratch',
    n: 1_000,
    value: time(200, () => renderCatalog(copies.pop() ?? few.skills, { maxTokens: 1e9 }), 1e3),
    unit: 'µs',
    target: '<= 1000',
    peers: {},
  }
  let changing = few.skills
  yield {
    id: 'B10',
    what: 'catalog, after one description changed',
    n: 1_000,
    value: time(
      200,
      () => {
        changing = changing.with(500, { ...(changing[500] as Skill) })
        return renderCatalog(changing, { maxTokens: 1e9 })
      },
      1e3,
    ),
    unit: 'µs',
    target: '<= 1000',
    peers: {},
  }
  yield {
    id: 'B10',
    what: 'catalog, cached',
    n: 1_000,
    value: time(200, () => few.render(), 1e6, 1_000),
    unit: 'ns',
    target: '<= 1000',
    peers: {},
  }
  await few.close()
  const { skills, close } = await listOf(10_000)
  const index = new SkillSearch()
  const options = { limit: 10, isInScope: () => true }
  index.search(skills, 'warm', options)
  const documents = skills.map(({ name, description }, id) => ({ id, name, description }))
  const fuse = new Fuse(documents, { keys: ['name', 'description'], ignoreLocation: true })
  const mini = new MiniSearch({ fields: ['name', 'description'] })
  mini.addAll(documents)
  let next = 0
  const query = (): string => QUERIES[next++ % QUERIES.length] ?? ''
  yield {
    id: 'B10',
    what: 'search, ranked',
    n: 10_000,
    value: time(300, () => index.search(skills, query(), options), 1),
    unit: 'ms',
    target: '<= 1',
    peers: {
      'minisearch 7': time(60, () => mini.search(query()), 1),
      'fuse.js 7': time(12, () => fuse.search(query(), { limit: 10 }), 1),
    },
  }
  const updates: number[] = []
  let list = skills
  for (let i = 0; i < 200; i++) {
    list = list.with((i * 7919) % list.length, {
      ...(list[(i * 7919) % list.length] as Skill),
      description: `${descriptionOf(i)} Edited.`,
    })
    const start = performance.now()
    index.search(list, '', options)
    updates.push(performance.now() - start)
  }
  yield {
    id: 'B10',
    what: 'index follows one changed skill',
    n: 10_000,
    value: percentiles(updates),
    unit: 'ms',
    target: '<= 0.1',
    peers: {},
  }
  await close()
}

async function listOf(
  size: number,
): Promise<{ skills: readonly Skill[]; render: () => unknown; close: () => Promise<void> }> {
  const fileSystem = new MemoryFileSystem()
  for (let i = 0; i < size; i++)
    fileSystem.write(
      `/skills/${nameOf(i)}/SKILL.md`,
      `---\nname: ${nameOf(i)}\ndescription: ${descriptionOf(i)}\n---\nx`,
    )
  const skills = await createSkillRuntime({
    sources: [new FileSource({ fileSystem, root: '/skills', label: 'bench' })],
    tuning: { settle: NO_SETTLE },
  })
  return { skills: skills.current.list(), render: () => skills.catalog(), close: () => skills.close() }
}

/** Returns percentiles of the time that one call takes, in units of which `perMs` make a millisecond. */
function time(
  samples: number,
  call: () => unknown,
  perMs: number,
  callsPerSample = 1,
): { p50: number; p99: number } {
  const measured: number[] = []
  for (let i = 0; i < samples; i++) {
    const start = performance.now()
    for (let j = 0; j < callsPerSample; j++) call()
    measured.push(((performance.now() - start) / callsPerSample) * perMs)
  }
  return percentiles(measured)
}
