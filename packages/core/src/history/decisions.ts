import { defined } from '../defined.ts'
import { Listeners } from '../listeners.ts'
import type { FolderMove, FolderPlace } from '../registry/admission.ts'
import type { ScriptCapability } from '../skill/capabilities.ts'
import type { Digest } from '../skill/digest.ts'

/** A decision about one folder of one source. */
export type SkillDecision =
  /** The revision may be served. */
  | {
      readonly kind: 'approve'
      readonly revision: Digest
      /** The texts of agents that this approval settles for this folder: those in the revision, and dropped notes. */
      readonly settles?: readonly WrittenFile[]
    }
  /** The revision must not be served, even if it is served now. */
  | { readonly kind: 'reject'; readonly revision: Digest }
  /** Takes back the approval or the rejection of a revision, so that no decision about it is in effect. */
  | {
      readonly kind: 'withdraw'
      readonly revision: Digest
      /** The texts of agents in the revision, which wait for an approval again. */
      readonly unsettles?: readonly WrittenFile[]
    }
  /** The revision is served regardless of newer texts. */
  | { readonly kind: 'pin'; readonly revision: Digest }
  | { readonly kind: 'unpin' }
  /** The folder is not served. */
  | { readonly kind: 'disable' }
  | { readonly kind: 'enable' }
  /** Scripts of the folder may use these capabilities. */
  | {
      readonly kind: 'grant'
      readonly capabilities: readonly ScriptCapability[]
      /** The only revision whose scripts may use the capabilities; absent if the grant is for every revision. */
      readonly revision?: Digest
    }
  /** Scripts of the folder lose these capabilities in every revision. */
  | { readonly kind: 'revoke'; readonly capabilities: readonly ScriptCapability[] }
  /** Every change of the source waits for an approval. A freeze is a decision about a source, not about a folder. */
  | { readonly kind: 'freeze' }
  | { readonly kind: 'thaw' }
  /** An agent is about to write this file. */
  | {
      readonly kind: 'write'
      readonly path: string
      readonly digest: Digest
      /** The conversation of the agent. */
      readonly conversation?: string
      /** Absolute path of the skill's folder at the time of the write, with links resolved. */
      readonly folder?: string
    }

/** The kinds of decisions. */
export type DecisionKind = SkillDecision['kind']

/** True for each kind of decision that can change the rights of scripts while the served text stays the same. */
export const IS_ABOUT_CODE: Readonly<Record<DecisionKind, boolean>> = {
  approve: true,
  reject: true,
  withdraw: true,
  pin: false,
  unpin: false,
  disable: false,
  enable: false,
  grant: true,
  revoke: true,
  freeze: false,
  thaw: false,
  write: false,
}

/** One text of one file. */
export interface WrittenFile {
  readonly path: string
  readonly digest: Digest
}

/** Author and time of a decision. */
export interface DecisionMeta {
  /** Display name of the person, account or program that decided. */
  readonly by: string
  /** Wall time in milliseconds since the epoch. */
  readonly at: number
  readonly note?: string
  /** Identity of the folder, by which a later process finds the folder after a move. */
  readonly identity?: string
}

export type RecordedDecision = SkillDecision & DecisionMeta

/** An unapproved text that an agent wrote. */
export interface AgentWrite extends DecisionMeta, WrittenFile {
  readonly conversation?: string
  readonly folder?: string
}

/** One granted capability. */
export interface Grant extends DecisionMeta {
  readonly capability: ScriptCapability
  readonly revision?: Digest
}

/** The combined effect of all decisions about one folder. */
export interface FolderDecisions {
  readonly approved: ReadonlyMap<Digest, DecisionMeta>
  readonly rejected: ReadonlyMap<Digest, DecisionMeta>
  /** Revisions whose last decision was withdrawn. They stop being served, as a rejected revision does. */
  readonly withdrawn: ReadonlySet<Digest>
  readonly pinned?: (DecisionMeta & { readonly revision: Digest }) | undefined
  readonly disabled?: DecisionMeta | undefined
  readonly frozen?: DecisionMeta | undefined
  readonly granted: readonly Grant[]
  /** Capabilities that were revoked, and that no later decision granted or approved again. */
  readonly revoked: ReadonlySet<ScriptCapability>
  /**
   * Texts that agents wrote, and that are not approved for this folder, oldest first. A text stays listed after the
   * agent overwrites it, because a late scan may still deliver the overwritten text.
   */
  readonly writes: readonly AgentWrite[]
  /** Texts that agents wrote, and that are approved for this folder. Other folders that contain the file still wait. */
  readonly approvedWrites: readonly AgentWrite[]
  /** Texts of agents that were approved as part of this folder, with their paths in this folder. */
  readonly settled: readonly WrittenFile[]
  /**
   * The entry that was last dropped from `writes` because the list was full. After such a loss, every unapproved
   * revision of the folder waits for approval.
   */
  readonly forgotten?: AgentWrite | undefined
  /** The last `forgotten` before an approval. Other folders that may contain the file still wait. */
  readonly approvedForgotten?: AgentWrite
}

