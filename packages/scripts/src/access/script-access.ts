import { lstat, readlink } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, delimiter, dirname, join, resolve } from 'node:path'
import { SkillError } from '@skillstoke/core'
import { type CapabilityForm, findCapabilityForm } from '@skillstoke/core/internal'
import type { ScriptCapability } from '@skillstoke/core/source'
import type { FolderLook, FolderLooks } from './folder-looks.ts'
import { findReal, type GrantedPath, isInside, resolveGrantedPath, toBase } from './granted-path.ts'
import { guardedPathsIn, isGuardedName } from './guarded-names.ts'
import type { PartialFolder, PartialFolders } from './partial-folders.ts'

/** What a process may reach, as its grants say. */
export interface ScriptAccess {
  readonly readable: readonly GrantedPath[]
  readonly writable: readonly GrantedPath[]
  /** Folders in `readable` of which a sandbox shows some entries only. */
  readonly partial: readonly PartialFolder[]
  readonly hasNetwork: boolean
  readonly hasPrograms: boolean
  /** Granted variables, as far as they are set. */
  readonly secrets: Readonly<Record<string, string>>
  /** The workspace, if it may be read. */
  readonly workspace?: string
  /** The same as long as the paths lead to the same files: a process that was started with another one is not used again. */
  readonly identity: string
}

/** Which part of a script's access a capability opens: a form that nothing enforces does not compile. */
const PART_OF_FORM: Readonly<Record<CapabilityForm, keyof ScriptAccess>> = {
  net: 'hasNetwork',
  exec: 'hasPrograms',
  'env:NAME': 'secrets',
  'fs.read': 'readable',
  'fs.write': 'writable',
  'fs.read:path': 'readable',
  'fs.write:path': 'writable',
}

