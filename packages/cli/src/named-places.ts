import { lstatSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { createStateDirectory, NodeFileSystem, openWriteLock } from '@skillstoke/core/node'
import { z } from 'zod'

const FILE_NAME = 'named-places.json'

const namedPlaces = z.strictObject({
  version: z.literal(1),
  links: z.array(z.strictObject({ path: z.string(), target: z.string() })),
  sources: z.array(z.strictObject({ from: z.string(), source: z.string() })),
})

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
    const parsed = namedPlaces.safeParse(JSON.parse(readFileSync(join(stateDirectory, FILE_NAME), 'utf8')))
    return parsed.success ? parsed.data : NOTHING
  } catch {
    return NOTHING // not there, not readable, no JSON: then nothing is allowed by it
  }
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
