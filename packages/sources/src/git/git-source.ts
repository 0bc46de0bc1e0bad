import { resolve } from 'node:path'
import { type Diagnostic, SkillError } from '@skillstoke/core'
import { checkOptions, defined, type KnownOptions, number, oneOf, quote } from '@skillstoke/core/internal'
import { createStateDirectory, defaultStateDirectory, openWriteLock } from '@skillstoke/core/node'
import {
  type FetchContext,
  type FetchResult,
  type FileTree,
  RemoteSource,
  type SkillSource,
  type SourceChange,
  type TreeFetcher,
} from '@skillstoke/core/source'
import { REMOTE_OPTIONS, type RemoteOptions } from '../remote-options.ts'
import { BlobReader } from './blob-reader.ts'
import type { GitAccess } from './git-command.ts'
import { GitMirror, type RemoteRef, type Taken } from './git-mirror.ts'
import { checkRef, type GitPlace, isCommit, parseGitUrl } from './git-url.ts'

/** The values of `GitUpdate`. */
export const GIT_UPDATES = ['ff-only', 'reset'] as const

/** Whether a rewritten history is refused or accepted. */
export type GitUpdate = (typeof GIT_UPDATES)[number]

export interface GitOptions extends RemoteOptions {
  /** Name of the source in digests and messages. @default the repository's name */
  readonly label?: string
  /**
   * A branch, a tag or a full commit id. With a commit id, the source never changes. @default the default branch of the
   * repository
   */
  readonly ref?: string
  /** Folder of the repository that contains the skills. @default the whole repository */
  readonly path?: string
  /**
   * `ff-only` accepts a new commit only if the history of the new commit contains the current commit. After a
   * force-push or a moved tag, the current skills are still served and a diagnostic reports the refused commit. `reset`
   * accepts every new commit. @default 'ff-only'
   */
  readonly update?: GitUpdate
  /** Access token, sent only to the server of this repository and only over https. */
  readonly token?: string
  /** A private key file for ssh. @default the key that ssh chooses */
  readonly identityFile?: string
  /** A file with the keys of trusted ssh servers. No other keys are trusted. @default the files that ssh uses */
  readonly knownHostsFile?: string
  /** The base URL for `owner/repository` and for `/tree/` URLs. @default "https://github.com" */
  readonly baseUrl?: string
  /**
   * Allowed hosts in a private network or on this machine, as `name` or `name:port`. Connections to hosts on
   * this machine may be unencrypted. @default []
   */
  readonly privateHosts?: readonly string[]
  /** Whether `file:` URLs of repositories on this machine are allowed. @default false */
  readonly allowFile?: boolean
  /** Maximum disk space that the local copy of the repository may use, in bytes. @default 200 MB */
  readonly maxBytes?: number
  /**
   * Directory for the bare copy of the repository. Several processes may share this directory. @default
   * defaultStateDirectory()
   */
  readonly stateDirectory?: string
}

const KNOWN: KnownOptions<GitOptions> = {
  label: true,
  ref: true,
  path: true,
  update: oneOf(GIT_UPDATES),
  token: true,
  identityFile: true,
  knownHostsFile: true,
  baseUrl: true,
  privateHosts: true,
  allowFile: true,
  maxBytes: number(1),
  stateDirectory: true,
  ...REMOTE_OPTIONS,
}

const DEFAULT_MAX_REPOSITORY_BYTES = 200_000_000

/**
 * Returns a source for the skills of a git repository. The source polls the repository for changes. Accepts `https`,
 * `ssh` and scp-like URLs, `owner/repository`, and the URL of a folder on GitHub (`.../tree/<branch>/<folder>`). The
 * source reads files from its own bare copy without a work tree. No code of the repository runs, and no half-finished
 * checkout is ever served.
 * @throws {SkillError} INVALID_OPTION for an invalid URL, ref or path
 *
 * @example
 * ```ts no-run
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { git } from '@skillstoke/sources'
 * import { openState } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({
 *   sources: [git('https://github.com/acme/skills', { ref: 'v2', path: 'skills', label: 'acme' })],
 *   state: await openState('./state'), // approvals survive this process
 * })
 * for (const { name, revision } of skills.review.pending()) console.log(name, revision)
 * ```
 */
