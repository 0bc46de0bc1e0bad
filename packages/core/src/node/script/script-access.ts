import { realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, delimiter, dirname, join, relative, resolve } from 'node:path'
import { type Capability, SkillError } from '../../index.ts'

/** A granted path, and where it leads without links. */
export interface GrantedPath {
  readonly path: string
  readonly real: string
}

/** What a process may reach, as its grants say. */
export interface ScriptAccess {
  readonly readable: readonly GrantedPath[]
  readonly writable: readonly GrantedPath[]
  readonly hasNetwork: boolean
  readonly hasPrograms: boolean
  /** Granted variables, as far as they are set. */
  readonly secrets: Readonly<Record<string, string>>
  /** The workspace, if it may be read. */
  readonly workspace?: string
}

export interface AccessOptions {
  /** What `fs.read` and `fs.write` without a path mean, and what relative paths begin at. */
  readonly workspace: string
  /** Folders that nobody may write to, whatever is granted. */
  readonly protectedPaths: readonly string[]
  /** The variables of the host. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** @throws {SkillError} SCRIPT_REFUSED when a granted path leads where nobody meant it to */
export async function toScriptAccess(
  grants: readonly Capability[],
  { workspace, protectedPaths, env }: AccessOptions,
): Promise<ScriptAccess> {
  const home = { path: resolve(workspace), real: await findReal(resolve(workspace)) }
  const find = async (kind: 'fs.read' | 'fs.write'): Promise<GrantedPath[]> => {
    const found = grants.map(grant => {
      if (grant === kind) return home
      return grant.startsWith(`${kind}:`) ? follow(grant.slice(kind.length + 1), grant, home) : undefined
    })
    return (await Promise.all(found)).filter(each => each !== undefined)
  }
  const writable = await find('fs.write')
  const readable = [...(await find('fs.read')), ...writable]
  const names = grants.flatMap(grant => (grant.startsWith('env:') ? grant.slice('env:'.length) : []))
  const kept = await Promise.all(protectedPaths.map(path => findReal(resolve(path))))
  for (const each of writable) refuseProtected(each, kept)
  return {
    readable,
    writable,
    hasNetwork: grants.includes('net'),
    hasPrograms: grants.includes('exec'),
    secrets: Object.fromEntries(
      names.flatMap(name => (Object.hasOwn(env, name) && env[name] !== undefined ? [[name, env[name]]] : [])),
    ),
    ...(readable.includes(home) ? { workspace: home.real } : {}),
  }
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

/** A link in a workspace must not make more of a grant than a person who reads it would think. */
async function follow(written: string, grant: Capability, workspace: GrantedPath): Promise<GrantedPath> {
  const path = resolve(workspace.path, written.replace(/^~(?=\/|$)/, homedir()))
  const real = await findReal(path)
  if (isInside(path, workspace.path) && !isInside(real, workspace.real))
    throw new SkillError(
      'SCRIPT_REFUSED',
      `${grant} is granted, and a link takes it out of the workspace, to ${real}; grant that path itself if it is meant`,
    )
  return { path, real }
}

/** Whoever may write around a folder may move it away and put another in its place. */
function refuseProtected({ path, real }: GrantedPath, kept: readonly string[]): void {
  const refuse = (reason: string): never => {
    throw new SkillError('SCRIPT_REFUSED', `fs.write of ${path} is granted, and ${reason}`)
  }
  const around = kept.find(each => isInside(real, each))
  if (around !== undefined) refuse(`no script writes to ${around}`)
  const within = kept.find(each => isInside(each, real))
  if (within !== undefined)
    refuse(`no script writes to ${within} in it; grant a folder beside that, as in fs.write:out`)
}

/** Where a path leads; of what is not there yet, where it would be. */
async function findReal(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    return dirname(path) === path ? path : join(await findReal(dirname(path)), basename(path))
  }
}

/** Also for a folder itself. */
export function isInside(path: string, folder: string): boolean {
  return !/^\.\.(?:[/\\]|$)|^(?:[A-Za-z]:)?[/\\]/.test(relative(folder, path))
}
