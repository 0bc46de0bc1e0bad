import { type Diagnostic, SkillError } from '@skillstoke/core'
import {
  checkOptions,
  digestOf,
  type KnownOptions,
  mapConcurrently,
  number,
  pathInside,
  quote,
  toMessage,
} from '@skillstoke/core/internal'
import {
  type FetchContext,
  type FetchedFile,
  type FileTree,
  RemoteSource,
  refuseTreeEntry,
  restoreTree,
  type SkillSource,
  storeTree,
  type TreeFetcher,
} from '@skillstoke/core/source'
import { DEFAULT_MAX_ARCHIVE_BYTES } from '../archive/archive-source.ts'
import { readArchive } from '../archive/read-archive.ts'
import { checkUrl } from '../http/address-guard.ts'
import { guardedFetch } from '../http/guarded-fetch.ts'
import { REMOTE_OPTIONS, type RemoteOptions } from '../remote-options.ts'
import { type IndexEntry, parseIndex, type SkillIndex } from './skill-index.ts'

export interface WellKnownOptions extends RemoteOptions {
  /** Name of the source in digests and messages. @default the host's name */
  readonly label?: string
  /** Allowed hosts in a private network or on this machine, as `name` or `name:port`. @default [] */
  readonly privateHosts?: readonly string[]
  /** Maximum size of all skills of the site together, unpacked, in bytes. @default 200 MB */
  readonly maxBytes?: number
}

const KNOWN: KnownOptions<WellKnownOptions> = {
  label: true,
  privateHosts: true,
  maxBytes: number(1),
  ...REMOTE_OPTIONS,
}

// Newer format first. Most servers have only one of the two index files.
const INDEXES = ['/.well-known/agent-skills/index.json', '/.well-known/skills/index.json'] as const
const MAX_INDEX_BYTES = 1_000_000
const MAX_FILE_BYTES = 5_000_000
const DEFAULT_MAX_SITE_BYTES = 200_000_000
const CONCURRENCY = 4

/**
 * Returns a source for the skills that a site offers in `/.well-known/agent-skills/index.json`, or in the older
 * `/.well-known/skills/`. A skill whose content does not match its digest is refused.
 * @throws {SkillError} INVALID_OPTION
 *
 * @example
 * ```ts no-run
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { wellKnown } from '@skillstoke/sources'
 *
 * await using skills = await createSkillRuntime({ sources: [wellKnown('https://example.com', { label: 'site' })] })
 * for (const { name, description } of skills.review.pending()) console.log(name, description)
 * ```
 */
export function wellKnown(url: string, options: WellKnownOptions = {}): SkillSource {
  checkOptions('wellKnown()', options, KNOWN)
  const { label, privateHosts, maxBytes = DEFAULT_MAX_SITE_BYTES, ...remote } = options
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new SkillError(
      'INVALID_OPTION',
      `${quote(url)} is not an http or https URL; use for example "https://example.com"`,
    )
  const parsed = new URL(url)
  checkUrl(parsed, { privateHosts: privateHosts ?? [] })
  const isIndex = parsed.pathname.endsWith('.json')
  const candidates = isIndex ? [parsed] : INDEXES.map(path => new URL(path, parsed))
  const origin = isIndex ? parsed.href : parsed.origin
  const fetcher = createFetcher({ origin, candidates, privateHosts: privateHosts ?? [], maxBytes })
  return new RemoteSource(fetcher, { ...remote, label: label ?? parsed.hostname, origin })
}

/** The files of one skill, and a text (`mark`) that changes whenever one of these files changes. */
interface FetchedSkill {
  readonly mark: string
  readonly files: readonly FetchedFile[]
}

interface Site {
  readonly origin: string
  /** The possible addresses of the index. */
  readonly candidates: readonly URL[]
  readonly privateHosts: readonly string[]
  readonly maxBytes: number
}

