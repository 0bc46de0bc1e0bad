import type { Digest, Skill } from '@skillstoke/core'
import { describePlace, shortDigest, toMessage } from '@skillstoke/core/internal'
import { openWriteLock } from '@skillstoke/core/node'
import type { Config } from '../config/config.ts'
import { checkNamedRoots } from '../config/named-roots.ts'
import { type Available, openAvailable } from '../lock/available.ts'
import { copySkill } from '../lock/copy-skill.ts'
import { describeChanged, type InstalledState, inspect } from '../lock/installed.ts'
import { keepHistory } from '../lock/keep-history.ts'
import { type LockedSkill, projectFolder, readLock } from '../lock/lock-file.ts'
import { isNamedSource } from '../skills/named-places.ts'
import type { Answer } from '../terminal/answer.ts'
import { askYes } from '../terminal/ask.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import { formatTable, paint, toTerminalLine } from '../terminal/output.ts'
import { nameProgram } from '../terminal/program-name.ts'

export interface UpdateFlags {
  readonly json?: boolean
  /** Whether to only report available updates, and change nothing. */
  readonly check?: boolean
  /** Whether to accept a branch or tag whose history was rewritten. */
  readonly reset?: boolean
  /** Whether to replace a folder that has local changes. The replaced folder is moved to `.trash`. */
  readonly force?: boolean
  /** Whether the lock file may name folders outside the project. */
  readonly local?: boolean
  /** Whether the caller accepts invisible characters in newer revisions. */
  readonly confirmHidden?: boolean
  /** Whether to follow, without a question, each skill that moved to another folder of its source. */
  readonly yes?: boolean
}

interface Outcome {
  readonly name: string
  readonly kind: 'current' | 'updated' | 'available' | 'kept' | 'moved' | 'gone' | 'failed'
  readonly from: string
  readonly to: string | null
  readonly note: string
}

/**
 * Implements `stoke update`: updates copied skills from their sources. Skills with local changes are reported and stay
 * unchanged. Exits with 1 if a skill is not up to date.
 */
export async function update(config: Config, flags: UpdateFlags, names: readonly string[]): Promise<Answer> {
  checkNamedRoots(config)
  const locked = readLock(config)
  const unknown = names.find(name => locked[name] === undefined)
  if (unknown !== undefined)
    throw new UsageError(
      `${JSON.stringify(unknown)} is not in the lock file, which has: ${Object.keys(locked).join(', ') || 'none'}`,
    )
  const wanted = Object.entries(locked).filter(([name]) => names.length === 0 || names.includes(name))
  if (!flags.check) await keepHistory(config)
  const outcomes: Outcome[] = []
  for (const source of new Set(wanted.map(([, { source: each }]) => each))) {
    const own = wanted.filter(([, each]) => each.source === source)
    try {
      // Opens the source before taking the write lock, so that other writers do not wait for the network.
      const isNamed = flags.local || isNamedSource(config.stateDirectory, source)
      await using available = await openAvailable(source, config, { isNamed })
      const followed = await confirmMoves(own, available, config, flags)
      await using lock = await openWriteLock(config.stateDirectory)
      for (const [name, entry] of own) {
        const work = async (): Promise<Outcome> =>
          await tryUpdate(name, entry, available, config, { ...flags, yes: followed.has(name) })
        outcomes.push(await lock.run(work))
      }
    } catch (thrown) {
      const isDone = new Set(outcomes.map(({ name }) => name))
      for (const [name, entry] of own) if (!isDone.has(name)) outcomes.push(failed(name, entry, thrown))
    }
  }
  if (!flags.check) await keepHistory(config)
  outcomes.sort((a, b) => (a.name < b.name ? -1 : 1))
  const isDone = outcomes.every(
    ({ kind, from, to }) => kind === 'current' || kind === 'updated' || (kind === 'kept' && from === to),
  )
  return { json: outcomes, text: () => [describe(outcomes)], exit: isDone ? EXIT_OK : EXIT_FINDINGS }
}

/** Finds a skill in its source by its name, because its folder may have moved, or may now have another skill. */
function findUpstream(name: string, { skills }: Available): Skill | undefined {
  return skills.find(each => each.name === name)
}

function describeGone({ location }: LockedSkill, { skills }: Available): string {
  const other = skills.find(each => each.location === location)?.name
  return other === undefined
    ? 'the source no longer has it; the copy stays here'
    : `its folder in the source now has the skill ${JSON.stringify(other)}; the copy stays here, add that skill to use it`
}

/**
 * Asks the person at the terminal about each skill that moved within its source. Returns the names of the skills to
 * follow. Asks nothing without a terminal, or about a copy that stays because of local changes. Called before the write lock is taken, because a person may take long.
 */
async function confirmMoves(
  own: readonly (readonly [name: string, entry: LockedSkill])[],
  available: Available,
  config: Config,
  { yes, check, reset, force, json }: UpdateFlags,
): Promise<ReadonlySet<string>> {
  const followed = new Set<string>()
  for (const [name, entry] of own) {
    const skill = findUpstream(name, available)
    const to = skill?.location ?? entry.location
    if (to === entry.location || !(reset || (await available.follows(entry.version)))) continue
    const question = `${name} ${describeMove(entry.location, to)} of ${entry.source}; update it from there?`
    const isKept = !force && isEdited(await inspect(projectFolder(config), entry), skill)
    const mayAsk = !check && !json && !isKept && config.isInteractive
    if (yes || (mayAsk && (await askYes(toTerminalLine(question))))) followed.add(name)
  }
  return followed
}

