/// <reference lib="esnext.disposable" preserve="true" />

// `@skillstoke/adapters/strands`: live skills in agents of `@strands-agents/sdk`.

import {
  type RebaseOptions,
  type SessionState,
  SkillError,
  type SkillRuntime,
  type SkillSession,
} from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import { LiveChat, type LiveChildOptions, type LiveOptions } from './live-conversation.ts'
import { assertNoClash, withoutNames } from './skill-tools.ts'
import {
  appendText,
  containsText,
  endsWithQuestion,
  indexTexts,
  isStored,
  putCatalog,
  replaceText,
  type StoredText,
  type TextIndex,
} from './strands/messages.ts'
import {
  assertSdk,
  type StrandsAgent,
  type StrandsMessage,
  type StrandsModelCallEvent,
  type StrandsSdk,
  type StrandsToolCallEvent,
} from './strands/sdk.ts'
import { type StrandsTool, toStrandsTool } from './strands/tools.ts'
import { expandInvocation, noteAnswers, startOver, ToldHistory } from './told-history.ts'

export interface StrandsOptions<Result> extends Omit<LiveOptions, 'instructions' | 'resume'> {
  /** The module `@strands-agents/sdk`, because the SDK finds hooks by the classes of its events. */
  readonly sdk: StrandsSdk<Result>
  /** How many tokens of loaded skills come back after a compaction. @default { maxTokens: 8_000 } */
  readonly rebase?: RebaseOptions
}

/** The options of the plugin of a subagent. */
type StrandsChildOptions = Omit<LiveChildOptions, 'instructions'>

/** What the plugin stores in the `appState` of an agent. */
interface StrandsState {
  /** The state before the texts. */
  readonly session: SessionState
  readonly texts: readonly StoredText[]
  /** The `trackingId` of the first message; empty if there is none. */
  readonly start: string
}

/** The key in the `appState` of an agent. */
const STATE_KEY = 'skillstoke'

/** The SDK's value `HookOrder.SDK_LAST`, so that the plugin sees what all other hooks did. */
const LAST = 100
/** The SDK's value `HookOrder.SDK_FIRST`, so that the state is complete when the session manager saves it. */
const FIRST = -100

type StrandsSettings<Result> = Pick<StrandsOptions<Result>, 'sdk' | 'rebase'>

/**
 * A plugin that keeps the skills of one agent live. Dispose the plugin when the conversation is over.
 *
 * @example
 * ```ts no-run
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 * import { strands } from '@skillstoke/adapters/strands'
 * import * as sdk from '@strands-agents/sdk'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * using live = strands(skills, { sdk, id: 'chat-1' })
 * const child = live.child({ id: 'chat-1/helper', scope: { include: ['support-*'] } })
 * const helper = new sdk.Agent({ name: 'helper', plugins: [child] })
 * const agent = new sdk.Agent({ tools: [helper], plugins: [live] })
 * console.log(String(await agent.invoke('Ask your helper.')))
 * ```
 */
export class StrandsPlugin<Result = unknown> extends LiveChat {
  readonly name = 'skillstoke'
  readonly #settings: StrandsSettings<Result>
  /** The state of a new conversation. */
  readonly #initial: SessionState
  #agent: StrandsAgent | undefined
  /** The stored state as JSON. If the agent has another state, the host has restored that state. */
  #saved: string | undefined
  /** The catalog that is in the system prompt of the agent. */
  #catalog = ''
  readonly #told: ToldHistory<StoredText>
  /** The names of the tools that are commands of loaded skills. */
  #commands: readonly string[] = []
  /** What tools returned since the last model call. The SDK may drop their answers. */
  #answers: readonly Omit<StoredText, 'characters'>[] = []
  /** The `trackingId` of the first message; empty if there is none. */
  #start = ''
  /** True from the start of an invocation to its first model call. */
  #isStart = false

