import { readFile, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SkillError } from '@skillstoke/core'
import {
  checkOptions,
  defined,
  digestOf,
  type KnownOptions,
  number,
  pathInside,
  quote,
  toMessage,
} from '@skillstoke/core/internal'
import {
  type FetchedFile,
  RemoteSource,
  restoreTree,
  type SkillSource,
  storeTree,
  type TreeFetcher,
} from '@skillstoke/core/source'
import { checkUrl } from '../http/address-guard.ts'
import { type GuardedRequest, guardedFetch } from '../http/guarded-fetch.ts'
import { REMOTE_OPTIONS, type RemoteOptions } from '../remote-options.ts'
import { type ArchiveLimits, DEFAULT_ARCHIVE_LIMITS, readArchive } from './read-archive.ts'

export interface ArchiveOptions extends RemoteOptions {
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
  /** Limits for the content of the archive. @default 20,000 entries and 100 MB */
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
  ...REMOTE_OPTIONS,
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
  const address = url?.href ?? pathToFileURL(resolve(pathOrUrl)).href
  const folder = path?.replace(/^\.?\/+|\/+$/g, '') ?? ''
  const origin = folder === '' ? address : `${address}#${folder}`
  const fetcher = createFetcher({
    place: url ?? resolve(pathOrUrl),
    origin,
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
    origin,
  })
}

// The interval is short, because checking a local file for changes costs almost nothing.
const LOCAL_POLL_MS = 5_000

interface ArchivePlace {
  readonly place: URL | string
  readonly origin: string
  readonly folder: string
  readonly digest: string | undefined
  readonly privateHosts: readonly string[]
  readonly maxBytes: number
  readonly limits: ArchiveLimits
}

interface PackedArchive {
  readonly bytes: Uint8Array
  /** Changes with the archive: an entity tag, or the size, times and inode. */
  readonly mark: string | undefined
}

function createFetcher({ place, origin, folder, digest, limits, ...access }: ArchivePlace): TreeFetcher {
  let mark: string | undefined
  return {
    isLocal: typeof place === 'string',
    restore: async context => await restoreTree(origin, context),
    async fetch(context) {
      // An unchanged archive is not read again.
      const known = context.known === undefined ? undefined : mark
      const { signal, hasher } = context
      const packed =
        place instanceof URL
          ? await download(place, { ...access, signal, ...defined({ etag: known }) })
          : await load(place, known, access.maxBytes)
      if (packed === undefined) return {}
      const actual = digest === undefined ? undefined : digestOf(packed.bytes, hasher)
      if (actual !== digest)
        throw new SkillError('IO_FAILED', `${origin} has the digest ${actual}; expected ${digest}`)
      const files = selectFolder(await readArchive(packed.bytes, limits), folder)
      if (files.length === 0) {
        const where = folder === '' ? 'is empty' : `has no folder ${quote(folder)}`
        throw new SkillError('NOT_FOUND', `the archive ${origin} ${where}`)
      }
      const tree = storeTree(origin, files, context)
      mark = packed.mark
      return tree.version === context.known?.version ? {} : { tree }
    },
  }
}

/** Returns `undefined` if the archive has the given entity tag. */
async function download(url: URL, request: GuardedRequest): Promise<PackedArchive | undefined> {
  const { bytes, etag } = await guardedFetch(url, request)
  return bytes === undefined ? undefined : { bytes, mark: etag }
}

/** Returns `undefined` if the file has the given mark. */
async function load(
  path: string,
  known: string | undefined,
  maxBytes: number,
): Promise<PackedArchive | undefined> {
  try {
    const before = await stat(path, { bigint: true })
    const mark = [before.dev, before.ino, before.size, before.mtimeNs, before.ctimeNs].join()
    if (mark === known) return undefined
    if (!before.isFile()) throw new SkillError('WRONG_KIND', `${quote(path)} is not a file`)
    const { size } = before
    if (size > maxBytes)
      throw new SkillError('TOO_LARGE', `${quote(path)} has ${size} bytes; at most ${maxBytes} are read`)
    return { bytes: await readFile(path), mark }
  } catch (thrown) {
    if (SkillError.isInstance(thrown)) throw thrown
    const code = (thrown as NodeJS.ErrnoException).code === 'ENOENT' ? 'NOT_FOUND' : 'IO_FAILED'
    throw new SkillError(code, `the archive cannot be read: ${toMessage(thrown)}`, { cause: thrown })
  }
}

function selectFolder(files: readonly FetchedFile[], folder: string): readonly FetchedFile[] {
  if (folder === '') return files
  return files.flatMap(file => {
    const path = pathInside(folder, file.path)
    return path === undefined ? [] : { ...file, path }
  })
}
