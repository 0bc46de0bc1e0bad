import { SkillError } from '../errors.ts'
import { isInside } from '../is-inside.ts'
import { quote } from '../quote.ts'
import type { DirectoryEntry, FileReadOptions, FileStat, OpenedFile } from './file-system.ts'
import type { FileWriteOptions, WritableFileSystem } from './writable-file-system.ts'

interface MemoryFile {
  readonly kind: 'file'
  readonly bytes: Uint8Array
  readonly stat: FileStat
}
interface MemoryDirectory {
  readonly kind: 'directory'
  readonly children: Map<string, MemoryNode>
  stat: FileStat
}
type MemoryNode = MemoryFile | MemoryDirectory

/**
 * A file system in memory, for tests, for bundled skills, and for hosts that store skills themselves.
 *
 * @example
 * ```ts
 * import { MemoryFileSystem } from '@skillstoke/core/source'
 *
 * const files = new MemoryFileSystem({ '/skills/greet/SKILL.md': 'A text.' })
 * files.write('/skills/greet/scripts/hello.ts', new Uint8Array())
 * console.log((await files.list('/skills/greet')).map(({ name, kind }) => `${kind} ${name}`))
 * // prints [ 'file SKILL.md', 'directory scripts' ]
 * ```
 */
export class MemoryFileSystem implements WritableFileSystem {
  readonly #root: MemoryDirectory
  readonly #watchers = new Map<string, Set<() => void>>()
  #clock = 0
  #identity = 0

  /** Starts with the given files. Keys are absolute paths; values are text or bytes. */
  constructor(files: Readonly<Record<string, string | Uint8Array>> = {}) {
    this.#root = this.#createDirectory()
    for (const [path, content] of Object.entries(files)) this.write(path, content)
  }

  /** Writes a file and creates the missing folders above it. */
  write(path: string, content: string | Uint8Array, options: Partial<FileWriteOptions> = {}): void {
    assertInside(path, options.inside)
    const { parent, name } = this.#parentOf(path, true)
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content.slice()
    const stat = this.#createStat('file', bytes.length, options.isExecutable ?? false)
    parent.children.set(name, { kind: 'file', bytes, stat })
    this.#touch(path)
  }

  /** Removes a file, or a folder with its content. Does nothing if the path does not exist. */
  remove(path: string, options: Pick<Partial<FileWriteOptions>, 'inside'> = {}): void {
    assertInside(path, options.inside)
    if (this.#find(path) === undefined) return
    const { parent, name } = this.#parentOf(path, false)
    parent.children.delete(name)
    this.#touch(path)
  }

  /** Moves a file or folder to a path that does not exist yet. */
  move(from: string, to: string, options: Partial<FileWriteOptions> = {}): void {
    assertInside(from, options.inside)
    assertInside(to, options.inside)
    if (this.#find(to) !== undefined) throw new SkillError('IO_FAILED', `${quote(to)} already exists`)
    if (isInside(toAbsolute(to), toAbsolute(from)))
      throw new SkillError('IO_FAILED', `${quote(from)} cannot be moved into itself`)
    this.rename(from, to)
  }

  /** Moves a file or folder and replaces the target. */
  rename(from: string, to: string): void {
    const node = this.#get(from)
    this.remove(from)
    const { parent, name } = this.#parentOf(to, true)
    parent.children.set(name, node)
    this.#touch(to)
  }

  async list(path: string): Promise<readonly DirectoryEntry[]> {
    const node = this.#get(path)
    if (node.kind !== 'directory') throw new SkillError('WRONG_KIND', `${quote(path)} is not a directory`)
    return [...node.children].map(([name, child]) => ({ name, kind: child.kind }))
  }

  async stat(path: string): Promise<FileStat> {
    return this.#get(path).stat
  }

  async read(path: string, options: FileReadOptions): Promise<OpenedFile> {
    if (!options.inside.some(folder => isInside(toAbsolute(path), toAbsolute(folder)))) {
      throw new SkillError('OUTSIDE_ROOT', `${quote(path)} is outside ${options.inside.join(', ')}`)
    }
    const node = this.#get(path)
    if (node.kind !== 'file') throw new SkillError('WRONG_KIND', `${quote(path)} is not a regular file`)
    if (node.bytes.length > options.maxBytes) {
      throw new SkillError(
        'TOO_LARGE',
        `${quote(path)} has ${node.bytes.length} bytes; at most ${options.maxBytes} are read`,
      )
    }
    return { bytes: node.bytes.slice(), stat: node.stat }
  }

  async resolve(path: string): Promise<string> {
    this.#get(path)
    return `/${split(path).join('/')}`
  }

  watch(path: string, onEvent: () => void): () => void {
    if (this.#find(path)?.kind !== 'directory')
      throw new SkillError('NOT_WATCHABLE', `${path} is not a directory`)
    const key = split(path).join('/')
    const listeners = this.#watchers.get(key) ?? new Set()
    this.#watchers.set(key, listeners)
    listeners.add(onEvent)
    return () => listeners.delete(onEvent)
  }

  /** Resolves immediately, because every method that changes a file also calls the watch callbacks. */
  async drain(): Promise<void> {}

  #touch(path: string): void {
    const parent = split(path).slice(0, -1)
    const node = this.#find(parent.join('/'))
    if (node?.kind === 'directory') node.stat = { ...node.stat, mtimeMs: ++this.#clock, ctimeMs: this.#clock }
    for (const listener of this.#watchers.get(parent.join('/')) ?? []) listener()
  }

  #find(path: string): MemoryNode | undefined {
    let node: MemoryNode = this.#root
    for (const segment of split(path)) {
      const child: MemoryNode | undefined = node.kind === 'directory' ? node.children.get(segment) : undefined
      if (child === undefined) return undefined
      node = child
    }
    return node
  }

  #get(path: string): MemoryNode {
    const node = this.#find(path)
    if (node === undefined) throw new SkillError('NOT_FOUND', `there is nothing at ${quote(path)}`)
    return node
  }

  #parentOf(path: string, create: boolean): { parent: MemoryDirectory; name: string } {
    const segments = split(path)
    const name = segments.pop()
    if (name === undefined)
      throw new SkillError('INVALID_PATH', 'the root itself cannot be written or removed')
    let parent = this.#root
    segments.forEach((segment, index) => {
      let child = parent.children.get(segment)
      if (child === undefined && create) {
        child = this.#createDirectory()
        parent.children.set(segment, child)
        this.#touch(segments.slice(0, index + 1).join('/'))
      }
      if (child?.kind !== 'directory')
        throw new SkillError('WRONG_KIND', `${quote(segment)} is not a directory`)
      parent = child
    })
    return { parent, name }
  }

  #createDirectory(): MemoryDirectory {
    return { kind: 'directory', children: new Map(), stat: this.#createStat('directory', 0, false) }
  }

  #createStat(kind: 'file' | 'directory', size: number, isExecutable: boolean): FileStat {
    const time = ++this.#clock
    return {
      kind,
      size,
      mtimeMs: time,
      ctimeMs: time,
      ino: ++this.#identity,
      dev: 1,
      links: 1,
      birthtimeMs: time,
      isExecutable,
    }
  }
}

function assertInside(path: string, folder: string | undefined): void {
  if (folder === undefined || isInside(toAbsolute(path), toAbsolute(folder))) return
  throw new SkillError('OUTSIDE_ROOT', `${quote(path)} is outside ${folder}`)
}

function split(path: string): string[] {
  return path.split('/').filter(segment => segment !== '' && segment !== '.')
}

function toAbsolute(path: string): string {
  return `/${split(path).join('/')}`
}