/**
 * A store for decisions. The store is kept outside all skill folders, so that no skill can approve itself. `find` answers
 * synchronously from memory.
 */
export interface DecisionStore {
  /** True if decisions outlive the process. @default false */
  readonly isLasting?: boolean
  /** Describes damage that was found when the decisions were loaded. */
  readonly damage?: string | undefined
  find(place: FolderPlace): FolderDecisions | undefined
  /** Reads, from the store, the decisions that other processes have made. */
  refresh(): void
  /** Records a decision. Resolves when the decision is stored, which for a durable store means flushed to disk. */
  record(place: FolderPlace, decision: RecordedDecision): Promise<void>
  /**
   * Moves the decisions about folders to new locations. Resolves when the move is stored, which for a durable store
   * means flushed to disk. Two folders may swap locations. Every process that shares the store detects moved folders
   * itself and calls this method.
   */
  move(origin: string, moves: readonly FolderMove[]): Promise<void>
  /** Returns the last known location of a folder with decisions, by the identity of the folder. */
  locate?(origin: string, identity: string): string | undefined
  /** Returns the folders of all sources that have notes about texts of agents, even if all these texts are approved. */
  listWritten(): readonly (readonly [place: FolderPlace, decided: FolderDecisions])[]
  /** Returns every decision about a folder, oldest first. */
  list(place: FolderPlace): Promise<readonly RecordedDecision[]>
  /**
   * Calls `onChange` after each decision, even if another process made the decision. Returns a function that
   * unsubscribes.
   */
  subscribe(onChange: (made: readonly MadeDecision[]) => void): () => void
  close(): Promise<void>
}

export interface MadeDecision {
  readonly place: FolderPlace
  readonly decision: RecordedDecision
}

/** Returns the place under which decisions about a whole source are recorded. No skill folder has the location `.`. */
export function placeOfSource(origin: string): FolderPlace {
  return { origin, location: '.' }
}

export function keyOf({ origin, location }: FolderPlace): string {
  return JSON.stringify([origin, location])
}

/** Maximum number of notes per file. Each note is about one text that an agent wrote to this file. */
const MAX_TEXTS_OF_FILE = 16
const MAX_WRITES = 1_000

/**
 * Within this time, a decision takes effect in every process. A step that is recorded later than that has another
 * cause.
 */
export const EFFECT_MS = 60_000

const NOTHING: FolderDecisions = Object.freeze({
  approved: new Map(),
  rejected: new Map(),
  withdrawn: new Set<Digest>(),
  granted: [],
  revoked: new Set<ScriptCapability>(),
  writes: [],
  approvedWrites: [],
  settled: [],
})

/**
 * Adds one decision to the earlier decisions about a folder. Approving or pinning a revision cancels its rejection.
 * Rejecting a revision cancels its approval and its pin.
 */
export function withDecision(
  before: FolderDecisions | undefined,
  recorded: RecordedDecision,
): FolderDecisions {
  const now = before ?? NOTHING
  const { approved, rejected, granted, revoked, writes, settled, pinned } = now
  const { by, at, note } = recorded
  const meta = { by, at, ...defined({ note }) }
  switch (recorded.kind) {
    case 'approve': {
      const { revision, settles = [] } = recorded
      return {
        ...withApprovedWrites(now, settles),
        revoked: new Set(),
        approved: new Map(approved).set(revision, meta),
        withdrawn: now.withdrawn.difference(new Set([revision])),
        rejected: without(rejected, [revision]),
        settled: [...settled, ...settles.filter(file => !isAmong(file, settled))],
      }
    }
    case 'reject':
      return {
        ...now,
        pinned: pinned?.revision === recorded.revision ? undefined : pinned,
        approved: without(approved, [recorded.revision]),
        rejected: new Map(rejected).set(recorded.revision, meta),
      }
    case 'withdraw': {
      const { revision, unsettles = [] } = recorded
      return {
        ...now,
        approved: without(approved, [revision]),
        rejected: without(rejected, [revision]),
        withdrawn: new Set(now.withdrawn).add(revision),
        writes: now.approvedWrites.filter(each => isAmong(each, unsettles)).reduce(withNote, writes),
        approvedWrites: notWrittenIn(now.approvedWrites, unsettles),
        settled: notWrittenIn(settled, unsettles),
      }
    }
    case 'pin':
      return {
        ...now,
        rejected: without(rejected, [recorded.revision]),
        pinned: { ...meta, revision: recorded.revision },
      }
    case 'unpin':
      return { ...now, pinned: undefined }
    case 'disable':
      return { ...now, disabled: meta }
    case 'enable':
      return { ...now, disabled: undefined }
    case 'freeze':
      return { ...now, frozen: meta }
    case 'thaw':
      return { ...now, frozen: undefined }
    case 'grant': {
      const { capabilities, revision } = recorded
      const added = capabilities.map(capability => ({ ...meta, capability, ...defined({ revision }) }))
      const others = granted.filter(
        each => each.revision !== revision || !capabilities.includes(each.capability),
      )
      const left = revoked.difference(new Set(capabilities))
      return { ...now, granted: [...others, ...added], revoked: left }
    }
    case 'revoke': {
      const left = granted.filter(({ capability }) => !recorded.capabilities.includes(capability))
      return { ...now, granted: left, revoked: revoked.union(new Set(recorded.capabilities)) }
    }
    case 'write': {
      const { path, digest, conversation, folder } = recorded
      const write = { ...meta, path, digest, ...defined({ conversation, folder }) }
      return {
        ...now,
        ...withWrite(writes, write),
        approvedWrites: notWrittenIn(now.approvedWrites, [write]),
        settled: notWrittenIn(settled, [write]),
      }
    }
    default:
      return recorded satisfies never
  }
}