export function git(url: string, options: GitOptions = {}): SkillSource {
  checkOptions('git()', options, KNOWN)
  const { label, ref, path, baseUrl, privateHosts, allowFile, ...rest } = options
  const place = parseGitUrl(url, {
    ...defined({ ref, path, baseUrl, privateHosts, allowFile }),
  })
  const { update, token, identityFile, knownHostsFile, maxBytes, stateDirectory, ...remote } = rest
  if (token !== undefined && place.protocol !== 'https' && place.protocol !== 'http')
    throw new SkillError(
      'INVALID_OPTION',
      `a token needs https, but ${place.origin} uses ${place.protocol}; use an https URL or remove the token`,
    )
  const access: GitAccess = {
    protocols: [place.protocol],
    ...defined({ privateHosts }),
    ...(token === undefined ? {} : { token, server: new URL(place.url).origin }),
    ...(identityFile === undefined ? {} : { identityFile: resolve(identityFile) }),
    ...(knownHostsFile === undefined ? {} : { knownHostsFile: resolve(knownHostsFile) }),
  }
  const state = resolve(stateDirectory ?? defaultStateDirectory())
  const folder = GitMirror.folderOf(state, place.url)
  const mirror = new GitMirror(folder, place.url, access, maxBytes ?? DEFAULT_MAX_REPOSITORY_BYTES)
  return new RemoteSource(new GitFetcher(place, mirror, folder, update ?? 'ff-only'), {
    ...remote,
    label: label ?? place.name,
    origin: place.origin,
  })
}

class GitFetcher implements TreeFetcher {
  readonly #place: GitPlace
  readonly #mirror: GitMirror
  readonly #folder: string
  readonly #update: GitUpdate
  readonly #blobs: BlobReader
  /** Whether the current step reads the local copy. If so, damage to this copy may be the cause of a failure. */
  #isSuspect = false
  #isTag = false

  constructor(place: GitPlace, mirror: GitMirror, folder: string, update: GitUpdate) {
    this.#place = place
    this.#mirror = mirror
    this.#folder = folder
    this.#update = update
    this.#blobs = new BlobReader(mirror.directory)
  }

  async restore({ signal }: FetchContext): Promise<FileTree | undefined> {
    const taken = await this.#mirror.current(this.#place.origin, signal)
    return taken === undefined ? undefined : await this.#read(taken, signal)
  }

  async fetch({ signal, known }: FetchContext): Promise<FetchResult> {
    const lock = await openWriteLock(createStateDirectory(this.#folder), { timeoutMs: LOCK_WAIT_MS })
    try {
      return await lock.run(async () => await this.#fetchOrRepair(known, signal))
    } finally {
      await lock.close()
    }
  }

  async describeChange({ version }: FileTree, location: string): Promise<SourceChange | undefined> {
    const folder = (await this.#mirror.current(this.#place.origin))?.folder ?? this.#place.path
    const path = [folder, location].filter(part => part !== '').join('/')
    const change = await this.#mirror.lastChange(version, path)
    if (change === undefined) return undefined
    const { author, subject } = change
    return { author: { kind: 'commit', name: author }, cause: 'fetch', note: subject }
  }

  async follows({ version }: FileTree, earlier: string): Promise<boolean> {
    if (version === earlier) return true
    // A tag should always name the same commit.
    return !this.#isTag && isCommit(earlier) && (await this.#mirror.descends(version, earlier))
  }

  async close(): Promise<void> {
    this.#blobs.close()
  }

  /** Fetches the ref. If the local copy is damaged, discards the copy and fetches everything again. */
  async #fetchOrRepair(known: FileTree | undefined, signal: AbortSignal): Promise<FetchResult> {
    try {
      return await this.#fetch(known, signal)
    } catch (thrown) {
      const isDamaged = this.#isSuspect && !signal.aborted && !(await this.#mirror.isWhole(signal))
      if (!isDamaged) throw thrown
      this.#mirror.discard()
      return await this.#fetch(undefined, signal)
    }
  }

  async #fetch(known: FileTree | undefined, signal: AbortSignal): Promise<FetchResult> {
    const mirror = this.#mirror
    const { origin } = this.#place
    await mirror.prepare(signal)
    this.#isSuspect = true
    const taken = (await mirror.current(origin, signal))?.commit ?? mirror.lastTaken(origin)
    // A network failure does not mean that the local copy is damaged.
    this.#isSuspect = false
    const found = await this.#resolve(signal)
    this.#isSuspect = true
    if (found === undefined) return this.#refMissing(taken)
    const { ref, folder } = found
    this.#isTag = ref.isTag
    if (ref.commit === taken && known?.version === taken) return {}
    const commit = await mirror.fetch(ref, signal)
    const refusal = await this.#findRefusal(ref, commit, taken, signal)
    if (refusal !== undefined) return { notices: [refusal] }
    const tree = await this.#read({ commit, folder }, signal)
    if (tree === undefined) {
      const message = `the repository has no folder ${quote(folder)} at ${short(commit)}`
      return this.#missing(taken, 'PATH_MISSING', message, 'name an existing folder')
    }
    if (commit !== taken) await mirror.take(origin, { commit, folder }, signal)
    return { tree }
  }

  /** Returns the remote ref and the folder that the source must read. */
  async #resolve(signal: AbortSignal): Promise<{ ref: RemoteRef; folder: string } | undefined> {
    const { ref, path, refAndPath } = this.#place
    if (refAndPath !== undefined) return await this.#resolveSplit(refAndPath.split('/'), signal)
    if (ref !== undefined && isCommit(ref)) return { ref: { commit: ref, isTag: false }, folder: path }
    const names = ref === undefined ? ['HEAD'] : [`refs/heads/${ref}`, `refs/tags/${ref}`]
    const listed = await this.#mirror.listRemote(names, signal)
    const found = names.map(name => listed.get(name)).find(each => each !== undefined)
    return found === undefined ? undefined : { ref: found, folder: path }
  }

  /**
   * Finds out which part of the path in a tree URL is the ref. A branch name may contain `/`, so only the refs of the
   * repository show where the name of the branch ends.
   */
  async #resolveSplit(
    segments: readonly string[],
    signal: AbortSignal,
  ): Promise<{ ref: RemoteRef; folder: string } | undefined> {
    const [first = ''] = segments
    if (isCommit(first)) return { ref: { commit: first, isTag: false }, folder: segments.slice(1).join('/') }
    const beginnings = segments.map((_, index) => segments.slice(0, index + 1).join('/'))
    const refs = beginnings.filter(isUsableRef)
    const names = refs.flatMap(ref => [`refs/heads/${ref}`, `refs/tags/${ref}`])
    if (names.length === 0) return undefined
    const listed = await this.#mirror.listRemote(names, signal)
    for (const kind of ['heads', 'tags']) {
      for (const beginning of refs) {
        const ref = listed.get(`refs/${kind}/${beginning}`)
        const folder = segments.slice(beginning.split('/').length).join('/')
        if (ref !== undefined) return { ref, folder }
      }
    }
    return undefined
  }

