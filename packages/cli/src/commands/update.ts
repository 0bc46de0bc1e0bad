import { dirname, join } from 'node:path'
import { shortDigest, toMessage } from '@skillstoke/core'
import { openWriteLock } from '@skillstoke/core/node'
import type { Config } from '../config/config.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../exit-code.ts'
import { openAvailable } from '../lock/available.ts'
import { inspect } from '../lock/installed.ts'
import { type LockedSkill, type LockedSkills, projectFolder, readLock, writeLock } from '../lock/lock-file.ts'
import { createPaint, formatTable, printJson, printLine, toTerminalLine } from '../output.ts'
import { install, toLocked } from './add.ts'

export interface UpdateFlags {
  readonly json: boolean
  /** Only tells what is newer. */
  readonly isCheck: boolean
  /** Takes what a branch or a tag is now, also when its history was rewritten. */
  readonly isReset: boolean
}

interface Outcome {
  readonly name: string
  readonly kind: 'current' | 'updated' | 'available' | 'kept' | 'gone' | 'failed'
  readonly from: string
  readonly to: string | null
  readonly note: string
}

/**
 * `stoke update`: brings copied skills to what their places hold now. One that was changed here is kept and told. Exits with 1 when
 * something is left to do.
 */
export async function update(
  names: readonly string[],
  config: Config,
  { json, isCheck, isReset }: UpdateFlags,
): Promise<number> {
  await using lock = await openWriteLock(config.stateDirectory)
  const outcomes = await lock.run(async () => {
    const locked = readLock(config)
    const unknown = names.find(name => locked[name] === undefined)
    if (unknown !== undefined)
      throw new UsageError(
        `${JSON.stringify(unknown)} was not added; the lock file has: ${Object.keys(locked).join(', ') || 'none'}`,
      )
    const wanted = Object.entries(locked).filter(([name]) => names.length === 0 || names.includes(name))
    const found: Outcome[] = []
    let after: LockedSkills = locked
    for (const source of new Set(wanted.map(([, { source: each }]) => each))) {
      const own = wanted.filter(([, each]) => each.source === source)
      try {
        await using available = await openAvailable(source, config, { takesRewritten: isReset })
        for (const [name, entry] of own) {
          const { outcome, entry: now } = await updateOne(name, entry, available, config, isCheck)
          found.push(outcome)
          if (now === entry) continue
          after = { ...after, [name]: now }
          await writeLock(config, after)
        }
      } catch (thrown) {
        for (const [name, entry] of own)
          found.push({ name, kind: 'failed', from: entry.revision, to: null, note: toMessage(thrown) })
      }
    }
    return found.sort((a, b) => (a.name < b.name ? -1 : 1))
  })
  const isDone = outcomes.every(({ kind }) => kind === 'current' || kind === 'updated')
  if (json) printJson(outcomes)
  else print(outcomes, config)
  return isDone ? EXIT_OK : EXIT_FINDINGS
}

async function updateOne(
  name: string,
  entry: LockedSkill,
  available: Awaited<ReturnType<typeof openAvailable>>,
  config: Config,
  isCheck: boolean,
): Promise<{ readonly outcome: Outcome; readonly entry: LockedSkill }> {
  const project = projectFolder(config)
  const same = { name, from: entry.revision, to: entry.revision as string | null }
  const skill = available.skills.find(each => each.location === entry.location)
  if (skill === undefined)
    return {
      outcome: { ...same, kind: 'gone', to: null, note: 'its source has it no more; it stays here' },
      entry,
    }
  const { kind, changed } = await inspect(project, entry)
  const isNewer = skill.revision !== entry.revision
  if (kind === 'modified') {
    const files = changed.join(', ') || 'its modes'
    const note = `changed here: ${files}${isNewer ? '; the newer one was not taken' : ''}`
    return { outcome: { ...same, kind: 'kept', to: skill.revision, note }, entry }
  }
  if (!isNewer && kind === 'unmodified') return { outcome: { ...same, kind: 'current', note: '' }, entry }
  const outcome = { ...same, to: skill.revision, note: kind === 'missing' ? 'its folder was not there' : '' }
  if (isCheck) return { outcome: { ...outcome, kind: 'available' }, entry }
  await install({ ...skill, name }, available, dirname(join(project, entry.path)))
  return {
    outcome: { ...outcome, kind: 'updated' },
    entry: toLocked(skill, available, entry.source, entry.path),
  }
}

function print(outcomes: readonly Outcome[], config: Config): void {
  const paint = createPaint(config.hasColor)
  if (outcomes.length === 0) {
    printLine('no skill was added to this project; see "stoke add --help"')
    return
  }
  const rows = outcomes.map(({ name, kind, from, to, note }) => [
    kind,
    paint('bold', toTerminalLine(name)),
    `${shortDigest(from as `sha256:${string}`)} -> ${to === null ? '-' : shortDigest(to as `sha256:${string}`)}`,
    toTerminalLine(note),
  ])
  printLine(formatTable(rows))
}
