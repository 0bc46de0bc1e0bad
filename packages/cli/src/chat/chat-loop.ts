import type { CallAnswer, PendingCall, TurnInput } from '@skillstoke/agent'
import { SkillError, type SkillRuntime } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import { toAsked } from '../skills/skill-target.ts'
import type { ChatInput, Typed } from '../terminal/chat-input.ts'
import { EXIT_FINDINGS, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE } from '../terminal/exit-code.ts'
import { writeTest } from '../trial/add-test.ts'
import { type ChatCommand, findArgumentFault, parseChatCommand } from './chat-commands.ts'
import type { ChatSession } from './chat-session.ts'
import type { ChatView, TurnOutcome } from './chat-view.ts'
import { findInvocationFault } from './invocation.ts'
import { listShownSkills } from './shown-skill.ts'
import { parseApproval } from './tool-approval.ts'

export interface ChatLoopOptions {
  readonly session: ChatSession
  readonly skills: SkillRuntime
  readonly input: ChatInput
  readonly view: ChatView
}

/** Reads messages until the input ends. Sends each message to the model, or runs its slash command. */
export class ChatLoop {
  readonly #options: ChatLoopOptions
  #hasFailed = false
  #isBusy = false

  constructor(options: ChatLoopOptions) {
    this.#options = options
  }

  /** Returns the exit code. At a terminal, a failed turn is no failure of the command. */
  async run(): Promise<number> {
    const { input } = this.#options
    // The stored conversation may have ended with a call that waits for an answer.
    let next = await this.#settle()
    for (;;) {
      if (this.#isBusy && !input.isInteractive) return EXIT_USAGE
      const typed = next ?? (await input.readMessage())
      if (typed.kind === 'interrupted') return EXIT_INTERRUPTED
      if (typed.kind === 'end') return this.#exitCode()
      const command = parseChatCommand(typed.text)
      if (command?.name === 'quit' && command.argument === '') return this.#exitCode()
      try {
        next = command === undefined ? await this.#send(typed.text) : await this.#runCommand(command)
      } catch (thrown) {
        // For example, a source cannot be read. The conversation goes on.
        if (!SkillError.isInstance(thrown)) throw thrown
        next = undefined
        this.#refuse(toMessage(thrown))
      }
    }
  }

  #exitCode(): number {
    const { input, session } = this.#options
    if (input.isInteractive) return EXIT_OK
    return this.#hasFailed || session.pending.length > 0 ? EXIT_FINDINGS : EXIT_OK
  }

  /**
   * Sends a message to the model. Returns what was typed instead of an answer to a question.
   * @param turn the turn whose question the message replaces
   */
  async #send(text: string, turn?: number): Promise<Typed | undefined> {
    if (text.trim() === '') return undefined
    const fault = await findInvocationFault(text, this.#options.session.reader)
    if (fault !== undefined) {
      this.#refuse(fault)
      return undefined
    }
    return await this.#take(text, turn)
  }

