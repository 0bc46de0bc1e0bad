import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SkillError } from '@skillstoke/core'
import { createStateDirectory } from '@skillstoke/core/node'
import type { TreeFile } from '@skillstoke/core/source'
import { findRemoteSettings } from './git-address.ts'
import { type GitAccess, type GitOutput, runGit } from './git-command.ts'
import { isCommit } from './git-url.ts'

/** A ref of a remote repository, with the commit that the ref names. */
export interface RemoteRef {
  /** A full ref name such as `refs/heads/main`; absent if the caller asked for a commit. */
  readonly name?: string
  readonly commit: string
  readonly isTag: boolean
}

/** The commit and folder that a source shows. */
export interface Taken {
  readonly commit: string
  readonly folder: string
}

const OURS = 'refs/skillstoke'
const SIZE_PROBE_MS = 250
const MAX_PACKS = 50
const MAX_TREE_OUTPUT_BYTES = 64 * 1024 * 1024

/**
 * A bare copy of a repository. The copy has no work tree, no hooks and only its own configuration. Each accepted commit
 * has a ref, so git never prunes a served file.
 */
export class GitMirror {
  readonly directory: string
  readonly #url: string
  readonly #access: GitAccess
  readonly #maxBytes: number

  /**
   * `parent` is a folder that contains only data of this repository. Several sources and processes may share the
   * folder.
   */
  constructor(parent: string, url: string, access: GitAccess, maxBytes: number) {
    this.directory = join(parent, 'mirror.git')
    this.#url = url
    this.#access = access
    this.#maxBytes = maxBytes
  }

  /** Returns the folder in a state directory for the mirror of a URL. */
  static folderOf(stateDirectory: string, url: string): string {
    return join(stateDirectory, 'git', keyOf(url))
  }

  get exists(): boolean {
    return statSync(join(this.directory, 'HEAD'), { throwIfNoEntry: false })?.isFile() === true
  }

  /**
   * Creates the mirror if it is missing. If the mirror exists, removes files that a killed process left behind. The
   * caller must hold the lock.
   */
  async prepare(signal: AbortSignal): Promise<void> {
    if (this.exists) {
      removeLeftovers(this.directory)
      return
    }
    createStateDirectory(join(this.directory, '..'))
    const fresh = `${this.directory}.${randomBytes(6).toString('hex')}`
    mkdirSync(fresh, { mode: 0o700 })
    try {
      await runGit(['init', '--bare', '--quiet', '--template=', '--', fresh], { signal })
      rmSync(this.directory, { recursive: true, force: true })
      renameSync(fresh, this.directory)
    } finally {
      rmSync(fresh, { recursive: true, force: true })
    }
  }

