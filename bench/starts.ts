import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { percentiles } from './figure.ts'
import type { Tree } from './tree.ts'

/** Measurements of one start, which runs in its own process. */
export interface Start {
  readonly ms: number
  /** Processor time of all threads, in milliseconds. */
  readonly cpuMs: number
  /** Maximum processor time of the main thread between two turns of the event loop. Other load on the machine does not change this value. */
  readonly longestBlockMs: number
  readonly skills: number
  readonly residentMB: number
}

/** Runs `start-child.ts` once with one kind of start. */
export function startOnce(kind: 'runtime' | 'plain' | 'texts', tree: Tree, state?: string): Start {
  const args = [
    fileURLToPath(new URL('./start-child.ts', import.meta.url)),
    kind,
    tree.path,
    ...(state === undefined ? [] : [state]),
  ]
  const run = spawnSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  const start = JSON.parse(run.stdout) as Start
  if (start.skills !== tree.size) throw new Error(`${start.skills} skills instead of ${tree.size}`)
  return start
}

/** Returns the percentiles of one measurement that was repeated in several starts. */
export function of(starts: readonly Start[], measure: keyof Start): { p50: number; p99: number } {
  return percentiles(starts.map(start => start[measure]))
}
