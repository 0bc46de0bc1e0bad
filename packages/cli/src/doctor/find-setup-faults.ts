import type { SkillRow, SourcesStatus } from '@skillstoke/core/internal'
import type { NotSkill } from '@skillstoke/core/source'
import type { SkillCopy } from './find-drift.ts'

/** What a setup consists of. */
export interface SetupFacts {
  /** The sources. The first ones are the roots, in their order. */
  readonly sources: readonly (SourcesStatus['sources'][number] & {
    readonly isRoot: boolean
    readonly isNamed: boolean
  })[]
  readonly skills: readonly SkillRow[]
  /** Folders and files that look like a skill with a mistyped name. */
  readonly misnamed: readonly NotSkill[]
  /** The valid skills of the roots and of the folders of all clients. */
  readonly copies: readonly SkillCopy[]
  /** Skills with different files in different folders. */
  readonly drift: readonly (readonly SkillCopy[])[]
  /** How scripts are contained. `none`: no script runs here. */
  readonly containment: { readonly kind: 'sandbox' | 'permissions' | 'none'; readonly detail: string }
  /** Version of git; absent if git is missing. */
  readonly git?: string
  /** The MCP clients that have a configuration file. */
  readonly clients: readonly ClientFact[]
  /** The running `stoke dev` processes that use the state directory. */
  readonly devs: readonly { readonly url: string; readonly pid: number; readonly roots: readonly string[] }[]
  /** The port of the next `stoke dev`, and whether a process uses it. */
  readonly port: { readonly number: number; readonly isTaken: boolean }
  /** Whether changes of the roots wait for approval. */
  readonly isFrozen: boolean
  /** Limits of the operating system for watching folders. Absent where there are none. */
  readonly watches?: number
  readonly watchInstances?: number
}

/** An MCP client. `stale`: its entry starts a program that no longer exists. */
export interface ClientFact {
  readonly id: string
  readonly title: string
  readonly path: string
  readonly state: 'connected' | 'stale' | 'not-connected'
}

/** Something that is wrong or noteworthy, and one command or action that helps. */
export interface SetupFinding {
  /** `info` needs no action. */
  readonly severity: 'error' | 'warning' | 'info'
  readonly message: string
  readonly fix: string
}

/** Judges a setup. The most serious findings come first. */
export function findSetupFaults(facts: SetupFacts): readonly SetupFinding[] {
  const rank = { error: 0, warning: 1, info: 2 }
  return [
    ...facts.sources.flatMap(judgeSource),
    ...judgeSkills(facts),
    ...facts.drift.map(judgeDrift),
    ...judgeMachine(facts),
    ...facts.clients.flatMap(judgeClient),
  ].toSorted((a, b) => rank[a.severity] - rank[b.severity])
}

function judgeSource({
  path,
  isRoot,
  isNamed,
  mode,
  reason,
  lastError,
  storeFault,
  diagnostics,
}: SetupFacts['sources'][number]): readonly SetupFinding[] {
  const found: SetupFinding[] = []
  const isMissing = diagnostics.some(({ code }) => code === 'ROOT_MISSING')
  if (isMissing && isNamed)
    found.push({ severity: 'error', message: `the root ${path} does not exist`, fix: `mkdir -p ${path}` })
  else if (lastError !== undefined && !isMissing)
    found.push({ severity: 'error', message: `${path} cannot be read: ${lastError}`, fix: 'stoke reload' })
  if (storeFault !== undefined)
    found.push({ severity: 'error', message: `nothing is stored: ${storeFault}`, fix: 'stoke gc' })
  if (isRoot && !isMissing && (mode === 'polling' || mode === 'degraded')) {
    const isLimit = /ENOSPC|EMFILE|watch/i.test(reason ?? '')
    const fix = isLimit ? 'sudo sysctl fs.inotify.max_user_watches=524288' : 'keep the skills on a local disk'
    const message = `${path} is watched by ${mode === 'polling' ? 'polling' : 'events in part'}, so a save takes seconds: ${reason ?? 'no reason known'}`
    found.push({ severity: 'warning', message, fix })
  }
  return found
}

function judgeSkills({ skills, misnamed, drift, sources }: SetupFacts): readonly SetupFinding[] {
  const drifted = new Set(drift.flat().map(({ name }) => name))
  const waiting = skills.filter(({ status }) => status === 'pending')
  const found = skills.flatMap((row): readonly SetupFinding[] => {
    if (row.status === 'broken') {
      const reason = row.diagnostics.find(({ severity }) => severity === 'error')?.message ?? 'unknown'
      return [
        { severity: 'error', message: `${row.name} is broken: ${reason}`, fix: `stoke why ${row.target}` },
      ]
    }
    if (row.status !== 'shadowed' || drifted.has(row.name)) return []
    const winner = skills.find(({ name, serving }) => name === row.name && serving !== null)
    const message = `${row.location} is hidden by ${winner?.location ?? 'another folder of the same name'}`
    return [{ severity: 'warning', message, fix: `stoke why ${row.target}` }]
  })
  if (waiting.length > 0)
    found.push({
      severity: 'warning',
      message: `${waiting.length} waiting for approval`,
      fix: 'stoke pending',
    })
  for (const { path, message, fix } of misnamed)
    found.push({ severity: 'warning', message: `${path} ${message}`, fix })
  if (skills.length === 0) {
    const places = sources.map(({ path }) => path).join(', ')
    found.push({ severity: 'warning', message: `there is no skill in ${places}`, fix: 'stoke new my-skill' })
  }
  return found
}

function judgeDrift(copies: readonly SkillCopy[]): SetupFinding {
  const [first, ...others] = copies
  const other = others.find(({ revision }) => revision !== first?.revision)
  const places = copies.map(({ path }) => path).join(', ')
  return {
    severity: 'warning',
    message: `${first?.name} has different files in ${places}`,
    fix: `diff -r ${first?.path} ${other?.path}`,
  }
}

function judgeMachine({
  containment,
  git,
  sources,
  port,
  devs,
  isFrozen,
}: SetupFacts): readonly SetupFinding[] {
  const found: SetupFinding[] = []
  if (containment.kind !== 'sandbox') {
    const message =
      containment.kind === 'none'
        ? `scripts do not run: ${containment.detail}`
        : `scripts are contained by the permissions of Node only: ${containment.detail}`
    found.push({ severity: 'info', message, fix: 'install bubblewrap' })
  }
  if (git === undefined) {
    const isNeeded = sources.some(({ isRoot }) => !isRoot)
    found.push({
      severity: isNeeded ? 'error' : 'info',
      message: 'git is not on the path',
      fix: 'install git',
    })
  }
  if (isFrozen)
    found.push({
      severity: 'info',
      message: 'the roots are frozen: every change waits for approval',
      fix: 'stoke dev',
    })
  const isOwn = devs.some(({ url }) => new URL(url).port === String(port.number))
  if (port.isTaken && !isOwn)
    found.push({
      severity: 'info',
      message: `port ${port.number} is used by another program, or by a dev with another state directory`,
      fix: 'stoke dev --port 0',
    })
  return found
}

function judgeClient({ id, title, path, state }: ClientFact): readonly SetupFinding[] {
  if (state === 'connected') return []
  const isStale = state === 'stale'
  const message = isStale
    ? `${title} starts a program that no longer exists, as ${path} says`
    : `${title} is not connected: ${path} has no entry`
  return [{ severity: isStale ? 'warning' : 'info', message, fix: `stoke mcp install ${id}` }]
}