  async #read({ commit, folder }: Taken, signal: AbortSignal): Promise<FileTree | undefined> {
    const entries = await this.#mirror.list(commit, folder, signal)
    if (entries === undefined) return undefined
    const files = entries.map(entry => ({
      ...entry,
      read: async () => await this.#readBlob(entry.id),
    }))
    return { version: commit, files }
  }

  async #readBlob(id: string): Promise<Uint8Array> {
    const bytes = await this.#blobs.read(id)
    if (bytes !== undefined) return bytes
    throw new SkillError('IO_FAILED', `the copy of ${this.#place.origin} has lost the object ${id}`)
  }

  /** Returns why the source must not accept a commit. */
  async #findRefusal(
    { name, isTag }: RemoteRef,
    commit: string,
    taken: string | undefined,
    signal: AbortSignal,
  ): Promise<Diagnostic | undefined> {
    if (taken === undefined || commit === taken || this.#update === 'reset') return undefined
    if (!isTag && (await this.#mirror.descends(commit, taken, signal))) return undefined
    const what = isTag
      ? `the tag ${name?.slice('refs/tags/'.length)} was moved from ${short(taken)} to ${short(commit)}`
      : `the history was rewritten: ${short(commit)} does not come after ${short(taken)}`
    return {
      code: 'HISTORY_REWRITTEN',
      severity: 'warning',
      message: `${what}; the skills of commit ${short(taken)} are still served`,
      path: this.#place.origin,
      fix: "check the new history in the repository, then accept it with update: 'reset' (also in skillstoke.json)",
    }
  }

  #refMissing(taken: string | undefined): FetchResult {
    const { ref, refAndPath, origin } = this.#place
    const wanted = ref ?? refAndPath
    const message =
      wanted === undefined
        ? 'the repository has no default branch'
        : `the repository has no branch or tag ${quote(wanted)}`
    const fix = `check the name, and whether it still exists at ${origin}`
    return this.#missing(taken, 'REF_MISSING', message, fix)
  }

  /**
   * Reports a missing ref or folder. The report is a warning if the source has shown skills before, and otherwise a
   * failure.
   */
  #missing(
    taken: string | undefined,
    code: 'REF_MISSING' | 'PATH_MISSING',
    message: string,
    fix: string,
  ): FetchResult {
    const { origin } = this.#place
    if (taken === undefined) throw new SkillError('NOT_FOUND', `${message}; ${fix}`, { data: { origin } })
    const text = `${message}; the skills of commit ${short(taken)} are still served`
    return { notices: [{ code, severity: 'warning', message: text, path: origin, fix }] }
  }
}

const LOCK_WAIT_MS = 60_000

function isUsableRef(ref: string): boolean {
  try {
    checkRef(ref)
    return true
  } catch {
    return false
  }
}

function short(commit: string): string {
  return commit.slice(0, 10)
}
