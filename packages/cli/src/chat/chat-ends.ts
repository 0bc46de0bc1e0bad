import type { Config } from '../config/config.ts'
import { countTokens } from '../skills/tokens.ts'
import { type ChatInput, OneMessage } from '../terminal/chat-input.ts'
import { ChatTerminal } from '../terminal/chat-terminal.ts'
import { printLine } from '../terminal/output.ts'
import type { Parts } from '../terminal/parts.ts'
import { PipedInput } from '../terminal/piped-input.ts'
import { completeLine } from './chat-commands.ts'
import type { ChatSession } from './chat-session.ts'
import type { ChatView } from './chat-view.ts'
import { listInvocable } from './invocation.ts'
import { JsonView } from './json-view.ts'
import { TextView } from './text-view.ts'

export interface ChatEndsOptions {
  /** The only message. @default the messages come from the terminal or from standard input */
  readonly question?: string
  readonly json: boolean
  /** Ends the chat. */
  readonly signal: AbortSignal
}

/** Where the messages of a chat come from, and what shows the answers. */
export interface ChatEnds {
  readonly input: ChatInput
  readonly view: ChatView
}

/** Opens the terminal if a person types at one. Otherwise reads lines, or the one message of `--ask`. */
export function openChatEnds(
  session: ChatSession,
  config: Config,
  { question, json, signal }: ChatEndsOptions,
  parts: Parts,
): ChatEnds {
  const shared = { countTokens, config }
  if (config.isInteractive && !json && question === undefined) {
    const complete = (line: string): [string[], string] => {
      const { reader } = session
      return completeLine(line, {
        invocable: listInvocable(reader).map(({ name }) => name),
        known: [...new Set(reader.current.reports().map(({ name }) => name))],
      })
    }
    const terminal = parts.use(new ChatTerminal({ complete, signal }))
    const print = (line: string): void => terminal.print(`${line}\n`)
    const write = (text: string): void => terminal.print(text)
    return {
      input: terminal,
      view: new TextView({ ...shared, write, print, printResult: print, isInteractive: true }),
    }
  }
  const input = question === undefined ? parts.use(new PipedInput(signal)) : new OneMessage(question, signal)
  if (json) return { input, view: new JsonView() }
  // Another program can read the answers and results from standard output.
  const write = (text: string): void => void process.stdout.write(text)
  const print = (line: string): void => void process.stderr.write(`${line}\n`)
  return {
    input,
    view: new TextView({ ...shared, write, print, printResult: printLine, isInteractive: false }),
  }
}
