import type { RebaseOptions, SkillSession } from '@skillstoke/core'
import { expandInvocation, startOver } from '../told-history.ts'
import type { MastraMessage, MastraMessageList, MastraPromptMessage, SendMastraSignal } from './sdk.ts'
import type { MastraThread } from './sessions.ts'
import { hasEvidence, toLoadedSignal, toNoticeSignal } from './signals.ts'
import { addCut, putMark, readThread, type ThreadPlace, type ThreadView } from './thread.ts'
import type { MastraTool } from './tools.ts'

const CATALOG_TAG = 'skillstoke'

export interface MastraRunOptions {
  readonly thread: MastraThread
  readonly place: ThreadPlace
  /** What the stored messages prove at the start of the run. */
  readonly view: ThreadView
  readonly rebase: RebaseOptions | undefined
}

/** One run of an agent: all model calls between a message of the user and the answer. */
export class MastraRun {
  readonly session: SkillSession
  /** The commands of loaded skills, once they were read. They stay the same within a run. */
  commands: readonly MastraTool[] | undefined
  readonly #options: MastraRunOptions
  /** The id of the message in which this run stored the start of the conversation. */
  #startId: string | undefined
  /** True if the last prompt contained everything that the session counts as sent. */
  #isProven = true
  #isCut = false

  constructor(options: MastraRunOptions) {
    this.session = options.thread.session
    this.#options = options
  }

  /** Adds the catalog, loaded skills and the notice to the messages of the next model call. */
  async prepare(list: MastraMessageList, send: SendMastraSignal): Promise<void> {
    const { thread, place, view } = this.#options
    await thread.hooks.run(async () => {
      // An agent with another scope has taken over the thread.
      if (this.session.isClosed) return
      const messages = list.get.all.db()
      const now = readThread(messages, place)
      await thread.enter(this, now.start === undefined ? view : now)
      if (!this.#isWhole(now, messages)) await this.#startOver(now, messages, send)
      await this.#expandSlash(messages, send)
      await this.#notify(send)
      putCatalog(list, this.session.catalog)
    })
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
  #isWhole({ isWhole, start }: ThreadView, messages: readonly MastraMessage[]): boolean {
    if (this.#isCut) return false
    // Another processor may have replaced the message with the start, without its metadata.
    return isWhole || (start === undefined && messages.some(({ id }) => id === this.#startId))
  }

  /** Starts the conversation over with a new catalog, and sends the loaded skills that the messages lack. */
  async #startOver(
    { visible }: ThreadView,
    messages: readonly MastraMessage[],
    send: SendMastraSignal,
  ): Promise<void> {
    const { place, rebase } = this.#options
    const { scope } = place
    const lost = await startOver(
      this.session,
      rebase,
      ({ name, revision }) => visible.get(name)?.revision === revision,
    )
    const last = messages.findLast(isSent)
    if (last !== undefined) putMark(last, { scope, start: this.session.state() })
    this.#startId = last?.id
    this.#isCut = false
    if (lost !== undefined) await send(toLoadedSignal(lost.text, { scope, entries: lost.entries }))
  }

  /** Sends the instructions of a skill if the user's new message begins with `/` and the skill's name. */
  async #expandSlash(messages: readonly MastraMessage[], send: SendMastraSignal): Promise<void> {
    const last = messages.findLast(isSent)
    const asked = last?.content.parts.find(({ type }) => type === 'text')?.text
    if (last?.role !== 'user' || typeof asked !== 'string') return
    const { text, entries = [] } = (await expandInvocation(this.session, asked)) ?? {}
    if (text !== undefined && entries.length > 0)
      await send(toLoadedSignal(text, { scope: this.#options.place.scope, entries }))
  }

  async #notify(send: SendMastraSignal): Promise<void> {
    const offer = await this.session.offer()
    if (offer === undefined) return
    await send(toNoticeSignal(offer.text, { scope: this.#options.place.scope, entries: [offer.entry] }))
    offer.commit()
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
