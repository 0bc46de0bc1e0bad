import type { RebaseOptions, SessionState, SkillSession, ToolContext } from '@skillstoke/core'
import { joinTexts } from '../live-conversation.ts'
import { OneAtATime } from '../one-at-a-time.ts'
import { expandInvocation, noteAnswers, startOver, ToldHistory, type ToldText } from '../told-history.ts'
import { type CopilotEvent, type CopilotPart, readHistory } from './history.ts'

interface MemberOptions {
  readonly rebase?: RebaseOptions
  /** False for a subagent without a catalog, which receives notices only after it has loaded a skill. */
  readonly isListed: boolean
  /** Reads the event log; absent for a subagent, whose conversation ends with the process. */
  readonly readEvents?: () => Promise<readonly CopilotEvent[]>
}

/** The main agent or a subagent, with the conversation that its model has. */
export class CopilotMember {
  readonly session: SkillSession
  /** The runtime calls the hooks of parallel tool calls at the same time. */
  readonly hooks: OneAtATime = new OneAtATime()
  /** False before the first turn and after a compaction. The next hook then gives the catalog to the model. */
  hasCatalog = false
  /** True if messages may be gone. The next turn then compares the record with the event log. */
  isStale = false
  readonly #options: MemberOptions
  /** The state of a new conversation. */
  readonly #initial: SessionState
  readonly #told: ToldHistory<CopilotPart>
  /** The parts that the event log does not contain yet. */
  readonly #unsaved: CopilotPart[] = []

  constructor(session: SkillSession, options: MemberOptions) {
    this.session = session
    this.#options = options
    this.#initial = session.state()
    this.#told = new ToldHistory<CopilotPart>(session)
  }

  /** Compares the record with the event log. */
  async follow(): Promise<void> {
    const { readEvents } = this.#options
    if (readEvents === undefined) return
    const { parts, hasCatalog } = readHistory(await readEvents(), this.#unsaved)
    this.#told.resume(parts, parts[0]?.base ?? this.#initial)
    this.hasCatalog = hasCatalog
    this.isStale = false
  }

  /** Calls a skill tool. If the call is stopped, its result is not in the event log, so it does not count. */
  async execute(name: string, input: unknown, context: ToolContext): Promise<string | undefined> {
    const tools = noteAnswers(this.session, (entries, callId) => this.#add({ callId, entries }))
    const answer = await tools.find(tool => tool.name === name)?.execute(input, context)
    return answer?.text
  }

  /** Starts a turn. Returns what the adapter adds to the prompt. */
  async beginTurn(prompt: string): Promise<string> {
    if (this.isStale) await this.follow()
    const catalog = await this.#takeCatalog()
    this.#told.beginTurn()
    const invoked = this.#addText(await expandInvocation(this.session, prompt))
    return joinTexts(catalog, invoked && `The user invokes a skill:\n\n${invoked}`, await this.#takeNotice())
  }

  /** Returns what the adapter adds to the result of a tool call. */
  async continueTurn(): Promise<string> {
    return joinTexts(await this.#takeCatalog(), await this.#takeNotice())
  }

  /** Returns the parts for the event log. */
  takeRecord(): readonly CopilotPart[] {
    return this.#unsaved.splice(0)
  }

  /** Starts over if the model has no catalog. Returns the newest catalog, and the loaded skills that are gone. */
  async #takeCatalog(): Promise<string> {
    if (this.hasCatalog || !this.#options.isListed) return ''
    this.hasCatalog = true
    const lost = await startOver(this.session, this.#options.rebase, () => false)
    const text = joinTexts(this.session.catalog, lost?.text)
    this.#told.restart([])
    this.#add({ text, entries: lost?.entries ?? [], isCovered: true, base: this.#told.base })
    return text
  }

  async #takeNotice(): Promise<string | undefined> {
    if (!this.#options.isListed && this.session.ledger.entries().length === 0) return undefined
    return this.#addText(await this.#told.takeNotice())
  }

  #addText(told: ToldText | undefined): string | undefined {
    if (told !== undefined) this.#add(told)
    return told?.text
  }

  #add(part: CopilotPart): void {
    this.#told.add(part)
    if (this.#options.readEvents !== undefined) this.#unsaved.push(part)
  }
}
