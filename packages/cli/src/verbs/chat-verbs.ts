import { type Command, InvalidArgumentError } from 'commander'
import { CONFIRMATIONS, type Confirmation } from '../chat/tool-confirmation.ts'
import { act } from './act.ts'
import { parseCount, withSandboxOption, withScopeOptions, withSharedOptions } from './verb-options.ts'

/** Adds the verbs about conversations in the terminal. */
export function addChatVerbs(program: Command): void {
  addChat(program)
  addTrace(program)
}

function addTrace(program: Command): void {
  withSharedOptions(program.command('trace'))
    .description('show which revisions of skills the model had when it answered in a stored conversation')
    .argument('<conversation>', 'id of a conversation of "stoke chat"')
    .argument('[turn]', 'number of the turn, counted from 1 (default: the last turn)', parseCount)
    .addHelpText(
      'after',
      '\nPrints what the conversation was told, and the revisions whose instructions each model call contained.\n\nExamples:\n  stoke trace chat-nabolu\n  stoke trace chat-nabolu 2 --json',
    )
    .action(act(async () => (await import('../commands/trace.ts')).trace))
}

function addChat(program: Command): void {
  withSandboxOption(withScopeOptions(withSharedOptions(program.command('chat'))))
    .description('talk with the reference agent in the terminal, while skills are edited')
    .argument('[id]', 'conversation to continue, or the id of a new conversation (default: a new id)')
    .option('--ask <message>', 'send one message, print the answer, and end')
    .option('--keep', 'store the conversation of --ask, although it has no id')
    .option('--list', 'list the stored conversations')
    .option('--no-write', 'do not let the model write skills')
    .option(
      '--confirm <calls>',
      `calls of the model that wait for your y or n: ${CONFIRMATIONS.join(' or ')}; repeatable`,
      parseConfirmation,
    )
    .option(
      '--model <name>',
      'model: a model of the --base-url server, or an AI SDK name such as "openai/gpt-5" (default: an offline model)',
    )
    .option('--base-url <url>', 'OpenAI-compatible server, for example http://127.0.0.1:11434/v1')
    .addHelpText(
      'after',
      `
The conversation is stored in the state directory, and continues with its id. A single question with --ask is stored
only with an id, --keep or --confirm. If standard input is not a terminal,
reads one message per line, and prints answers on standard output and everything else on standard error. Skills that
the model writes are live in this conversation. Elsewhere they wait for "stoke approve".

Type /help for the slash commands. /NAME invokes a skill, Tab completes names. A line that ends with "\\" continues on
the next line. """ begins and ends a message of several lines. Ctrl-C stops the answer, Ctrl-D ends the chat.

Exits with 1 if a turn failed, or if a call waits for an approval and the input is no terminal. Exits with 2 if another
process answers in the conversation. Ctrl-C at an empty prompt exits with 130.

Examples:
  stoke chat
  stoke chat chat-nabolu
  stoke chat --ask "May I get a refund?" --root ./skills
  stoke chat --base-url http://127.0.0.1:11434/v1 --model llama3 --confirm scripts
  stoke chat --list --json`,
    )
    .action(act(async () => (await import('../commands/chat.ts')).chat))
}

function parseConfirmation(value: string, earlier: readonly Confirmation[] = []): readonly Confirmation[] {
  const found = CONFIRMATIONS.find(each => each === value)
  if (found === undefined)
    throw new InvalidArgumentError(`${JSON.stringify(value)} is not one of ${CONFIRMATIONS.join(', ')}`)
  return [...earlier, found]
}
