import { lstatSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { createStateDirectory, NodeFileSystem, openWriteLock } from '@skillstoke/core/node'

const FILE_NAME = 'named-places.json'

/**
 * Folders and sources that a person named on this machine. The list is stored in the state directory, because a file
 * inside the project could come from another person. If the stored list is missing or broken, it counts as empty.
 */
export interface NamedPlaces {
  /** Links that `stoke link` created, each with the real path of its target. */
  readonly links: readonly { readonly path: string; readonly target: string }[]
  /** Sources from which `stoke add` copied skills, each with the working directory in which `stoke add` ran. */
  readonly sources: readonly { readonly from: string; readonly source: string }[]
}

const NOTHING: NamedPlaces = { links: [], sources: [] }

export function readNamedPlaces(stateDirectory: string): NamedPlaces {
  try {
    const read: unknown = JSON.parse(readFileSync(join(stateDirectory, FILE_NAME), 'utf8'))
    return isNamedPlaces(read) ? read : NOTHING
  } catch {
    return NOTHING // missing, unreadable or invalid: allows nothing
  }
}

/**
 * Checks the value without a schema library, because every command calls this function and the library takes long to
 * load.
 */
function isNamedPlaces(value: unknown): value is NamedPlaces {
  return (
    hasOnly(value, ['version', 'links', 'sources']) &&
    value['version'] === 1 &&
    isListOf(value['links'], ['path', 'target']) &&
    isListOf(value['sources'], ['from', 'source'])
  )
}

/** Whether the value is a list of objects that have exactly these fields, each with a string as its value. */
function isListOf(value: unknown, names: readonly string[]): boolean {
  return (
    Array.isArray(value) &&
    value.every(each => hasOnly(each, names) && names.every(name => typeof each[name] === 'string'))
  )
}

function hasOnly(value: unknown, names: readonly string[]): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const found = Object.keys(value)
  return found.length === names.length && names.every(name => found.includes(name))
}

/** Returns the targets of links that `stoke link` created. Omits a link whose target has changed since then. */
export function findLinkedFolders(stateDirectory: string): readonly string[] {
  return readNamedPlaces(stateDirectory).links.flatMap(({ path, target }) => {
    try {
      return lstatSync(path).isSymbolicLink() && realpathSync(path) === target ? target : []
    } catch {
      return [] // the link was removed, or is broken
    }
  })
}

export async function noteLink(stateDirectory: string, path: string, target: string): Promise<void> {
  await note(stateDirectory, before => ({
    ...before,
    links: [...before.links.filter(each => each.path !== path), { path, target }],
  }))
}

export async function noteSource(stateDirectory: string, source: string): Promise<void> {
  if (isNamedSource(stateDirectory, source)) return
  const named = { from: process.cwd(), source }
  await note(stateDirectory, before => ({ ...before, sources: [...before.sources, named] }))
}

/** Whether `stoke add` was already called with exactly this source in this working directory. */
export function isNamedSource(stateDirectory: string, source: string): boolean {
  const here = process.cwd()
  return readNamedPlaces(stateDirectory).sources.some(each => each.from === here && each.source === source)
}

async function note(stateDirectory: string, change: (before: NamedPlaces) => NamedPlaces): Promise<void> {
  const inside = createStateDirectory(stateDirectory)
  await using lock = await openWriteLock(stateDirectory)
  await lock.run(async () => {
    const after = { version: 1, ...change(readNamedPlaces(stateDirectory)) }
    const bytes = new TextEncoder().encode(`${JSON.stringify(after, undefined, 2)}\n`)
    await new NodeFileSystem().write(join(inside, FILE_NAME), bytes, { inside })
  })
}
