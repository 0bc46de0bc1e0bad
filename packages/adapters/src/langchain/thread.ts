/// <reference lib="esnext.disposable" preserve="true" />

import type { RebaseOptions, SessionState, SkillSession, ToolDefinition } from '@skillstoke/core'
import { LiveConversation } from '../live-conversation.ts'
import {
  type LangChainArtifact,
  type LangChainGraphState,
  type LangChainMessage,
  type LangChainNotice,
  messagesAfter,
  type Receipt,
  readReceipts,
  toNotice,
} from './messages.ts'
import type { LangChainToolRuntime } from './tools.ts'

/** The state of a conversation in the checkpoint. */
export interface LangChainState {
  /** The step of the graph that wrote the first state of the conversation. */
  readonly origin: string
  /** The step of the graph that wrote this state. */
  readonly version: string
  readonly session: SessionState
  /** Names of the skills that were loaded since the turn began. */
  readonly active: readonly string[]
  /** Id of the last message whose loads are in the session. */
  readonly until: string | undefined
  /** Ids of the notices, and of the tool calls that loaded skills. If one is missing, the context was compacted. */
  readonly anchors: readonly string[]
  /** The text of the loaded skills that returned after the last compaction. The system prompt contains it. */
  readonly restored: string
}

/** An update of the graph's state. The type `never` of its fields fits the state of every agent. */
export interface LangChainUpdate {
  messages: never[]
  _skillstoke: never
}

/** The steps of the graph that use a conversation. */
export type LangChainStep = 'model' | 'tools'

const RESTORED =
  'The skills that you loaded earlier, at their newest revisions. They replace all earlier texts of these skills:'

/**
 * One conversation of a LangChain agent. The checkpoint is the record of the conversation. This object continues one
 * state of the checkpoint. For any other state, for example after a fork or a failed step, open a new object.
 */
export class LangChainThread implements Disposable {
  readonly session: SkillSession
  readonly #live: LiveConversation
  /** Name of the tool that loads skills. */
  readonly #loadTool: string | undefined
  /** Anchors of the skills that were loaded since the last written state. */
  readonly #loads = new Set<string>()
  readonly #rebase: RebaseOptions | undefined
  #origin: string | undefined
  #version: string | undefined
  #until: string | undefined
  #anchors: readonly string[]
  #restored: string
  /** True if the checkpoint lacks the newest state. */
  #isUnwritten: boolean
  readonly #ready: Promise<void>

  /** Opens the conversation at a state of the graph. `session` must have resumed the state of the checkpoint. */
  constructor(
    session: SkillSession,
    { messages, _skillstoke: stored }: LangChainGraphState,
    { rebase, isEnforced }: { readonly rebase: RebaseOptions | undefined; readonly isEnforced: boolean },
  ) {
    this.session = session
    this.#live = new LiveConversation(session)
    this.#loadTool = session.tools[0]?.name
    this.#rebase = rebase
    this.#origin = stored?.origin
    this.#version = stored?.version
    this.#until = stored?.until
    this.#anchors = stored?.anchors ?? []
    this.#restored = stored?.restored ?? ''
    this.#isUnwritten = stored === undefined
    const receipts = this.#newReceipts(messages)
    for (const { anchor, skill: name, revision } of receipts) {
      this.#loads.add(anchor)
      session.ledger.record({ name, revision, toldRevision: revision })
    }
    const active = stored === undefined ? [] : [...stored.active, ...receipts.map(({ skill }) => skill)]
    this.#ready = isEnforced ? this.#activate(active) : Promise.resolve()
  }

  /** Resolves when the session restricts tool calls in the same way as the process that ran the turn before. */
  async ready(): Promise<this> {
    await this.#ready
    return this
  }