/**
 * Whether a copy has local changes. The folder may already contain the new revision, because a killed update may have
 * copied the files without updating the lock file.
 */
function isEdited({ kind, revision }: InstalledState, skill: Skill | undefined): boolean {
  return kind === 'modified' && (revision === undefined || revision !== skill?.revision)
}

function describeMove(from: string, to: string): string {
  return `moved from ${JSON.stringify(from)} to ${JSON.stringify(to)}`
}

function failed(name: string, { revision }: LockedSkill, thrown: unknown): Outcome {
  return { name, kind: 'failed', from: revision, to: null, note: toMessage(thrown) }
}

/**
 * Updates one skill. If the update fails, returns the failure instead of throwing, so that `stoke update` continues
 * with the next skill.
 */
async function tryUpdate(
  name: string,
  entry: LockedSkill,
  available: Available,
  config: Config,
  flags: UpdateFlags,
): Promise<Outcome> {
  try {
    // Another process may have changed the lock file while this process read the source.
    const now = readLock(config)[name]
    if (JSON.stringify(now) !== JSON.stringify(entry))
      throw new UsageError('the lock file changed meanwhile; run the command again')
    return await updateOne(name, entry, available, config, flags)
  } catch (thrown) {
    return failed(name, entry, thrown)
  }
}

async function updateOne(
  name: string,
  entry: LockedSkill,
  available: Available,
  config: Config,
  flags: UpdateFlags,
): Promise<Outcome> {
  const same = { name, from: entry.revision, to: entry.revision as string | null }
  const skill = findUpstream(name, available)
  if (skill === undefined) return { ...same, kind: 'gone', to: null, note: describeGone(entry, available) }
  if (!flags.reset && !(await available.follows(entry.version))) {
    const [from, to] = [entry.version, available.version].map(version => version.slice(0, 10))
    const note = `the history was rewritten, or a tag moved: ${to} does not come after ${from}; use --reset to accept it`
    return { ...same, kind: 'failed', to: skill.revision, note }
  }
  const isMoved = skill.location !== entry.location
  const state = await inspect(projectFolder(config), entry)
  const isNewer = skill.revision !== entry.revision
  const isThere = state.revision === skill.revision
  const isKept = !flags.force && isEdited(state, skill)
  if (isMoved && (isKept || !flags.yes)) {
    const move = `${describeMove(entry.location, skill.location)} in its source`
    const note = isKept
      ? `${move}, and the copy has local changes: ${describeChanged(state)}; use --yes --force to replace it (the old one is kept in .trash), or keep it`
      : `${move}; use --yes to update it from there`
    return { ...same, kind: 'moved', to: skill.revision, note }
  }
  if (isKept) {
    const isLeft = isNewer ? '; the newer revision was not copied, use --force to copy it' : ''
    const note = `local changes: ${describeChanged(state)}${isLeft}`
    return { ...same, kind: 'kept', to: skill.revision, note }
  }
  if (!isNewer && isThere && !isMoved) return { ...same, kind: 'current', note: '' }
  return await copyNewest(entry, skill, state, available, config, flags)
}

/** Copies a newer revision of a skill. */
async function copyNewest(
  entry: LockedSkill,
  skill: Skill,
  state: InstalledState,
  available: Available,
  config: Config,
  { check, confirmHidden }: UpdateFlags,
): Promise<Outcome> {
  const outcome = { name: skill.name, from: entry.revision, to: skill.revision }
  const hidden = await available.findHidden(skill)
  if (hidden.length > 0 && !confirmHidden) {
    const places = hidden.map(each => `${describePlace(each)}: ${each.message}`).join('; ')
    const note = `not copied: ${places}; check it, then use --confirm-hidden to copy it`
    return { ...outcome, kind: 'failed', note }
  }
  const leftOut = await available.findLeftOut(skill)
  const notes = [
    state.kind === 'missing' ? 'its folder was missing' : '',
    skill.location === entry.location ? '' : describeMove(entry.location, skill.location),
    leftOut.length === 0 ? '' : `left out: ${leftOut.join(', ')}`,
  ]
  const note = notes.filter(each => each !== '').join('; ')
  if (check) return { ...outcome, kind: 'available', note }
  const isThere = state.revision === skill.revision
  await copySkill(skill, available, { source: entry.source, path: entry.path, isThere }, config)
  return { ...outcome, kind: 'updated', note }
}

function describe(outcomes: readonly Outcome[]): string {
  if (outcomes.length === 0) return nameProgram('this project has no copied skills; see "stoke add --help"')
  return formatTable(
    outcomes.map(({ name, kind, from, to, note }) => [
      kind,
      paint('bold', toTerminalLine(name)),
      from === to ? short(from) : `${short(from)} -> ${short(to)}`,
      toTerminalLine(note),
    ]),
  )
}

function short(revision: string | null): string {
  return revision === null ? '-' : shortDigest(revision as Digest)
}
