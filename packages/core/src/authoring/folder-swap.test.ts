import { expect, test } from 'vitest'
import { MemoryFileSystem } from '../source-entry.ts'
import { finishSwaps, replaceFolder } from './folder-swap.ts'

const file = (content: string) => [
  { path: 'SKILL.md', bytes: new TextEncoder().encode(content), isExecutable: false },
]

const NO_PARTS = { when: '1', parts: { paths: [], areAll: false } }

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
    replaceFolder({ fileSystem, root: '/root', location: 'pdf' }, file('New.'), NO_PARTS),
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
  const swap = replaceFolder({ fileSystem, root: '/root', location: 'pdf' }, files, NO_PARTS)
  await expect(swap).rejects.toThrow(reason)
  expect(await fileSystem.list('/root')).toEqual([{ name: 'pdf', kind: 'directory' }])
})

test('replaceFolder() refuses a folder that completes a git repository in its parent folder', async () => {
  const fileSystem = new MemoryFileSystem({ '/root/HEAD': 'x', '/root/refs/heads/main': 'x' })
  const swap = replaceFolder({ fileSystem, root: '/root', location: 'objects' }, file('New.'), NO_PARTS)
  await expect(swap).rejects.toMatchObject({ code: 'INVALID_PATH' })
})

test.each([
  [false, ['.git', '.env', 'key.pem', 'scripts/node_modules']],
  // The other entries are excluded by a .skillignore, or belong to another skill.
  [true, ['.git', '.env', 'key.pem', 'scripts/node_modules', 'drafts', 'other']],
])('replaceFolder() keeps what is no part of the skill (all parts known: %j)', async (areAll, kept) => {
  const key = '-----BEGIN PRIVATE KEY-----\n'
  const fileSystem = new MemoryFileSystem({
    '/root/pdf/SKILL.md': 'Old.',
    '/root/pdf/notes.md': 'Old.',
    '/root/pdf/.git/config': 'x',
    '/root/pdf/.env': 'x',
    '/root/pdf/key.pem': key,
    '/root/pdf/drafts/a.md': 'x',
    '/root/pdf/other/SKILL.md': 'x',
    '/root/pdf/scripts/run.js': 'x',
    '/root/pdf/scripts/node_modules/a.js': 'x',
  })
  const parts = { paths: ['SKILL.md', 'notes.md', 'scripts/run.js'], areAll }
  const swap = { fileSystem, root: '/root', location: 'pdf' }
  const aside = await replaceFolder(swap, file('New.'), { when: '1', parts })
  const list = async (folder: string): Promise<readonly string[]> =>
    (await fileSystem.list(folder)).map(({ name }) => name)
  expect(new Set(await list('/root/pdf'))).toEqual(
    new Set(['SKILL.md', ...kept.map(each => each.replace('/node_modules', ''))]),
  )
  expect(await list('/root/pdf/scripts')).toEqual(['node_modules'])
  expect(await list(`${aside}/scripts`)).toEqual(['run.js'])
  const { bytes } = await fileSystem.read('/root/pdf/SKILL.md', { inside: ['/root'], maxBytes: 100 })
  expect(new TextDecoder().decode(bytes)).toBe('New.')
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
