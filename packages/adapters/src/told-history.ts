import type {
  RebaseOptions,
  RestoredSkill,
  SessionEntry,
  SessionState,
  SkillSession,
  ToolDefinition,
  ToolResult,
} from '@skillstoke/core'
import { TOOL_NAMES } from '@skillstoke/core/internal'
import { renderRestored } from './live-conversation.ts'

/** A text in a history from which the model knows something about skills. */
export interface ToldPart {
  readonly entries: readonly SessionEntry[]
  /** True if the state before the parts already contains the entries. The history must still contain the text. */
  readonly isCovered?: boolean
  /** True if a turn began after the text. */
  readonly isOfEarlierTurn?: boolean
  /** True if the owner took the text back. A page that shows an earlier branch again brings the text back. */
  readonly isRemoved?: boolean
}

/** Number of removed parts that are kept, so that a long conversation does not grow with each repeated turn. */
const MAX_REMOVED = 100

/**
 * The record of a history that others own: a state, and the parts that followed. The owner can remove and repeat
 * messages, so the adapter compares the parts with the history before each request. Nothing in the history adds a part.
 * All parts are kept, because the owner can take any of them back, and can show a removed branch again. The history has a
 * longer text for each part.
 */
export class ToldHistory<Part extends ToldPart> {
  readonly session: SkillSession
  #base: SessionState
  /** In the order in which they were added, including removed ones. */
  #parts: readonly Part[]

  /** `session` must have resumed `base`. */
  constructor(session: SkillSession, parts: readonly Part[] = []) {
    this.session = session
    this.#base = session.state()
    this.#parts = parts
    if (parts.length > 0) this.rewind()
  }

  /** The state before the parts. */
  get base(): SessionState {
    return this.#base
  }

  /** The parts that the history contains. */
  get parts(): readonly Part[] {
    return this.#parts.filter(({ isRemoved }) => isRemoved !== true)
  }

  /** The parts that the history contains, and those that its owner took back. */
  get allParts(): readonly Part[] {
    return this.#parts
  }

  /** All parts, those of the present branch first: an equal text of another branch must not take their place. */
  inSearchOrder(): readonly Part[] {
    return [...this.parts, ...this.#parts.filter(({ isRemoved }) => isRemoved === true)]
  }

  add(part: Part): void {
    this.#parts = [...this.#parts, part]
  }

  /** Returns the next notice, and counts it as sent. The caller must add it to the history, and a part to this record. */
  async takeNotice(): Promise<ToldText | undefined> {
    const offer = await this.session.offer()
    offer?.commit()
    return offer && { text: offer.text, entries: [offer.entry] }
  }

  update(change: (part: Part) => Part): void {
    this.#parts = this.#parts.map(change)
  }

  /** Starts a turn. The skills of the previous turn are no longer active. */
  beginTurn(): void {
    this.update(part => ({ ...part, isOfEarlierTurn: true }))
    this.session.beginTurn()
  }

  /** Makes the session know this state and these parts, and nothing else. */
  resume(parts: readonly Part[], base: SessionState): void {
    this.#base = base
    this.#parts = parts
    this.rewind()
  }

  /**
   * Makes the session know the state and the parts with these, and nothing else. Active skills stay active until the
   * turn ends.
   */
  rewind(isKept: (part: Part) => boolean = ({ isRemoved }) => isRemoved !== true): void {
    const removed = this.#parts.filter(part => !isKept(part)).slice(-MAX_REMOVED)
    const stale = new Set(removed)
    this.#parts = this.#parts.flatMap(part => {
      if (stale.has(part)) return { ...part, isRemoved: true }
      if (!isKept(part)) return []
      return part.isRemoved === true ? { ...part, isRemoved: false } : part
    })
    const { parts } = this
    const loads = parts.filter(({ isOfEarlierTurn }) => isOfEarlierTurn !== true).flatMap(namesOf)
    const { active = [] } = this.session.state()
    this.session.replay(this.#base, entriesOf(parts), [...active, ...loads])
  }

  /**
   * Makes the present state of the session the state before all parts, which it then contains. The model reads the
   * notices that are left after the new catalog, so what they say otherwise is told again.
   */
  restart(parts: readonly Part[]): void {
    const { active = [] } = this.session.state()
    const notices = parts.flatMap(({ entries }) => entries.filter(({ kind }) => kind === 'notice'))
    if (notices.length > 0) this.session.replay(this.session.state(), notices, active)
    this.#base = this.session.state()
    this.#parts = parts.map(part => ({ ...part, isCovered: true }))
  }