/** Approves texts of agents for this folder. The notes stay, because other folders may contain the same files. */
function withApprovedWrites(before: FolderDecisions, settles: readonly WrittenFile[]): FolderDecisions {
  const { forgotten } = before
  const approvedNow = before.writes.filter(each => isAmong(each, settles))
  return {
    ...before,
    writes: notWrittenIn(before.writes, settles),
    approvedWrites: approvedNow.reduce(withNote, before.approvedWrites),
    forgotten: undefined,
    ...defined({ approvedForgotten: forgotten }),
  }
}

/** Adds a note. If the file has too many notes, drops the oldest note about that file. */
function withNote(before: readonly AgentWrite[], write: AgentWrite): readonly AgentWrite[] {
  const notes = [...notWrittenIn(before, [write]), write]
  const ofFile = notes.filter(({ path }) => path === write.path)
  return ofFile.length > MAX_TEXTS_OF_FILE ? notes.filter(each => each !== ofFile[0]) : notes
}

/**
 * Adds a note about an unapproved text. If the folder has too many of these notes, the oldest note of the folder is
 * dropped and returned as `forgotten`.
 */
function withWrite(
  before: readonly AgentWrite[],
  write: AgentWrite,
): Pick<FolderDecisions, 'writes' | 'forgotten'> {
  const writes = withNote(before, write)
  if (writes.length <= MAX_WRITES) return { writes }
  const [forgotten, ...rest] = writes
  return { writes: rest, forgotten }
}

/**
 * Returns true if a decision is already in effect for a folder, so that recording the decision would change nothing.
 */
export function holdsAlready(now: FolderDecisions | undefined, decision: SkillDecision): boolean {
  const { approved, rejected, granted, revoked, pinned, disabled, frozen } = now ?? NOTHING
  switch (decision.kind) {
    case 'approve':
      return approved.has(decision.revision) && decision.settles === undefined
    case 'reject':
      return rejected.has(decision.revision)
    case 'withdraw':
      return !approved.has(decision.revision) && !rejected.has(decision.revision)
    case 'pin':
      return pinned?.revision === decision.revision
    case 'unpin':
      return pinned === undefined
    case 'disable':
      return disabled !== undefined
    case 'enable':
      return disabled === undefined
    case 'freeze':
      return frozen !== undefined
    case 'thaw':
      return frozen === undefined
    case 'grant':
      return decision.capabilities.every(capability =>
        granted.some(each => each.capability === capability && each.revision === decision.revision),
      )
    case 'revoke':
      return decision.capabilities.every(
        word => revoked.has(word) && !granted.some(({ capability }) => capability === word),
      )
    case 'write':
      return false
    default:
      return decision satisfies never
  }
}

function notWrittenIn<Text extends WrittenFile>(
  writes: readonly Text[],
  files: readonly WrittenFile[],
): readonly Text[] {
  return writes.filter(each => !isAmong(each, files))
}

/** True if a list contains the same text of the same file. */
export function isAmong({ path, digest }: WrittenFile, files: readonly WrittenFile[]): boolean {
  return files.some(file => file.path === path && file.digest === digest)
}

function without<Key, Value>(map: ReadonlyMap<Key, Value>, keys: readonly Key[]): ReadonlyMap<Key, Value> {
  const copy = new Map(map)
  for (const key of keys) copy.delete(key)
  return copy
}

