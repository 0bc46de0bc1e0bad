import type {
  RebaseOptions,
  SessionEntry,
  SessionState,
  SkillSession,
  ToolDefinition,
} from '@skillstoke/core'
import { TOOL_NAMES } from '@skillstoke/core/internal'
import { joinTexts } from '../live-conversation.ts'
import { OneAtATime } from '../one-at-a-time.ts'
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
import type { LangChainToolRuntime } from './tools.ts'

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

/** The steps of the graph that use a conversation. */
export type LangChainStep = 'model' | 'tools'

/** A state of the graph that the session knows. */
interface Place {
  readonly base: LangChainState
  readonly parts: readonly LangChainPart[]
}

const RESTORED =
  'The skills that you loaded earlier, at their newest revisions. They replace all earlier texts of these skills:'

/**
 * The conversation of one thread. The messages in the graph's state are its record: each hook first makes the session
 * know what the state contains. So a fork, a failed step and overlapping runs of one thread need nothing else.
 */
export class LangChainThread {
  readonly session: SkillSession
  readonly #tools: readonly string[]
  readonly #rebase: RebaseOptions | undefined
  /** What the session knows; `undefined` if it is unsure, because two runs used the session at the same time. */
  #place: Place | undefined
  /** A start that is not in the checkpoint yet, with the version that it replaces. */
  #unwritten: { readonly place: Place; readonly replaces: string | undefined } | undefined
  /** The hooks of overlapping runs. */
  readonly #hooks = new OneAtATime()

  constructor(session: SkillSession, rebase: RebaseOptions | undefined) {
    this.session = session
    this.#tools = [...session.tools.slice(0, 1).map(({ name }) => name), TOOL_NAMES.readFile]
    this.#rebase = rebase
  }

  /** Makes the session know what a state of the graph contains, and nothing else. */
  async enter(state: LangChainGraphState, version: string, step: LangChainStep = 'model'): Promise<this> {
    if (this.#find(state) === undefined) await this.#start(state, version)
    // While tools run, the session may know loads whose answers are not in the state yet.
    if (!this.#isAt(state, step)) this.#replay(state)
    return this
  }

  /** Runs a skill tool. Returns the text for the model, and the artifact for the checkpoint. */
  async callTool(
    definition: ToolDefinition,
    input: unknown,
    { toolCallId, signal, writer }: LangChainToolRuntime,
  ): Promise<[string, LangChainArtifact]> {
    const { execute } = this.session.tools.find(({ name }) => name === definition.name) ?? definition
    const base = this.#place?.base
    const answer = await execute(input, { signal, callId: toolCallId, onProgress: writer ?? undefined })
    const { text, ...artifact } = answer
    const entries = entriesOfAnswer(this.session, definition.name, answer)
    if (entries.length === 0) return [text, artifact]
    this.#add(base, { evidence: toolCallId, entries })
    return [text, { ...artifact, skillstoke: entries }]
  }

  /**
   * Starts a turn. The skills of the previous turn no longer restrict tool calls. A question that begins with `/` and
   * the name of a skill invokes the skill.
   */
  async begin(state: LangChainGraphState, version: string): Promise<LangChainUpdate | undefined> {
    this.session.beginTurn()
    const question = state.messages.at(-1)
    const asked = question?.type === 'human' ? (question.text ?? '') : ''
    const base = this.#place?.base
    const invoked = await expandInvocation(this.session, asked)
    if (invoked === undefined) return this.finish(state)
    return this.#write(state, base, toNotice(invoked.text, toNoticeId(version), invoked.entries))
  }

  /** Returns the update before a model call; `undefined` if the checkpoint already contains everything. */
  async prepare(state: LangChainGraphState, version: string): Promise<LangChainUpdate | undefined> {
    return await this.#hooks.run(async () => {
      for (;;) {
        await this.#followCompaction(state, state.messages, version)
        const place = this.#place
        const offer = await this.session.offer()
        // A tool of another run may have used the session in between.
        if (place === undefined || this.#place !== place || !this.#isAt(state)) continue
        if (offer === undefined) return this.finish(state)
        offer.commit()
        return this.#write(state, place.base, toNotice(offer.text, toNoticeId(version), [offer.entry]))
      }
    })
  }

  /** Returns the text for the system prompt of a model call with these messages. */
  async system(
    state: LangChainGraphState,
    messages: readonly LangChainMessage[],
    version: string,
  ): Promise<string> {
    return await this.#hooks.run(async () => {
      // Some middleware shortens only the messages of the request, and not the messages of the state.
      await this.#followCompaction(state, messages, version)
      return joinTexts(this.session.catalog, this.#place?.base.restored)
    })
  }