  /**
   * True if this object continues a state of the graph. While tools run, this object may know loads whose answers are not
   * in the state yet.
   */
  isAt({ messages, _skillstoke: stored }: LangChainGraphState, step: LangChainStep): boolean {
    if (this.session.isClosed || this.#version !== stored?.version) return false
    const receipts = this.#newReceipts(messages)
    const isComplete = step === 'tools' || receipts.length === this.#loads.size
    return isComplete && receipts.every(({ anchor }) => this.#loads.has(anchor))
  }

  /** Runs a skill tool. Returns the text for the model, and the artifact for the checkpoint. */
  async callTool(
    definition: ToolDefinition,
    input: unknown,
    { toolCallId, signal, writer }: LangChainToolRuntime,
  ): Promise<[string, LangChainArtifact]> {
    const { execute } = this.session.tools.find(({ name }) => name === definition.name) ?? definition
    const context = { signal, callId: toolCallId, onProgress: writer ?? undefined }
    const { text, ...artifact } = await execute(input, context)
    const isLoad = definition.name === this.#loadTool && artifact.revision !== undefined
    if (isLoad) this.#loads.add(toolCallId)
    return [text, artifact]
  }

  /**
   * Starts a turn. The skills of the previous turn no longer restrict tool calls. A question that begins with `/` and
   * the name of a skill invokes the skill.
   */
  async begin(messages: readonly LangChainMessage[], version: string): Promise<LangChainUpdate | undefined> {
    if (this.session.active.length > 0) this.#isUnwritten = true
    this.session.beginTurn()
    const question = messages.at(-1)
    const asked = question?.type === 'human' ? (question.text ?? '') : ''
    const { text, skill } = await this.session.expandSlash(asked)
    if (skill === undefined) return this.finish(messages, version)
    return this.#write(messages, version, toNotice(text, toNoticeId(version), skill))
  }

  /** Returns the update before a model call; `undefined` if the checkpoint already contains everything. */
  async prepare(
    messages: readonly LangChainMessage[],
    version: string,
  ): Promise<LangChainUpdate | undefined> {
    await this.#followCompaction(messages)
    const text = await this.#live.takeNotice()
    if (text === undefined) return this.finish(messages, version)
    return this.#write(messages, version, toNotice(text, toNoticeId(version)))
  }

  /** Returns the text for the system prompt of a model call with these messages. */
  async system(messages: readonly LangChainMessage[]): Promise<string> {
    // Some middleware shortens only the messages of the request, and not the messages of the state.
    await this.#followCompaction(messages)
    return [this.#live.system, this.#restored].filter(text => text !== '').join('\n\n')
  }

  /** Returns the update without a notice; `undefined` if the checkpoint already contains everything. */
  finish(messages: readonly LangChainMessage[], version: string): LangChainUpdate | undefined {
    const hasNews = this.#isUnwritten || this.#newReceipts(messages).length > 0
    return hasNews ? this.#write(messages, version) : undefined
  }

  [Symbol.dispose](): void {
    this.#live[Symbol.dispose]()
  }

  #newReceipts(messages: readonly LangChainMessage[]): readonly Receipt[] {
    return readReceipts(messagesAfter(messages, this.#until), this.#loadTool)
  }

  /** Makes the skills of a turn active again, without changing what the conversation was told about them. */
  async #activate(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const entry = this.session.ledger.find(name)
      await this.session.expandSlash(`/${name}`)
      if (entry !== undefined) this.session.ledger.record(entry)
    }
  }

  /**
   * If messages that carried skills or changes are no longer in the context, starts over with a new catalog, which
   * contains all changes.
   */
  async #followCompaction(messages: readonly LangChainMessage[]): Promise<void> {
    const receipts = readReceipts(messages, this.#loadTool)
    const present = new Set([...messages.map(({ id }) => id), ...receipts.map(({ anchor }) => anchor)])
    if (this.#anchors.every(id => present.has(id))) return
    const { restore } = await this.session.rebase(this.#rebase)
    const texts: string[] = []
    const anchors: string[] = []
    for (const { name, revision, text } of restore) {
      const receipt = receipts.findLast(({ skill }) => skill === name)
      if (receipt?.revision === revision) anchors.push(receipt.anchor)
      else texts.push(text)
    }
    this.#anchors = anchors
    this.#restored = texts.length === 0 ? '' : [RESTORED, ...texts].join('\n\n')
    this.#isUnwritten = true
  }

  #write(messages: readonly LangChainMessage[], version: string, notice?: LangChainNotice): LangChainUpdate {
    const receipts = this.#newReceipts(messages).map(({ anchor }) => anchor)
    const notices = notice === undefined ? [] : [notice]
    this.#anchors = [...new Set([...this.#anchors, ...receipts, ...notices.map(({ id }) => id)])]
    this.#origin ??= version
    this.#version = version
    this.#until = messages.at(-1)?.id
    this.#loads.clear()
    if (notice?.additional_kwargs.skill !== undefined) this.#loads.add(notice.id)
    this.#isUnwritten = false
    const state: LangChainState = {
      ...{ origin: this.#origin, version, session: this.session.state() },
      active: this.session.active.map(({ name }) => name),
      ...{ until: this.#until, anchors: this.#anchors, restored: this.#restored },
    }
    return { messages: notices as never[], _skillstoke: state as never }
  }
}

/** Returns the id of the message that a step of the graph adds. */
function toNoticeId(version: string): string {
  return `skillstoke-${version.split(':').at(-1)}`
}