/** In a map, moves the entry of each moved folder to the key of the new location. `keyOf` computes the keys. */
export function moveFolders<Known>(
  folders: Map<string, Known>,
  origin: string,
  moves: readonly Pick<FolderMove, 'from' | 'to'>[],
): void {
  const known = moves.map(({ from }) => folders.get(keyOf({ origin, location: from })))
  for (const { from, to } of moves)
    for (const location of [from, to]) folders.delete(keyOf({ origin, location }))
  for (const [index, { to }] of moves.entries()) {
    const taken = known[index]
    if (taken !== undefined) folders.set(keyOf({ origin, location: to }), taken)
  }
}

/** A folder and the decisions about it. */
export type DecidedFolder = readonly [place: FolderPlace, decided: FolderDecisions]

/**
 * Combines decisions and moves of folders in the order in which they happened. A `DecisionStore` answers `find` from
 * this object.
 */
export class DecidedFolders {
  readonly #folders = new Map<string, FolderDecisions>()
  /** Locations by the origin of the source and the identity of the folder. */
  readonly #locations = new Map<string, string>()
  /** Cached result of `listWritten`; undefined after a change. */
  #written: readonly DecidedFolder[] | undefined

  find(place: FolderPlace): FolderDecisions | undefined {
    return this.#folders.get(keyOf(place))
  }

  add({ place, decision }: MadeDecision): void {
    this.#written = undefined
    this.#folders.set(keyOf(place), withDecision(this.find(place), decision))
    const { identity } = decision
    if (identity !== undefined) this.#locations.set(`${place.origin}\0${identity}`, place.location)
  }

  /** Returns the location of a folder that has decisions or was moved. */
  locate(origin: string, identity: string): string | undefined {
    return this.#locations.get(`${origin}\0${identity}`)
  }

  move(origin: string, moves: readonly FolderMove[]): void {
    this.#written = undefined
    moveFolders(this.#folders, origin, moves)
    for (const { identity, to } of moves) this.#locations.set(`${origin}\0${identity}`, to)
  }

  clear(): void {
    this.#written = undefined
    this.#folders.clear()
    this.#locations.clear()
  }

  /**
   * Returns the folders that have notes about texts of agents. The result is cached, because this method is called for
   * each skill of a source.
   */
  listWritten(): readonly DecidedFolder[] {
    this.#written ??= [...this.#folders].flatMap(([key, decided]): readonly DecidedFolder[] => {
      const { writes, approvedWrites, settled } = decided
      if (writes.length + approvedWrites.length + settled.length === 0) return []
      const [origin, location] = JSON.parse(key) as [string, string]
      return [[{ origin, location }, decided]]
    })
    return this.#written
  }
}

/**
 * Keeps decisions in memory. The decisions are lost when the process ends.
 *
 * @example
 * ```ts
 * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
 * import { MemoryDecisions } from '@skillstoke/core/source'
 *
 * const greet = { name: 'greet', description: 'Use when greeting.' }
 * const source = new MemorySource({ label: 'team', trust: 'review' }, [greet])
 * const decisions = new MemoryDecisions()
 * decisions.subscribe(made => console.log(made.map(({ decision }) => `${decision.kind} by ${decision.by}`)))
 * await using skills = await createSkillRuntime({ sources: [source], state: { decisions } })
 * await skills.review.approve('greet', { by: 'ada' }) // prints [ 'approve by ada' ]
 * ```
 */
export class MemoryDecisions implements DecisionStore {
  readonly isLasting = false
  readonly #folders = new DecidedFolders()
  readonly #log = new Map<string, RecordedDecision[]>()
  readonly #listeners = new Listeners<[readonly MadeDecision[]]>()

  find(place: FolderPlace): FolderDecisions | undefined {
    return this.#folders.find(place)
  }

  /** Does nothing, because no other process shares these decisions. */
  refresh(): void {}

  async record(place: FolderPlace, decision: RecordedDecision): Promise<void> {
    const key = keyOf(place)
    this.#folders.add({ place, decision })
    this.#log.set(key, [...(this.#log.get(key) ?? []), decision])
    this.#listeners.tell([{ place, decision }])
  }

  async move(origin: string, moves: readonly FolderMove[]): Promise<void> {
    this.#folders.move(origin, moves)
    moveFolders(this.#log, origin, moves)
  }

  locate(origin: string, identity: string): string | undefined {
    return this.#folders.locate(origin, identity)
  }

  listWritten(): readonly (readonly [place: FolderPlace, decided: FolderDecisions])[] {
    return this.#folders.listWritten()
  }

  async list(place: FolderPlace): Promise<readonly RecordedDecision[]> {
    return this.#log.get(keyOf(place)) ?? []
  }

  subscribe(onChange: (made: readonly MadeDecision[]) => void): () => void {
    return this.#listeners.subscribe(onChange)
  }

  async close(): Promise<void> {
    this.#listeners.clear()
  }
}
