import { expect, test } from 'vitest'
import { SkillError } from '../errors.ts'
import type { FileStat, FileSystem } from '../fs/file-system.ts'
import { RootGuard } from './root-guard.ts'

/** A file system that contains only folders. */
class Folders {
  readonly numbers: Map<string, number>
  readonly watches: { readonly path: string; readonly fail: (error: Error) => void }[] = []

  constructor(...paths: readonly string[]) {
    this.numbers = new Map(paths.map((path, index) => [path, index + 1]))
  }

  get fileSystem(): FileSystem {
    const stat = (path: string): FileStat => {
      const ino = this.numbers.get(path)
      if (ino === undefined) throw new SkillError('NOT_FOUND', path)
      return { ino, dev: 1, birthtimeMs: 0 } as FileStat
    }
    const watch: FileSystem['watch'] = (path, _onEvent, fail) => {
      this.watches.push({ path, fail })
      return () => undefined
    }
    return { stat, watch } as Partial<FileSystem> as FileSystem
  }

  get watched(): readonly string[] {
    return this.watches.map(({ path }) => path)
  }
}

test.each([
  ['C:/skills', 'C:/', ['C:/']],
  ['C:/project/skills', 'C:/', ['C:/']],
  ['/skills', '/', ['/']],
  ['C:/', 'C:/', []],
  ['/', '/', []],
])('the guard of %j watches the nearest existing folder above it: %j', async (root, top, watched) => {
  const folders = new Folders(top)
  const guard = new RootGuard(folders.fileSystem, root, () => undefined)
  guard.start()
  await guard.settled
  expect([...new Set(folders.watched)]).toEqual(watched)
  guard.stop()
})

test('when Windows reports that a watched folder was removed, the guard watches the folder above it', async () => {
  const folders = new Folders('C:/', 'C:/project', 'C:/project/skills')
  let changes = 0
  const guard = new RootGuard(folders.fileSystem, 'C:/project/skills', () => void changes++)
  guard.start()
  await guard.settled
  for (const path of ['C:/project/skills', 'C:/project']) folders.numbers.delete(path)
  folders.watches[0]?.fail(new Error('EPERM: operation not permitted, watch'))
  await guard.settled
  expect([...new Set(folders.watched)]).toEqual(['C:/project', 'C:/'])
  expect(changes).toBe(1)
  guard.stop()
})
