import { expect, test } from 'vitest'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { type FollowedLink, findMovedLinks } from './followed-links.ts'
import { attach, createDirectoryNode, createFileNode, type DirectoryNode } from './mirror.ts'

test('a link that leads nowhere is reported once, and again when it was there in between', async () => {
  const files = new MemoryFileSystem({ '/skills/pdf/guide.md': 'x' })
  const root = createDirectoryNode({ name: '', parent: undefined, isLink: false, isDiscoverable: true })
  const folder = createDirectoryNode({ name: 'pdf', parent: root, isLink: false, isDiscoverable: true })
  attach(folder, root)
  const file = createFileNode('guide.md', true)
  file.stat = await files.stat('/skills/pdf/guide.md')
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
  expect(await findMoved()).toEqual([])
  files.remove('/skills/pdf/guide.md')
  expect([await findMoved(), await findMoved()]).toEqual([[folder], []])
  files.write('/skills/pdf/guide.md', 'x')
  file.stat = await files.stat('/skills/pdf/guide.md')
  expect(await findMoved()).toEqual([])
  files.remove('/skills/pdf/guide.md')
  expect(await findMoved()).toEqual([folder])
})
