/** A slash command of the chat itself. */
export interface ChatCommandHelp {
  /** The argument as the help shows it, in brackets if it may be missing; empty if the command has none. */
  readonly argument: string
  readonly does: string
}

/** The slash commands of the chat itself. A skill with the name of a command cannot be invoked with a slash. */
export const CHAT_COMMANDS = {
  skills: { argument: '', does: 'list the skills with their status' },
  why: { argument: '<skill>', does: 'show where a skill stopped on its way to this conversation' },
  reload: { argument: '', does: 'read all sources again' },
  compact: { argument: '', does: 'replace the messages by a summary, and keep the loaded skills' },
  retry: { argument: '', does: 'ask the model again after a failed or interrupted turn' },
  again: { argument: '', does: 'answer the last question again, without its answer' },
  edit: {
    argument: '[turn message]',
    does: 'go back to the question of a turn and send this message instead; alone, list the questions',
  },
  branch: { argument: '[id]', does: 'go on in a copy of the conversation' },
  test: {
    argument: '[skill]',
    does: 'write the last message into the tests of the skills that it loaded, or should load',
  },
  help: { argument: '', does: 'list what can be typed' },
  quit: { argument: '', does: 'end; the conversation stays stored' },
} satisfies Readonly<Record<string, ChatCommandHelp>>

export type ChatCommandName = keyof typeof CHAT_COMMANDS

export const CHAT_COMMAND_NAMES: readonly ChatCommandName[] = Object.keys(CHAT_COMMANDS) as ChatCommandName[]

export interface ChatCommand {
  readonly name: ChatCommandName
  /** The text after the name, trimmed. */
  readonly argument: string
}

/** Returns the chat command in a message, or `undefined` if the message is for the model. */
export function parseChatCommand(message: string): ChatCommand | undefined {
  const [, word, argument = ''] = /^\s*\/(\S+)\s*(.*)$/s.exec(message) ?? []
  const name = CHAT_COMMAND_NAMES.find(each => each === word)
  return name === undefined ? undefined : { name, argument: argument.trim() }
}

/** Returns what is wrong with the argument of a command, or `undefined` if the command can run. */
export function findArgumentFault({ name, argument }: ChatCommand): string | undefined {
  const wanted = CHAT_COMMANDS[name].argument
  if (wanted === '')
    return argument === '' ? undefined : `/${name} has no argument, but ${JSON.stringify(argument)} was given`
  return argument === '' && !wanted.startsWith('[')
    ? `/${name} needs an argument: /${name} ${wanted}`
    : undefined
}

/** The names that Tab completes. */
export interface CompletableNames {
  /** The skills that a slash invokes. */
  readonly invocable: readonly string[]
  /** All known skills, also broken ones. */
  readonly known: readonly string[]
}

/** Completes a line for `node:readline`: names after a slash, and skill names after `/why` and `/test`. */
export function completeLine(line: string, { invocable, known }: CompletableNames): [string[], string] {
  const asked = /^\s*\/(?:why|test)\s+(.*)$/.exec(line)?.[1]
  if (asked !== undefined) return [known.filter(name => name.startsWith(asked)), asked]
  const typed = /^\s*(\/.*)$/.exec(line)?.[1]
  if (typed === undefined) return [[], line]
  const names = new Set<string>([...CHAT_COMMAND_NAMES, ...invocable])
  const matches = [...names].map(name => `/${name} `).filter(each => each.startsWith(typed))
  return [matches.sort(), typed]
}