  /**
   * Returns the remote refs with the given full names, and the ref that `HEAD` points to.
   * @throws {SkillError} IO_FAILED, also for an empty list, which may be a truncated answer
   */
  async listRemote(names: readonly string[], signal: AbortSignal): Promise<Map<string, RemoteRef>> {
    const patterns = ['HEAD', ...names].flatMap(name =>
      name.startsWith('refs/tags/') ? [name, `${name}^{}`] : [name],
    )
    const args = ['ls-remote', '--symref', '--end-of-options', this.#url, ...patterns]
    const { stdout } = await this.#remote(args, signal)
    const found = new Map<string, RemoteRef>()
    let head: string | undefined
    for (const line of stdout.toString('utf8').split('\n')) {
      const [value = '', name = ''] = line.split('\t')
      if (value.startsWith('ref: ') && name === 'HEAD') head = value.slice('ref: '.length)
      else if (isCommit(value) && name.endsWith('^{}')) {
        // Git lists an annotated tag twice: first the tag object, then its commit.
        found.set(name.slice(0, -3), { name: name.slice(0, -3), commit: value, isTag: true })
      } else if (isCommit(value)) {
        found.set(name, { name, commit: value, isTag: name.startsWith('refs/tags/') })
      }
    }
    if (found.size === 0)
      throw new SkillError(
        'IO_FAILED',
        `${this.#url} lists no branch; it is empty, or the answer was cut off`,
      )
    const atHead = found.get('HEAD')
    if (atHead !== undefined) found.set('HEAD', { ...atHead, name: head ?? 'HEAD' })
    return found
  }

  /** Fetches a commit with its history. Fetches into a temporary ref that no other call uses. Returns the commit. */
  async fetch(ref: RemoteRef, signal: AbortSignal): Promise<string> {
    if (await this.#isKept(ref.commit, signal)) return ref.commit
    const incoming = `${OURS}/incoming/${randomBytes(8).toString('hex')}`
    const watchdog = new AbortController()
    const timer = setInterval(() => {
      if (sizeOf(this.directory) > this.#maxBytes) watchdog.abort(this.#tooLarge())
    }, SIZE_PROBE_MS)
    let isTooLarge = false
    try {
      const spec = `+${ref.name ?? ref.commit}:${incoming}`
      const flags = ['--quiet', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--refmap=']
      await this.#remote(
        ['fetch', ...flags, '--end-of-options', this.#url, spec],
        AbortSignal.any([watchdog.signal, signal]),
      )
      if (sizeOf(this.directory) > this.#maxBytes) throw this.#tooLarge()
      const { stdout } = await this.#local(
        ['rev-parse', '--verify', '--quiet', `${incoming}^{commit}`],
        signal,
      )
      return stdout.toString('latin1').trim()
    } catch (thrown) {
      isTooLarge = SkillError.isInstance(thrown, 'TOO_LARGE')
      throw thrown
    } finally {
      clearInterval(timer)
      await this.#local(['update-ref', '-d', incoming]).catch(() => undefined)
      if (isTooLarge) await this.#dropUnwanted().catch(() => undefined)
    }
  }

  /** Returns whether all objects of the kept commits are in the mirror. */
  async isWhole(signal: AbortSignal): Promise<boolean> {
    const args = ['fsck', '--connectivity-only', '--no-dangling', '--no-progress']
    const { code } = await this.#local(
      args,
      signal,
      Array.from({ length: 129 }, (_, code) => code),
    )
    return code === 0
  }

  /** Removes the whole mirror. The caller must hold the lock. */
  discard(): void {
    rmSync(this.directory, { recursive: true, force: true })
  }

  /** Returns whether the commit `older` is in the history of the commit `newer`. */
  async descends(newer: string, older: string, signal?: AbortSignal): Promise<boolean> {
    // Exit code 128 means that the mirror lacks the commit `older`. The mirror has the complete history of `newer`, so
    // `older` is not part of this history.
    const { code } = await this.#local(['merge-base', '--is-ancestor', older, newer], signal, [0, 1, 128])
    return code === 0
  }

  /** Returns the commit and folder that the source accepted last; `undefined` if the source has accepted no commit. */
  async current(source: string, signal?: AbortSignal): Promise<Taken | undefined> {
    if (!this.exists) return undefined
    const { commit, folder } = refsOf(source)
    const found = await this.#local(
      ['rev-parse', '--verify', '--quiet', `${commit}^{commit}`],
      signal,
      [0, 1],
    )
    if (found.code !== 0) return undefined
    const note = await this.#local(['cat-file', 'blob', folder], signal)
    return { commit: found.stdout.toString('latin1').trim(), folder: note.stdout.toString('utf8') }
  }

  /** Returns the commit that a source accepted last, even if the mirror was lost after that. */
  lastTaken(source: string): string | undefined {
    try {
      const commit = readFileSync(this.#noteOf(source), 'utf8').trim()
      return isCommit(commit) ? commit : undefined
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw thrown
    }
  }

  /**
   * Records the commit and folder that a source has accepted. In the same transaction, adds a ref that keeps git from
   * pruning the commit.
   */
  async take(source: string, { commit, folder }: Taken, signal: AbortSignal): Promise<void> {
    const run = { gitDirectory: this.directory, signal }
    const { stdout } = await runGit(['hash-object', '-w', '--stdin'], { ...run, input: folder })
    const refs = refsOf(source)
    const updates = [
      `update ${OURS}/kept/${commit} ${commit}`,
      `update ${refs.folder} ${stdout.toString('latin1').trim()}`,
      `update ${refs.commit} ${commit}`,
    ]
    const input = ['start', ...updates, 'prepare', 'commit', ''].join('\n')
    await runGit(['update-ref', '--stdin'], { ...run, input })
    // Also records the accepted commit outside the mirror, so that a recreated mirror still refuses a rewritten
    // history.
    const note = this.#noteOf(source)
    writeFileSync(`${note}.tmp`, `${commit}\n`)
    renameSync(`${note}.tmp`, note)
    if (packsIn(this.directory) > MAX_PACKS) await runGit(['repack', '-a', '-d', '-k', '--quiet'], run)
  }

  /**
   * Returns all entries of a commit below a folder, without checking them; `undefined` if the folder does not exist.
   */
  async list(commit: string, folder: string, signal: AbortSignal): Promise<TreeEntry[] | undefined> {
    const top = folder === '' ? commit : `${commit}:${folder}`
    const type = await this.#local(['cat-file', '-t', '--end-of-options', top], signal, [0, 128])
    if (folder !== '' && type.stdout.toString('latin1').trim() !== 'tree') return undefined
    const { stdout } = await runGit(['ls-tree', '-r', '-z', '-l', '--full-tree', '--end-of-options', top], {
      gitDirectory: this.directory,
      signal,
      maxOutputBytes: MAX_TREE_OUTPUT_BYTES,
    })
    return stdout
      .toString('utf8')
      .split('\0')
      .filter(line => line !== '')
      .map(toEntry)
  }

  /** Returns the author and subject of the newest commit in the history of `commit` that changed a path. */
  async lastChange(
    commit: string,
    path: string,
  ): Promise<{ readonly author: string; readonly subject: string } | undefined> {
    const args = ['log', '-1', '--no-color', '--format=%an%x00%s', '--end-of-options', commit]
    // Without `literal`, git would treat the path as a pattern.
    const within = path === '' ? [] : ['--', `:(literal,top)${path}`]
    const { code, stdout } = await this.#local([...args, ...within], undefined, [0, 128])
    const [author = '', subject = ''] = stdout.toString('utf8').trim().split('\0')
    return code !== 0 || author === ''
      ? undefined
      : { author: author.slice(0, 200), subject: subject.slice(0, 200) }
  }

  /** Removes the pack of a refused fetch. If the pack stayed, its bytes would count towards the size limit forever. */
  async #dropUnwanted(): Promise<void> {
    removeLeftovers(this.directory)
    await this.#local(['repack', '-a', '-d', '--quiet'])
  }

  #noteOf(source: string): string {
    return join(this.directory, '..', `${keyOf(source)}.taken`)
  }

  async #isKept(commit: string, signal: AbortSignal): Promise<boolean> {
    const args = ['rev-parse', '--verify', '--quiet', `${OURS}/kept/${commit}`]
    return (await this.#local(args, signal, [0, 1])).code === 0
  }

  async #remote(args: readonly string[], signal: AbortSignal): Promise<GitOutput> {
    const settings = await findRemoteSettings(this.#url, this.#access.privateHosts ?? [])
    return await runGit(args, { gitDirectory: this.directory, access: this.#access, settings, signal })
  }

  async #local(
    args: readonly string[],
    signal?: AbortSignal,
    answers: readonly number[] = [0],
  ): Promise<GitOutput> {
    const run = { gitDirectory: this.directory, answers }
    return await runGit(args, signal === undefined ? run : { ...run, signal })
  }

  #tooLarge(): SkillError {
    return new SkillError(
      'TOO_LARGE',
      `the repository ${this.#url} needs more than ${this.#maxBytes} bytes here; raise maxBytes (maxMegabytes in skillstoke.json) if the size is intended`,
    )
  }
}

export interface TreeEntry extends Pick<TreeFile, 'path' | 'kind' | 'size' | 'isExecutable' | 'id'> {}

const REGULAR = /^100[0-7]{3}$/

/** Parses `<mode> <type> <object> <size>\t<path>`. Symbolic links and submodules do not count as files. */
function toEntry(line: string): TreeEntry {
  const tab = line.indexOf('\t')
  const [mode = '', type, id = '', size] = line.slice(0, tab).split(/ +/)
  const path = line.slice(tab + 1)
  const kind = type === 'blob' && REGULAR.test(mode) ? 'file' : mode === '120000' ? 'link' : 'other'
  return { path, kind, size: kind === 'file' ? Number(size) : 0, isExecutable: mode === '100755', id }
}

function refsOf(source: string): { readonly commit: string; readonly folder: string } {
  const name = `${OURS}/current/${keyOf(source)}`
  return { commit: `${name}/commit`, folder: `${name}/folder` }
}

function keyOf(source: string): string {
  return createHash('sha256').update(source).digest('hex').slice(0, 32)
}

/** Returns the number of packs. Each fetch that receives new objects adds one pack. */
function packsIn(directory: string): number {
  return readdirSync(join(directory, 'objects', 'pack')).filter(name => name.endsWith('.pack')).length
}

/** Returns the total size of all objects in bytes, including half-fetched objects. */
function sizeOf(directory: string): number {
  let total = 0
  const visit = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) visit(path)
      else total += statSync(path, { throwIfNoEntry: false })?.size ?? 0
    }
  }
  try {
    visit(join(directory, 'objects'))
  } catch {
    // During the count, git may move a temporary folder. The next count finds the folder at the new path.
  }
  return total
}

/**
 * Removes lock files and half-written objects that a killed git left behind, because the next git would refuse to run.
 */
function removeLeftovers(directory: string): void {
  const visit = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (/^(tmp_|incoming-|tmp-objdir-)/.test(entry.name) || entry.name.endsWith('.lock'))
        rmSync(path, { recursive: true, force: true })
      else if (entry.isDirectory() && !/^[0-9a-f]{2}$/.test(entry.name)) visit(path)
    }
  }
  visit(directory)
}
