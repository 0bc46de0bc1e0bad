import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { type Figure, type MeasureOptions, round } from '../figure.ts'
import { RELOAD_KINDS, type ReloadGrowth } from '../reload-loop.ts'

const RELOADS = 20_000
const RELOADS_LARGE = 100_000

/** Measures how much memory each reload adds, not counting the first 20,000 reloads. Each loop runs in its own process. */
export async function* b15({ large }: MeasureOptions): AsyncGenerator<Figure> {
  const n = large ? RELOADS_LARGE : RELOADS
  const [memory, disk, plain] = RELOAD_KINDS.map(kind => run(kind, n)) as [
    ReloadGrowth,
    ReloadGrowth,
    ReloadGrowth,
  ]
  for (const [place, own] of [
    ['memory', memory],
    ['disk', disk],
  ] as const) {
    yield toFigure(`heap kept per reload, store in ${place}`, n, own.heap, 'B', '<= 20', plain.heap)
    yield toFigure(
      `resident bytes added per reload, store in ${place}`,
      n,
      own.resident,
      'B',
      '<= 100',
      plain.resident,
    )
  }
  yield toFigure('size of the state directory at the end', n, disk.state / 1024, 'KB', '-', undefined)
}

function run(kind: string, reloads: number): ReloadGrowth {
  const script = join(import.meta.dirname, '../reload-loop.ts')
  const child = spawnSync(process.execPath, ['--expose-gc', script, kind, String(reloads)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return JSON.parse(child.stdout) as ReloadGrowth
}

function toFigure(
  what: string,
  n: number,
  value: number,
  unit: Figure['unit'],
  target: string,
  plain: number | undefined,
): Figure {
  const peers =
    plain === undefined ? {} : { 'a loop that reads, hashes and replaces one object': round(plain) }
  return { id: 'B15', what, n, value: { p50: round(value), p99: round(value) }, unit, target, peers }
}
