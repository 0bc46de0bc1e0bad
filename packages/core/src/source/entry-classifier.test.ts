import { expect, test } from 'vitest'
import type { FileStat, FileSystem } from '../fs/file-system.ts'
import { DEFAULT_LIMITS } from '../skill/limits.ts'
import { EntryClassifier } from './entry-classifier.ts'
import { LayoutRules } from './file-layout.ts'
import { createDirectoryNode, type ScanPass } from './mirror.ts'

test.each([
  ['follow', ['C:/skills', '/'], { realPath: 'D:/elsewhere' }],
  ['within-root', ['C:/skills'], undefined],
] as const)(
  'on Windows, the link policy %j follows or refuses a link to another drive',
  async (symlinks, insideFolders, expected) => {
    const fileSystem: Partial<FileSystem> = {
      stat: () => ({ kind: 'directory' }) as FileStat,
      resolve: () => 'D:/elsewhere',
    }
    const classifier = new EntryClassifier({
      fileSystem: fileSystem as FileSystem,
      limits: DEFAULT_LIMITS,
      layout: new LayoutRules(undefined),
      symlinks,
      nestedSkills: true,
      reading: {},
      displayPath: path => path,
    })
    const node = createDirectoryNode({ name: '', parent: undefined, isLink: false, isDiscoverable: true })
    const pass = { insideFolders, rootRealPath: 'C:/skills' } as Partial<ScanPass> as ScanPass
    const context = { node, path: 'C:/skills', inSkill: false, pass, findings: [] }
    expect(await classifier.classify({ name: 'pdf', kind: 'link' }, context)).toEqual(expected)
  },
)