  /**
   * Compares the parts with the history. If its end was removed, the session forgets what was there. If removed parts are
   * there again, the session knows them again. Returns false if other parts are gone, because the context was compacted.
   * The caller must then start over.
   */
  follow(isThere: (part: Part) => boolean, isCut = false): boolean {
    const { parts } = this
    const lost = findLost(parts, isThere)
    const back = this.#parts.filter(part => part.isRemoved === true && isThere(part))
    const [first] = lost
    if (first === undefined && back.length === 0) return true
    const end = first === undefined ? parts.length : parts.indexOf(first)
    const isEnd = !parts.slice(end).some(isThere) && !lost.some(({ isCovered }) => isCovered)
    if (!isEnd || (isCut && back.length === 0)) return false
    const kept = new Set([...parts.slice(0, end), ...back])
    this.rewind(part => kept.has(part))
    return true
  }
}

/**
 * Returns the parts that the history lacks. A skill that was loaded again makes its older text needless. A notice is not
 * missed if the state before the parts contains it.
 */
function findLost<Part extends ToldPart>(
  parts: readonly Part[],
  isThere: (part: Part) => boolean,
): readonly Part[] {
  const there = new Set(parts.filter(isThere))
  const namesAfter = (index: number): Set<string> =>
    new Set(parts.slice(index + 1).flatMap(part => (there.has(part) ? namesOf(part) : [])))
  return parts.filter((part, index) => {
    if (there.has(part)) return false
    if (!hasLoad(part))
      return part.entries.every(
        ({ kind }) => kind === 'load' || (kind === 'notice' && part.isCovered !== true),
      )
    const later = namesAfter(index)
    return !namesOf(part).every(name => later.has(name))
  })
}

export function entriesOf(parts: readonly ToldPart[]): readonly SessionEntry[] {
  return parts.flatMap(({ entries, isCovered }) => (isCovered === true ? [] : entries))
}

function namesOf({ entries }: ToldPart): readonly string[] {
  return entries.flatMap(entry => (entry.kind === 'load' ? [entry.name] : []))
}

function hasLoad(part: ToldPart): boolean {
  return namesOf(part).length > 0
}

/** A text for the history, and what it tells the model. */
export interface ToldText {
  readonly text: string
  readonly entries: readonly SessionEntry[]
}

/** Returns the entry for a skill whose instructions the conversation has just received; empty if it changed since. */
function loadEntriesOf(
  session: SkillSession,
  { name, revision }: { readonly name: string; readonly revision: ToolResult['revision'] },
): readonly SessionEntry[] {
  const loaded = session.ledger.find(name)
  if (loaded?.content === undefined || loaded.revision !== revision) return []
  return [{ kind: 'load', name, revision, content: loaded.content }]
}

/** Returns the instructions of the skill that a message of the user invokes with `/` and the skill's name. */
export async function expandInvocation(session: SkillSession, asked: string): Promise<ToldText | undefined> {
  const { text, skill } = await session.expandSlash(asked)
  return skill && { text, entries: loadEntriesOf(session, skill) }
}

/**
 * Starts the conversation over with a new catalog. Returns the loaded skills that the history lacks, at their newest
 * revisions. The caller adds them to the history.
 */
export async function startOver(
  session: SkillSession,
  options: RebaseOptions | undefined,
  isThere: (skill: RestoredSkill) => boolean,
): Promise<ToldText | undefined> {
  const { restore } = await session.rebase(options)
  const lost = restore.filter(skill => !isThere(skill))
  const text = renderRestored(lost)
  return text === undefined
    ? undefined
    : { text, entries: lost.flatMap(skill => loadEntriesOf(session, skill)) }
}

/** Returns the tools of a session. Calls `note` for each answer that contains text of a skill. */
export function noteAnswers(
  session: SkillSession,
  note: (entries: readonly SessionEntry[], callId: string) => void,
): readonly ToolDefinition[] {
  return session.tools.map(tool => ({
    ...tool,
    async execute(input, context = {}) {
      const answer = await tool.execute(input, context)
      const entries = entriesOfAnswer(session, tool.name, answer)
      if (entries.length > 0 && context.callId !== undefined) note(entries, context.callId)
      return answer
    },
  }))
}

/** Returns the entries for the answer of a skill tool; empty if the answer contains no text of a skill. */
export function entriesOfAnswer(
  session: SkillSession,
  tool: string,
  { isError, skill: name, revision }: ToolResult,
): readonly SessionEntry[] {
  if (isError || name === undefined || revision === undefined) return []
  if (tool === session.tools[0]?.name) return loadEntriesOf(session, { name, revision })
  return tool === TOOL_NAMES.readFile ? [{ kind: 'read', name, revision }] : []
}
