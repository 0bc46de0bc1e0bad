import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { defined } from '@skillstoke/core/internal'
import { collectGarbage, type GarbageReport } from '@skillstoke/core/node'
import { removeCodeCache } from '../config/code-cache.ts'
import type { Config } from '../config/config.ts'
import type { Answer } from '../terminal/answer.ts'
import { toTerminalLine } from '../terminal/output.ts'
import { nameProgram } from '../terminal/program-name.ts'

export interface GcFlags {
  readonly dryRun?: boolean
  /** How many history records of each skill keep their files, counted from the newest record. */
  readonly keep?: number
}

/** Matches the file names of damaged databases and their logs. */
const SET_ASIDE = /\.damaged-\d+(?:-wal|-shm)?$/

/** Implements `stoke gc`: removes unused files from the state directory. */
export async function gc(
  { stateDirectory }: Config,
  { dryRun: isDryRun = false, keep }: GcFlags,
): Promise<Answer> {
  const done = await collectGarbage(stateDirectory, {
    isDryRun,
    ...defined({ keepRevisions: keep }),
  })
  if (!isDryRun) removeCodeCache(stateDirectory)
  return {
    json: done,
    text: () => [...describeGarbage(done, isDryRun), ...describeSetAside(stateDirectory)].map(nameProgram),
  }
}

function describeGarbage(done: GarbageReport, isDryRun: boolean): readonly string[] {
  const { forgotten, trees, blobs, damaged, freedBytes, keptBytes, indexDamage } = done
  if (indexDamage !== undefined)
    return [
      `${indexDamage}; ${isDryRun ? '"stoke gc" moves them aside' : 'nothing else was removed; the next start stores missing files again'}`,
    ]
  const [remove, free] = isDryRun ? ['would remove', 'would free'] : ['removed', 'freed']
  const lines: string[] = []
  if (trees + blobs > 0)
    lines.push(`${remove} ${count(trees, 'revision')} and ${count(blobs, 'file')} that nothing needs`)
  if (forgotten > 0)
    lines.push(
      `the history ${isDryRun ? 'would no longer keep' : 'no longer keeps'} the files of ${count(forgotten, 'older step')}`,
    )
  if (damaged > 0)
    lines.push(
      `${remove} ${count(damaged, 'damaged file')}; the next start stores again the files that a skill still has, but earlier revisions that need the others cannot be shown or restored`,
    )
  if (lines.length === 0 && freedBytes === 0) lines.push('nothing to remove')
  return [
    ...lines,
    `${free} ${toSize(freedBytes)} of disk, ${isDryRun ? 'would keep' : 'kept'} ${toSize(keptBytes)}`,
    'files used within the last hour are kept; run "stoke gc" again later to remove them',
  ]
}

/** Lists damaged databases. No command removes damaged databases, because a person may want to examine them. */
function describeSetAside(stateDirectory: string): readonly string[] {
  const files = readdirSync(stateDirectory)
    .filter(name => SET_ASIDE.test(name))
    .map(name => {
      const path = join(stateDirectory, name)
      return `  ${toTerminalLine(path)}  ${toSize(statSync(path, { throwIfNoEntry: false })?.size ?? 0)}`
    })
  return files.length === 0
    ? []
    : ['damaged files were moved aside; remove them when you no longer need them:', ...files]
}

/** `1 file`, `2 files` */
function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function toSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
