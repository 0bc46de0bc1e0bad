import type { FolderMove, FolderPlace } from '../registry/admission.ts'
import type { ScriptCapability } from '../skill/capabilities.ts'
import type { Digest } from '../skill/digest.ts'

/** What somebody decides about one folder of one source. */
export type SkillDecision =
  /** This revision may be served. */
  | {
      readonly kind: 'approve'
      readonly revision: Digest
      /** What an agent wrote of it: it counts as anybody else's from now on. */
      readonly settles?: readonly WrittenFile[]
    }
  /** This revision must not be served, also when it is served now. */
  | { readonly kind: 'reject'; readonly revision: Digest }
  /** This revision is served whatever is written. */
  | { readonly kind: 'pin'; readonly revision: Digest }
  | { readonly kind: 'unpin' }
  /** Nothing of the folder is served. */
  | { readonly kind: 'disable' }
  | { readonly kind: 'enable' }
  /** Scripts of the folder may do this. */
  | {
      readonly kind: 'grant'
      readonly capabilities: readonly ScriptCapability[]
      /** The only revision that may; absent where whatever is written may. */
      readonly revision?: Digest
    }
  /** And may not any more, at any revision. */
  | { readonly kind: 'revoke'; readonly capabilities: readonly ScriptCapability[] }
  /** Every change of the source waits; of its place, not of a folder. */
  | { readonly kind: 'freeze' }
  | { readonly kind: 'thaw' }
  /** An agent is about to write this file. */
  | {
      readonly kind: 'write'
      readonly path: string
      readonly digest: Digest
      /** The conversation in which it does. */
      readonly conversation?: string
    }

/** What a decision can be. */
export type DecisionKind = SkillDecision['kind']

