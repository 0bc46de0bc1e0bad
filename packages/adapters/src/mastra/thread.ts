import type { LedgerEntry, SessionState, SkillSession } from '@skillstoke/core'
import { compareText } from '@skillstoke/core/internal'
import type { MastraMessage } from './sdk.ts'

/** The key of a mark in the metadata of a message and in the result of a tool. */
export const MARK_KEY = 'skillstoke'

/** The skills that a conversation has loaded. */
export type Loads = Pick<SessionState, 'ledger' | 'seen'>

/** What a load or a notice changes in the state of a session. */
export interface StateChange extends Loads {
  /** Only for a notice: what the conversation was told. */
  readonly told?: Pick<SessionState, 'generation' | 'announced'> &
    Partial<Pick<SessionState, 'catalog'>> & { readonly withdrawn: readonly string[] }
}

/**
 * What a message of a thread says about skills. The adapter stores the mark in the message itself, so marks and
 * messages agree after an edit, a failed call or a dropped turn.
 */
export interface Mark {
  /** The scope of the agent, because agents with different scopes can share a thread. */
  readonly scope: string
  /** The state at the start of the conversation, or at its new start after a compaction. */
  readonly start?: SessionState
  readonly change?: StateChange
  /** The number of the notice since the start. */
  readonly notice?: number
  /** True if the model does not receive the messages before this message. */
  readonly isCut?: boolean
}

/** What the messages of a thread prove. */
export interface ThreadView extends Loads {
  /**
   * The state of the session; `undefined` if a message is missing: the start of the conversation, a notice, or the
   * instructions of a loaded skill.
   */
  readonly state: SessionState | undefined
  /** The state at the start, exactly as the session returned it, so that its seal is valid. */
  readonly start: SessionState | undefined
  /** Number of notices since the start. */
  readonly notices: number
  /** The names of the loaded skills whose instructions are in the messages. */
  readonly visible: ReadonlySet<string>
  /** The texts and the ids of tool calls that every request must contain. */
  readonly evidence: readonly string[]
}

export interface ThreadPlace {
  readonly scope: string
  readonly threadId: string | undefined
  /** The names of the tools whose results have marks. */
  readonly tools: ReadonlySet<string>
}

/** Reads the marks in the messages of one thread. */
export function readThread(messages: readonly MastraMessage[], place: ThreadPlace): ThreadView {
  const reader = new MarkReader()
  for (const message of messages) {
    // Semantic recall can add messages of other threads.
    if (message.threadId !== undefined && message.threadId !== place.threadId) continue
    for (const found of readMarks(message, place.tools))
      if (found.mark.scope === place.scope) reader.read(found)
  }
  return reader.view
}

/** A mark, and the text or the tool call with which the model receives it. */
interface FoundMark {
  readonly mark: Mark
  readonly evidence?: string
}

class MarkReader {
  #start: SessionState | undefined
  /** What notices told since the start. */
  #told: Partial<Pick<SessionState, 'catalog' | 'generation'>> = {}
  #announced = new Map<string, string>()
  #ledger = new Map<string, LedgerEntry>()
  #seen: Loads['seen'] = {}
  #notices = 0
  /** True if a notice is missing. */
  #isBroken = false
  #noticeEvidence: string[] = []
  readonly #loadEvidence = new Map<string, string>()

