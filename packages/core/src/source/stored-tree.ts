import { SkillError } from '../errors.ts'
import { quote } from '../quote.ts'
import { compareText } from '../skill/compare.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import { revisionOf, type SkillFile } from '../skill/manifest.ts'
import type { SkillStore } from '../store/skill-store.ts'
import { storeFile } from './make-skill.ts'
import type { FetchContext, FileTree, TreeFile } from './tree-fetcher.ts'

/** A fetched file in memory. */
export interface FetchedFile {
  readonly path: string
  readonly kind: TreeFile['kind']
  readonly bytes: Uint8Array
  readonly isExecutable: boolean
}

/**
 * Makes a tree of fetched files, and stores the files, so that they survive a restart. The version of the tree is the
 * digest of all its files.
 *
 * @example
 * ```ts
 * import { MemorySkillStore, portableHasher, storeTree } from '@skillstoke/core/source'
 *
 * const context = { store: new MemorySkillStore(), hasher: portableHasher }
 * const bytes = new TextEncoder().encode('Say hello.')
 * const file = { path: 'greet/notes.md', kind: 'file', bytes, isExecutable: false } as const
 * const tree = storeTree('bucket:team', [file], context)
 * console.log(tree.files.map(({ path, size }) => `${path}: ${size}`)) // prints [ 'greet/notes.md: 10' ]
 * ```
 */
export function storeTree(
  origin: string,
  files: readonly FetchedFile[],
  { store, hasher }: Pick<FetchContext, 'store' | 'hasher'>,
): FileTree {
  const kept: SkillFile[] = []
  const others: TreeFile[] = []
  for (const { path, kind, bytes, isExecutable } of files) {
    if (kind !== 'file') {
      const id = hasher.sha256(`${kind}\0${path}`)
      others.push({ path, kind, size: 0, isExecutable: false, id, read: async () => bytes })
      continue
    }
    kept.push(storeFile({ path, bytes, isExecutable }, { store, hasher }))
  }
  kept.sort((a, b) => compareText(a.path, b.path))
  const revision = revisionOf(kept, hasher)
  store.putTree(revision, kept)
  store.setRef(refOf(origin), revision)
  return toTree(revision, kept, others, store)
}

/**
 * Returns the newest stored tree of an origin. Returns `undefined` if no tree was stored or the store has lost the
 * tree.
 *
 * @example
 * ```ts
 * import { MemorySkillStore, portableHasher, restoreTree, storeTree } from '@skillstoke/core/source'
 *
 * const context = { store: new MemorySkillStore(), hasher: portableHasher }
 * const tree = storeTree('bucket:team', [], context)
 * const restored = await restoreTree('bucket:team', context)
 * console.log(restored?.version === tree.version, await restoreTree('bucket:other', context))
 * // prints true undefined
 * ```
 */
export async function restoreTree(
  origin: string,
  { store }: Pick<FetchContext, 'store'>,
): Promise<FileTree | undefined> {
  const revision = store.getRef(refOf(origin))
  const files = revision === undefined ? undefined : await store.getTree(revision)
  if (revision === undefined || files === undefined || !files.every(({ digest }) => store.has(digest)))
    return undefined
  return toTree(revision, files, [], store)
}

/**
 * Returns the diagnostic for a refused entry. The diagnostic says whether the entry keeps its last state.
 *
 * @example
 * ```ts
 * import type { FetchResult } from '@skillstoke/core/source'
 * import { refuseTreeEntry } from '@skillstoke/core/source'
 *
 * const result: FetchResult = { notices: [refuseTreeEntry('../notes.md', 'The path leads out of the archive.')] }
 * console.log(result.notices?.map(({ code, path }) => `${code}: ${path}`))
 * // prints [ 'ENTRY_REFUSED: ../notes.md' ]
 * ```
 */
export function refuseTreeEntry(path: string, message: string, isKept: boolean = false): Diagnostic {
  return {
    code: 'ENTRY_REFUSED',
    severity: 'warning',
    message: `${message}; the entry ${isKept ? 'keeps its last state' : 'is left out'}`,
    path,
    fix: 'correct the entry at its origin',
  }
}

function toTree(
  version: string,
  files: readonly SkillFile[],
  others: readonly TreeFile[],
  store: SkillStore,
): FileTree {
  const read = async ({ path, digest }: SkillFile): Promise<Uint8Array> => {
    const bytes = await store.get(digest)
    if (bytes !== undefined) return bytes
    throw new SkillError('IO_FAILED', `the store has lost ${quote(path)}`)
  }
  const found = files.map(file => {
    const { path, size, isExecutable, digest } = file
    const id = digest.slice('sha256:'.length)
    return { path, kind: 'file', size, isExecutable, id, read: async () => await read(file) } as const
  })
  return { version, files: [...found, ...others] }
}

function refOf(origin: string): string {
  return JSON.stringify(['remote', origin])
}
