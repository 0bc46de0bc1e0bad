import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { findPathFault, isGitName } from '@skillstoke/core/internal'
import { NodeFileSystem } from '@skillstoke/core/node'
import { z } from 'zod'
import type { Config } from '../config/config.ts'
import { describeJsonFault } from '../config/json-fault.ts'
import { readIfThere } from '../config/read-text.ts'
import { realPath } from '../config/real-path.ts'
import { UsageError } from '../terminal/exit-code.ts'

export const LOCK_FILE_NAME = 'skillstoke.lock.json'

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'a digest has "sha256:" and 64 hexadecimal digits')
const locked = z
  .strictObject({
    /** The source, written like a value of `--source`. */
    source: z.string().min(1),
    /** Folder in the source. */
    location: z.string(),
    /** Version of the source, for example a commit or a digest. */
    version: z.string(),
    /** Folder in the project. */
    path: z.string().min(1),
    revision: digest,
    /** Digests of the files, by path. */
    files: z.record(z.string(), digest),
  })
  .readonly()
const lockFile = z.strictObject({ version: z.literal(1), skills: z.record(z.string(), locked) })

/** A skill that was copied into the project, with its source and the digest of every file. */
export type LockedSkill = z.infer<typeof locked>

/** Locked skills by name. */
export type LockedSkills = Readonly<Record<string, LockedSkill>>

/** Returns the project folder, in which the lock file is stored. */
export function projectFolder(config: Config): string {
  return config.file === undefined ? process.cwd() : dirname(resolve(config.file))
}

export function hasLock(config: Config): boolean {
  return existsSync(join(projectFolder(config), LOCK_FILE_NAME))
}

/**
 * Reads the lock file. Returns an empty object if the lock file does not exist. @throws {UsageError} when the lock file
 * is invalid
 */
export function readLock(config: Config): LockedSkills {
  const path = join(projectFolder(config), LOCK_FILE_NAME)
  const text = readIfThere(path, `${path} cannot be read`)
  if (text === undefined) return {}
  const json = parseJson(text, path)
  const parsed = lockFile.safeParse(json)
  if (parsed.success) {
    for (const [name, { path: folder }] of Object.entries(parsed.data.skills)) {
      const fault = findFolderFault(name, folder, config)
      if (fault !== undefined)
        throw new UsageError(`${path}: skills.${name}.path: ${JSON.stringify(folder)} ${fault}`)
    }
    return parsed.data.skills
  }
  throw new UsageError(`${path} ${describeFault(parsed.error, json)}`)
}

/** Returns what is wrong with an invalid lock file, as the second half of an error message. */
function describeFault({ issues }: z.ZodError, json: unknown): string {
  const version: unknown = (json as { version?: unknown } | null)?.version
  if (typeof version === 'number' && version > 1)
    return `has version ${version}, which a newer skillstoke wrote; update skillstoke`
  const [{ path, message } = { path: [], message: 'its content is invalid' }] = issues
  const where = path.length === 0 ? '' : ` at ${path.map(String).join('.')}`
  return `is not a valid lock file${where}: ${message}; restore it, or remove it and add the skills again`
}

/**
 * Returns why a skill must not be copied into a folder, as the second half of an error message. A lock file may come
 * from another person. Such a lock file must not direct copies to folders from which programs run code.
 */
export function findFolderFault(name: string, folder: string, config: Config): string | undefined {
  const fault = findPathFault(folder)
  if (fault !== undefined) return fault
  const segments = folder.split('/')
  if (segments.at(-1) !== name) return `does not end in the name of the skill, ${JSON.stringify(name)}`
  if (name.startsWith('.')) return 'is hidden'
  const project = projectFolder(config)
  const root = join(project, ...segments.slice(0, -1))
  const [realProject, realRoot] = [realPath(project), realPath(root)]
  if (realProject === undefined || realRoot === undefined) return 'is a broken link'
  // Ignores roots from the project's configuration file, because a configuration file must not allow copies to hidden
  // folders.
  const chosen = config.areRootsOfFile ? [] : config.roots.map(each => resolve(each.path))
  return (
    findPlaceFault(relative(project, root), chosen.includes(root)) ??
    findPlaceFault(relative(realProject, realRoot), chosen.map(realPath).includes(realRoot))
  )
}

/** Matches the usual roots of agents, such as `.agents/skills` and `.claude/skills`. */
const USUAL_ROOT = /^\.[^/\\]+[/\\]skills$/

/**
 * Checks a path relative to the project. This function is called twice for each folder in the lock file: with the
 * written path and with the real path.
 */
function findPlaceFault(fromProject: string, isChosen: boolean): string | undefined {
  if (isAbsolute(fromProject)) return 'leads out of the project through a link'
  const segments = fromProject.split(sep).map(segment => segment.toLowerCase())
  if (segments[0] === '..') return 'leads out of the project through a link'
  const isHidden = segments.some(segment => segment.startsWith('.') || segment === 'node_modules')
  const isRoot = isChosen || USUAL_ROOT.test(fromProject)
  const isAllowed = (!isHidden || isRoot) && !segments.some(isGitName)
  return isAllowed ? undefined : 'is in a hidden folder that is not a root'
}

/** Writes the lock file, sorted by name, so that equal content gives equal bytes. */
export async function writeLock(config: Config, skills: LockedSkills): Promise<void> {
  const sorted = Object.fromEntries(Object.entries(skills).sort(([a], [b]) => (a < b ? -1 : 1)))
  const folder = projectFolder(config)
  const text = `${JSON.stringify({ version: 1, skills: sorted }, undefined, 2)}\n`
  await new NodeFileSystem().write(join(folder, LOCK_FILE_NAME), new TextEncoder().encode(text), {
    inside: folder,
  })
}

/** Returns the names of the skills that another command line program, `skills`, installed. */
export function readForeignNames(config: Config): ReadonlySet<string> {
  const names = new Set<string>()
  for (const path of [
    join(projectFolder(config), 'skills-lock.json'),
    join(homedir(), '.agents', '.skill-lock.json'),
  ]) {
    const text = readIfThere(path, `${path} cannot be read`)
    if (text === undefined) continue
    try {
      const { skills } = JSON.parse(text) as { skills?: unknown }
      if (typeof skills === 'object' && skills !== null)
        for (const name of Object.keys(skills)) names.add(name)
    } catch {
      // Ignores an invalid file, because the file belongs to another program.
    }
  }
  return names
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch (thrown) {
    throw new UsageError(
      `${path} is not valid JSON: ${describeJsonFault(thrown)}; restore it, or remove it and add the skills again`,
      { cause: thrown },
    )
  }
}
