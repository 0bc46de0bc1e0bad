import { digestOf } from '../skill/digest.ts'
import { type SkillFile, sortFiles } from '../skill/manifest.ts'
import type { FetchContext } from './remote-source.ts'
import type { FetchedFile } from './stored-tree.ts'

/**
 * A skill as its origin lists it, with the frontmatter and the digest of each file. The source retrieves the files when
 * they are first needed, for example when the skill is loaded.
 */
export interface ListedSkill {
  /** The folder of the skill within the source, `/`-separated; unique in the tree. */
  readonly location: string
  /** `SKILL.md` or `skill.md`. */
  readonly skillFile: string
  /** The fields of the frontmatter in `skillFile`, as JSON values. */
  readonly frontmatter: Readonly<Record<string, unknown>>
  /**
   * All files of the skill in any order, with paths relative to the folder. Empty if the origin does not list the files.
   * In this case, the revision of the skill is unknown until the files are retrieved.
   */
  readonly files: readonly SkillFile[]
}

/**
 * Stores the retrieved files of a listed skill. Returns the skill with the stored files.
 *
 * @example
 * ```ts
 * import { type ListedSkill, MemorySkillStore, portableHasher, storeRetrieved } from '@skillstoke/core/source'
 *
 * const context = { store: new MemorySkillStore(), hasher: portableHasher }
 * const frontmatter = { name: 'greet', description: 'Use when greeting.' }
 * const listed: ListedSkill = { location: 'greet', skillFile: 'SKILL.md', frontmatter, files: [] }
 * const bytes = new TextEncoder().encode('Say hello.')
 * const file = { path: 'notes.md', kind: 'file', bytes, isExecutable: false } as const
 * const { files } = storeRetrieved(listed, [file], context)
 * console.log(files.map(({ path, size }) => `${path}: ${size}`)) // prints [ 'notes.md: 10' ]
 * ```
 */
export function storeRetrieved(
  skill: ListedSkill,
  retrieved: readonly FetchedFile[],
  { store, hasher }: Pick<FetchContext, 'store' | 'hasher'>,
): ListedSkill {
  const files = retrieved.map(({ path, bytes, isExecutable }) => {
    const digest = digestOf(bytes, hasher)
    // Stores the bytes even if the store knows the digest, because the store may have lost the bytes.
    store.put(digest, bytes)
    return Object.freeze({ path, digest, size: bytes.length, isExecutable })
  })
  return { ...skill, files: sortFiles(files) }
}