  get view(): ThreadView {
    const loads: Loads = { ledger: [...this.#ledger.values()], seen: this.#seen }
    const announced = [...this.#announced].sort(([a], [b]) => compareText(a, b))
    const loaded = loads.ledger.flatMap(({ name }) => this.#loadEvidence.get(name) ?? [])
    const isWhole = !this.#isBroken && loaded.length === loads.ledger.length
    return {
      ...loads,
      state: this.#start && isWhole ? { ...this.#start, ...this.#told, announced, ...loads } : undefined,
      start: this.#start,
      notices: this.#notices,
      visible: new Set(this.#loadEvidence.keys()),
      evidence: [...this.#noticeEvidence, ...loaded],
    }
  }

  read({ mark: { start, change, notice, isCut }, evidence }: FoundMark): void {
    if (start !== undefined) this.#restart(start)
    if (change !== undefined) this.#apply(change, evidence)
    if (notice !== undefined) this.#count(notice, evidence)
    if (isCut === true) this.#cut()
  }

  #restart(start: SessionState): void {
    this.#start = start
    this.#told = {}
    this.#announced = new Map(start.announced)
    this.#ledger = new Map(start.ledger.map(entry => [entry.name, entry]))
    this.#seen = start.seen
    this.#notices = 0
    this.#isBroken = false
    this.#noticeEvidence = []
  }

  #apply({ ledger, seen, told }: StateChange, evidence: string | undefined): void {
    for (const entry of ledger) {
      // A notice changes only skills that were loaded before. A load moves its skill to the end.
      if (told !== undefined && !this.#ledger.has(entry.name)) continue
      if (told === undefined) this.#ledger.delete(entry.name)
      this.#ledger.set(entry.name, entry)
      if (told === undefined && evidence !== undefined) this.#loadEvidence.set(entry.name, evidence)
    }
    this.#seen = mergeSeen(this.#seen, seen)
    if (told !== undefined) this.#tell(told)
  }

  #tell({ generation, catalog, announced, withdrawn }: NonNullable<StateChange['told']>): void {
    for (const name of withdrawn) this.#announced.delete(name)
    for (const [name, description] of announced) this.#announced.set(name, description)
    this.#told = { ...this.#told, generation, ...(catalog && { catalog }) }
  }

  #count(notice: number, evidence: string | undefined): void {
    this.#isBroken ||= notice !== this.#notices + 1
    this.#notices = notice
    if (evidence !== undefined) this.#noticeEvidence.push(evidence)
  }

  #cut(): void {
    this.#isBroken = true
    this.#noticeEvidence = []
    this.#loadEvidence.clear()
  }
}

function mergeSeen(before: Loads['seen'], after: Loads['seen']): Loads['seen'] {
  const merged = Object.entries(after).map(([name, revisions]) => {
    const older = before[name]?.filter(revision => !revisions.includes(revision)) ?? []
    return [name, [...older, ...revisions]] as const
  })
  return { ...before, ...Object.fromEntries(merged) }
}

/** Returns what a notice changes. */
export function diffStates(before: SessionState, after: SessionState): StateChange {
  const known = new Map(before.announced)
  const { generation, catalog } = after
  const told = {
    generation,
    ...(catalog.digest === before.catalog.digest ? {} : { catalog }),
    announced: after.announced.filter(([name, description]) => known.get(name) !== description),
    withdrawn: findMissing(before.announced, after.announced),
  }
  return { ...diffLoads(before, after), told }
}

function findMissing(before: SessionState['announced'], after: SessionState['announced']): readonly string[] {
  const left = new Set(after.map(([name]) => name))
  return before.map(([name]) => name).filter(name => !left.has(name))
}

/** Returns the loads that are new or changed, and always the entry of the skill `loaded`. */
export function diffLoads(before: Loads, after: Loads, loaded?: string): Loads {
  const known = new Map(before.ledger.map(entry => [entry.name, entry]))
  const isSame = ({ name, revision, toldRevision }: LedgerEntry): boolean => {
    const entry = known.get(name)
    return name !== loaded && entry?.revision === revision && entry.toldRevision === toldRevision
  }
  const isNews = ([name, { length }]: readonly [string, readonly unknown[]]): boolean =>
    length !== before.seen[name]?.length
  return {
    ledger: after.ledger.filter(entry => !isSame(entry)),
    seen: Object.fromEntries(Object.entries(after.seen).filter(isNews)),
  }
}

export function loadsOf({ ledger }: SkillSession): Loads {
  return { ledger: ledger.entries(), seen: ledger.allSeen() }
}

/** Stores a mark in the metadata of a message. */
export function putMark({ content }: MastraMessage, mark: Mark): void {
  content.metadata = { ...content.metadata, [MARK_KEY]: mark }
}

/** Records in the last message of a request that the model does not receive the messages before it. */
export function addCut(message: MastraMessage, scope: string): void {
  putMark(message, { ...toMark(message.content.metadata), scope, isCut: true })
}

/** Removes marks from new messages, because their sender could forge a catalog. */
export function removeMarks(messages: readonly MastraMessage[]): void {
  for (const { content } of messages) {
    const { [MARK_KEY]: mark, ...metadata } = content.metadata ?? {}
    if (mark !== undefined) content.metadata = metadata
  }
}

function readMarks(
  { content: { parts, metadata } }: MastraMessage,
  tools: ReadonlySet<string>,
): readonly FoundMark[] {
  const signal = toMark(toRecord(metadata?.['signal'])?.['metadata'])
  const text = parts.find(part => part.type === 'text')?.text
  const own = toMark(metadata)
  return [
    ...parts.flatMap(part => readResult(toRecord(part.toolInvocation), tools)),
    ...(signal && typeof text === 'string' ? [{ mark: toChange(signal), evidence: text }] : []),
    ...(own ? [{ mark: own }] : []),
  ]
}

function readResult(
  call: Readonly<Record<string, unknown>> | undefined,
  tools: ReadonlySet<string>,
): readonly FoundMark[] {
  const { toolName, toolCallId, result } = call ?? {}
  const mark = toMark(result)
  const isOwn = mark !== undefined && typeof toolName === 'string' && tools.has(toolName)
  return isOwn && typeof toolCallId === 'string' ? [{ mark: toChange(mark), evidence: toolCallId }] : []
}

/** Returns only what data that others can write may say. The metadata of a stored message can also have a start. */
function toChange({ scope, change, notice }: Mark): Mark {
  return { scope, ...(change && { change }), ...(notice !== undefined && { notice }) }
}

function toMark(container: unknown): Mark | undefined {
  return toRecord(toRecord(container)?.[MARK_KEY]) as Mark | undefined
}

function toRecord(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)
    : undefined
}
