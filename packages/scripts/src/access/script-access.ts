import { lstat, readlink } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, delimiter, dirname, join, resolve } from 'node:path'
import { SkillError } from '@skillstoke/core'
import { findCapabilityForm, quote } from '@skillstoke/core/internal'
import type { ScriptCapability } from '@skillstoke/core/source'
import { findScriptUser, isSuperuser, type ScriptUser } from '../process/script-user.ts'
import { identityOf } from './file-identity.ts'
import { type FolderLook, type FolderLooks, pathsOf } from './folder-looks.ts'
import { findReal, type GrantedPath, isInsideFolder, resolveGrantedPath, toBase } from './granted-path.ts'
import { guardedPathsIn, isGuardedName } from './guarded-names.ts'
import { findPartialFolder, type PartialFolder } from './partial-folders.ts'

/** Everything that the grants of a process allow the process to access. */
export interface ScriptAccess {
  readonly readable: readonly GrantedPath[]
  readonly writable: readonly GrantedPath[]
  /** Folders in `readable` that contain hidden entries. A sandbox does not show the hidden entries. */
  readonly partial: readonly PartialFolder[]
  readonly hasNetwork: boolean
  readonly hasPrograms: boolean
  /** The environment variables that are granted and set, with their values. */
  readonly secrets: Readonly<Record<string, string>>
  /** The user as which a sandbox runs the process; missing if this is the user of the host. */
  readonly user?: ScriptUser
  /** Identities of the entries that a script must not leave in writable folders, but that were there at this check. */
  readonly present: ReadonlySet<string>
  /** When the check began, as a time of the system. Files that were created earlier are not from the script. */
  readonly checkedAtMs: number
  /** The workspace, if the process is allowed to read it. */
  readonly workspace?: string
  /**
   * A value that changes when a granted path resolves to another file. A process that was started with a different value is not used again.
   */
  readonly identity: string
}

/**
 * For each form of capability, the field of `ScriptAccess` that stores capabilities of this form. The type checker
 * reports a form without an entry.
 */
const PART_OF_FORM: Readonly<Record<NonNullable<ReturnType<typeof findCapabilityForm>>, keyof ScriptAccess>> =
  {
    net: 'hasNetwork',
    exec: 'hasPrograms',
    'env:NAME': 'secrets',
    'fs.read': 'readable',
    'fs.write': 'writable',
    'fs.read:path': 'readable',
    'fs.write:path': 'writable',
  }

/** What the code of one skill may access. Recorded as long as this code may run. */
export interface AccessInUse {
  readonly skill: string
  access?: ScriptAccess
}