/** Whether a decision of a kind changes what code may do although the same text is served. */
export const IS_ABOUT_CODE: Readonly<Record<DecisionKind, boolean>> = {
  approve: true,
  reject: true,
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

/** A text of a file. */
export interface WrittenFile {
  readonly path: string
  readonly digest: Digest
}

/** Who decided, and when. */
export interface DecisionMeta {
  /** For people: a name, an account, a program. */
  readonly by: string
  /** Wall time in milliseconds since the epoch. */
  readonly at: number
  readonly note?: string
}

export type RecordedDecision = SkillDecision & DecisionMeta

/** What an agent wrote and nobody has approved yet. */
export interface AgentWrite extends DecisionMeta, WrittenFile {
  readonly conversation?: string
}

/** One thing that scripts may do. */
export interface Grant extends DecisionMeta {
  readonly capability: ScriptCapability
  readonly revision?: Digest
}

/** Everything that holds for one folder, as the sum of what was decided. */
export interface FolderDecisions {
  readonly approved: ReadonlyMap<Digest, DecisionMeta>
  readonly rejected: ReadonlyMap<Digest, DecisionMeta>
  readonly pinned?: DecisionMeta & { readonly revision: Digest }
  readonly disabled?: DecisionMeta
  readonly frozen?: DecisionMeta
  readonly granted: readonly Grant[]
  /** What was taken back and not given again, by a grant or by another approval. */
  readonly revoked: ReadonlySet<ScriptCapability>
  /** Oldest first. A text stays one that nobody approved after the agent has written the next: it may be read late. */
  readonly writes: readonly AgentWrite[]
  /** The latest note about a text that had to be dropped: whatever nobody has approved waits until somebody does. */
  readonly forgotten?: AgentWrite
}

/**
 * Where decisions are kept: outside everything that is served, so that no skill can approve itself. `find` answers at once
 * from memory.
 */
export interface DecisionStore {
  /** Whether decisions outlive the process. @default false */
  readonly isLasting?: boolean
  /** What was wrong with the decisions when they were opened, for people. */
  readonly damage?: string
  find(place: FolderPlace): FolderDecisions | undefined
  /** Takes up what other processes have decided until now. */
  refresh(): void
  /** Resolves when the decision outlives the process, where the store does. */
  record(place: FolderPlace, decision: RecordedDecision): Promise<void>
  /**
   * Takes what was decided about folders to their present paths; resolves when that outlives the process, where the store does.
   * Folders may have changed places with each other. Every process of the store sees a move by itself and says so.
   */
  move(origin: string, moves: readonly FolderMove[]): Promise<void>
  /** The folders of a source with texts of agents that were not approved. */
  listWritten(origin: string): readonly DecidedFolder[]
  /** Every decision about a folder, oldest first. */
  list(place: FolderPlace): Promise<readonly RecordedDecision[]>
  /** Calls back when decisions were made, in this process or in another one; returns a function that stops. */
  subscribe(onChange: (made: readonly MadeDecision[]) => void): () => void
  close(): Promise<void>
}

export interface MadeDecision {
  readonly place: FolderPlace
  readonly decision: RecordedDecision
}

/** What decisions about a source as a whole are about: no folder has this location. */
export function placeOfSource(origin: string): FolderPlace {
  return { origin, location: '.' }
}

export function keyOf({ origin, location }: FolderPlace): string {
  return JSON.stringify([origin, location])
}

/** Older texts of one file have been written over long ago. */
const MAX_TEXTS_OF_FILE = 16
const MAX_WRITES = 1_000

/** What is decided is visible at once, or as soon as another process has heard of it: a step that comes later has another cause. */
export const EFFECT_MS = 60_000

const NOTHING: FolderDecisions = Object.freeze({
  approved: new Map(),
  rejected: new Map(),
  granted: [],
  revoked: new Set<ScriptCapability>(),
  writes: [],
})

/** What holds for a folder after one more decision. To approve or to pin a revision takes back that it was rejected, and the other way round. */
export function withDecision(
  before: FolderDecisions | undefined,
  recorded: RecordedDecision,
): FolderDecisions {
  const { approved, rejected, granted, revoked, writes, pinned, disabled, frozen, forgotten } =
    before ?? NOTHING
  const meta = {
    by: recorded.by,
    at: recorded.at,
    ...(recorded.note === undefined ? {} : { note: recorded.note }),
  }
  const now: FolderDecisions = {
    approved,
    rejected,
    granted,
    revoked,
    writes,
    ...(pinned === undefined ? {} : { pinned }),
    ...(disabled === undefined ? {} : { disabled }),
    ...(frozen === undefined ? {} : { frozen }),
    ...(forgotten === undefined ? {} : { forgotten }),
  }
  switch (recorded.kind) {
    case 'approve': {
      const { forgotten: _, ...rest } = now
      return {
        ...rest,
        revoked: new Set(),
        approved: new Map(approved).set(recorded.revision, meta),
        rejected: without(rejected, [recorded.revision]),
        writes: notWrittenIn(writes, recorded.settles ?? []),
      }
    }
    case 'reject': {
      const { pinned: _, ...rest } = now
      return {
        ...(pinned?.revision === recorded.revision ? rest : now),
        approved: without(approved, [recorded.revision]),
        rejected: new Map(rejected).set(recorded.revision, meta),
      }
    }
    case 'pin':
      return {
        ...now,
        rejected: without(rejected, [recorded.revision]),
        pinned: { ...meta, revision: recorded.revision },
      }
    case 'unpin': {
      const { pinned: _, ...rest } = now
      return rest
    }
    case 'disable':
      return { ...now, disabled: meta }
    case 'enable': {
      const { disabled: _, ...rest } = now
      return rest
    }
    case 'freeze':
      return { ...now, frozen: meta }
    case 'thaw': {
      const { frozen: _, ...rest } = now
      return rest
    }
    case 'grant': {
      const { capabilities, revision } = recorded
      const added = capabilities.map(capability => ({
        ...meta,
        capability,
        ...(revision === undefined ? {} : { revision }),
      }))
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
      const { path, digest, conversation } = recorded
      const write = { ...meta, path, digest, ...(conversation === undefined ? {} : { conversation }) }
      return { ...now, ...withWrite(writes, write) }
    }
    default:
      return recorded satisfies never
  }
}

/**
 * Adds a note about a text. Beyond a number of texts the oldest of the same file is dropped; what an agent wrote to other files
 * is remembered. Only when a folder has too many of them is something forgotten, and that is noted.
 */
function withWrite(
  before: readonly AgentWrite[],
  write: AgentWrite,
): Pick<FolderDecisions, 'writes' | 'forgotten'> {
  const writes = [...notWrittenIn(before, [write]), write]
  const ofFile = writes.filter(({ path }) => path === write.path)
  if (ofFile.length > MAX_TEXTS_OF_FILE) writes.splice(writes.indexOf(ofFile[0] as AgentWrite), 1)
  if (writes.length <= MAX_WRITES) return { writes }
  const [forgotten, ...rest] = writes
  return { writes: rest, ...(forgotten === undefined ? {} : { forgotten }) }
}

/** Whether a decision would change nothing of what holds for a folder. */
export function holdsAlready(now: FolderDecisions | undefined, decision: SkillDecision): boolean {
  const { approved, rejected, granted, revoked, pinned, disabled, frozen } = now ?? NOTHING
  switch (decision.kind) {
    case 'approve':
      return approved.has(decision.revision) && decision.settles === undefined
    case 'reject':
      return rejected.has(decision.revision)
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

function notWrittenIn(writes: readonly AgentWrite[], files: readonly WrittenFile[]): readonly AgentWrite[] {
  return writes.filter(each => !files.some(file => file.path === each.path && file.digest === each.digest))
}

function without<Key, Value>(map: ReadonlyMap<Key, Value>, keys: readonly Key[]): ReadonlyMap<Key, Value> {
  const copy = new Map(map)
  for (const key of keys) copy.delete(key)
  return copy
}

/** Takes what is known of folders, by `keyOf`, to their present paths. */
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

/** A folder of a source, by its location, and what was decided about it. */
export type DecidedFolder = readonly [location: string, decided: FolderDecisions]

/** What holds for each folder, added up from decisions and moves in their order. Stores of decisions answer from it. */
export class DecidedFolders {
  readonly #folders = new Map<string, FolderDecisions>()
  /** By source; absent when something has changed since it was asked for. */
  #written: Map<string, DecidedFolder[]> | undefined

  find(place: FolderPlace): FolderDecisions | undefined {
    return this.#folders.get(keyOf(place))
  }

  add({ place, decision }: MadeDecision): void {
    this.#written = undefined
    this.#folders.set(keyOf(place), withDecision(this.find(place), decision))
  }

  move(origin: string, moves: readonly FolderMove[]): void {
    this.#written = undefined
    moveFolders(this.#folders, origin, moves)
  }

  clear(): void {
    this.#written = undefined
    this.#folders.clear()
  }

  /** Asked for each skill of a source, so it costs nothing while nothing is decided. */
  listWritten(origin: string): readonly DecidedFolder[] {
    this.#written ??= this.#findWritten()
    return this.#written.get(origin) ?? []
  }

  #findWritten(): Map<string, DecidedFolder[]> {
    const written = new Map<string, DecidedFolder[]>()
    for (const [key, decided] of this.#folders) {
      if (decided.writes.length === 0) continue
      const [origin, location] = JSON.parse(key) as [string, string]
      written.set(origin, [...(written.get(origin) ?? []), [location, decided]])
    }
    return written
  }
}

/** Decisions that end with the process. */
export class MemoryDecisions implements DecisionStore {
  readonly isLasting = false
  readonly #folders = new DecidedFolders()
  readonly #log = new Map<string, RecordedDecision[]>()
  readonly #listeners = new Set<(made: readonly MadeDecision[]) => void>()

  find(place: FolderPlace): FolderDecisions | undefined {
    return this.#folders.find(place)
  }

  /** No other process decides here. */
  refresh(): void {}

  async record(place: FolderPlace, decision: RecordedDecision): Promise<void> {
    const key = keyOf(place)
    this.#folders.add({ place, decision })
    this.#log.set(key, [...(this.#log.get(key) ?? []), decision])
    for (const onChange of this.#listeners) onChange([{ place, decision }])
  }

  async move(origin: string, moves: readonly FolderMove[]): Promise<void> {
    this.#folders.move(origin, moves)
    moveFolders(this.#log, origin, moves)
  }

  listWritten(origin: string): readonly DecidedFolder[] {
    return this.#folders.listWritten(origin)
  }

  async list(place: FolderPlace): Promise<readonly RecordedDecision[]> {
    return this.#log.get(keyOf(place)) ?? []
  }

  subscribe(onChange: (made: readonly MadeDecision[]) => void): () => void {
    this.#listeners.add(onChange)
    return () => this.#listeners.delete(onChange)
  }

  async close(): Promise<void> {
    this.#listeners.clear()
  }
}