  /** Returns the update without a notice; `undefined` if the checkpoint already contains everything. */
  finish(state: LangChainGraphState): LangChainUpdate | undefined {
    if (this.#place === undefined) return undefined
    const { base, parts } = this.#place
    const told = readState(state).told
    const isWritten = base.version === readState(state).start?.version && parts.length === told?.parts.length
    const isSame = isWritten && told?.active.length === this.session.active.length
    return isSame ? undefined : this.#write(state, base)
  }

  /** Returns the place of a state of the graph; `undefined` if the conversation has not begun there. */
  #find(state: LangChainGraphState): Place | undefined {
    const { start: stored, told } = readState(state)
    const isWritten = this.#unwritten?.replaces !== stored?.version
    const place = isWritten || this.#unwritten === undefined ? undefined : this.#unwritten.place
    const base = place?.base ?? stored
    if (base === undefined) return undefined
    const parts = place?.parts ?? told?.parts ?? []
    const known = new Set([...base.covered, ...parts.map(({ evidence }) => evidence)])
    const added = readParts(state.messages, this.#tools).filter(({ evidence }) => !known.has(evidence))
    return { base, parts: [...parts, ...added] }
  }

  /** Begins the conversation, or begins it anew for a state before its first message. */
  async #start(state: LangChainGraphState, version: string): Promise<void> {
    if (this.#place !== undefined) await this.session.rebase({ maxTokens: 0 })
    const session = this.session.state()
    const base = { origin: version, version, session, restored: '', covered: [] }
    this.#unwritten = { place: { base, parts: [] }, replaces: readState(state).start?.version }
  }

  #isAt(state: LangChainGraphState, step: LangChainStep = 'model'): boolean {
    const [known, wanted] = [this.#place, this.#find(state)]
    if (known === undefined || wanted === undefined || known.base.version !== wanted.base.version)
      return false
    const evidence = new Set(known.parts.map(part => part.evidence))
    const isKnown = wanted.parts.every(part => evidence.has(part.evidence))
    return isKnown && (step === 'tools' || wanted.parts.length === evidence.size)
  }

  #replay(state: LangChainGraphState): void {
    const place = this.#find(state)
    if (place === undefined) return
    const told = readState(state).told
    const added = place.parts.slice(told?.parts.length ?? 0)
    const loads = entriesOf(added).flatMap(entry => (entry.kind === 'load' ? [entry.name] : []))
    const active = told === undefined ? [] : [...told.active, ...loads]
    this.session.replay(place.base.session, entriesOf(place.parts), active)
    this.#place = place
  }

  /**
   * If messages that carried skills or changes are no longer in the context, starts over with a new catalog, which
   * contains all changes.
   */
  async #followCompaction(
    state: LangChainGraphState,
    messages: readonly LangChainMessage[],
    version: string,
  ): Promise<void> {
    await this.enter(state, version)
    const { base, parts } = this.#place ?? {}
    if (base === undefined || parts === undefined) return
    const visible = readParts(messages, this.#tools)
    const present = new Set(visible.map(({ evidence }) => evidence))
    // A file that is gone can be read again.
    const isRead = ({ kind }: SessionEntry): boolean => kind === 'read'
    if (parts.every(({ evidence, entries }) => present.has(evidence) || entries.every(isRead))) return
    const { restore } = await this.session.rebase(this.#rebase)
    const [texts, kept]: [string[], LangChainPart[]] = [[], []]
    for (const { name, revision, text } of restore) {
      const isText = (entry: SessionEntry): boolean =>
        entry.kind === 'load' && entry.name === name && entry.revision === revision
      const part = visible.findLast(({ entries }) => entries.some(isText))
      if (part === undefined) texts.push(text)
      else kept.push({ ...part, isCovered: true })
    }
    const restored = texts.length === 0 ? '' : [RESTORED, ...texts].join('\n\n')
    const covered = [...readParts(state.messages, this.#tools), ...parts].map(({ evidence }) => evidence)
    const next = { ...base, version, session: this.session.state(), restored, covered: [...new Set(covered)] }
    this.#place = { base: next, parts: kept }
    this.#unwritten = { place: this.#place, replaces: readState(state).start?.version }
  }

  /** Records a text that the model receives, unless another run has used the session in between. */
  #add(base: LangChainState | undefined, part: LangChainPart): void {
    const place = this.#place
    this.#place =
      place === undefined || place.base !== base ? undefined : { base, parts: [...place.parts, part] }
  }

  #write(
    state: LangChainGraphState,
    base: LangChainState | undefined,
    notice?: LangChainNotice,
  ): LangChainUpdate {
    const { skillstoke: entries = [] } = notice?.additional_kwargs ?? {}
    if (notice !== undefined) this.#add(base, { evidence: notice.id, entries })
    const parts = this.#place?.parts ?? readState(state).told?.parts ?? []
    const told: LangChainTold = { parts, active: this.session.active.map(({ name }) => name) }
    const isNew = base !== undefined && base.version !== readState(state).start?.version
    if (isNew) this.#unwritten = undefined
    return {
      messages: (notice === undefined ? [] : [notice]) as never[],
      _skillstokeTold: told as never,
      ...(isNew ? { _skillstoke: base as never } : {}),
    }
  }
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
