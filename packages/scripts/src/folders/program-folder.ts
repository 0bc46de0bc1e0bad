import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { ScriptProgram } from '@skillstoke/core/source'

/** How long small files are written synchronously before other work can run, in milliseconds. */
const SLICE_MS = 4
// Files up to this size are written synchronously, because waiting for a promise would take longer than the write.
const MAX_SMALL_BYTES = 65_536

/**
 * Writes the files of a revision into an empty folder. Copies the files, because a link would point outside the folder.
 * Makes everything read-only.
 */
export async function writeFiles(
  folder: string,
  { files, readFile }: Pick<ScriptProgram, 'files' | 'readFile'>,
): Promise<void> {
  const folders = new Set([folder])
  let pausedAt = performance.now()
  const pause = async (): Promise<void> => {
    if (performance.now() - pausedAt < SLICE_MS) return
    await setImmediate()
    pausedAt = performance.now()
  }
  for (const { path, isExecutable } of files) {
    const content = await readFile(path)
    await pause()
    const target = join(folder, path)
    if (!folders.has(dirname(target))) mkdirSync(dirname(target), { recursive: true })
    for (let each = dirname(target); !folders.has(each); each = dirname(each)) folders.add(each)
    // On some disks, two names that differ only in letter case are one file. The first one stays.
    if (existsSync(target)) continue
    if (content.length <= MAX_SMALL_BYTES) writeFileSync(target, content)
    else await writeFile(target, content)
    // Set the mode here, because the host may have a mask for the modes of new files.
    chmodSync(target, isExecutable ? 0o555 : 0o444)
  }
  for (const each of folders) {
    await pause()
    chmodSync(each, 0o555)
  }
}

/** Returns the URL of a folder, ending in `/`. */
export function toFolderUrl(folder: string): string {
  return `${pathToFileURL(folder).href}/`
}
