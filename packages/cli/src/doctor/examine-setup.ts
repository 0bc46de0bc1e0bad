import type { SkillRow, SourcesStatus } from '@skillstoke/core/internal'
import { toCommandLine } from '../terminal/command-line.ts'
import type { SkillCopy } from './list-copies.ts'

/** Something that is wrong or noteworthy, and one command or action that helps. `info` needs no action. */
export type SetupFinding = readonly [severity: 'error' | 'warning' | 'info', message: string, fix: string]

/** An MCP client that has a configuration file. `stale`: its entry starts a program that no longer exists. */
export interface ClientFact {
  readonly id: string
  readonly title: string
  readonly path: string
  readonly state: 'connected' | 'stale' | 'not-connected'
}

/** What the machine offers to the skills. */
export interface MachineFacts {
  readonly containment: { readonly kind: 'sandbox' | 'permissions' | 'none'; readonly detail: string }
  /** Version of git; `undefined` if git is missing. */
  readonly git: string | undefined
  readonly needsGit: boolean
}

/** Judges a source of skills. `isNamed` is false for a default root, which may be missing. */
export function* judgeSource(
  { path, isMissing, mode, reason = 'the reason is unknown', ...faults }: SourcesStatus['sources'][number],
  isNamed: boolean,
): Generator<SetupFinding> {
  const { lastError, storeFault } = faults
  if (isMissing && isNamed)
    yield ['error', `the root ${path} does not exist`, toCommandLine(['mkdir', '-p', path])]
  if (isMissing) return
  if (lastError !== undefined) yield ['error', `${path} cannot be read: ${lastError}`, 'stoke reload']
  if (storeFault !== undefined) yield ['error', `nothing is stored: ${storeFault}`, 'stoke gc']
  if (mode !== 'polling' && mode !== 'degraded') return
  const how = mode === 'polling' ? 'polling' : 'events in part'
  const isLimit = /ENOSPC|EMFILE|watch/i.test(reason)
  const fix = isLimit ? 'sudo sysctl fs.inotify.max_user_watches=524288' : 'keep the skills on a local disk'
  yield ['warning', `${path} is watched by ${how}: ${reason}`, fix]
}

/**
 * Judges the skills of the sources.
 * @param isFrozen whether changes of the roots wait for approval
 */
export function* judgeSkills(skills: readonly SkillRow[], isFrozen: boolean): Generator<SetupFinding> {
  for (const row of skills) {
    const { name, status, location, target, diagnostics } = row
    const fix = toCommandLine(['stoke', 'why', target])
    const reason = diagnostics.find(({ severity }) => severity === 'error')?.message
    if (status === 'broken') yield ['error', `${name} is broken: ${reason}`, fix]
    const winner = skills.find(other => other.name === name && other.serving !== null)?.location
    if (status === 'shadowed') yield ['info', `${location} is hidden by ${winner ?? 'another folder'}`, fix]
  }
  if (isFrozen) yield ['info', 'the roots are frozen: every change waits for approval', 'stoke dev']
  const waiting = skills.filter(({ status }) => status === 'pending').length
  if (waiting > 0) yield ['warning', `${waiting} waiting for approval`, 'stoke pending']
  if (skills.length === 0) yield ['warning', 'there is no skill in the sources', 'stoke new my-skill']
}

/** Finds skills that have different files in different folders. */
export function* judgeCopies(copies: readonly SkillCopy[]): Generator<SetupFinding> {
  for (const group of Map.groupBy(copies, ({ name }) => name).values()) {
    const [first] = group
    const other = group.find(({ revision }) => revision !== first?.revision)
    if (first === undefined || other === undefined) continue
    const places = group.map(({ path }) => path).join(', ')
    yield [
      'warning',
      `${first.name} has different files in ${places}`,
      toCommandLine(['diff', '-r', first.path, other.path]),
    ]
  }
}

export function* judgeMachine({ containment, git, needsGit }: MachineFacts): Generator<SetupFinding> {
  const { kind, detail } = containment
  const what = kind === 'none' ? 'do not run here' : 'have no sandbox'
  if (kind !== 'sandbox') yield ['info', `scripts ${what}: ${detail}`, 'install bubblewrap']
  if (git === undefined) yield [needsGit ? 'error' : 'info', 'git is not on the path', 'install git']
}

export function* judgeClient({ id, title, path, state }: ClientFact): Generator<SetupFinding> {
  const fix = `stoke mcp install ${id}`
  if (state === 'stale')
    yield ['warning', `${title} starts a program that does not exist, as ${path} says`, fix]
  if (state === 'not-connected') yield ['info', `${title} is not connected: ${path} has no entry`, fix]
}
