import { type Diagnostic, SkillError } from '@skillstoke/core'
import {
  checkOptions,
  digestOf,
  type KnownOptions,
  number,
  quote,
  toMessage,
} from '@skillstoke/core/internal'
import {
  type FetchContext,
  type FetchedFile,
  type FetchResult,
  type FileTree,
  listFilesBelow,
  RemoteSource,
  type RemoteSourceOptions,
  refuseTreeEntry,
  restoreTree,
  type SkillSource,
  storeTree,
  type TreeFetcher,
} from '@skillstoke/core/source'
import { DEFAULT_MAX_ARCHIVE_BYTES } from '../archive/archive-source.ts'
import { readArchive } from '../archive/read-archive.ts'
import { checkUrl } from '../http/address-guard.ts'
import { type GuardedAnswer, guardedFetch } from '../http/guarded-fetch.ts'
import { type IndexEntry, parseIndex, type SkillIndex } from './skill-index.ts'

export interface WellKnownOptions
  extends Pick<
    RemoteSourceOptions,
    'trust' | 'layout' | 'reading' | 'limits' | 'pollMs' | 'timeoutMs' | 'firstWaitMs' | 'polling' | 'clock'
  > {
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
  const fetcher = new WellKnownFetcher(origin, candidates, { privateHosts: privateHosts ?? [], maxBytes })
  return new RemoteSource(fetcher, { ...remote, label: label ?? parsed.hostname, origin })
}

/** The files of one skill, and a text (`mark`) that changes whenever one of these files changes. */
interface FetchedSkill {
  readonly mark: string
  readonly files: readonly FetchedFile[]
}

interface SiteAccess {
  readonly privateHosts: readonly string[]
  readonly maxBytes: number
}

class WellKnownFetcher implements TreeFetcher {
  readonly #origin: string
  readonly #candidates: readonly URL[]
  readonly #privateHosts: readonly string[]
  readonly #maxBytes: number
  /** The fetched skills, by name. */
  #skills: ReadonlyMap<string, FetchedSkill> = new Map()

  constructor(origin: string, candidates: readonly URL[], options: SiteAccess) {
    this.#origin = origin
    this.#candidates = candidates
    this.#privateHosts = options.privateHosts
    this.#maxBytes = options.maxBytes
  }

  async restore(context: FetchContext): Promise<FileTree | undefined> {
    return await restoreTree(this.#origin, context)
  }

  async fetch(context: FetchContext): Promise<FetchResult> {
    const { index, url } = await this.#fetchIndex(context.signal)
    const notices: Diagnostic[] = index.faults.map(fault => refuseTreeEntry(url.href, fault))
    const skills = new Map<string, FetchedSkill>()
    const queue = [...index.entries]
    const budget = new ByteBudget(this.#maxBytes, url.host)
    const work = async (): Promise<void> => {
      for (let entry = queue.shift(); entry !== undefined; entry = queue.shift()) {
        const known = this.#skills.get(entry.name)
        try {
          skills.set(entry.name, await this.#fetchSkill(entry, known, context, budget))
        } catch (thrown) {
          context.signal.throwIfAborted()
          budget.throwIfExceeded()
          // If a skill cannot be fetched, its last revision is still served and all other skills are updated.
          const kept = known ?? (await this.#fromTree(entry.name, context.known))
          if (kept !== undefined) skills.set(entry.name, kept)
          notices.push(
            refuseTreeEntry(
              (entry.kind === 'files' ? url : entry.url).href,
              `${entry.name}: ${toMessage(thrown)}`,
              kept !== undefined,
            ),
          )
        }
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, work))
    this.#skills = skills
    const files = [...skills].flatMap(([name, skill]) =>
      skill.files.map(file => ({ ...file, path: `${name}/${file.path}` })),
    )
    const tree = storeTree(this.#origin, files, context)
    notices.sort((a, b) => (a.message < b.message ? -1 : 1))
    return tree.version === context.known?.version ? { notices } : { tree, notices }
  }

  async #fetchIndex(signal: AbortSignal): Promise<{ readonly index: SkillIndex; readonly url: URL }> {
    let missing: unknown
    for (const candidate of this.#candidates) {
      try {
        const { bytes, url } = await this.#get(candidate, MAX_INDEX_BYTES, signal)
        return { index: parseIndex(bytes, url), url }
      } catch (thrown) {
        if (!SkillError.isInstance(thrown, 'NOT_FOUND')) throw thrown
        missing ??= thrown
      }
    }
    throw missing
  }

  async #fetchSkill(
    entry: IndexEntry,
    known: FetchedSkill | undefined,
    { signal, hasher }: FetchContext,
    budget: ByteBudget,
  ): Promise<FetchedSkill> {
    if (entry.kind === 'files') {
      const files: FetchedFile[] = []
      for (const { path, url } of entry.files) {
        const { bytes } = await this.#get(url, MAX_FILE_BYTES, signal)
        budget.take(bytes.length)
        files.push(toFile(path, bytes))
      }
      return { mark: '', files }
    }
    if (known?.mark === entry.digest) {
      budget.take(known.files.reduce((sum, { bytes }) => sum + bytes.length, 0))
      return known
    }
    const isArchive = entry.kind === 'archive'
    const { bytes } = await this.#get(
      entry.url,
      isArchive ? DEFAULT_MAX_ARCHIVE_BYTES : MAX_FILE_BYTES,
      signal,
    )
    const actual = digestOf(bytes, hasher)
    if (actual !== entry.digest)
      throw new SkillError('IO_FAILED', `the download is ${actual}; the index says ${entry.digest}`)
    const files = isArchive ? await readArchive(bytes) : [toFile('SKILL.md', bytes)]
    budget.take(files.reduce((sum, file) => sum + file.bytes.length, 0))
    return { mark: entry.digest, files }
  }

  /** Returns the files of a skill from a tree that an earlier process stored. */
  async #fromTree(name: string, tree: FileTree | undefined): Promise<FetchedSkill | undefined> {
    const files = await listFilesBelow(tree, name)
    return files.length === 0 ? undefined : { mark: '', files }
  }

  async #get(
    url: URL,
    maxBytes: number,
    signal: AbortSignal,
  ): Promise<Required<Pick<GuardedAnswer, 'bytes' | 'url'>>> {
    const answer = await guardedFetch(url, { privateHosts: this.#privateHosts, maxBytes, signal })
    return { bytes: answer.bytes ?? new Uint8Array(), url: answer.url }
  }
}

/**
 * Limits the total bytes of one fetch. Even if each skill respects its own limit, all skills together may be too large.
 */
class ByteBudget {
  readonly #max: number
  readonly #host: string
  #taken = 0

  constructor(max: number, host: string) {
    this.#max = max
    this.#host = host
  }

  /** @throws {SkillError} TOO_LARGE */
  take(bytes: number): void {
    this.#taken += bytes
    this.throwIfExceeded()
  }

  throwIfExceeded(): void {
    if (this.#taken <= this.#max) return
    const message = `the skills of ${this.#host} have more than ${this.#max} bytes together; raise maxBytes (maxMegabytes in skillstoke.json) if the size is intended`
    throw new SkillError('TOO_LARGE', message)
  }
}

function toFile(path: string, bytes: Uint8Array): FetchedFile {
  return { path, kind: 'file', bytes, isExecutable: false }
}
