import type { ContentKeys } from '../activation/content-keys.ts'
import type { LedgerEntry } from '../activation/ledger.ts'
import { isRecord } from '../options.ts'
import type { Digest } from '../skill/digest.ts'
import { isContentKeys, isDigestText } from './session-state.ts'
import type { ToldList } from './told-list.ts'

/** What one message said about one skill. An absent field was not said. */
export interface Said {
  /** Key of the description; `null`: the skill is no longer listed. */
  readonly description?: string | null
  /** The content that replaced the loaded content; `null`: the skill is gone. */
  readonly loaded?: { readonly revision: Digest; readonly content: ContentKeys } | null
}

/** A message that told the conversation which skills changed. */
export interface Notice {
  readonly kind: 'notice'
  readonly generation: Digest
  readonly said: readonly (readonly [name: string, said: Said])[]
}

/** One thing in a history that a model can know skills from. */
export type SessionEntry =
  | Notice
  /** The instructions of a skill. */
  | {
      readonly kind: 'load'
      readonly name: string
      readonly revision: Digest
      readonly content: ContentKeys
    }
  /** A file of a revision. */
  | { readonly kind: 'read'; readonly name: string; readonly revision: Digest }

/** True for a value with the shape of an entry. Clients can write the entries of some histories. */
export function isSessionEntry(value: unknown): value is SessionEntry {
  if (!isRecord(value)) return false
  const { kind, name, said } = value
  if (kind === 'notice') return isDigestText(value['generation']) && Array.isArray(said) && said.every(isFact)
  const isNamed = typeof name === 'string' && isDigestText(value['revision'])
  return isNamed && (kind === 'read' || (kind === 'load' && isContentKeys(value['content'])))
}

function isFact(fact: unknown): boolean {
  const [name, said] = Array.isArray(fact) ? (fact as unknown[]) : []
  if (typeof name !== 'string' || !isRecord(said)) return false
  const { description, loaded } = said
  const isLoad = isRecord(loaded) && isDigestText(loaded['revision']) && isContentKeys(loaded['content'])
  return (description == null || typeof description === 'string') && (loaded == null || isLoad)
}

/** What a conversation knows about skills: a fold over what its history contains. */
export interface Known {
  /** Digest of the last generation that was reported. */
  readonly generation: Digest
  /** The skills that the conversation was told with its catalog. Shared with other conversations. */
  readonly list: ToldList
  /** What messages said since: for each name, the key of its description, or `null` if it is gone. */
  readonly said: ReadonlyMap<string, string | null>
  /** In the order of loading. */
  readonly loaded: ReadonlyMap<string, LedgerEntry>
  /** For each name, the hundred revisions of which the conversation received a file most recently, newest last. */
  readonly seen: ReadonlyMap<string, readonly Digest[]>
}

// Without a limit, a conversation that runs for days and loads every edit would retain all revisions.
const MAX_SEEN_OF_NAME = 100

/** Returns what a conversation knows after its history got one more entry. */
export function fold(known: Known, entry: SessionEntry): Known {
  if (entry.kind === 'notice') return foldNotice(known, entry)
  const { name, revision } = entry
  const loaded = new Map(known.loaded)
  if (entry.kind === 'load') {
    // Each load has an object of its own, so that two loads of the same revision differ.
    const content = { ...entry.content }
    loaded.delete(name) // the new entry goes to the end, which keeps the order of loading
    loaded.set(name, { name, revision, toldRevision: revision, content, toldContent: content })
  }
  const seen = new Map(known.seen)
  seen.set(name, see(known.seen.get(name) ?? [], revision, loaded.get(name)?.revision))
  return { ...known, loaded, seen }
}

function foldNotice(known: Known, { generation, said: facts }: Notice): Known {
  const [said, loaded] = [new Map(known.said), new Map(known.loaded)]
  for (const [name, { description, loaded: heard }] of facts) {
    if (description !== undefined) said.set(name, description)
    const entry = loaded.get(name)
    if (entry === undefined || heard === undefined) continue
    const told = { toldRevision: heard?.revision, toldContent: heard?.content }
    loaded.set(name, { ...entry, ...told })
  }
  return { ...known, generation, said, loaded }
}

/** Adds a revision at the end. The loaded revision is never dropped. */
export function see(
  seen: readonly Digest[],
  revision: Digest,
  loaded: Digest | undefined,
): readonly Digest[] {
  if (seen.at(-1) === revision) return seen
  const all = [...seen.filter(each => each !== revision), revision]
  if (all.length <= MAX_SEEN_OF_NAME) return all
  const oldest = all.findIndex(each => each !== loaded)
  return all.toSpliced(oldest, 1)
}

/**
 * Leaves out what a late message says about skills that were loaded after the message was offered, because the model
 * relies on the loaded text.
 */
export function withoutLaterLoads(notice: Notice, offered: Known, now: Known): Notice {
  const isLater = (name: string): boolean =>
    now.loaded.get(name)?.content !== offered.loaded.get(name)?.content
  const said = notice.said.map(([name, { loaded, ...rest }]): readonly [string, Said] => [
    name,
    loaded === undefined || isLater(name) ? rest : { ...rest, loaded },
  ])
  return { ...notice, said }
}
