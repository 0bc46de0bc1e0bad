import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { removeTree } from './remove-tree.ts'

const MODULE = new URL('./remove-tree.ts', import.meta.url).href

let parent: string
let tree: string
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'remove-tree-'))
  tree = join(parent, 'tree')
  mkdirSync(tree)
})
afterEach(() => rmSync(parent, { recursive: true, force: true }))

describe('removeTree()', () => {
  test('removes files, links but not their targets, folders without permissions, and files whose names are not valid UTF-8', async () => {
    const kept = join(parent, 'kept')
    mkdirSync(kept)
    writeFileSync(join(kept, 'file'), 'x')
    symlinkSync(kept, join(tree, 'link'))
    mkdirSync(join(tree, 'closed', 'inner'), { recursive: true })
    writeFileSync(join(tree, 'closed', 'inner', 'file'), 'x')
    writeFileSync(Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0xff, 0xfe])]), 'x')
    chmodSync(join(tree, 'closed', 'inner'), 0)
    chmodSync(join(tree, 'closed'), 0)
    await removeTree(tree)
    expect(readdirSync(parent)).toEqual(['kept'])
    expect(readdirSync(kept)).toEqual(['file'])
  })

  test('does nothing for a missing path, and removes only the link if the path is a link', async () => {
    await removeTree(join(parent, 'missing'))
    await removeTree(join(parent, 'missing', 'below'))
    const link = join(parent, 'link')
    symlinkSync(tree, link)
    await removeTree(link)
    expect(readdirSync(parent)).toEqual(['tree'])
  })

  test('removes folders nested deeper than the limits of paths and descriptors', async () => {
    const program = `import os
os.chdir(${JSON.stringify(tree)})
for _ in range(3000):
    os.mkdir('deeper'); os.chdir('deeper')
open('file', 'w').close()`
    const child = spawn('python3', ['-c', program], { stdio: 'inherit' })
    expect((await once(child, 'exit'))[0]).toBe(0)
    await removeTree(tree)
    expect(existsSync(tree)).toBe(false)
  })

  test('removes deep folders without permissions, even if other folders have names that removeTree() uses for temporary folders', async () => {
    const deep = join(tree, ...Array.from({ length: 100 }, () => 'd'))
    mkdirSync(deep, { recursive: true })
    mkdirSync(join(tree, '.deep-1', 'x'), { recursive: true })
    writeFileSync(join(tree, '.deep-2'), 'x')
    for (let path = deep; path !== tree; path = dirname(path)) chmodSync(path, 0o500)
    // Runs this part of the test as an ordinary user, because permissions do not restrict the superuser.
    const program = `import { removeTree } from ${JSON.stringify(MODULE)}; await removeTree(${JSON.stringify(tree)})`
    const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
    if ('uid' in user) spawnSync('chown', ['-R', '65534:65534', parent])
    const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      ...user,
      cwd: '/',
    })
    expect(stderr.toString()).toBe('')
    expect(existsSync(tree)).toBe(false)
  })

  test.skipIf(process.platform !== 'linux')(
    'never removes files outside the tree, even if a folder is replaced with a link during the removal',
    async () => {
      const outside = join(parent, 'outside')
      const victim = join(outside, 'victim')
      mkdirSync(victim, { recursive: true })
      const names = Array.from({ length: 200 }, (_, index) => `file-${index}`)
      for (const name of names) writeFileSync(join(victim, name), 'x')
      // Until the removal ends, another process repeatedly swaps a folder with a link to a folder outside the tree.
      const program = `import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
root = ${JSON.stringify(tree)}.encode()
for number in range(40):
    os.makedirs(root + b'/%d/folder/victim' % number)
    os.symlink(${JSON.stringify(outside)}.encode(), root + b'/%d/link' % number)
print('ready', flush=True)
end = time.monotonic() + 5
while os.path.isdir(root) and time.monotonic() < end:
    for number in range(40):
        libc.renameat2(-100, root + b'/%d/folder' % number, -100, root + b'/%d/link' % number, 2)`
      const child = spawn('python3', ['-c', program], { stdio: ['ignore', 'pipe', 'inherit'] })
      const ended = once(child, 'exit')
      await once(child.stdout, 'data')
      // The removal may fail while the other process swaps the folder.
      await removeTree(tree).catch(() => undefined)
      await ended
      await removeTree(tree)
      expect(existsSync(tree)).toBe(false)
      expect(readdirSync(victim)).toHaveLength(names.length)
    },
  )
})
