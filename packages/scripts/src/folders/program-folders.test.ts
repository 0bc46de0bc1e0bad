import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ProgramFolders } from './program-folders.ts'

test('discard() never fails, and tries again later what could not be removed', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'program-folders-'))
  try {
    const folders = new ProgramFolders(parent)
    // Nothing can be looked for below a file.
    const unremovable = join(parent, 'above', 'folder')
    writeFileSync(join(parent, 'above'), 'x')
    await folders.discard(unremovable)
    rmSync(join(parent, 'above'))
    mkdirSync(unremovable, { recursive: true })
    await folders.discard(await folders.createScratch())
    expect(existsSync(unremovable)).toBe(false)
  } finally {
    rmSync(parent, { recursive: true })
  }
})
