import { expect, test } from 'vitest'
import { MemoryFileSystem } from '../source-entry.ts'
import { finishSwaps, replaceFolder } from './folder-swap.ts'

const file = (content: string) => [
  { path: 'SKILL.md', bytes: new TextEncoder().encode(content), isExecutable: false },
]

/** A disk that runs out of space after the old folder was moved away. */
class FullDisk extends MemoryFileSystem {
  override move(...[from, to, options]: Parameters<MemoryFileSystem['move']>): void {
    if (to === '/root/pdf' && from.includes('.swap')) throw new Error('the disk is full')
    super.move(from, to, options)
  }
}

test('replaceFolder() puts the old folder back if the new folder cannot be moved into place', async () => {
  const fileSystem = new FullDisk({ '/root/pdf/SKILL.md': 'Old.' })
  await expect(
    replaceFolder({ fileSystem, root: '/root', location: 'pdf' }, file('New.'), '1'),
  ).rejects.toThrow('the disk is full')
  const { bytes } = await fileSystem.read('/root/pdf/SKILL.md', { inside: ['/root'], maxBytes: 100 })
  expect(new TextDecoder().decode(bytes)).toBe('Old.')
})

test.each([
  [['a/.GIT/config'], 'which is ".git" on some disks'],
  [['a/.git./hooks/post-checkout'], 'which is ".git" on some disks'],
  [['HEAD', 'objects/a', 'refs/b'], 'would make its folder a git repository'],
])('replaceFolder() refuses the files %j, and changes nothing', async (paths, reason) => {
  const fileSystem = new MemoryFileSystem({ '/root/pdf/SKILL.md': 'Old.' })
  const bytes = new Uint8Array()
  const files = [...file('New.'), ...paths.map(path => ({ path, bytes, isExecutable: false }))]
  const swap = replaceFolder({ fileSystem, root: '/root', location: 'pdf' }, files, '1')
  await expect(swap).rejects.toThrow(reason)
  expect(await fileSystem.list('/root')).toEqual([{ name: 'pdf', kind: 'directory' }])
})

test('replaceFolder() refuses a folder that completes a git repository in its parent folder', async () => {
  const fileSystem = new MemoryFileSystem({ '/root/HEAD': 'x', '/root/refs/heads/main': 'x' })
  const swap = replaceFolder({ fileSystem, root: '/root', location: 'objects' }, file('New.'), '1')
  await expect(swap).rejects.toMatchObject({ code: 'INVALID_PATH' })
})

test('finishSwaps() removes entries with invalid names, and finishes all other swaps', async () => {
  const fileSystem = new MemoryFileSystem({
    '/root/.trash/.swap/%E0%A4%A': 'x',
    '/root/.trash/.swap/..%2Fhome/SKILL.md': 'x',
    '/root/.trash/.swap/node_modules%2Fkit/index.js': 'x',
    '/root/.trash/.swap/.git%2Fmodules%2Fsub/config': 'x',
    '/root/.trash/.swap/pdf/SKILL.md': 'New.',
  })
  await finishSwaps(fileSystem, '/root')
  expect((await fileSystem.list('/root/pdf')).map(({ name }) => name)).toEqual(['SKILL.md'])
  expect(await fileSystem.list('/root/.trash/.swap')).toEqual([])
  expect((await fileSystem.list('/root')).map(({ name }) => name)).toEqual(['.trash', 'pdf'])
})
