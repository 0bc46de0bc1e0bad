import { stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, resolve } from 'node:path'
import { type Capability, SkillError } from '../../index.ts'
import { findReal, type GrantedPath, isInside, resolveGrantedPath, toBase } from './granted-path.ts'
import { guardedPathsIn, isGuardedName } from './guarded-names.ts'
import { lookThrough } from './look-through.ts'

/** What a process may reach, as its grants say. */
export interface ScriptAccess {
  readonly readable: readonly GrantedPath[]
  readonly writable: readonly GrantedPath[]
  /** Files and folders in what may be read that are covered by the sandbox. */
  readonly covered: readonly CoveredPath[]
  readonly hasNetwork: boolean
  readonly hasPrograms: boolean
  /** Granted variables, as far as they are set. */
  readonly secrets: Readonly<Record<string, string>>
  /** The workspace, if it may be read. */
  readonly workspace?: string
}

export interface CoveredPath {
  readonly path: string
  readonly isFolder: boolean
}

export interface AccessOptions {
  /** What `fs.read` and `fs.write` without a path mean, and what relative paths begin at. */
  readonly workspace: string
  /** Files and folders that no script may write to, whatever is granted. */
  readonly protectedPaths: readonly string[]
  /** Files and folders that no script may see, whatever is granted. */
  readonly hiddenPaths: readonly string[]
  /** Whether the operating system contains the process, and not the permissions of Node alone. */
  readonly isSandboxed: boolean
  /** The variables of the host. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** @throws {SkillError} SCRIPT_REFUSED when a granted path reaches more than a person who reads the grant would think */
export async function toScriptAccess(
  grants: readonly Capability[],
  options: AccessOptions,
): Promise<ScriptAccess> {
  const { isSandboxed, env } = options
  const workspace = await toBase(options.workspace)
  const find = async (kind: 'fs.read' | 'fs.write'): Promise<readonly GrantedPath[]> => {
    const found = grants.map(grant => {
      if (grant === kind) return { grant, ...workspace }
      return grant.startsWith(`${kind}:`) ? resolveGrantedPath(grant, workspace) : undefined
    })
    return (await Promise.all(found)).filter(each => each !== undefined)
  }
  const written = await find('fs.write')
  const writable = withoutCovered(written, written)
  const readable = [...withoutCovered(await find('fs.read'), written), ...writable]
  const hasPrograms = grants.includes('exec')
  const hidden = await Promise.all(options.hiddenPaths.map(path => findReal(resolve(path))))
  const kept = await Promise.all(options.protectedPaths.map(path => findReal(resolve(path))))
  for (const each of writable) await refuseProtected(each, [...hidden, ...kept])
  for (const each of readable) refuseHidden(each, hidden, isSandboxed)
  if (!isSandboxed) for (const each of readable) refuseWildcard(each)
  // Whoever may start programs without a sandbox is contained by nothing.
  if (!isSandboxed && !hasPrograms) {
    for (const each of writable) await refuseLinksOut(each, writable)
    for (const each of readable) await refuseLinksOut(each, readable)
  }
  const names = grants.flatMap(grant => (grant.startsWith('env:') ? grant.slice('env:'.length) : []))
  return {
    readable,
    writable,
    covered: await findCovered(readable, hidden),
    hasNetwork: grants.includes('net'),
    hasPrograms,
    secrets: Object.fromEntries(
      names.flatMap(name => (Object.hasOwn(env, name) && env[name] !== undefined ? [[name, env[name]]] : [])),
    ),
    ...(readable.some(({ real }) => real === workspace.real) ? { workspace: workspace.real } : {}),
  }
}

/** Returns what is protected in every workspace: in the user's home, and in a workspace that nobody has chosen. */
export function defaultProtectedPaths(workspace: string | undefined): readonly string[] {
  return [...guardedPathsIn(homedir()), ...(workspace === undefined ? guardedPathsIn(process.cwd()) : [])]
}

/** Everything a process finds in its environment: a list of what it may know, never what the host has. */
export function toEnvironment(
  { secrets }: ScriptAccess,
  scratch: string,
  path: readonly string[],
): Record<string, string> {
  return {
    PATH: path.join(delimiter),
    LANG: 'C.UTF-8',
    HOME: scratch,
    TMPDIR: scratch,
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONUNBUFFERED: '1',
    ...secrets,
  }
}

/**
 * Leaves out what lies in a folder that may be written: it adds nothing, and the script could make a link of it.
 * @throws {SkillError} SCRIPT_REFUSED when it is one already
 */
function withoutCovered(
  granted: readonly GrantedPath[],
  writable: readonly GrantedPath[],
): readonly GrantedPath[] {
  return granted.filter(each => {
    const around = writable.find(other => isInside(each.path, other.path) && each.path !== other.path)
    if (around === undefined) return true
    if (!isInside(each.real, around.real))
      refuse(
        each,
        `${around.grant} lets scripts change where it leads, now to ${each.real}; grant one of them`,
      )
    return false
  })
}

/** Whoever may write around a folder may move it away and put another in its place. */
async function refuseProtected(granted: GrantedPath, kept: readonly string[]): Promise<void> {
  const { real } = granted
  const around = kept.find(each => isInside(real, each))
  if (around !== undefined) refuse(granted, `no script writes to ${around}`)
  const within = kept.find(each => isInside(each, real))
  if (within !== undefined)
    refuse(granted, `no script writes to ${within} in it; grant a folder beside that, as in fs.write:out`)
  const guarded = real.split(/[/\\]/).find(isGuardedName)
  if (guarded !== undefined) refuse(granted, `no script writes to ${JSON.stringify(guarded)}`)
  const found = await lookThrough(real, ({ entry }) => isGuardedName(entry.name))
  if (typeof found === 'object')
    refuse(granted, `no script writes to ${found.path} in it; grant a folder beside that, as in fs.write:out`)
}

function refuseHidden(granted: GrantedPath, hidden: readonly string[], isSandboxed: boolean): void {
  const around = hidden.find(each => isInside(granted.real, each))
  if (around !== undefined) refuse(granted, `no script sees ${around}`)
  const within = isSandboxed ? undefined : hidden.find(each => isInside(each, granted.real))
  if (within !== undefined)
    refuse(
      granted,
      `without a sandbox nothing hides ${within} in it; install bubblewrap, or grant a folder beside that, as in fs.read:docs`,
    )
}

/** Node takes a star in a permitted path for a wildcard. */
function refuseWildcard(granted: GrantedPath): void {
  if (`${granted.path}${granted.real}`.includes('*'))
    refuse(granted, 'without a sandbox "*" in a path would mean every name; grant the folder around it')
}

/** The permissions of Node follow links wherever they lead. */
async function refuseLinksOut(granted: GrantedPath, allowed: readonly GrantedPath[]): Promise<void> {
  let target = ''
  const found = await lookThrough(granted.real, async ({ entry, path }) => {
    if (!entry.isSymbolicLink()) return false
    target = await findReal(path)
    return !allowed.some(({ real }) => isInside(target, real))
  })
  if (found === undefined) return
  const way = 'install bubblewrap, or grant a narrower folder'
  if (found === 'too-many')
    refuse(granted, `without a sandbox its links have to be looked at, and it has too many entries; ${way}`)
  else refuse(granted, `without a sandbox ${found.path}, a link to ${target}, would lead out of it; ${way}`)
}

function refuse({ grant, path }: GrantedPath, reason: string): never {
  const shown = grant.includes(':') ? grant : `${grant} of ${path}`
  throw new SkillError('SCRIPT_REFUSED', `${shown} is granted, and ${reason}`)
}

async function findCovered(
  readable: readonly GrantedPath[],
  hidden: readonly string[],
): Promise<readonly CoveredPath[]> {
  const within = hidden.filter(each => readable.some(({ real }) => isInside(each, real)))
  const outermost = within.filter(each => !within.some(other => other !== each && isInside(each, other)))
  const found = [...new Set(outermost)].map(async path => {
    const facts = await stat(path).catch(() => undefined)
    return facts === undefined ? undefined : { path, isFolder: facts.isDirectory() }
  })
  return (await Promise.all(found)).filter(each => each !== undefined)
}
