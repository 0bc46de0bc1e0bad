import { digestOf } from '../skill/digest.ts'
import { sortFiles } from '../skill/manifest.ts'
import type { FetchedFile } from './stored-tree.ts'
import type { FetchContext, ListedSkill } from './tree-fetcher.ts'

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