function createFetcher(site: Site): TreeFetcher {
  const { origin } = site
  /** The fetched skills, by name. */
  let earlier: ReadonlyMap<string, FetchedSkill> = new Map()
  return {
    restore: async context => await restoreTree(origin, context),
    async fetch(context) {
      const { signal } = context
      const { index, url } = await fetchIndex(site, signal)
      const notices: Diagnostic[] = index.faults.map(fault => refuseTreeEntry(url.href, fault))
      const skills = new Map<string, FetchedSkill>()
      const take = createBudget(site.maxBytes, url.host)
      const fetchOne = async (entry: IndexEntry): Promise<void> => {
        const { name } = entry
        const known = earlier.get(name)
        try {
          skills.set(name, await fetchSkill(entry, { known, context, take, site }))
        } catch (thrown) {
          signal.throwIfAborted()
          take(0)
          // If a skill cannot be fetched, its last revision is still served and all other skills are updated.
          const stored = known === undefined ? await listFilesBelow(context.known, name) : []
          const kept = known ?? (stored.length === 0 ? undefined : { mark: '', files: stored })
          if (kept !== undefined) skills.set(name, kept)
          const { href } = entry.kind === 'files' ? url : entry.url
          notices.push(refuseTreeEntry(href, `${name}: ${toMessage(thrown)}`, kept !== undefined))
        }
      }
      await mapConcurrently(index.entries, fetchOne, CONCURRENCY, signal)
      earlier = skills
      const files = [...skills].flatMap(([name, skill]) =>
        skill.files.map(file => ({ ...file, path: `${name}/${file.path}` })),
      )
      const tree = storeTree(origin, files, context)
      notices.sort((a, b) => (a.message < b.message ? -1 : 1))
      return tree.version === context.known?.version ? { notices } : { tree, notices }
    },
  }
}

/** Lists the files of a tree below a folder, with paths relative to that folder. */
async function listFilesBelow(tree: FileTree | undefined, folder: string): Promise<readonly FetchedFile[]> {
  const files: FetchedFile[] = []
  for (const file of tree?.files ?? []) {
    const { path, kind, isExecutable } = file
    const within = pathInside(folder, path)
    if (within === undefined || kind !== 'file') continue
    files.push({ path: within, kind, bytes: await file.read(undefined), isExecutable })
  }
  return files
}

async function fetchIndex(
  { candidates, privateHosts }: Site,
  signal: AbortSignal,
): Promise<{ readonly index: SkillIndex; readonly url: URL }> {
  let missing: unknown
  for (const candidate of candidates) {
    try {
      const access = { privateHosts, maxBytes: MAX_INDEX_BYTES, signal }
      const { bytes = new Uint8Array(), url } = await guardedFetch(candidate, access)
      return { index: parseIndex(bytes, url), url }
    } catch (thrown) {
      if (!SkillError.isInstance(thrown, 'NOT_FOUND')) throw thrown
      missing ??= thrown
    }
  }
  throw missing
}

interface SkillRequest {
  readonly known: FetchedSkill | undefined
  readonly context: FetchContext
  readonly take: (bytes: number) => void
  readonly site: Site
}

async function fetchSkill(
  entry: IndexEntry,
  { known, context: { signal, hasher }, take, site: { privateHosts } }: SkillRequest,
): Promise<FetchedSkill> {
  const get = async (url: URL, maxBytes: number): Promise<Uint8Array> =>
    (await guardedFetch(url, { privateHosts, maxBytes, signal })).bytes ?? new Uint8Array()
  if (entry.kind === 'files') {
    const files: FetchedFile[] = []
    for (const { path, url } of entry.files) {
      files.push(toFile(path, await get(url, MAX_FILE_BYTES)))
      take(sizeOf(files.slice(-1)))
    }
    return { mark: '', files }
  }
  const { digest, url } = entry
  const isArchive = entry.kind === 'archive'
  if (known?.mark === digest) {
    take(sizeOf(known.files))
    return known
  }
  const bytes = await get(url, isArchive ? DEFAULT_MAX_ARCHIVE_BYTES : MAX_FILE_BYTES)
  const actual = digestOf(bytes, hasher)
  if (actual !== digest)
    throw new SkillError('IO_FAILED', `the download is ${actual}; the index says ${digest}`)
  const files = isArchive ? await readArchive(bytes) : [toFile('SKILL.md', bytes)]
  take(sizeOf(files))
  return { mark: digest, files }
}

/**
 * Returns a function that counts the bytes of one fetch, and throws TOO_LARGE beyond the limit. Even if each skill respects
 * its own limit, all skills together may be too large.
 */
function createBudget(max: number, host: string): (bytes: number) => void {
  let taken = 0
  return bytes => {
    taken += bytes
    if (taken <= max) return
    const message = `the skills of ${host} have more than ${max} bytes together; raise maxBytes (maxMegabytes in skillstoke.json) if the size is intended`
    throw new SkillError('TOO_LARGE', message)
  }
}

function sizeOf(files: readonly FetchedFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes.length, 0)
}

function toFile(path: string, bytes: Uint8Array): FetchedFile {
  return { path, kind: 'file', bytes, isExecutable: false }
}
