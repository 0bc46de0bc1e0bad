import { existsSync } from 'node:fs'
import { shortDigest } from '@skillstoke/core/internal'
import { openUsageLog, type UsageCount } from '@skillstoke/core/internal/node'
import type { Config } from '../config/config.ts'
import type { Answer } from '../terminal/answer.ts'
import { formatTable, paint, toTerminalLine } from '../terminal/output.ts'

const DEFAULT_DAYS = 30
const MAX_MISSES = 20

/** Implements `stoke usage`: prints how often each skill was loaded, and what was searched without a match. */
export async function usage(
  config: Config,
  { days = DEFAULT_DAYS }: { readonly days?: number },
): Promise<Answer> {
  // Opening the log creates its directory, and a look must not write.
  const counts = existsSync(config.stateDirectory) ? await readCounts(config, days) : []
  const { load: loads = [], miss: misses = [] } = Object.groupBy(counts, ({ kind }) => kind)
  return {
    json: { days, loads, misses },
    text: function* () {
      if (counts.length === 0) yield `nothing was loaded in the last ${days} days`
      else
        yield formatTable([['SKILL', 'LOADS', 'LAST DAY', 'REVISIONS', 'CLIENTS'], ...describeLoads(loads)])
      if (misses.length > 0)
        yield `\n${paint('yellow', 'searched without a match')}\n${describeMisses(misses)}`
    },
  }
}

async function readCounts({ stateDirectory }: Config, days: number): Promise<readonly UsageCount[]> {
  const log = await openUsageLog(stateDirectory)
  try {
    return log.list(days)
  } finally {
    log.close()
  }
}

function describeLoads(loads: readonly UsageCount[]): readonly (readonly string[])[] {
  return listByCount(loads).map(([name, rows, total]) => [
    paint('bold', toTerminalLine(name)),
    String(total),
    rows[0]?.day ?? '',
    countEach(rows, ({ revision }) => shortDigest(revision as `sha256:${string}`)),
    toTerminalLine(countEach(rows, ({ client }) => client)),
  ])
}

function describeMisses(misses: readonly UsageCount[]): string {
  const rows = listByCount(misses).map(([query, , total]) => [String(total), toTerminalLine(query)])
  return formatTable(rows.slice(0, MAX_MISSES))
}

/** Groups counts by name, the largest sum first. */
function listByCount(
  counts: readonly UsageCount[],
): readonly (readonly [name: string, rows: readonly UsageCount[], total: number])[] {
  return Object.entries(Object.groupBy(counts, ({ name }) => name))
    .map(([name, rows = []]) => [name, rows, sumOf(rows)] as const)
    .toSorted(([, , a], [, , b]) => b - a)
}

/** Returns a text such as `cursor 5, chat 2`. */
function countEach(rows: readonly UsageCount[], keyOf: (row: UsageCount) => string): string {
  return Object.entries(Object.groupBy(rows, keyOf))
    .map(([key, some = []]) => `${key} ${sumOf(some)}`)
    .join(', ')
}

function sumOf(rows: readonly UsageCount[]): number {
  return rows.reduce((sum, { count }) => sum + count, 0)
}
