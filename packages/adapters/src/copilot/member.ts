import type {
  RebaseOptions,
  SessionState,
  SkillSession,
  ToolContext,
  ToolDefinition,
  ToolResult,
} from '@skillstoke/core'
import { joinTexts } from '../live-conversation.ts'
import { expandInvocation, noteAnswers, startOver, ToldHistory, type ToldText } from '../told-history.ts'
import { type CopilotEvent, type CopilotPart, readHistory } from './history.ts'

interface MemberOptions {
  readonly rebase: RebaseOptions | undefined
  /** False for a subagent without a catalog, which receives notices only after it has loaded a skill. */
  readonly isListed: boolean
  /** Reads the event log of the session; absent for a subagent, whose conversation ends with the process. */
  readonly readEvents?: () => Promise<readonly CopilotEvent[]>
}

/** The main agent or a subagent, with the conversation that its model has. */
export class CopilotMember {
  readonly session: SkillSession
  readonly tools: readonly ToolDefinition[]
  readonly #options: MemberOptions
  /** The state of a new conversation. */
  readonly #initial: SessionState
  readonly #told: ToldHistory<CopilotPart>
  #hasCatalog = false
  #isStale = false
  /** What running tool calls return. A call that is stopped has no result. */
  readonly #answers = new Map<string, CopilotPart>()
  /** The parts that the event log does not contain yet. */
  #unsaved: readonly CopilotPart[] = []

  constructor(session: SkillSession, options: MemberOptions) {
    this.session = session
    this.#options = options
    this.#initial = session.state()
    this.#told = new ToldHistory<CopilotPart>(session)
    this.tools = noteAnswers(session, (entries, callId) => this.#answers.set(callId, { callId, entries }))
  }

  /** Makes the next turn compare the record with the event log, because messages may be gone. */
  distrust(): void {
    this.#isStale = true
  }

  /** Makes the next hook give the newest catalog, and the loaded skills that the context lacks. */
  forgetCatalog(): void {
    this.#hasCatalog = false
  }

  /** Records the answer of a tool call whose result is now in the event log. */
  settle(callId: string): void {
    const answer = this.#answers.get(callId)
    this.#answers.delete(callId)
    if (answer !== undefined) this.#add(answer)
  }

  /** Calls a skill tool of this agent. */
  async execute(name: string, input: unknown, context: ToolContext): Promise<ToolResult> {
    const tool = this.tools.find(each => each.name === name)
    if (tool !== undefined) return await tool.execute(input, context)
    return { text: this.session.describeUnknownTool(name, []), isError: true }
  }

  /** Starts a turn. Returns what the adapter adds to the prompt. */
  async beginTurn(prompt: string): Promise<string> {
    const { readEvents } = this.#options
    if (this.#isStale && readEvents !== undefined) this.#follow(await readEvents())
    const catalog = await this.#takeCatalog()
    this.#told.beginTurn()
    const invoked = await expandInvocation(this.session, prompt)
    const invocation = invoked && {
      ...invoked,
      text: `The message of the user invokes a skill:\n\n${invoked.text}`,
    }
    return joinTexts(catalog, this.#addText(invocation), await this.#takeNotice())
  }

  /** Returns what the adapter adds to the result of a tool call. */
  async continueTurn(): Promise<string> {
    return joinTexts(await this.#takeCatalog(), await this.#takeNotice())
  }

  /** Returns the parts for the event log. */
  takeRecord(): readonly CopilotPart[] {
    const parts = this.#unsaved
    this.#unsaved = []
    return parts
  }

  #follow(events: readonly CopilotEvent[]): void {
    this.#answers.clear()
    const { parts, base, hasCatalog } = readHistory(events, this.#unsaved)
    this.#told.rewind(parts, base ?? this.#initial)
    this.#hasCatalog = hasCatalog
    this.#isStale = false
  }

  /** Starts over if the context has no catalog. Returns the newest catalog, and the loaded skills that are gone. */
  async #takeCatalog(): Promise<string> {
    if (this.#hasCatalog || !this.#options.isListed) return ''
    this.#hasCatalog = true
    const running = [...this.#answers.values()].flatMap(({ entries }) => entries)
    const lost = await startOver(this.session, this.#options.rebase, ({ name }) =>
      running.some(entry => entry.kind === 'load' && entry.name === name),
    )
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
    if (this.#options.readEvents !== undefined) this.#unsaved = [...this.#unsaved, part]
  }
}
