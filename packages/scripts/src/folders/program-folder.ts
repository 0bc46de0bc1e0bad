import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
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

/**
 * Writes a revision into a folder of its own: copies and never links, so that no name leads anywhere else, and nothing in
 * it can be written.
 */
export async function writeProgramFolder(
  root: string,
  { files, readFile }: ScriptProgram,
): Promise<ProgramFolder> {
  const folder = { root, files: join(root, 'files'), code: join(root, 'code') }
  const tree = new Tree(folder.files)
  await tree.open()
  for (const { path, isExecutable } of files)
    await tree.write(path, await readFile(path), isExecutable ? 0o500 : 0o400)
  await tree.close()
  return { ...folder, filesUrl: toFolderUrl(folder.files), codeUrl: toFolderUrl(folder.code) }
}

/** Writes plain JavaScript for what is TypeScript; resolves with what cannot be made plain. */
export async function writeCode(
  { code }: ProgramFolder,
  { skill, files, readFile }: ScriptProgram,
  plain: PlainJavaScript,
  signal?: AbortSignal,
): Promise<readonly Diagnostic[]> {
  const diagnostics: Diagnostic[] = []
  const tree = new Tree(code)
  await tree.open()
  for (const { path, digest } of files) {
    if (!/\.m?ts$/.test(path)) continue
    const text = decodeUnmarkedText(await readFile(path))
    const module = await plain.get(skill, { path, digest, text }, signal)
    if ('diagnostic' in module) diagnostics.push(module.diagnostic)
    else await tree.write(path, module.code, 0o400)
  }
  // If aborted, leave it open: the next load continues here.
  if (signal?.aborted !== true) await tree.close()
  return diagnostics
}

/** A folder that is written once. */
class Tree {
  readonly #root: string
  readonly #folders: Set<string>

  constructor(root: string) {
    this.#root = root
    this.#folders = new Set([root])
  }

  async open(): Promise<void> {
    await mkdir(this.#root, { recursive: true, mode: 0o700 })
  }

  /** What is there already stays: the same revision has the same files. */
  async write(path: string, content: string | Uint8Array, mode: number): Promise<void> {
    const target = join(this.#root, path)
    await mkdir(dirname(target), { recursive: true, mode: 0o700 })
    for (let each = dirname(target); each.length > this.#root.length; each = dirname(each))
      this.#folders.add(each)
    await writeFile(target, content, { flag: 'wx', mode }).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'EEXIST') throw thrown
    })
  }

  async close(): Promise<void> {
    for (const each of this.#folders) await chmod(each, 0o500)
  }
}

function toFolderUrl(path: string): string {
  return `${pathToFileURL(path).href}/`
}