/** A skill whose code may run now, with what it may reach. */
export interface AccessInUse {
  readonly skill: string
  access?: ScriptAccess
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
  readonly looks: FolderLooks
  readonly partialFolders: PartialFolders
  /** What code of other skills may reach that could run at the same time. */
  readonly others: readonly AccessInUse[]
  /** The variables of the host. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** @throws {SkillError} SCRIPT_REFUSED when a granted path reaches more than a person who reads the grant would think */
export async function toScriptAccess(
  grants: readonly ScriptCapability[],
  options: AccessOptions,
): Promise<ScriptAccess> {
  const { isSandboxed, env } = options
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
    const found = looks.get(real) ?? options.looks.look(real)
    looks.set(real, found)
    return await found
  }
  for (const each of readable) refuseChangeable(each, options.others)
  for (const each of writable) {
    refuseProtected(each, [...hidden, ...kept])
    refuseGuarded(each, await look(each))
  }
  for (const each of readable) refuseHidden(each, hidden, isSandboxed)
  if (!isSandboxed) for (const each of readable) refuseWildcard(each)
  // Whoever may start programs without a sandbox is contained by nothing.
  if (!isSandboxed && !hasPrograms) {
    for (const each of writable) {
      await refuseLinksOut(each, writable, await look(each))
      await refuseLinksUp(each, await look(each))
    }
    for (const each of readable) await refuseLinksOut(each, readable, await look(each))
  }
  const partial = isSandboxed ? await findPartial(readable, hidden, options.partialFolders) : []
  const names = grantsOf('secrets').map(grant => grant.slice('env:'.length))
  return {
    readable,
    writable,
    partial,
    identity: JSON.stringify([await Promise.all([...readable, ...writable].map(identify)), partial]),
    hasNetwork: grantsOf('hasNetwork').length > 0,
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
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  // Windows reads these instead of HOME and TMPDIR, and libuv adds those of the host when they are not set.
  const windows = { USERPROFILE: scratch, TEMP: scratch, TMP: scratch }
  return {
    ...(platform === 'win32' ? windows : {}),
    PATH: path.join(delimiter),
    LANG: 'C.UTF-8',
    HOME: scratch,
    TMPDIR: scratch,
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONUNBUFFERED: '1',
    ...secrets,
  }
}

/** Leaves out what lies in a folder that may be written: it adds nothing, and the script could make a link of it. */
function withoutCovered(
  granted: readonly GrantedPath[],
  writable: readonly GrantedPath[],
): readonly GrantedPath[] {
  return granted.filter(
    ({ real }) => !writable.some(other => isInside(real, other.real) && real !== other.real),
  )
}

/** Another skill could exchange the path for a link between this check and the start of a process. */
function refuseChangeable(granted: GrantedPath, others: readonly AccessInUse[]): void {
  for (const { skill, access } of others) {
    const around = access?.writable.find(({ real }) => isInside(granted.real, real) && granted.real !== real)
    if (around !== undefined)
      refuse(
        granted,
        `${around.grant} lets the skill ${JSON.stringify(skill)} change where it leads; grant ${around.real} to both, or a folder beside it`,
      )
  }
}

/** Whoever may write around a folder may move it away and put another in its place. */
function refuseProtected(granted: GrantedPath, kept: readonly string[]): void {
  const { real } = granted
  const around = kept.find(each => isInside(real, each))
  if (around !== undefined) refuse(granted, `no script writes to ${around}`)
  const within = kept.find(each => isInside(each, real))
  if (within !== undefined)
    refuse(granted, `no script writes to ${within} in it; grant a folder beside that, as in fs.write:out`)
  const guarded = real.split(/[/\\]/).find(isGuardedName)
  if (guarded !== undefined) refuse(granted, `no script writes to ${JSON.stringify(guarded)}`)
}

function refuseGuarded(granted: GrantedPath, { guarded, closed, isTooLarge }: FolderLook): void {
  if (guarded !== undefined)
    refuse(
      granted,
      `no script writes to ${guarded} in it; remove that, or grant a folder beside it, as in fs.write:out`,
    )
  const way = 'so it may contain what no script writes to; grant a narrower folder'
  if (isTooLarge) refuse(granted, `it has more than 100,000 entries, ${way}`)
  if (closed !== undefined) refuse(granted, `${closed} in it cannot be listed, ${way}`)
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
async function refuseLinksOut(
  granted: GrantedPath,
  allowed: readonly GrantedPath[],
  { links, isTooLarge }: FolderLook,
): Promise<void> {
  const way = 'install bubblewrap, or grant a narrower folder'
  for (const link of links) {
    const target = await findReal(link)
    if (!allowed.some(({ real }) => isInside(target, real)))
      refuse(granted, `without a sandbox ${link}, a link to ${target}, would lead out of it; ${way}`)
  }
  if (isTooLarge)
    refuse(granted, `without a sandbox its links have to be looked at, and it has too many entries; ${way}`)
}

/** A script without a sandbox can make no link. It can move one, and then `..` leads elsewhere. */
async function refuseLinksUp(granted: GrantedPath, { links }: FolderLook): Promise<void> {
  for (const link of links) {
    const target = await readlink(link).catch(() => '')
    if (target.split(/[/\\]/).includes('..'))
      refuse(
        granted,
        `without a sandbox scripts could move ${link}, a link to ${target}, so that it leads out of it; install bubblewrap, or grant a narrower folder`,
      )
  }
}

function refuse({ grant, path }: GrantedPath, reason: string): never {
  const shown = grant.includes(':') ? grant : `${grant} of ${path}`
  throw new SkillError('SCRIPT_REFUSED', `${shown} is granted, and ${reason}`)
}

/** Where hidden paths are: what they lead to, and the names themselves when these are links. */
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
  partialFolders: PartialFolders,
): Promise<readonly PartialFolder[]> {
  const folders = readable.filter(({ real }) => hidden.some(path => isInside(path, real)))
  return await Promise.all(
    folders.map(async granted => {
      const found = await partialFolders.find(granted.real, hidden)
      if (found !== 'too-many') return found
      return refuse(
        granted,
        'it has more than 1,000 entries beside what no script sees; grant a narrower folder, as in fs.read:docs',
      )
    }),
  )
}

/** Tells a folder from another one that takes its place. */
async function identify({ path, real }: GrantedPath): Promise<readonly string[]> {
  const facts = await lstat(real, { bigint: true }).catch(() => undefined)
  return [path, real, facts === undefined ? '' : `${facts.dev}:${facts.ino}`]
}
