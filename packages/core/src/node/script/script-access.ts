import { homedir } from 'node:os'
import { delimiter, resolve } from 'node:path'
import type { Capability } from '../../index.ts'

/** What a process may reach, as its grants say. */
export interface ScriptAccess {
  readonly readable: readonly string[]
  readonly writable: readonly string[]
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
  /** The variables of the host. */
  readonly env: Readonly<Record<string, string | undefined>>
}

export function toScriptAccess(
  grants: readonly Capability[],
  { workspace, env }: AccessOptions,
): ScriptAccess {
  const pathsOf = (kind: 'fs.read' | 'fs.write'): string[] =>
    grants.flatMap(grant => {
      if (grant === kind) return resolve(workspace)
      return grant.startsWith(`${kind}:`) ? toPath(grant.slice(kind.length + 1), workspace) : []
    })
  const writable = pathsOf('fs.write')
  const readable = [...pathsOf('fs.read'), ...writable]
  const names = grants.flatMap(grant => (grant.startsWith('env:') ? grant.slice('env:'.length) : []))
  return {
    readable,
    writable,
    hasNetwork: grants.includes('net'),
    hasPrograms: grants.includes('exec'),
    secrets: Object.fromEntries(
      names.flatMap(name => (Object.hasOwn(env, name) && env[name] !== undefined ? [[name, env[name]]] : [])),
    ),
    ...(readable.includes(resolve(workspace)) ? { workspace: resolve(workspace) } : {}),
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

function toPath(written: string, workspace: string): string {
  return resolve(workspace, written.replace(/^~(?=\/|$)/, homedir()))
}