export interface AccessOptions {
  /** Folder that `fs.read` and `fs.write` grant if they name no path. Relative paths in grants also refer to this folder. */
  readonly workspace: string
  /** Files and folders that no script may write to, even if a grant allows it. */
  readonly protectedPaths: readonly string[]
  /** Files and folders that no script may see, even if a grant allows it. */
  readonly hiddenPaths: readonly string[]
  /** Whether an operating system sandbox confines the process, in addition to Node's permissions. */
  readonly isSandboxed: boolean
  readonly looks: FolderLooks
  /** What other skills may access, if their code could run at the same time. */
  readonly others: readonly AccessInUse[]
  /** Environment variables of the host. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** @throws {SkillError} SCRIPT_REFUSED when a grant would give access to more than its text says */
export async function toScriptAccess(
  grants: readonly ScriptCapability[],
  options: AccessOptions,
): Promise<ScriptAccess> {
  const { isSandboxed, env } = options
  const checkedAtMs = Date.now()
  const workspace = await toBase(options.workspace)
  const grantsOf = (part: keyof ScriptAccess): readonly ScriptCapability[] =>
    grants.filter(grant => {
      const form = findCapabilityForm(grant)
      return form !== undefined && PART_OF_FORM[form] === part
    })
  const find = async (part: 'readable' | 'writable'): Promise<readonly GrantedPath[]> =>
    await Promise.all(
      grantsOf(part).map(grant =>
        grant.includes(':') ? resolveGrantedPath(grant, workspace) : { grant, ...workspace },
      ),
    )
  const written = await find('writable')
  const writable = withoutCovered(written, written)
  const readable = [...withoutCovered(await find('readable'), written), ...writable]
  const hasPrograms = grantsOf('hasPrograms').length > 0
  const hasPaths = readable.length > 0
  const hidden = hasPaths ? await findHidden(options.hiddenPaths) : []
  const kept = hasPaths ? await Promise.all(options.protectedPaths.map(path => findReal(resolve(path)))) : []
  const looks = new Map<string, Promise<FolderLook>>()
  const look = async ({ real }: GrantedPath): Promise<FolderLook> => {
    const readsModes = writable.some(each => each.real === real)
    const found = looks.get(real) ?? options.looks.look(real, { readsModes })
    looks.set(real, found)
    return await found
  }
  for (const each of readable) refuseChangeable(each, options.others)
  const present = new Set<string>()
  for (const each of writable) {
    refuseProtected(each, [...hidden, ...kept])
    const found = await look(each)
    refuseGuarded(each, found)
    for (const { identity } of [...found.odd, ...found.parts]) present.add(identity)
  }
  for (const each of readable) refuseHidden(each, hidden, isSandboxed)
  if (!isSandboxed) for (const each of readable) refuseWildcard(each)
  // If a script may start programs without a sandbox, skip these checks, because the script can access everything
  // anyway.
  if (!isSandboxed && !hasPrograms) {
    for (const each of writable) {
      await refuseLinksOut(each, writable, await look(each))
      await refuseLinksUp(each, await look(each))
    }
    for (const each of readable) await refuseLinksOut(each, readable, await look(each))
  }
  const partial = isSandboxed ? await findPartial(readable, hidden) : []
  const user = isSandboxed && isSuperuser() ? await findScriptUser(writable, readable) : undefined
  const names = grantsOf('secrets').map(grant => grant.slice('env:'.length))
  return {
    readable,
    writable,
    partial,
    identity: JSON.stringify([await Promise.all([...readable, ...writable].map(identify)), partial, user]),
    hasNetwork: grantsOf('hasNetwork').length > 0,
    hasPrograms,
    secrets: Object.fromEntries(
      names.flatMap(name => (Object.hasOwn(env, name) && env[name] !== undefined ? [[name, env[name]]] : [])),
    ),
    present,
    checkedAtMs,
    ...(user === undefined ? {} : { user }),
    ...(readable.some(({ real }) => real === workspace.real) ? { workspace: workspace.real } : {}),
  }
}

/**
 * Returns the paths that are always protected: kernel settings, guarded paths in the user's home folder and, if the host
 * set no workspace, guarded paths in the working directory.
 */
export function defaultProtectedPaths(workspace: string | undefined): readonly string[] {
  const kernel = process.platform === 'linux' ? ['/proc', '/sys'] : []
  const own = workspace === undefined ? guardedPathsIn(process.cwd()) : []
  return [...kernel, ...guardedPathsIn(homedir()), ...own]
}

/** Returns the complete environment of a process. The environment of the host is not copied, because it may contain secrets. */
export function toEnvironment(
  { secrets }: ScriptAccess,
  scratch: string,
  path: readonly string[],
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  // Windows uses these variables instead of HOME and TMPDIR. If a variable is missing, libuv adds the value from the host.
  const windows = { USERPROFILE: scratch, TEMP: scratch, TMP: scratch }
  return {
    ...(platform === 'win32' ? windows : {}),
    PATH: path.join(delimiter),
    LANG: 'C.UTF-8',
    HOME: scratch,
    TMPDIR: scratch,
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONUNBUFFERED: '1',
    // Scripts get no packages, even if a script starts uv itself.
    UV_OFFLINE: '1',
    ...secrets,
  }
}

/**
 * Removes granted paths that are inside a writable folder. Such a path gives no further access, and a script could
 * replace it with a link.
 */
function withoutCovered(
  granted: readonly GrantedPath[],
  writable: readonly GrantedPath[],
): readonly GrantedPath[] {
  return granted.filter(
    ({ real }) => !writable.some(other => isInsideFolder(real, other.real) && real !== other.real),
  )
}

/** Refuses a path that a script of another skill could replace with a link between this check and the start of the process. */
function refuseChangeable(granted: GrantedPath, others: readonly AccessInUse[]): void {
  for (const { skill, access } of others) {
    const around = access?.writable.find(
      ({ real }) => isInsideFolder(granted.real, real) && granted.real !== real,
    )
    if (around !== undefined)
      refuse(
        granted,
        `${around.grant} lets the skill ${quote(skill)} replace this path; grant ${around.real} to both, or a folder beside it`,
      )
  }
}

/**
 * Refuses to make a parent of a protected folder writable, because a script could then replace the protected folder
 * with another folder.
 */
function refuseProtected(granted: GrantedPath, kept: readonly string[]): void {
  const { real } = granted
  const around = kept.find(each => isInsideFolder(real, each))
  if (around !== undefined) refuse(granted, `no script may write to ${around}`)
  const within = kept.find(each => isInsideFolder(each, real))
  if (within !== undefined)
    refuse(granted, `no script may write to ${within} in it; grant a folder beside it, as in fs.write:out`)
  const guarded = real.split(/[/\\]/).find(isGuardedName)
  if (guarded !== undefined) refuse(granted, `no script may write to ${quote(guarded)}`)
}

function refuseGuarded(granted: GrantedPath, look: FolderLook): void {
  const [guarded] = pathsOf(look, 'guarded', 'repository')
  const [closed] = pathsOf(look, 'closed')
  if (guarded !== undefined)
    refuse(
      granted,
      `no script may write to ${guarded} in it; remove it, or grant a folder beside it, as in fs.write:out`,
    )
  const way = 'so it may contain protected files; grant a narrower folder'
  if (look.isTooLarge) refuse(granted, `it has more than 100,000 entries, ${way}`)
  if (closed !== undefined) refuse(granted, `${closed} in it cannot be listed, ${way}`)
}

function refuseHidden(granted: GrantedPath, hidden: readonly string[], isSandboxed: boolean): void {
  const around = hidden.find(each => isInsideFolder(granted.real, each))
  if (around !== undefined) refuse(granted, `no script may see ${around}`)
  const within = isSandboxed ? undefined : hidden.find(each => isInsideFolder(each, granted.real))
  if (within !== undefined)
    refuse(
      granted,
      `${within} in it can only be hidden by a sandbox; install bubblewrap, or grant a folder beside it, as in fs.read:docs`,
    )
}

/** Refuses a path with `*`, because Node's permissions treat `*` as a wildcard. */
function refuseWildcard(granted: GrantedPath): void {
  if (`${granted.path}${granted.real}`.includes('*'))
    refuse(granted, 'without a sandbox Node treats "*" in a path as a wildcard; grant the parent folder')
}

/** Refuses links that lead out of the granted folders, because Node's permissions allow access through every link. */
async function refuseLinksOut(
  granted: GrantedPath,
  allowed: readonly GrantedPath[],
  look: FolderLook,
): Promise<void> {
  const way = 'install bubblewrap, or grant a narrower folder'
  for (const link of pathsOf(look, 'link')) {
    const target = await findReal(link)
    if (!allowed.some(({ real }) => isInsideFolder(target, real)))
      refuse(
        granted,
        `without a sandbox the link ${link} would give access to ${target}, which is outside; ${way}`,
      )
  }
  if (look.isTooLarge)
    refuse(granted, `without a sandbox its links must be checked, and it has too many entries; ${way}`)
}

/**
 * Refuses links with `..` in their target. A script without a sandbox cannot create links. But the script could move
 * such a link into another folder, so that the link leads to another target.
 */
async function refuseLinksUp(granted: GrantedPath, look: FolderLook): Promise<void> {
  for (const link of pathsOf(look, 'link')) {
    const target = await readlink(link).catch(() => '')
    if (target.split(/[/\\]/).includes('..'))
      refuse(
        granted,
        `without a sandbox scripts could move ${link}, a link to ${target}, so that it points outside; install bubblewrap, or grant a narrower folder`,
      )
  }
}

function refuse({ grant, path }: GrantedPath, reason: string): never {
  const shown = grant.includes(':') ? grant : `${grant} of ${path}`
  throw new SkillError('SCRIPT_REFUSED', `${shown} is granted, but ${reason}`)
}

/** Returns each hidden path with links resolved. For a hidden path that is a link, also returns the path of the link itself. */
async function findHidden(paths: readonly string[]): Promise<readonly string[]> {
  const found = paths
    .map(each => resolve(each))
    .map(async path => {
      return [await findReal(path), join(await findReal(dirname(path)), basename(path))]
    })
  return [...new Set((await Promise.all(found)).flat())]
}

async function findPartial(
  readable: readonly GrantedPath[],
  hidden: readonly string[],
): Promise<readonly PartialFolder[]> {
  const folders = readable.filter(({ real }) => hidden.some(path => isInsideFolder(path, real)))
  return await Promise.all(
    folders.map(async granted => {
      const found = await findPartialFolder(granted.real, hidden)
      if (found !== 'too-many') return found
      return refuse(
        granted,
        'it has more than 1,000 entries besides hidden ones; grant a narrower folder, as in fs.read:docs',
      )
    }),
  )
}

/** Returns values that change when another folder or file takes the place of the granted folder or file. */
async function identify({ path, real }: GrantedPath): Promise<readonly string[]> {
  const facts = await lstat(real, { bigint: true }).catch(() => undefined)
  return [path, real, facts === undefined ? '' : identityOf(facts)]
}
