import { readFile, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SkillError } from '@skillstoke/core'
import {
  checkOptions,
  digestOf,
  type KnownOptions,
  number,
  pathInside,
  quote,
  toMessage,
} from '@skillstoke/core/internal'
import {
  type FetchContext,
  type FetchedFile,
  type FetchResult,
  type FileTree,
  RemoteSource,
  type RemoteSourceOptions,
  restoreTree,
  type SkillSource,
  storeTree,
  type TreeFetcher,
} from '@skillstoke/core/source'
import { checkUrl } from '../http/address-guard.ts'
import { guardedFetch } from '../http/guarded-fetch.ts'
import { type ArchiveLimits, DEFAULT_ARCHIVE_LIMITS, readArchive } from './read-archive.ts'

export interface ArchiveOptions
  extends Pick<
    RemoteSourceOptions,
    'trust' | 'layout' | 'reading' | 'limits' | 'pollMs' | 'timeoutMs' | 'firstWaitMs' | 'polling' | 'clock'
  > {
  /** Name of the source in digests and messages. @default the archive's name without its extension */
  readonly label?: string
  /** Folder of the archive that contains the skills. @default the whole archive */
  readonly path?: string
  /**
   * SHA-256 of the archive, as `sha256:` and 64 digits. Archives with a different digest are refused. @default any
   * digest
   */
  readonly digest?: string
  /** Allowed hosts in a private network or on this machine, as `name` or `name:port`. @default [] */
  readonly privateHosts?: readonly string[]
  /** Maximum size of the packed archive, in bytes. @default 50 MB */
  readonly maxBytes?: number
  /** Limits for the content of the archive. @default DEFAULT_ARCHIVE_LIMITS */
  readonly archiveLimits?: Partial<ArchiveLimits>
}

const LIMITS: KnownOptions<ArchiveLimits> = { maxEntries: number(0), maxTotalBytes: number(0) }

const KNOWN: KnownOptions<ArchiveOptions> = {
  label: true,
  path: true,
  digest: true,
  privateHosts: true,
  maxBytes: number(1),
  archiveLimits: LIMITS,
  timeoutMs: true,
  trust: true,
  layout: true,
  reading: true,
  limits: true,
  pollMs: true,
  firstWaitMs: true,
  polling: true,
  clock: true,
}

export const DEFAULT_MAX_ARCHIVE_BYTES = 50_000_000

/**
 * Returns a source for the skills in a zip or tar.gz archive. The archive is a local file or an https URL. The source
 * polls the archive for changes. The source unpacks the archive in memory and writes no files to the disk.
 * @throws {SkillError} INVALID_OPTION
 *
 * @example
 * ```ts
 * import { execFileSync } from 'node:child_process'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { archive } from '@skillstoke/sources'
 *
 * execFileSync('tar', ['-czf', 'team.tar.gz', 'skills'])
 * const source = archive('./team.tar.gz', { path: 'skills', trust: 'auto' })
 * await using skills = await createSkillRuntime({ sources: [source] })
 * console.log(source.label, skills.current.list().map(skill => skill.name)) // prints team [ 'support-pdf' ]
 * ```
 */
export function archive(pathOrUrl: string, options: ArchiveOptions = {}): SkillSource {
  checkOptions('archive()', options, KNOWN)
  const { label, path, digest, privateHosts, maxBytes, archiveLimits, ...remote } = options
  if (pathOrUrl.trim() === '') throw new SkillError('INVALID_OPTION', 'the path of the archive is empty')
  if (digest !== undefined && !/^sha256:[0-9a-f]{64}$/.test(digest))
    throw new SkillError(
      'INVALID_OPTION',
      `digest is ${quote(digest)}; use "sha256:" and 64 hexadecimal digits`,
    )
  const url = /^https?:\/\//i.test(pathOrUrl) ? new URL(pathOrUrl) : undefined
  if (url !== undefined) checkUrl(url, { privateHosts: privateHosts ?? [] })
  const origin = url?.href ?? pathToFileURL(resolve(pathOrUrl)).href
  const folder = path?.replace(/^\.?\/+|\/+$/g, '') ?? ''
  const fetcher = new ArchiveFetcher({
    place: url ?? resolve(pathOrUrl),
    origin: folder === '' ? origin : `${origin}#${folder}`,
    folder,
    digest,
    privateHosts: privateHosts ?? [],
    maxBytes: maxBytes ?? DEFAULT_MAX_ARCHIVE_BYTES,
    limits: { ...DEFAULT_ARCHIVE_LIMITS, ...archiveLimits },
  })
  const name = basename(url?.pathname ?? pathOrUrl).replace(/\.(zip|tgz|tar\.gz|tar)$/i, '')
  return new RemoteSource(fetcher, {
    ...(url === undefined ? { pollMs: LOCAL_POLL_MS } : {}),
    ...remote,
    label: label ?? (name || 'archive'),
    origin: fetcher.origin,
  })
}

