import type { LedgerEntry, RebaseOptions, SkillRuntime, SkillSession } from '@skillstoke/core'
import { LiveConversation } from '../live-conversation.ts'
import type { MastraMessage, MastraMessageList, MastraPromptMessage, SendMastraSignal } from './sdk.ts'
import { hasEvidence, toLoadedSignal, toNoticeSignal } from './signals.ts'
import {
  addCut,
  diffLoads,
  diffStates,
  loadsOf,
  putMark,
  readThread,
  type ThreadPlace,
  type ThreadView,
} from './thread.ts'

const CATALOG_TAG = 'skillstoke'

export interface MastraRunOptions {
  readonly skills: SkillRuntime
  readonly session: SkillSession
  readonly place: ThreadPlace
  /** The messages at the start of the run. */
  readonly view: ThreadView
  readonly rebase: RebaseOptions | undefined
}

/** One run of an agent: all model calls between a message of the user and the answer. */
export class MastraRun {
  readonly session: SkillSession
  readonly #options: MastraRunOptions
  readonly #live: LiveConversation
  /** The id of the message in which this run stored the start of the conversation. */
  #startId: string | undefined
  #notices: number
  /** True if the last prompt contained everything that the session counts as sent. */
  #isProven = true
  #isCut = false

  constructor(options: MastraRunOptions) {
    const { session, view } = options
    this.session = session
    this.#options = options
    this.#live = new LiveConversation(session)
    this.#notices = view.notices
  }

  /** Adds the catalog, loaded skills and the notice to the messages of the next model call. */
  async prepare(list: MastraMessageList, send: SendMastraSignal): Promise<void> {
    // A newer run of the same thread has taken over the session.
    if (this.session.isClosed) return
    const messages = list.get.all.db()
    if (!this.#isWhole(messages)) await this.#startOver(messages, send)
    await this.#expandSlash(messages, send)
    await this.#notify(send)
    putCatalog(list, this.session.catalog)
  }

  /** Detects that another processor removed notices or loaded skills from the prompt. The next call starts over. */
  check(prompt: readonly MastraPromptMessage[], messages: readonly MastraMessage[]): void {
    const { place } = this.#options
    const last = messages.findLast(isSent)
    const isProven = hasEvidence(prompt, readThread(messages, place).evidence)
    // If the new start is missing too, sending it again does not help.
    if (last !== undefined && this.#isProven && !isProven) {
      this.#isCut = true
      addCut(last, place.scope)
    }
    this.#isProven = isProven
  }

  /** True if the messages contain everything that the session counts as sent. */
  #isWhole(messages: readonly MastraMessage[]): boolean {
    const { state, start } = readThread(messages, this.#options.place)
    if (this.#isCut) return false
    // Another processor may have replaced the message with the start, without its metadata.
    return state !== undefined || (start === undefined && messages.some(({ id }) => id === this.#startId))
  }

  /** Starts the conversation over with a new catalog, and sends the loaded skills that the messages lack. */
  async #startOver(messages: readonly MastraMessage[], send: SendMastraSignal): Promise<void> {
    const { place, rebase } = this.#options
    const { ledger } = this.session
    const visible = await this.#findVisible(messages)
    for (const { name } of visible) ledger.forget(name)
    const text = await this.#live.rebase(rebase)
    const restored = ledger.entries()
    for (const { name } of restored) ledger.forget(name)
    for (const entry of visible) ledger.record(entry)
    const last = messages.findLast(isSent)
    if (last !== undefined) putMark(last, { scope: place.scope, start: this.session.state() })
    for (const entry of restored) ledger.record(entry)
    this.#startId = last?.id
    this.#notices = 0
    this.#isCut = false
    if (text === undefined) return
    await send(toLoadedSignal(text, { scope: place.scope, change: { ledger: restored, seen: {} } }))
  }

  /** Returns the loaded skills whose newest instructions are in the messages. */
  async #findVisible(messages: readonly MastraMessage[]): Promise<readonly LedgerEntry[]> {
    const { skills, place } = this.#options
    const { ledger, visible } = readThread(messages, place)
    const now = await skills.fresh()
    return ledger.filter(({ name, revision }) => visible.has(name) && now.find(name)?.revision === revision)
  }

  /** Sends the instructions of a skill if the user's new message begins with `/` and the skill's name. */
  async #expandSlash(messages: readonly MastraMessage[], send: SendMastraSignal): Promise<void> {
    const last = messages.findLast(isSent)
    const asked = last?.content.parts.find(({ type }) => type === 'text')?.text
    if (last?.role !== 'user' || typeof asked !== 'string') return
    const before = loadsOf(this.session)
    const { text, skill } = await this.session.expandSlash(asked)
    if (skill === undefined) return
    const change = diffLoads(before, loadsOf(this.session), skill.name)
    await send(toLoadedSignal(text, { scope: this.#options.place.scope, change }))
  }

  async #notify(send: SendMastraSignal): Promise<void> {
    const offer = await this.session.offer()
    if (offer === undefined) return
    const change = diffStates(this.session.state(), offer.state())
    const mark = { scope: this.#options.place.scope, change, notice: this.#notices + 1 }
    await send(toNoticeSignal(offer.text, mark))
    offer.commit()
    this.#notices++
  }
}

/** False for messages that Mastra only shows to users, for example the markers of observational memory. */
function isSent({ content: { parts } }: MastraMessage): boolean {
  return parts.some(({ type }) => type === 'text' || type === 'tool-invocation')
}

/** Puts the catalog into a system message after the instructions of the agent. Unchanged text stays at its place. */
function putCatalog(list: MastraMessageList, catalog: string): void {
  const [current] = list.getSystemMessages(CATALOG_TAG)
  if ((current?.content ?? '') === catalog) return
  list.clearSystemMessages(CATALOG_TAG)
  if (catalog !== '') list.addSystem(catalog, CATALOG_TAG)
}
