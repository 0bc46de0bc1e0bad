import { expect, test } from 'vitest'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { type FollowedLink, findMovedLinks } from './followed-links.ts'
import { attach, createDirectoryNode, createFileNode, type DirectoryNode, type FileNode } from './mirror.ts'

interface Kit {
  readonly files: MemoryFileSystem
  readonly folder: DirectoryNode
  readonly file: FileNode
  /** Returns the reported folders. */
  readonly findMoved: () => Promise<readonly DirectoryNode[]>
}

const PATH = '/skills/pdf/guide.md'

function makeLink(): Kit {
  const files = new MemoryFileSystem({ [PATH]: 'x' })
  const root = createDirectoryNode({ name: '', parent: undefined, isLink: false, isDiscoverable: true })
  const folder = createDirectoryNode({ name: 'pdf', parent: root, isLink: false, isDiscoverable: true })
  attach(folder, root)
  const file = createFileNode('guide.md', true)
  const link: FollowedLink = { directory: folder, file }
  const findMoved = async (): Promise<readonly DirectoryNode[]> => {
    const moved: DirectoryNode[] = []
    await findMovedLinks(
      [link],
      files,
      node => `/skills/${node.path}`,
      node => moved.push(node),
    )
    return moved
  }
  return { files, folder, file, findMoved }
}

test('a lost link target is reported once, and once more if it returns and is lost again', async () => {
  const { files, folder, file, findMoved } = makeLink()
  file.stat = await files.stat(PATH)
  expect(await findMoved()).toEqual([])
  files.remove(PATH)
  expect([await findMoved(), await findMoved()]).toEqual([[folder], []])
  files.write(PATH, 'x')
  file.stat = await files.stat(PATH)
  expect(await findMoved()).toEqual([])
  files.remove(PATH)
  expect(await findMoved()).toEqual([folder])
})

test('a link with an unreadable target is reported again when the target changes', async () => {
  const { files, folder, findMoved } = makeLink()
  expect([await findMoved(), await findMoved()]).toEqual([[], []])
  files.write(PATH, 'y')
  expect([await findMoved(), await findMoved()]).toEqual([[folder], []])
})
