import type { AgentEvent, PendingCall } from '@skillstoke/agent'
import type { Generation, RegistryUpdate, SkillExplanation, TokenCounter } from '@skillstoke/core'
import { shortDigest } from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { DevPrinter, type ListeningSession } from '../dev/dev-printer.ts'
import {
  formatSteps,
  formatTable,
  paint,
  paintStatus,
  shorten,
  toTerminalLine,
  toTerminalText,
} from '../terminal/output.ts'
import { CHAT_COMMANDS } from './chat-commands.ts'
import type { ChatView, OpenedChat, TurnOutcome } from './chat-view.ts'
import type { ShownSkill } from './shown-skill.ts'
import { StreamedText } from './streamed-text.ts'

export interface TextViewOptions {
  /** Prints a part of an answer. */
  readonly write: (text: string) => void
  /** Prints lines that a slash command was asked for. */
  readonly printResult: (lines: string) => void
  /** Prints a line about what happens. */
  readonly print: (line: string) => void
  readonly countTokens: TokenCounter
  readonly config: Config
  /** Whether a person types at a terminal. */
  readonly isInteractive: boolean
}

const DESCRIPTION_WIDTH = 60
const QUESTION_WIDTH = 100

/** Shows a chat as text. Prints the answer of the model as it arrives, and one line for everything else. */
export class TextView implements ChatView {
  readonly #options: TextViewOptions
  /** Prints what `stoke dev` prints, too: changes and the events of turns. */
  readonly #dev: DevPrinter
  readonly #text = new StreamedText()
  /** Whether an answer has begun and its last line is not complete. */
  #isInAnswer = false
  /** Prints that wait for the end of the answer, because they would cut it in two. */
  readonly #deferred: (() => void)[] = []

  constructor(options: TextViewOptions) {
    this.#options = options
    const print = (line = ''): void => options.print(line)
    this.#dev = new DevPrinter({ ...options, print, isStreamed: true })
  }

  opened({ id, messages, lastAnswer, command, model, generation }: OpenedChat): void {
    const { print, isInteractive } = this.#options
    const shown = paint('bold', toTerminalLine(id))
    const what =
      messages === 0 ? `new conversation ${shown}` : `conversation ${shown} with ${messages} messages`
    print(`${what}, model ${toTerminalLine(model)}`)
    if (command !== undefined) print(paint('dim', `continue it later: ${toTerminalLine(command)}`))
    const broken = generation.reports().filter(({ status }) => status === 'broken').length
    const faults = broken === 0 ? '' : paint('red', `, ${broken} broken`)
    const { number, digest } = generation
    const count = generation.list().length
    print(
      `generation ${number} ${shortDigest(digest)}, ${count} ${count === 1 ? 'skill' : 'skills'}${faults}`,
    )
    if (lastAnswer !== undefined) this.#dev.answer(lastAnswer)
    if (isInteractive)
      print(
        paint('dim', '/help lists the commands; Ctrl-C stops an answer; "\\" continues a line; Ctrl-D ends'),
      )
  }

  updated(update: RegistryUpdate, session: ListeningSession): void {
    if (this.#isInAnswer) this.#deferred.push(() => this.#dev.update(update, [session]))
    else this.#dev.update(update, [session])
  }

  happened(event: AgentEvent): void {
    if (event.kind === 'text') {
      this.#isInAnswer = true
      this.#options.write(this.#text.push(event.delta))
      return
    }
    this.#endAnswer()
    this.#dev.happened(event)
  }

  stopped(outcome: Exclude<TurnOutcome, 'answered' | 'waiting'>, reason: string): void {
    this.#endAnswer()
    const { print } = this.#options
    const advice = outcome === 'busy' ? '' : paint('dim', '; /retry asks again')
    if (outcome === 'interrupted') print(`  ${paint('yellow', 'interrupted')}${advice}`)
    else print(`  ${paint('red', outcome)}: ${toTerminalText(reason)}${advice}`)
  }

  waiting({ name, input }: PendingCall, isAsked: boolean): void {
    this.#endAnswer()
    const { print } = this.#options
    const shown = `${toTerminalLine(name)} ${toTerminalText(JSON.stringify(input, undefined, 2))}`
    print(`${paint('yellow', isAsked ? 'may the model call' : 'waits for your approval:')} ${shown}`)
  }

  listed(skills: readonly ShownSkill[], generation: Generation): void {
    const { printResult: print } = this.#options
    const [first] = skills
    if (first === undefined) {
      print('no skills yet; create a folder with a SKILL.md in one of the roots, or ask for a new skill')
      return
    }
    const rows = skills.map(({ report, here, loaded, isInvocable }) => [
      paintStatus(report.status),
      paint('bold', `${isInvocable ? '/' : ''}${toTerminalLine(report.name)}`),
      here === undefined ? '-' : shortDigest(here),
      loaded === undefined ? '-' : shortDigest(loaded),
      report.source,
      shorten(report.description, DESCRIPTION_WIDTH),
    ])
    print(formatTable([['STATUS', 'NAME', 'HERE', 'LOADED', 'SOURCE', 'DESCRIPTION'], ...rows]))
    this.#noteReserved(skills)
    const { number, digest } = generation
    const why = `/why ${toTerminalLine(first.report.name)} explains its status`
    print(paint('dim', `generation ${number} ${shortDigest(digest)}; ${why}`))
  }

  explained(explanation: SkillExplanation): void {
    this.#options.printResult(formatSteps(explanation, this.#options.config))
  }

  asked(questions: readonly string[]): void {
    const rows = questions.map((question, index) => [String(index + 1), shorten(question, QUESTION_WIDTH)])
    this.#options.printResult(rows.length === 0 ? 'no questions yet' : formatTable(rows))
  }

  branched(id: string): void {
    this.#options.print(`the chat goes on in the copy ${paint('bold', toTerminalLine(id))}`)
  }

  reloaded(before: Generation, after: Generation): void {
    this.#dev.reloaded(before, after)
  }

  helped(skills: readonly ShownSkill[]): void {
    const { printResult: print } = this.#options
    const commands = Object.entries(CHAT_COMMANDS).map(([name, { argument, does }]) => [
      paint('bold', `/${name} ${argument}`.trimEnd()),
      does,
    ])
    const invocable = skills
      .filter(({ isInvocable }) => isInvocable)
      .map(({ report, argumentHint = '' }) => [
        paint('bold', toTerminalLine(`/${report.name} ${argumentHint}`).trimEnd()),
        shorten(report.description, DESCRIPTION_WIDTH),
      ])
    print(formatTable([...commands, ...invocable]))
    this.#noteReserved(skills)
    print(
      paint(
        'dim',
        'A line that ends with "\\" continues on the next line. """ begins and ends several lines.',
      ),
    )
  }

  noted(text: string): void {
    this.#endAnswer()
    this.#options.print(paint('yellow', toTerminalText(text)))
  }

  #noteReserved(skills: readonly ShownSkill[]): void {
    const { printResult: print } = this.#options
    for (const { report } of skills.filter(({ isReserved }) => isReserved))
      print(
        paint(
          'yellow',
          `/${report.name} is a command here; to use the skill ${report.name}, ask for it without the slash`,
        ),
      )
  }

  /** Completes the last line of an answer, and prints what waited for the end of the answer. */
  #endAnswer(): void {
    if (!this.#isInAnswer) return
    this.#isInAnswer = false
    this.#options.write(`${this.#text.end()}\n`)
    for (const print of this.#deferred.splice(0)) print()
  }
}