  /** Use `strands()` or `child()`. */
  constructor(session: SkillSession, settings: StrandsSettings<Result>) {
    super(session)
    this.#settings = settings
    this.#initial = session.state()
    this.#told = new ToldHistory(session)
  }

  /** Called by the SDK before the first invocation. */
  initAgent(agent: StrandsAgent): void {
    if (this.#agent !== undefined && this.#agent !== agent)
      throw new SkillError(
        'INVALID_OPTION',
        'the plugin already has an agent; create one plugin for each agent',
      )
    this.#agent = agent
    assertNoClash(
      this.session,
      agent.toolRegistry.list().map(({ name }) => name),
    )
    const { sdk } = this.#settings
    const [last, first] = [{ order: LAST }, { order: FIRST }]
    agent.addHook(sdk.BeforeInvocationEvent, async () => await this.#begin(agent), last)
    agent.addHook(
      sdk.BeforeModelCallEvent,
      async (event: StrandsModelCallEvent) => await this.#prepare(agent, event),
      last,
    )
    agent.addHook(sdk.BeforeToolCallEvent, (event: StrandsToolCallEvent) => this.#check(event), last)
    agent.addHook(sdk.AfterInvocationEvent, () => this.#save(agent), first)
  }

  /** Called by the SDK after `initAgent()`. The tools never change. */
  getTools(): StrandsTool<Result>[] {
    const tools = noteAnswers(this.session, (entries, id) => {
      this.#answers = [...this.#answers, { id, entries }]
    })
    return tools.map(tool => toStrandsTool(tool, this.#settings.sdk))
  }

  /** Creates the plugin of a subagent. The subagent sees the skills that both scopes include. */
  child(options: StrandsChildOptions): StrandsPlugin<Result> {
    return new StrandsPlugin(this.session.child(options), this.#settings)
  }

  async #begin(agent: StrandsAgent): Promise<void> {
    const { messages } = agent
    const stored = agent.appState.get(STATE_KEY) as StrandsState | undefined
    const isNew = messages.length === 0 && !isStateful(agent)
    if (isNew || JSON.stringify(stored) !== this.#saved) await this.#restore(isNew ? undefined : stored)
    this.#isStart = true
    this.#putCatalog(agent)
    this.#offerCommands(agent)
  }

  /** Replaces the tools of commands. They stay the same within an invocation. */
  #offerCommands({ toolRegistry }: StrandsAgent): void {
    for (const name of this.#commands) toolRegistry.remove(name)
    const names = toolRegistry.list().map(({ name }) => name)
    const tools = withoutNames(this.session.commandTools(), names).map(tool =>
      toStrandsTool(tool, this.#settings.sdk),
    )
    for (const tool of tools) toolRegistry.add(tool as never)
    this.#commands = tools.map(({ name }) => name)
  }

  /** Continues a stored conversation. Without a state, starts a new conversation with the newest catalog. */
  async #restore(stored: StrandsState | undefined): Promise<void> {
    this.#answers = []
    this.#start = stored?.start ?? ''
    this.session.beginTurn() // the skills of the conversation that the agent had before are no longer active
    this.#told.resume(stored?.texts ?? [], stored?.session ?? this.#initial)
    if (stored !== undefined) return
    await this.session.rebase()
    this.#told.restart([])
  }

  async #prepare(agent: StrandsAgent, { cancel }: StrandsModelCallEvent): Promise<void> {
    if (cancel) return
    const { messages } = agent
    if (!isStateful(agent)) await this.#follow(messages)
    if (this.#isStart && endsWithQuestion(messages)) {
      this.#told.beginTurn()
      await this.#expandSlash(messages)
    }
    this.#isStart = false
    const { text, entries = [] } = (await this.#told.takeNotice()) ?? {}
    if (text !== undefined) this.#told.add({ ...appendText(this.#settings.sdk, messages, text), entries })
    this.#putCatalog(agent)
    this.#save(agent)
  }

  /** Compares the record with the history. If the context was compacted, restores the loaded skills that are gone. */
  async #follow(messages: StrandsMessage[]): Promise<void> {
    const index = indexTexts(messages)
    const start = messages[0]?.trackingId ?? ''
    const isCut = start !== this.#start
    this.#start = start
    this.#settle(index)
    // The reader of a stream has stopped, so the SDK dropped the answers.
    if (this.#answers.length > 0) this.#told.rewind()
    this.#answers = []
    // A length is too weak a sign that a text which was taken back is there again.
    if (this.#told.follow(text => text.isRemoved !== true && isStored(index, text), isCut)) return
    const lost = await startOver(this.session, this.#settings.rebase, ({ text }) =>
      containsText(messages, text),
    )
    const isNews = ({ entries }: StoredText): boolean => entries.some(({ kind }) => kind !== 'read')
    this.#told.restart(this.#told.parts.filter(text => isNews(text) && isStored(index, text)))
    if (lost === undefined) return
    const place = appendText(this.#settings.sdk, messages, lost.text)
    this.#told.add({ ...place, entries: lost.entries, isCovered: true })
  }

  /** Records the answers of tools that are in the history. */
  #settle(index: TextIndex): void {
    for (const { id, entries } of this.#answers) {
      const [characters] = index.get(id) ?? []
      if (characters !== undefined) this.#told.add({ id, characters, entries })
    }
    this.#answers = this.#answers.filter(({ id }) => !index.has(id))
  }

  /** Puts the instructions of a skill into a message that begins with `/` and the skill's name. */
  async #expandSlash(messages: StrandsMessage[]): Promise<void> {
    const { role, content = [] } = messages.at(-1) ?? {}
    const [asked] = content
    if (role !== 'user' || content.length !== 1 || typeof asked?.text !== 'string') return
    const { text, entries = [] } = (await expandInvocation(this.session, asked.text)) ?? {}
    if (text !== undefined && entries.length > 0)
      this.#told.add({ ...replaceText(this.#settings.sdk, messages, text), entries })
  }

  #check(event: StrandsToolCallEvent): void {
    const refusal = this.session.checkTool(event.toolUse.name, event.toolUse.input)
    if (refusal !== undefined && !event.cancel) event.cancel = refusal
  }

  #putCatalog(agent: StrandsAgent): void {
    const { catalog } = this.session
    putCatalog(this.#settings.sdk, agent, this.#catalog, catalog)
    this.#catalog = catalog
  }

  #save(agent: StrandsAgent): void {
    this.#settle(indexTexts(agent.messages))
    if (isStateful(agent)) this.#told.restart([])
    const { base: session, parts: texts } = this.#told
    const state: StrandsState = { session, texts, start: this.#start }
    agent.appState.set(STATE_KEY, state)
    this.#saved = JSON.stringify(state)
  }
}

/**
 * Creates a plugin that keeps the skills of a Strands agent live. The catalog is in the system prompt, the skill tools
 * are among the tools of the agent, and changes reach the model before its next call. The plugin stores its state in
 * the `appState` of the agent.
 * @throws {SkillError} CLOSED, INVALID_OPTION; DUPLICATE_SESSION when an open session has the same id
 *
 * @example
 * ```ts no-run
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 * import { strands } from '@skillstoke/adapters/strands'
 * import * as sdk from '@strands-agents/sdk'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * using live = strands(skills, { sdk, id: 'chat-1' })
 * const agent = new sdk.Agent({ systemPrompt: 'You help.', plugins: [live] })
 * console.log(String(await agent.invoke('Use the skill "support-pdf".')))
 * ```
 */
export function strands<Result>(
  skills: SkillRuntime,
  { sdk, rebase, ...options }: StrandsOptions<Result>,
): StrandsPlugin<Result> {
  assertSdk(sdk)
  return new StrandsPlugin(skills.session(options), { sdk, ...defined({ rebase }) })
}

/** True if the provider keeps the history, and the SDK removes the messages after each turn. */
function isStateful({ model }: StrandsAgent): boolean {
  return model.stateful === true
}
