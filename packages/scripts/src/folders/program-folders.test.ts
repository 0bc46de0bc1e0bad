import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ProgramFolders } from './program-folders.ts'

test('discard() never rejects, and the next call retries a failed removal', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'program-folders-'))
  try {
    const folders = new ProgramFolders(parent)
    // The path cannot be removed, because its parent is a file.
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

test('the path of a process folder contains no link, even on macOS, where /tmp is a link', async () => {
  const parent = realpathSync.native(mkdtempSync(join(tmpdir(), 'program-folders-')))
  try {
    mkdirSync(join(parent, 'real'))
    symlinkSync('real', join(parent, 'link'), 'junction')
    const folders = new ProgramFolders(join(parent, 'link'))
    expect((await folders.root()).startsWith(join(parent, 'real'))).toBe(true)
    await folders.close()
  } finally {
    rmSync(parent, { recursive: true })
  }
})

test.skipIf(process.platform !== 'linux')(
  'sweep() removes the folder of an ended process, even if another process now has the same process ID',
  async () => {
    const parent = mkdtempSync(join(tmpdir(), 'program-folders-'))
    try {
      const [own, other] = [new ProgramFolders(parent), new ProgramFolders(parent)]
      const root = await own.root()
      const left = join(parent, `${process.pid}-1-abcdef`)
      mkdirSync(join(left, 'program-1'), { recursive: true })
      other.sweep()
      await other.close()
      expect(existsSync(left)).toBe(false)
      expect(existsSync(root)).toBe(true)
    } finally {
      rmSync(parent, { recursive: true })
    }
  },
)
