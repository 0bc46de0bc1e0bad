import { SkillError } from '../errors.ts'
import { quote } from '../quote.ts'
import type { DirectoryEntry, FileReadOptions, FileStat, FileSystem, OpenedFile } from './file-system.ts'
import type { FileTree, TreeFile } from './file-tree.ts'

type Node = TreeFile | Folder

interface Folder {
  readonly kind: 'directory'
  readonly children: Map<string, Node>
}

/**
 * Shows the newest tree as read-only files. A file whose content is the same in the new tree keeps its size, times and
 * inode.
 */
export class TreeFileSystem implements FileSystem {
  #root: Folder = createFolder()
  #version = 0

  /**
   * Replaces the shown tree with a new tree in one step. Returns the invalid paths, which are omitted: paths outside
   * the root, and paths that are both a file and a folder.
   */
  replace(tree: FileTree): readonly string[] {
    const root = createFolder()
    const refused = tree.files.filter(file => !put(root, file)).map(({ path }) => path)
    this.#root = root
    this.#version++
    return refused
  }

  async list(path: string): Promise<readonly DirectoryEntry[]> {
    const node = this.#get(path)
    if (node.kind !== 'directory') throw new SkillError('WRONG_KIND', `${quote(path)} is not a directory`)
    return [...node.children].map(([name, { kind }]) => ({ name, kind }))
  }

  async stat(path: string): Promise<FileStat> {
    const node = this.#get(path)
    return node.kind === 'directory' ? folderStat(this.#version) : fileStat(node)
  }

  async read(path: string, { maxBytes, signal }: FileReadOptions): Promise<OpenedFile> {
    const node = this.#get(path)
    if (node.kind !== 'file') throw new SkillError('WRONG_KIND', `${quote(path)} is not a regular file`)
    assertSize(path, node.size, maxBytes)
    const bytes = await node.read(signal)
    assertSize(path, bytes.length, maxBytes)
    return { bytes, stat: fileStat(node) }
  }

  async resolve(path: string): Promise<string> {
    this.#get(path)
    return path
  }

  #get(path: string): Node {
    let node: Node = this.#root
    for (const segment of path.split('/')) {
      if (segment === '') continue
      const child: Node | undefined = node.kind === 'directory' ? node.children.get(segment) : undefined
      if (child === undefined) throw new SkillError('NOT_FOUND', `there is nothing at ${quote(path)}`)
      node = child
    }
    return node
  }
}

function createFolder(): Folder {
  return { kind: 'directory', children: new Map() }
}

/** Adds the file to the tree. Returns false if the path of the file is invalid. */
function put(root: Folder, file: TreeFile): boolean {
  const segments = file.path.split('/')
  if (segments.some(segment => segment === '' || segment === '.' || segment === '..')) return false
  const name = segments.pop() as string
  let folder = root
  for (const segment of segments) {
    const child = folder.children.get(segment) ?? createFolder()
    if (child.kind !== 'directory') return false
    folder.children.set(segment, child)
    folder = child
  }
  if (folder.children.has(name)) return false
  folder.children.set(name, file)
  return true
}

function assertSize(path: string, size: number, maxBytes: number): void {
  if (size > maxBytes)
    throw new SkillError('TOO_LARGE', `${quote(path)} has ${size} bytes; at most ${maxBytes} are read`)
}

const NO_TIMES = { mtimeMs: 0, ctimeMs: 0, birthtimeMs: 0 } as const

/** In each new tree, every folder counts as changed, because folders have no digest. */
function folderStat(version: number): FileStat {
  const isExecutable = false
  return { kind: 'directory', size: 0, ino: 0, dev: 0, isExecutable, links: 1, ...NO_TIMES, mtimeMs: version }
}

/** Uses 104 bits of a file's digest in place of times and inode, so that each state of the file has its own stat. */
function fileStat({ kind, size, isExecutable, id }: TreeFile): FileStat {
  const [ino, dev] = [Number.parseInt(id.slice(0, 13), 16), Number.parseInt(id.slice(13, 26), 16)]
  return { kind: kind === 'link' ? 'other' : kind, size, ino, dev, isExecutable, links: 1, ...NO_TIMES }
}
