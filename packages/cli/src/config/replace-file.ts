import { renameSync, rmSync, writeFileSync } from 'node:fs'

/**
 * Replaces a file at once, so that other processes never read a part of it. By default only this user can read the
 * file.
 */
export function replaceFile(path: string, text: string, mode = 0o600): void {
  const draft = `${path}.${process.pid}.tmp`
  rmSync(draft, { force: true }) // left by a killed process
  try {
    writeFileSync(draft, text, { mode, flag: 'wx' })
    renameSync(draft, path)
  } finally {
    rmSync(draft, { force: true })
  }
}