  /** Replaces the question of a turn. Lists the questions if no turn and message are given. */
  async #edit(argument: string): Promise<Typed | undefined> {
    const { session, view } = this.#options
    const [, turn, message] = /^(\d+)\s+(.+)$/s.exec(argument) ?? []
    if (message !== undefined) return await this.#send(message, Number(turn))
    if (argument !== '') this.#refuse('/edit needs the number of a turn and a message: /edit 1 Hello.')
    else view.asked(await session.conversation.questions())
    return undefined
  }

  async #take(input: TurnInput, insteadOf?: number): Promise<Typed | undefined> {
    const { session, input: typing, view } = this.#options
    this.#note(await typing.run(async signal => await session.take(input, { signal, view }, insteadOf)))
    return await this.#settle()
  }

  #note(outcome: TurnOutcome): void {
    if (outcome === 'failed') this.#hasFailed = true
    this.#isBusy = outcome === 'busy'
  }

  #refuse(fault: string): void {
    this.#hasFailed = true
    this.#options.view.noted(fault)
  }

  /**
   * Asks about the calls that wait for an approval, until no call waits. Returns what was typed instead of an answer.
   */
  async #settle(): Promise<Typed | undefined> {
    const { session, input, view } = this.#options
    while (session.pending.length > 0 && !this.#isBusy) {
      const { pending } = session
      // A conversation of another program may wait for a tool that only that program has.
      const canAsk = input.canAnswer && pending.every(({ kind }) => kind === 'approval')
      if (!canAsk) for (const call of pending) view.waiting(call, false)
      if (!canAsk) return undefined
      const answers: CallAnswer[] = []
      for (const call of pending) {
        const answer = await this.#askAbout(call)
        if ('kind' in answer) return answer.kind === 'interrupted' ? undefined : answer
        answers.push(answer)
      }
      this.#note(await input.run(async signal => await session.take({ answers }, { signal, view })))
    }
    return undefined
  }

  async #askAbout(call: PendingCall): Promise<CallAnswer | Typed> {
    const { input, view } = this.#options
    view.waiting(call, true)
    for (;;) {
      const typed = await input.readAnswer('make the call? [y/n]')
      if (typed.kind === 'interrupted') view.noted('the call was not made; your next message declines it')
      if (typed.kind !== 'message') return typed
      const answer = parseApproval(typed.text)
      if (answer !== undefined) return { callId: call.callId, ...answer }
      if (!input.isInteractive) {
        view.noted('the call is declined, because the next line is neither y nor n')
        return typed
      }
      view.noted('answer y to make the call, or n with a reason for the model')
    }
  }

  async #runCommand(command: ChatCommand): Promise<Typed | undefined> {
    const { session, skills, input, view } = this.#options
    this.#noteReserved(command)
    const fault = findArgumentFault(command)
    if (fault !== undefined) {
      this.#refuse(fault)
      return undefined
    }
    const { reader } = session
    switch (command.name) {
      case 'skills':
        await reader.fresh()
        view.listed(listShownSkills(reader, session.conversation.session), reader.current)
        return undefined
      case 'why':
        await reader.fresh()
        view.explained(await reader.why(toAsked(command.argument), session.conversation.session))
        return undefined
      case 'reload': {
        const before = skills.current
        const { generation } = await skills.reload()
        await skills.delivered()
        view.reloaded(before, generation)
        return undefined
      }
      case 'compact':
        this.#note(await input.run(async signal => await session.compact({ signal, view })))
        return undefined
      case 'retry':
        return await this.#take({ retry: true })
      case 'again':
        return await this.#take({ again: true })
      case 'edit':
        return await this.#edit(command.argument)
      case 'branch':
        view.branched(await session.branch(command.argument))
        return undefined
      case 'test':
        this.#writeTests(command.argument)
        return undefined
      case 'help':
        view.helped(listShownSkills(reader, session.conversation.session))
        return undefined
      case 'quit':
        return undefined // `run()` ends the loop; an argument is a fault
      default:
        return command.name satisfies never
    }
  }

  /** Writes the last message into the tests of the skills that were loaded for it, or of the skill that was meant. */
  #writeTests(meant: string): void {
    const { session, skills, view } = this.#options
    const { message, loaded } = session.lastMessage ?? { message: '', loaded: [] }
    if (message === '' || message.startsWith('/')) {
      view.noted(
        message === '' ? 'there is no message yet' : 'a message that names the skill itself is no test',
      )
      return
    }
    const names = meant === '' ? loaded : [meant]
    if (names.length === 0)
      view.noted('no skill was loaded for the last message; name the skill that was meant: /test <skill>')
    for (const name of names) {
      const path = writeTest(session.reader.current.get(name), { kind: 'fires', message }, skills)
      view.noted(`fires: ${path}`)
    }
  }

  /** Says that a command hides a skill of the same name. */
  #noteReserved({ name }: ChatCommand): void {
    const { reader } = this.#options.session
    if (reader.current.find(name) === undefined || !reader.isInScope(name)) return
    this.#options.view.noted(
      `/${name} is a command of the chat; to use the skill ${JSON.stringify(name)}, ask for it without the slash`,
    )
  }
}
