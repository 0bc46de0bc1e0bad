import type { SkillRow, SourcesStatus } from '@skillstoke/core/internal'
import type { NotSkill } from '@skillstoke/core/source'
import type { SkillCopy } from './list-copies.ts'

/** Something that is wrong or noteworthy, and one command or action that helps. */
export interface SetupFinding {
  /** `info` needs no action. */
  readonly severity: 'error' | 'warning' | 'info'
  readonly message: string
  readonly fix: string
}

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
export function judgeSource(
  source: SourcesStatus['sources'][number],
  isNamed: boolean,
): readonly SetupFinding[] {
  const { path, isMissing, mode, reason = 'the reason is unknown', lastError, storeFault } = source
  if (isMissing) return isNamed ? [error(`the root ${path} does not exist`, `mkdir -p ${path}`)] : []
  const found: SetupFinding[] = []
  if (lastError !== undefined) found.push(error(`${path} cannot be read: ${lastError}`, 'stoke reload'))
  if (storeFault !== undefined) found.push(error(`nothing is stored: ${storeFault}`, 'stoke gc'))
  if (mode === 'polling' || mode === 'degraded') {
    const isLimit = /ENOSPC|EMFILE|watch/i.test(reason)
    const fix = isLimit ? 'sudo sysctl fs.inotify.max_user_watches=524288' : 'keep the skills on a local disk'
    found.push(
      warning(`${path} is watched by ${mode === 'polling' ? 'polling' : 'events in part'}: ${reason}`, fix),
    )
  }
  return found
}

/**
 * Judges the skills of the sources, and the folders that look like a skill with a mistyped file name.
 * @param isFrozen whether changes of the roots wait for approval
 */
export function judgeSkills(
  skills: readonly SkillRow[],
  misnamed: readonly NotSkill[],
  isFrozen: boolean,
): readonly SetupFinding[] {
  const waiting = skills.filter(({ status }) => status === 'pending').length
  return [
    ...skills.flatMap(row => judgeSkill(row, skills)),
    ...misnamed.map(({ path, message, fix }) => warning(`${path} ${message}`, fix)),
    ...(isFrozen ? [info('the roots are frozen: every change waits for approval', 'stoke dev')] : []),
    ...(waiting === 0 ? [] : [warning(`${waiting} waiting for approval`, 'stoke pending')]),
    ...(skills.length === 0 ? [warning('there is no skill in the sources', 'stoke new my-skill')] : []),
  ]
}

function judgeSkill(row: SkillRow, skills: readonly SkillRow[]): readonly SetupFinding[] {
  const { name, status, location, target, diagnostics } = row
  if (status === 'broken') {
    const reason = diagnostics.find(({ severity }) => severity === 'error')?.message ?? 'unknown'
    return [error(`${name} is broken: ${reason}`, `stoke why ${target}`)]
  }
  if (status !== 'shadowed') return []
  const winner = skills.find(other => other.name === name && other.serving !== null)
  return [info(`${location} is hidden by ${winner?.location ?? 'another folder'}`, `stoke why ${target}`)]
}

/** Finds skills that have different files in different folders. */
export function judgeCopies(copies: readonly SkillCopy[]): readonly SetupFinding[] {
  return Object.values(Object.groupBy(copies, ({ name }) => name)).flatMap((group = []) => {
    const [first] = group
    const other = group.find(({ revision }) => revision !== first?.revision)
    if (first === undefined || other === undefined) return []
    const places = group.map(({ path }) => path).join(', ')
    return [warning(`${first.name} has different files in ${places}`, `diff -r ${first.path} ${other.path}`)]
  })
}

export function judgeMachine({ containment, git, needsGit }: MachineFacts): readonly SetupFinding[] {
  const { kind, detail } = containment
  const what = kind === 'none' ? 'do not run here' : 'have no sandbox'
  const fix = 'install bubblewrap'
  return [
    ...(kind === 'sandbox' ? [] : [info(`scripts ${what}: ${detail}`, fix)]),
    ...(git === undefined ? [(needsGit ? error : info)('git is not on the path', 'install git')] : []),
  ]
}

export function judgeClient({ id, title, path, state }: ClientFact): readonly SetupFinding[] {
  const fix = `stoke mcp install ${id}`
  if (state === 'stale')
    return [warning(`${title} starts a program that does not exist, as ${path} says`, fix)]
  return state === 'connected' ? [] : [info(`${title} is not connected: ${path} has no entry`, fix)]
}

function error(message: string, fix: string): SetupFinding {
  return { severity: 'error', message, fix }
}

function warning(message: string, fix: string): SetupFinding {
  return { severity: 'warning', message, fix }
}

function info(message: string, fix: string): SetupFinding {
  return { severity: 'info', message, fix }
}
