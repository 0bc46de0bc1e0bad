import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Diagnostic, ScriptProgram } from '../../index.ts'
import type { PlainJavaScript } from './plain-javascript.ts'

/** A revision of a skill on the disk, for processes to read. */
export interface ProgramFolder {
  readonly root: string
  /** The files of the skill. */
  readonly files: string
  /** Plain JavaScript of those that are TypeScript, under the same paths. */
  readonly code: string
  readonly filesUrl: string
  readonly codeUrl: string
  /** Files that could not be made plain. */
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Writes a revision into a folder of its own: copies and never links, so that no name leads anywhere else, and nothing in
 * it can be written.
 */
export async function writeProgramFolder(
  root: string,
  { files, readFile }: ScriptProgram,
  plain: PlainJavaScript,
): Promise<ProgramFolder> {
  const folder = { root, files: join(root, 'files'), code: join(root, 'code') }
  const folders = new Set([folder.files, folder.code])
  const diagnostics: Diagnostic[] = []
  const ensure = async (path: string): Promise<void> => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    for (let each = dirname(path); each.length > root.length; each = dirname(each)) folders.add(each)
  }
  await mkdir(folder.files, { recursive: true, mode: 0o700 })
  await mkdir(folder.code, { recursive: true, mode: 0o700 })
  for (const { path, digest, isExecutable } of files) {
    const bytes = await readFile(path)
    const target = join(folder.files, path)
    await ensure(target)
    await writeFile(target, bytes, { flag: 'wx', mode: isExecutable ? 0o500 : 0o400 })
    if (!/\.m?ts$/.test(path)) continue
    const module = await plain.get(path, digest, new TextDecoder().decode(bytes))
    if ('diagnostic' in module) {
      diagnostics.push(module.diagnostic)
      continue
    }
    await ensure(join(folder.code, path))
    await writeFile(join(folder.code, path), module.code, { flag: 'wx', mode: 0o400 })
  }
  for (const each of folders) await chmod(each, 0o500)
  return { ...folder, filesUrl: toFolderUrl(folder.files), codeUrl: toFolderUrl(folder.code), diagnostics }
}

/** Takes away a folder of ours, whose folders nobody may write to. */
export async function removeFolder(path: string): Promise<void> {
  await makeWritable(path)
  await rm(path, { recursive: true, force: true })
}

/** What is in a folder can be removed by whoever may write to the folder. What is gone meanwhile is gone. */
async function makeWritable(folder: string): Promise<void> {
  try {
    await chmod(folder, 0o700)
    for (const entry of await readdir(folder, { withFileTypes: true }))
      if (entry.isDirectory()) await makeWritable(join(folder, entry.name))
  } catch (thrown) {
    if (!['ENOENT', 'ENOTDIR'].includes((thrown as NodeJS.ErrnoException).code ?? '')) throw thrown
  }
}

function toFolderUrl(path: string): string {
  return `${pathToFileURL(path).href}/`
}
