import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { checkSkill } from '@skillstoke/author'
import { type Figure, percentiles, round } from '../figure.ts'
import { nameOf, Tree } from '../tree.ts'

const STOKE = resolve('packages/cli/bin/stoke.js')
const RUNS = 3

/** Measures `stoke check` of a whole tree, and the checks alone. */
export async function* b20(): AsyncGenerator<Figure> {
  for (const n of [1_000, 10_000]) {
    using tree = await Tree.make(n)
    const common = { id: 'B20', n, unit: 'ms', target: 'stated', peers: {} } as const
    const isDropped = dropPageCache()
    const first = check(tree)
    yield {
      ...common,
      what: `stoke check, first run (${isDropped ? 'files not in the page cache' : 'files just written'})`,
      value: { p50: first, p99: first },
    }
    yield {
      ...common,
      what: 'stoke check, later runs',
      value: percentiles(Array.from({ length: RUNS }, () => check(tree))),
    }
    yield { ...common, what: 'the checks alone, without files', value: await checkTexts(tree) }
  }
}

/** Returns the time of one run of the command line. */
function check({ path, size }: Tree): number {
  const start = performance.now()
  const { stdout } = spawnSync(process.execPath, [STOKE, 'check', path], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ms = performance.now() - start
  if (!stdout.includes(`${size} skills`))
    throw new Error(`not all skills were checked: ${stdout.slice(-200)}`)
  return round(ms)
}

async function checkTexts(tree: Tree): Promise<Figure['value']> {
  const skills = Array.from({ length: tree.size }, (_, index) => ({
    path: tree.fileOf(index),
    directoryName: nameOf(index),
    bytes: readFileSync(tree.fileOf(index)),
  }))
  const samples: number[] = []
  for (let run = 0; run < RUNS; run++) {
    const start = performance.now()
    for (const skill of skills) await checkSkill(skill)
    samples.push(performance.now() - start)
  }
  return percentiles(samples)
}

/** Makes Linux forget the contents of files. Only root may do this. */
function dropPageCache(): boolean {
  try {
    spawnSync('sync')
    writeFileSync('/proc/sys/vm/drop_caches', '3')
    return true
  } catch {
    return false
  }
}
