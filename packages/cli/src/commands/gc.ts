import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { collectGarbage, type GarbageReport } from '@skillstoke/core/node'
import { removeCodeCache } from '../config/code-cache.ts'
import type { Config } from '../config/config.ts'
import { EXIT_OK } from '../exit-code.ts'
import { printJson, printLine, toTerminalLine } from '../output.ts'

export interface GcFlags {
  readonly json: boolean
  readonly isDryRun: boolean
  /** Steps in the history of one skill whose files are kept. */
  readonly keep?: number
}

/** An hour, as `describeGarbage` says. */
const GRACE_MS = 3_600_000
/** A database that was damaged, or its log. */
const SET_ASIDE = /\.damaged-\d+(?:-wal|-shm)?$/

/** `stoke gc`: frees the disk of what the state directory keeps and nothing needs. */
export async function gc({ stateDirectory }: Config, { json, isDryRun, keep }: GcFlags): Promise<number> {
  const done = await collectGarbage(stateDirectory, {
    isDryRun,
    graceMs: GRACE_MS,
    ...(keep === undefined ? {} : { keepRevisions: keep }),
  })
  if (!isDryRun) removeCodeCache(stateDirectory)
  if (json) printJson(done)
  else
    for (const line of [...describeGarbage(done, isDryRun), ...describeSetAside(stateDirectory)])
      printLine(line)
  return EXIT_OK
}

function describeGarbage(done: GarbageReport, isDryRun: boolean): readonly string[] {
  const { forgotten, trees, blobs, damaged, freedBytes, keptBytes, indexDamage } = done
  if (indexDamage !== undefined)
    return [
      `${indexDamage}; ${isDryRun ? 'stoke gc moves them aside' : 'what is missing is stored again at the next start, so nothing else was removed'}`,
    ]
  const [remove, free] = isDryRun ? ['would remove', 'would free'] : ['removed', 'freed']
  const lines: string[] = []
  if (trees + blobs > 0)
    lines.push(`${remove} ${count(trees, 'revision')} and ${count(blobs, 'file')} that nothing needs`)
  if (forgotten > 0)
    lines.push(
      `the history ${isDryRun ? 'would keep' : 'keeps'} the files of ${count(forgotten, 'older step')} no longer`,
    )
  if (damaged > 0)
    lines.push(
      `${remove} ${count(damaged, 'damaged file')}: the next start stores again what a skill still has, and earlier revisions that need the rest cannot be shown or brought back`,
    )
  if (lines.length === 0 && freedBytes === 0) lines.push('nothing to remove')
  return [
    ...lines,
    `${free} ${toSize(freedBytes)} of disk, ${isDryRun ? 'would keep' : 'kept'} ${toSize(keptBytes)}`,
    'what was used within the last hour stays; run "stoke gc" again later to remove what nothing needs by then',
  ]
}

/** Damaged databases are kept for a person to look at, and no command removes them. */
function describeSetAside(stateDirectory: string): readonly string[] {
  const files = [stateDirectory, join(stateDirectory, 'store')].flatMap(folder =>
    readdirSync(folder)
      .filter(name => SET_ASIDE.test(name))
      .map(name => {
        const path = join(folder, name)
        return `  ${toTerminalLine(path)}  ${toSize(statSync(path, { throwIfNoEntry: false })?.size ?? 0)}`
      }),
  )
  return files.length === 0
    ? []
    : ['damaged files that were moved aside; remove them when you no longer need them:', ...files]
}

/** `1 file`, `2 files` */
function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function toSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