// The interval is short, because checking a local file for changes costs almost nothing.
const LOCAL_POLL_MS = 5_000

interface ArchiveFetcherOptions {
  readonly place: URL | string
  readonly origin: string
  readonly folder: string
  readonly digest: string | undefined
  readonly privateHosts: readonly string[]
  readonly maxBytes: number
  readonly limits: ArchiveLimits
}

class ArchiveFetcher implements TreeFetcher {
  readonly origin: string
  readonly isLocal: boolean
  readonly #options: ArchiveFetcherOptions
  /**
   * Identifies the current state of the archive, so that an unchanged archive is not read again. The text is an entity
   * tag, or contains the size, times and inode.
   */
  #mark: string | undefined

  constructor(options: ArchiveFetcherOptions) {
    this.origin = options.origin
    this.isLocal = typeof options.place === 'string'
    this.#options = options
  }

  async restore(context: FetchContext): Promise<FileTree | undefined> {
    return await restoreTree(this.origin, context)
  }

  async fetch(context: FetchContext): Promise<FetchResult> {
    const { digest, folder, limits, place } = this.#options
    const mark = context.known === undefined ? undefined : this.#mark
    const got =
      place instanceof URL ? await this.#download(place, mark, context) : await this.#load(place, mark)
    if (got === undefined) return {}
    if (digest !== undefined && digestOf(got.bytes, context.hasher) !== digest) {
      const actual = digestOf(got.bytes, context.hasher)
      throw new SkillError('IO_FAILED', `${this.origin} has the digest ${actual}; expected ${digest}`)
    }
    const entries = await readArchive(got.bytes, limits)
    const files = selectFolder(entries, folder)
    if (files.length === 0) {
      const where = folder === '' ? 'is empty' : `has no folder ${quote(folder)}`
      throw new SkillError('NOT_FOUND', `the archive ${this.origin} ${where}`)
    }
    const tree = storeTree(this.origin, files, context)
    this.#mark = got.mark
    return tree.version === context.known?.version ? {} : { tree }
  }

  async #download(
    url: URL,
    etag: string | undefined,
    { signal }: FetchContext,
  ): Promise<{ bytes: Uint8Array; mark: string | undefined } | undefined> {
    const { privateHosts, maxBytes } = this.#options
    const answer = await guardedFetch(url, {
      privateHosts,
      maxBytes,
      signal,
      ...(etag === undefined ? {} : { etag }),
    })
    return answer.bytes === undefined ? undefined : { bytes: answer.bytes, mark: answer.etag }
  }

  async #load(
    path: string,
    mark: string | undefined,
  ): Promise<{ bytes: Uint8Array; mark: string } | undefined> {
    const { maxBytes } = this.#options
    try {
      const before = await stat(path, { bigint: true })
      const now = [before.dev, before.ino, before.size, before.mtimeNs, before.ctimeNs].join()
      if (now === mark) return undefined
      if (!before.isFile()) throw new SkillError('WRONG_KIND', `${quote(path)} is not a file`)
      if (before.size > maxBytes)
        throw new SkillError(
          'TOO_LARGE',
          `${quote(path)} has ${before.size} bytes; at most ${maxBytes} are read`,
        )
      return { bytes: await readFile(path), mark: now }
    } catch (thrown) {
      if (SkillError.isInstance(thrown)) throw thrown
      const isMissing = (thrown as NodeJS.ErrnoException).code === 'ENOENT'
      throw new SkillError(
        isMissing ? 'NOT_FOUND' : 'IO_FAILED',
        `the archive cannot be read: ${toMessage(thrown)}`,
        {
          cause: thrown,
        },
      )
    }
  }
}

function selectFolder(files: readonly FetchedFile[], folder: string): readonly FetchedFile[] {
  if (folder === '') return files
  return files.flatMap(file => {
    const path = pathInside(folder, file.path)
    return path === undefined ? [] : { ...file, path }
  })
}
