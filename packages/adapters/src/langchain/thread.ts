import type {
  RebaseOptions,
  SessionEntry,
  SessionState,
  SkillSession,
  ToolDefinition,
  ToolResult,
} from '@skillstoke/core'
import { TOOL_NAMES } from '@skillstoke/core/internal'
import { joinTexts } from '../live-conversation.ts'
import { OneAtATime } from '../one-at-a-time.ts'
import { RecentMap } from '../recent-map.ts'
import { entriesOf, entriesOfAnswer, expandInvocation } from '../told-history.ts'
import {
  type LangChainArtifact,
  type LangChainGraphState,
  type LangChainMessage,
  type LangChainNotice,
  type LangChainPart,
  readParts,
  toNotice,
} from './messages.ts'
import type { LangChainToolCall, LangChainToolRuntime } from './tools.ts'

/** The start of a conversation, or its new start after a compaction. The messages contain what followed. */
export interface LangChainState {
  /** The step of the graph in which the conversation began. */
  readonly origin: string
  /** The step of the graph that wrote this state. */
  readonly version: string
  readonly session: SessionState
  /** The text of the loaded skills that returned after the last compaction. The system prompt contains it. */
  readonly restored: string
  /** The evidence of older texts in the messages, which this start replaces. */
  readonly covered: readonly string[]
}

/** What the messages must contain. If a part is missing, the context was compacted. */
export interface LangChainTold {
  readonly parts: readonly LangChainPart[]
  /** Names of the skills that were loaded since the turn began. */
  readonly active: readonly string[]
}

/** An update of the graph's state. The type `never` of its fields fits the state of every agent. */
export interface LangChainUpdate {
  messages: never[]
  _skillstoke?: never
  _skillstokeTold?: never
}

/** A state of the graph that the session knows. */
interface Place {
  readonly base: LangChainState
  readonly parts: readonly LangChainPart[]
}

const RESTORED =
  'The skills that you loaded earlier, at their newest revisions. They replace all earlier texts of these skills:'

/** A call that runs, and what its answer tells the model. */
interface ToolCall {
  readonly answer: Promise<ToolResult>
  readonly entries: readonly SessionEntry[]
}

/** A start that no checkpoint contains yet. */
interface OpenStart {
  readonly place: Place
  /** The version of the stored start. */
  readonly replaces: string | undefined
}

/** The number of overlapping runs and forks of a thread that keep their open starts. */
const MAX_OPEN_STARTS = 20

/**
 * The conversation of one thread. The messages in the graph's state are its record: each hook first makes the session
 * know what the state contains. So a fork, a failed step and overlapping runs of one thread need nothing else. The hooks
 * of overlapping runs use the session one after the other.
 */
export class LangChainThread {
  readonly session: SkillSession
  readonly #tools: readonly string[]
  readonly #rebase: RebaseOptions | undefined
  /** What the session knows. */
  #place: Place | undefined
  /** The last message of the state that the session knows. */
  #last: string | undefined
  /** By the last message of the run in which they were made. */
  readonly #openStarts = new RecentMap<OpenStart>(MAX_OPEN_STARTS)
  readonly #hooks = new OneAtATime()
  #commands: readonly ToolDefinition[] | undefined

  constructor(session: SkillSession, rebase: RebaseOptions | undefined) {
    this.session = session
    this.#tools = [...session.tools.slice(0, 1).map(({ name }) => name), TOOL_NAMES.readFile]
    this.#rebase = rebase
  }

