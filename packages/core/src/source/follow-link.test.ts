import { expect, test } from 'vitest'
import type { FileStat, FileSystem } from '../fs/file-system.ts'
import { followLink } from './follow-link.ts'
import { createDirectoryNode, type ScanPass } from './mirror.ts'

test.each([
  ['follow', ['C:/skills', '/'], { realPath: 'D:/elsewhere' }],
  ['within-root', ['C:/skills'], { reason: expect.stringContaining('outside the root') }],
] as const)(
  'on Windows, the link policy %j follows or refuses a link to another drive',
  async (_symlinks, insideFolders, expected) => {
    const fileSystem: Partial<FileSystem> = {
      stat: () => ({ kind: 'directory' }) as FileStat,
      resolve: () => 'D:/elsewhere',
    }
    const node = createDirectoryNode({ name: '', parent: undefined, isLink: false, isDiscoverable: true })
    const pass = { insideFolders, rootRealPath: 'C:/skills' } as Partial<ScanPass> as ScanPass
    const target = await followLink('pdf', {
      fileSystem: fileSystem as FileSystem,
      ...{ node, path: 'C:/skills', inSkill: false, pass, isWalked: () => true },
    })
    expect(target).toMatchObject(expected)
  },
)
