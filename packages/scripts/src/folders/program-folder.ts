import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { Diagnostic } from '@skillstoke/core'
import { decodeUnmarkedText } from '@skillstoke/core/internal'
import type { ScriptProgram } from '@skillstoke/core/source'
import type { PlainJavaScript } from '../scan/plain-javascript.ts'

/** A folder on disk that contains one revision of a skill. Processes read the skill from this folder. */
export interface ProgramFolder {
  readonly root: string
  /** The files of the skill. */
  readonly files: string
  /** Folder with the plain JavaScript of the TypeScript files. Each file has the same path as its TypeScript file. */
  readonly code: string
  readonly filesUrl: string
  readonly codeUrl: string
}

/**
 * Creates an empty folder, so that a process can start before the revision is written into the folder. Scripts of a
 * superuser read the folder as another user, so all users may read it. The parent folder keeps other users out.
 */
export function createProgramFolder(root: string): ProgramFolder {
  const folder = { root, files: join(root, 'files'), code: join(root, 'code') }
  for (const each of [root, folder.files, folder.code]) {
    mkdirSync(each)
    chmodSync(each, 0o755)
  }
  return { ...folder, filesUrl: toFolderUrl(folder.files), codeUrl: toFolderUrl(folder.code) }
}

/**
 * Writes a revision into a folder. Copies the files, because a link would point outside the folder. Makes everything read-only.
 */
export async function writeFiles(
  folder: ProgramFolder,
  { files, readFile }: Pick<ScriptProgram, 'files' | 'readFile'>,
): Promise<void> {
  const tree = new Tree(folder.files)
  for (const { path, isExecutable } of files)
    await tree.write(path, await readFile(path), isExecutable ? 0o555 : 0o444)
  await tree.close()
}

/** The TypeScript modules of a revision as plain JavaScript. */
export interface PlainCode {
  /** The JavaScript code of each TypeScript file, by path. */
  readonly modules: ReadonlyMap<string, string>
  /** One diagnostic for each file whose types cannot be removed. */
  readonly diagnostics: readonly Diagnostic[]
  /** Whether every module was read before the signal aborted. */
  readonly isComplete: boolean
}

/** Removes the types from all TypeScript modules of a revision. */
export async function readPlain(
  { skill, files, readFile }: ScriptProgram,
  plain: PlainJavaScript,
  signal?: AbortSignal,
): Promise<PlainCode> {
  const diagnostics: Diagnostic[] = []
  const modules = new Map<string, string>()
  for (const { path, digest } of files) {
    if (!isTyped(path)) continue
    const text = decodeUnmarkedText(await readFile(path))
    const module = await plain.get(skill, { path, digest, text }, signal)
    if ('diagnostic' in module) diagnostics.push(module.diagnostic)
    else modules.set(path, module.code)
  }
  return { modules, diagnostics, isComplete: signal?.aborted !== true }
}

/** Writes plain JavaScript beside the files of a revision. */
export async function writeCode({ code }: ProgramFolder, { modules, isComplete }: PlainCode): Promise<void> {
  const tree = new Tree(code)
  for (const [path, text] of modules) await tree.write(path, text, 0o444)
  // If the load was aborted, do not mark the folder as complete, so that the next load writes the missing files.
  if (isComplete) await tree.close()
}

/** Copies a revision and its plain JavaScript into the folder of a process that is already running. */
export async function copyProgramFolder(
  from: ProgramFolder,
  to: ProgramFolder,
  { files }: Pick<ScriptProgram, 'files'>,
): Promise<void> {
  await writeFiles(to, { files, readFile: async path => readFileSync(join(from.files, path)) })
  const code = new Tree(to.code)
  for (const { path } of files)
    if (isTyped(path)) await code.write(path, readFileSync(join(from.code, path)), 0o444)
  await code.close()
}

function isTyped(path: string): boolean {
  return /\.m?ts$/.test(path)
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

function toFolderUrl(path: string): string {
  return `${pathToFileURL(path).href}/`
}