  /** Runs a skill tool. Returns the text for the model, and the artifact for the checkpoint. */
  async callTool(
    definition: ToolDefinition,
    input: unknown,
    version: string,
    { state, toolCallId: callId, signal, writer }: LangChainToolRuntime,
  ): Promise<[string, LangChainArtifact]> {
    const { execute } = this.session.tools.find(({ name }) => name === definition.name) ?? definition
    const call = async ({ base, parts }: Place): Promise<ToolCall> => {
      const answer = execute(input, { signal, callId, onProgress: writer ?? undefined })
      // Other runs do not wait for a script.
      if (!this.#tools.includes(definition.name)) return { answer, entries: [] }
      const entries = entriesOfAnswer(this.session, definition.name, await answer)
      if (entries.length > 0) this.#place = { base, parts: [...parts, { evidence: callId, entries }] }
      return { answer, entries }
    }
    const { answer, entries } = await this.#enter(state as LangChainGraphState, version, call, 'tools')
    const { text, ...artifact } = await answer
    return [text, entries.length === 0 ? artifact : { ...artifact, skillstoke: entries }]
  }

  /** The commands of loaded skills, as tools. They stay the same within a run. */
  get commands(): readonly ToolDefinition[] {
    this.#commands ??= this.session.commandTools()
    return this.#commands
  }

  /** Returns the reason why a call of a tool is refused; `undefined` if the call is allowed. */
  async checkTool(
    state: LangChainGraphState,
    version: string,
    { name, args }: LangChainToolCall,
  ): Promise<string | undefined> {
    return await this.#enter(state, version, () => this.session.checkTool(name, args), 'tools')
  }

  /**
   * Starts a turn. The skills of the previous turn no longer restrict tool calls. A question that begins with `/` and
   * the name of a skill invokes the skill.
   */
  async begin(state: LangChainGraphState, version: string): Promise<LangChainUpdate | undefined> {
    return await this.#enter(state, version, async place => {
      this.session.beginTurn()
      this.#commands = undefined
      const question = state.messages.at(-1)
      const asked = question?.type === 'human' ? (question.text ?? '') : ''
      const invoked = await expandInvocation(this.session, asked)
      if (invoked === undefined) return this.#finish(state, place)
      return this.#write(state, place, toNotice(invoked.text, toNoticeId(version), invoked.entries))
    })
  }

  /** Returns the update before a model call; `undefined` if the checkpoint already contains everything. */
  async prepare(state: LangChainGraphState, version: string): Promise<LangChainUpdate | undefined> {
    return await this.#enter(state, version, async known => {
      const place = await this.#followCompaction(known, state, state.messages, version)
      const offer = await this.session.offer()
      if (offer === undefined) return this.#finish(state, place)
      offer.commit()
      return this.#write(state, place, toNotice(offer.text, toNoticeId(version), [offer.entry]))
    })
  }

  /** Returns the text for the system prompt of a model call with these messages. */
  async system(
    state: LangChainGraphState,
    messages: readonly LangChainMessage[],
    version: string,
  ): Promise<string> {
    return await this.#enter(state, version, async known => {
      // Some middleware shortens only the messages of the request, and not the messages of the state.
      const place = await this.#followCompaction(known, state, messages, version)
      return joinTexts(this.session.catalog, place.base.restored)
    })
  }

  /** Returns the update without a notice; `undefined` if the checkpoint already contains everything. */
  async finish(state: LangChainGraphState, version: string): Promise<LangChainUpdate | undefined> {
    return await this.#enter(state, version, place => this.#finish(state, place))
  }

  /** Runs a task. Before it, makes the session know what a state of the graph contains, and nothing else. */
  async #enter<T>(
    state: LangChainGraphState,
    version: string,
    task: (place: Place) => T | Promise<T>,
    step?: 'tools',
  ): Promise<T> {
    return await this.#hooks.run(async () => {
      const wanted = this.#find(state) ?? (await this.#start(state, version))
      const last = state.messages.at(-1)?.id
      // While the tools of a step run, the session may know loads whose answers are not in the state yet.
      const knows = this.#findKnown(state, wanted, step === 'tools' && last === this.#last)
      if (knows === undefined)
        this.session.replay(wanted.base.session, entriesOf(wanted.parts), [...activeAt(state, wanted)])
      this.#place = knows ?? wanted
      this.#last = last
      return await task(this.#place)
    })
  }

  /** Returns the present place if the session knows there what it must know at the wanted place. */
  #findKnown(state: LangChainGraphState, wanted: Place, isSameStep: boolean): Place | undefined {
    const known = this.#place
    if (known?.base.version !== wanted.base.version) return undefined
    const evidence = new Set(known.parts.map(part => part.evidence))
    if (!wanted.parts.every(part => evidence.has(part.evidence))) return undefined
    const [active, wantedActive] = [this.session.active, activeAt(state, wanted)]
    const isActive = active.length === wantedActive.size && active.every(({ name }) => wantedActive.has(name))
    const isSame = isActive && wanted.parts.length === evidence.size
    return isSameStep || isSame ? known : undefined
  }

  #finish(state: LangChainGraphState, place: Place): LangChainUpdate | undefined {
    const { start, told } = readState(state)
    const isWritten = place.base.version === start?.version && place.parts.length === told?.parts.length
    const isSame = isWritten && told?.active.length === this.session.active.length
    return isSame ? undefined : this.#write(state, place)
  }

  /** Returns the place of a state of the graph; `undefined` if the conversation has not begun there. */
  #find(state: LangChainGraphState): Place | undefined {
    const { start: stored, told } = readState(state)
    const starts = state.messages.flatMap(({ id = '' }) => this.#openStarts.get(id) ?? [])
    const place = starts.findLast(({ replaces }) => replaces === stored?.version)?.place
    const base = place?.base ?? stored
    return base && this.#read(state, { base, parts: place?.parts ?? told?.parts ?? [] })
  }

  /** Adds the parts of the messages. */
  #read({ messages }: LangChainGraphState, { base, parts }: Place): Place {
    const known = new Set([...base.covered, ...parts.map(({ evidence }) => evidence)])
    const added = readParts(messages, this.#tools).filter(({ evidence }) => !known.has(evidence))
    return { base, parts: [...parts, ...added] }
  }

  /** Begins the conversation, or begins it anew for a state before its first message. */
  async #start(state: LangChainGraphState, version: string): Promise<Place> {
    if (this.#place !== undefined) await this.session.rebase({ maxTokens: 0 })
    const session = this.session.state()
    return this.#read(state, {
      base: { origin: version, version, session, restored: '', covered: [] },
      parts: [],
    })
  }

  /**
   * If messages that carried skills or changes are no longer in the context, starts over with a new catalog, which
   * contains all changes. Returns the new place.
   */
  async #followCompaction(
    place: Place,
    state: LangChainGraphState,
    messages: readonly LangChainMessage[],
    version: string,
  ): Promise<Place> {
    const { base, parts } = place
    const visible = readParts(messages, this.#tools)
    const present = new Set(visible.map(({ evidence }) => evidence))
    // A file that is gone can be read again.
    const isRead = ({ kind }: SessionEntry): boolean => kind === 'read'
    if (parts.every(({ evidence, entries }) => present.has(evidence) || entries.every(isRead))) return place
    const { restore } = await this.session.rebase(this.#rebase)
    /** By the name of the skill. */
    const loads = new Map<string, { readonly part: LangChainPart; readonly revision: string }>()
    for (const part of visible)
      for (const entry of part.entries)
        if (entry.kind === 'load') loads.set(entry.name, { part, revision: entry.revision })
    const lost = restore.filter(({ name, revision }) => loads.get(name)?.revision !== revision)
    for (const { name } of lost) loads.delete(name)
    const restored = lost.length === 0 ? '' : [RESTORED, ...lost.map(({ text }) => text)].join('\n\n')
    const kept = new Set([...loads.values()].map(({ part }) => part))
    // The model reads the messages after the new catalog. What they say otherwise is told again.
    const isLeft = (part: LangChainPart): boolean =>
      kept.has(part) || part.entries.every(({ kind }) => kind === 'notice')
    const active = this.session.active.map(({ name }) => name)
    this.session.replay(this.session.state(), entriesOf(visible.filter(isLeft)), active)
    const covered = [...readParts(state.messages, this.#tools), ...parts].map(({ evidence }) => evidence)
    const next = { ...base, version, session: this.session.state(), restored, covered: [...new Set(covered)] }
    this.#place = { base: next, parts: [...kept].map(part => ({ ...part, isCovered: true })) }
    this.#openStarts.use(state.messages.at(-1)?.id ?? '', {
      place: this.#place,
      replaces: readState(state).start?.version,
    })
    return this.#place
  }

  #write(
    state: LangChainGraphState,
    { base, parts: known }: Place,
    notice?: LangChainNotice,
  ): LangChainUpdate {
    const { skillstoke: entries = [] } = notice?.additional_kwargs ?? {}
    const parts = notice === undefined ? known : [...known, { evidence: notice.id, entries }]
    this.#place = { base, parts }
    const told: LangChainTold = { parts, active: this.session.active.map(({ name }) => name) }
    const isNew = base.version !== readState(state).start?.version
    return {
      messages: (notice === undefined ? [] : [notice]) as never[],
      _skillstokeTold: told as never,
      ...(isNew ? { _skillstoke: base as never } : {}),
    }
  }
}

/** Returns the names of the skills that were loaded since the turn began. */
function activeAt(state: LangChainGraphState, { parts }: Place): ReadonlySet<string> {
  const { told } = readState(state)
  if (told === undefined) return new Set()
  const known = new Set(told.parts.map(({ evidence }) => evidence))
  const added = entriesOf(parts.filter(({ evidence }) => !known.has(evidence)))
  return new Set([...told.active, ...added.flatMap(entry => (entry.kind === 'load' ? [entry.name] : []))])
}

function readState({ _skillstoke: start, _skillstokeTold: told }: LangChainGraphState): {
  readonly start: LangChainState | undefined
  readonly told: LangChainTold | undefined
} {
  return { start, told }
}

/** Returns the id of the message that a step of the graph adds. */
function toNoticeId(version: string): string {
  return `skillstoke-${version.split(':').at(-1)}`
}
