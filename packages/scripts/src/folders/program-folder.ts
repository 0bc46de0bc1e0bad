import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { Diagnostic } from '@skillstoke/core'
import { decodeUnmarkedText } from '@skillstoke/core/internal'
import type { ScriptProgram } from '@skillstoke/core/source'
import type { PlainJavaScript } from '../scan/plain-javascript.ts'

/** A revision of a skill on the disk, for processes to read. */
export interface ProgramFolder {
  readonly root: string
  /** The files of the skill. */
  readonly files: string
  /** Plain JavaScript of those that are TypeScript, under the same paths. */
  readonly code: string
  readonly filesUrl: string
  readonly codeUrl: string
}

/** Creates a folder with nothing in it yet, so that a process can be started that will read one revision there. */
export function createProgramFolder(root: string): ProgramFolder {
  const folder = { root, files: join(root, 'files'), code: join(root, 'code') }
  for (const each of [root, folder.files, folder.code]) mkdirSync(each, { mode: 0o700 })
  return { ...folder, filesUrl: toFolderUrl(folder.files), codeUrl: toFolderUrl(folder.code) }
}

/**
 * Writes a revision into a folder of its own: copies and never links, so that no name leads anywhere else, and nothing in
 * it can be written.
 */
export async function writeFiles(
  folder: ProgramFolder,
  { files, readFile }: Pick<ScriptProgram, 'files' | 'readFile'>,
): Promise<void> {
  const tree = new Tree(folder.files)
  for (const { path, isExecutable } of files)
    await tree.write(path, await readFile(path), isExecutable ? 0o500 : 0o400)
  await tree.close()
}

/** The modules of a revision in plain JavaScript. */
export interface PlainCode {
  /** By the paths of those that are TypeScript. */
  readonly modules: ReadonlyMap<string, string>
  /** What cannot be made plain. */
  readonly diagnostics: readonly Diagnostic[]
  /** Whether the end was reached before nobody wanted it any more. */
  readonly isComplete: boolean
}

/** Takes the types out of what is TypeScript. */
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
  for (const [path, text] of modules) await tree.write(path, text, 0o400)
  // Otherwise it stays open: the next load continues here.
  if (isComplete) await tree.close()
}

/** Writes a revision and its plain JavaScript into another folder, for a process that was started for that one. */
export async function copyProgramFolder(
  from: ProgramFolder,
  to: ProgramFolder,
  { files }: Pick<ScriptProgram, 'files'>,
): Promise<void> {
  await writeFiles(to, { files, readFile: async path => readFileSync(join(from.files, path)) })
  const code = new Tree(to.code)
  for (const { path } of files)
    if (isTyped(path)) await code.write(path, readFileSync(join(from.code, path)), 0o400)
  await code.close()
}

function isTyped(path: string): boolean {
  return /\.m?ts$/.test(path)
}

/** How long small files are written without a pause, in milliseconds. */
const SLICE_MS = 4
// A promise for each step of a small file takes longer than the step.
const MAX_SMALL_BYTES = 65_536

/** A folder that is written once. */
class Tree {
  readonly #root: string
  readonly #folders: Set<string>
  #pausedAt = performance.now()

  /** @param root a folder that exists */
  constructor(root: string) {
    this.#root = root
    this.#folders = new Set([root])
  }

  /** What is there already stays: the same revision has the same files. */
  async write(path: string, content: string | Uint8Array, mode: number): Promise<void> {
    await this.#pause()
    const target = join(this.#root, path)
    this.#open(dirname(target))
    try {
      const options = { flag: 'wx', mode }
      if (content.length <= MAX_SMALL_BYTES) writeFileSync(target, content, options)
      else await writeFile(target, content, options)
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
    }
  }

  async close(): Promise<void> {
    for (const each of this.#folders) {
      await this.#pause()
      chmodSync(each, 0o500)
    }
  }

  #open(folder: string): void {
    if (this.#folders.has(folder)) return
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    for (let each = folder; each.length > this.#root.length; each = dirname(each)) this.#folders.add(each)
  }

  /** Lets others go on when small steps have taken long together. */
  async #pause(): Promise<void> {
    if (performance.now() - this.#pausedAt < SLICE_MS) return
    await setImmediate()
    this.#pausedAt = performance.now()
  }
}

function toFolderUrl(path: string): string {
  return `${pathToFileURL(path).href}/`
}
