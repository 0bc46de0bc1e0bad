import { lstatSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { createStateDirectory, NodeFileSystem, openWriteLock } from '@skillstoke/core/node'

const FILE_NAME = 'named-places.json'

/**
 * What a person has named on this machine outside of a project. It is kept in the state directory, because a file of the project
 * could name anything; where it is missing or broken, nothing was named.
 */
export interface NamedPlaces {
  /** Links that `stoke link` has made, with the real folders to which they lead. */
  readonly links: readonly { readonly path: string; readonly target: string }[]
  /** Places elsewhere from which `stoke add` has copied, with the folder in which that was said. */
  readonly sources: readonly { readonly from: string; readonly source: string }[]
}

const NOTHING: NamedPlaces = { links: [], sources: [] }

export function readNamedPlaces(stateDirectory: string): NamedPlaces {
  try {
    const read: unknown = JSON.parse(readFileSync(join(stateDirectory, FILE_NAME), 'utf8'))
    return isNamedPlaces(read) ? read : NOTHING
  } catch {
    return NOTHING // not there, not readable, no JSON: then nothing is allowed by it
  }
}

/** Checked by hand, because every command asks and a library for it would take longer to load than the command. */
function isNamedPlaces(value: unknown): value is NamedPlaces {
  return (
    hasOnly(value, ['version', 'links', 'sources']) &&
    value['version'] === 1 &&
    isListOf(value['links'], ['path', 'target']) &&
    isListOf(value['sources'], ['from', 'source'])
  )
}

/** Whether it is a list of objects that have these fields, all of them text, and no other. */
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

/** The folders into which links of the roots may lead because a person has made these links, as long as they are those links. */
export function findLinkedFolders(stateDirectory: string): readonly string[] {
  return readNamedPlaces(stateDirectory).links.flatMap(({ path, target }) => {
    try {
      return lstatSync(path).isSymbolicLink() && realpathSync(path) === target ? target : []
    } catch {
      return [] // the link is gone, or leads nowhere
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

/** Whether a person has copied from a place before, named in the same words and in the same folder. */
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
