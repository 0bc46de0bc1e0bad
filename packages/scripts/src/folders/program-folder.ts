import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { ScriptProgram } from '@skillstoke/core/source'

/**
 * Creates an empty folder, so that a process can start before the files of a revision are written into the folder.
 * Scripts of a superuser read the folder as another user, so all users may read it. The parent folder keeps other users
 * out.
 */
export function createProgramFolder(folder: string): string {
  mkdirSync(folder)
  chmodSync(folder, 0o755)
  return folder
}

/**
 * Writes the files of a revision into a folder. Copies the files, because a link would point outside the folder. Makes
 * everything read-only.
 */
export async function writeFiles(
  folder: string,
  { files, readFile }: Pick<ScriptProgram, 'files' | 'readFile'>,
): Promise<void> {
  const tree = new Tree(folder)
  for (const { path, isExecutable } of files)
    await tree.write(path, await readFile(path), isExecutable ? 0o555 : 0o444)
  await tree.close()
}

/** Returns the URL of a folder, ending in `/`. */
export function toFolderUrl(folder: string): string {
  return `${pathToFileURL(folder).href}/`
}

/** How long small files are written synchronously before other work can run, in milliseconds. */
const SLICE_MS = 4
// Files up to this size are written synchronously, because waiting for a promise would take longer than the write.
const MAX_SMALL_BYTES = 65_536

/** A folder tree. Each file in the tree is written only once. */
class Tree {
  readonly #root: string
  readonly #folders: Set<string>
  #pausedAt = performance.now()

  /** @param root an existing folder */
  constructor(root: string) {
    this.#root = root
    this.#folders = new Set([root])
  }

  /** Writes a file. Keeps an existing file, because it belongs to the same revision and has the same content. */
  async write(path: string, content: string | Uint8Array, mode: number): Promise<void> {
    await this.#pause()
    const target = join(this.#root, path)
    this.#open(dirname(target))
    try {
      const options = { flag: 'wx' }
      if (content.length <= MAX_SMALL_BYTES) writeFileSync(target, content, options)
      else await writeFile(target, content, options)
      // Set the mode here, because the host may have a mask for the modes of new files.
      chmodSync(target, mode)
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
    }
  }

  async close(): Promise<void> {
    for (const each of this.#folders) {
      await this.#pause()
      chmodSync(each, 0o555)
    }
  }

  #open(folder: string): void {
    if (this.#folders.has(folder)) return
    mkdirSync(folder, { recursive: true })
    for (let each = folder; each.length > this.#root.length; each = dirname(each)) this.#folders.add(each)
  }

  /** Lets other work run if the synchronous writes have taken more than `SLICE_MS` in total. */
  async #pause(): Promise<void> {
    if (performance.now() - this.#pausedAt < SLICE_MS) return
    await setImmediate()
    this.#pausedAt = performance.now()
  }
}
