import { Command, CommanderError } from 'commander'
import { ApiError } from './client/api-error.ts'
import { enableCodeCache } from './config/code-cache.ts'
import { findStateDirectory } from './config/state-place.ts'
import { readVersion } from './config/version.ts'
import { EXIT_OK, EXIT_USAGE, UsageError } from './terminal/exit-code.ts'
import { nameProgram } from './terminal/program-name.ts'
import { addAuthorVerbs } from './verbs/author-verbs.ts'
import { addBeginVerbs } from './verbs/begin-verbs.ts'
import { addChatVerbs } from './verbs/chat-verbs.ts'
import { addCompletion } from './verbs/completion-verb.ts'
import { addFleetVerbs } from './verbs/fleet-verbs.ts'
import { addFollowVerbs } from './verbs/follow-verbs.ts'
import { addLookVerbs } from './verbs/look-verbs.ts'
import { addMcpVerbs } from './verbs/mcp-verbs.ts'
import { addProjectVerbs } from './verbs/project-verbs.ts'
import { addRunVerbs } from './verbs/run-verbs.ts'
import { addTestVerbs } from './verbs/test-verbs.ts'
import { addTrustVerbs } from './verbs/trust-verbs.ts'
import { printHelp, refuseUnknownVerbs } from './verbs/unknown-verb.ts'

/** Runs one command. Sets the exit code to 0 for success, 1 for findings, and 2 if the command could not be carried out. */
export async function main(argv: readonly string[]): Promise<void> {
  // If the reader closes the pipe, for example in `stoke list | head`, the command succeeds.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? EXIT_OK : EXIT_USAGE)
  })
  silenceSqlite()
  const program = createProgram()
  try {
    if (argv[2] === 'help')
      printHelp(
        program,
        argv.slice(3).filter(each => !each.startsWith('-')),
      )
    await program.parseAsync([...argv])
  } catch (thrown) {
    process.exitCode = await toExitCode(thrown)
  }
}

/** Suppresses the warning that Node 22 prints when SQLite is loaded. */
function silenceSqlite(): void {
  const emitWarning = process.emitWarning.bind(process) as (...args: readonly unknown[]) => void
  process.emitWarning = (...args: readonly unknown[]): void => {
    if (!String(args[0]).startsWith('SQLite is an experimental feature')) emitWarning(...args)
  }
}

async function toExitCode(thrown: unknown): Promise<number> {
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? EXIT_OK : EXIT_USAGE
  const [{ SkillError }, { toMessage }, { toTerminalText }] = await Promise.all([
    import('@skillstoke/core'),
    import('@skillstoke/core/internal'),
    import('./terminal/output.ts'),
  ])
  const isExpected =
    thrown instanceof UsageError ||
    thrown instanceof ApiError ||
    thrown instanceof TypeError ||
    (thrown as Error).name === 'TimeoutError' ||
    SkillError.isInstance(thrown)
  const message = isExpected ? toMessage(thrown) : ((thrown as Error).stack ?? String(thrown))
  const hint = SkillError.isInstance(thrown, 'HIDDEN_TEXT')
    ? '\n"stoke diff" shows the invisible characters and bytes; use --confirm-hidden if they are intended'
    : ''
  process.stderr.write(nameProgram(`error: ${toTerminalText(message)}${hint}\n`))
  return EXIT_USAGE
}

/** Creates the command line program with all its verbs. */
export function createProgram(): Command {
  const program = new Command('stoke')
    .configureOutput({ writeOut: text => process.stdout.write(nameProgram(text)) })
    .description(
      'Keeps the skills of running AI agents live. When a skill is edited, every conversation gets the edit at its next step.',
    )
    .version(readVersion())
    .showHelpAfterError('(run with --help for examples)')
    .exitOverride()
    .hook('preAction', (_program, verb) => enableCodeCache(findStateDirectory(verb.opts())))
    .addHelpText(
      'after',
      `
Examples:
  stoke new vat-report           write a skill, with tests beside it
  stoke dev                      watch ./skills, with a page, an MCP endpoint and a demo agent
  stoke chat                     talk with an agent that uses the skills, while you edit them
  stoke mcp --root ./skills      serve the skills to an MCP client over standard input and output
  stoke list                     list all skills, including broken ones
  stoke check                    report what is wrong with the skills, and how to correct it
  stoke test pdf                 estimate from words which messages load a skill
  stoke run git.status           run a command of a skill with its newest code
  stoke why pdf                  show where a skill stopped on its way to a conversation
  stoke doctor                   show what is wrong with this setup, and how to mend it
  stoke pending                  list the changes that wait for approval
  stoke rollback pdf             restore the previous revision as a new change
  stoke fleet publish ./skills   publish the skills to many machines

Without --root, commands read ./skills, ./.agents/skills, ./.claude/skills and ~/.agents/skills, in this order.
Configuration: flags, then environment variables, then ./skillstoke.json.
Environment: SKILLSTOKE_ROOTS, SKILLSTOKE_CONFIG, SKILLSTOKE_FROZEN=1, SKILLSTOKE_INCLUDE_SECRETS=1,
SKILLSTOKE_GIT_BASE_URL, SKILLSTOKE_PRIVATE_HOSTS, SKILLSTOKE_MCP_TOKEN, SKILLSTOKE_SANDBOX, SKILLSTOKE_STATE,
XDG_STATE_HOME, NO_COLOR; for dev and chat also SKILLSTOKE_MODEL, SKILLSTOKE_BASE_URL, SKILLSTOKE_API_KEY,
ANTHROPIC_API_KEY, OPENAI_API_KEY; for dev and serve also SKILLSTOKE_HOST, SKILLSTOKE_PORT, SKILLSTOKE_TOKEN, SKILLSTOKE_SESSION_KEY,
SKILLSTOKE_MAX_SESSIONS.
Exit codes: 0 success, 1 findings, 2 usage error, 130 interrupted.`,
    )
  addBeginVerbs(program)
  addFollowVerbs(program)
  addMcpVerbs(program)
  addChatVerbs(program)
  addLookVerbs(program)
  addAuthorVerbs(program)
  addTestVerbs(program)
  addRunVerbs(program)
  addTrustVerbs(program)
  addProjectVerbs(program)
  addFleetVerbs(program)
  addCompletion(program)
  refuseUnknownVerbs(program)
  return program
}
