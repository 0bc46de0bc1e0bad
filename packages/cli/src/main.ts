import { DEFAULT_CATALOG_TOKENS, SkillError, toMessage } from '@skillstoke/core'
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { type ConfigFlags, resolveConfig } from './config.ts'
import { EXIT_OK, EXIT_USAGE, UsageError } from './exit-code.ts'
import { readVersion } from './version.ts'

type SharedFlags = ConfigFlags & { readonly json?: boolean }

/** Runs one command; the exit code is 0 for ok, 1 for findings, 2 when the command could not be carried out. */
export async function main(argv: readonly string[]): Promise<void> {
  // A reader that has seen enough (`stoke list | head`) is not an error of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? EXIT_OK : EXIT_USAGE)
  })
  const program = createProgram(code => {
    process.exitCode = code
  })
  try {
    await program.parseAsync([...argv])
  } catch (thrown) {
    process.exitCode = toExitCode(thrown)
  }
}

function toExitCode(thrown: unknown): number {
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? EXIT_OK : EXIT_USAGE
  const isExpected =
    thrown instanceof UsageError || thrown instanceof TypeError || SkillError.isInstance(thrown)
  process.stderr.write(
    `error: ${isExpected ? toMessage(thrown) : ((thrown as Error).stack ?? String(thrown))}\n`,
  )
  return EXIT_USAGE
}

function createProgram(finish: (code: number) => void): Command {
  const program = new Command('stoke')
    .description(
      'Keeps the skills of running AI agents live: edit a skill, and every conversation follows at its next step.',
    )
    .version(readVersion())
    .showHelpAfterError('(run with --help for examples)')
    .exitOverride()
    .addHelpText(
      'after',
      `
Examples:
  stoke dev                      follow ./skills and talk to the demo agent
  stoke list                     what was found, broken skills included
  stoke why pdf                  where a skill stopped on its way to a conversation

Without --root these folders are read, in this order: ./skills, ./.agents/skills, ./.claude/skills, ~/.agents/skills.
Environment: SKILLSTOKE_MODEL, SKILLSTOKE_BASE_URL, SKILLSTOKE_API_KEY (for dev), XDG_STATE_HOME, NO_COLOR.
Exit codes: 0 ok, 1 findings, 2 usage.`,
    )
  addDev(program, finish)
  addList(program, finish)
  addShow(program, finish)
  addValidate(program, finish)
  addRender(program, finish)
  addWhy(program, finish)
  addStatus(program, finish)
  return program
}

function addDev(program: Command, finish: (code: number) => void): void {
  program
    .command('dev')
    .description('follow the skills, and a conversation of the demo agent with them')
    .argument('[dir...]', 'folders of skills; replace the default ones')
    .addOption(rootOption())
    .addOption(linkRootOption())
    .addOption(stateOption())
    .option('--ask <question>', 'what the demo agent is asked, now and after each change')
    .option(
      '--model <name>',
      'a model of the server, or a string of the AI SDK such as "openai/gpt-5" (default: offline)',
    )
    .option('--base-url <url>', 'an OpenAI-compatible server, for example http://127.0.0.1:11434/v1')
    .addHelpText(
      'after',
      `
Keys: h help, r reload, d difference of the last change, q quit.

Examples:
  stoke dev
  stoke dev ./skills ~/team/skills --ask "May I get a refund?"
  stoke dev --base-url http://127.0.0.1:11434/v1 --model llama3`,
    )
    .action(async (directories: string[], flags: SharedFlags & { ask?: string }) => {
      const { dev } = await import('./dev/dev.ts')
      const config = resolveConfig({ ...flags, root: [...directories, ...(flags.root ?? [])] })
      finish(await dev(config, flags.ask === undefined ? {} : { question: flags.ask }))
    })
}

function addList(program: Command, finish: (code: number) => void): void {
  withSharedOptions(program.command('list').alias('ls'))
    .description('list every skill that was found: broken ones are never hidden')
    .addHelpText('after', '\nExamples:\n  stoke list\n  stoke list --root ./skills --json')
    .action(async (flags: SharedFlags) => {
      const { list } = await import('./commands/list.ts')
      finish(await list(resolveConfig(flags), { json: flags.json === true }))
    })
}

function addShow(program: Command, finish: (code: number) => void): void {
  withSharedOptions(program.command('show').alias('info'))
    .description('show one skill as it is served: fields, files, instructions')
    .argument('<name>', 'name of the skill')
    .addHelpText('after', '\nExamples:\n  stoke show pdf\n  stoke show pdf --json')
    .action(async (name: string, flags: SharedFlags) => {
      const { show } = await import('./commands/show.ts')
      finish(await show(name, resolveConfig(flags), { json: flags.json === true }))
    })
}

function addValidate(program: Command, finish: (code: number) => void): void {
  program
    .command('validate')
    .option('--json', 'print JSON')
    .description('check skills against the agentskills.io specification')
    .argument('<path...>', 'skill folders, SKILL.md files, folders of skills, or - for standard input')
    .addHelpText(
      'after',
      '\nExits with 1 when one of them is invalid.\n\nExamples:\n  stoke validate skills/pdf\n  stoke validate skills --json\n  stoke validate - < SKILL.md',
    )
    .action(async (paths: string[], flags: SharedFlags) => {
      const { validate } = await import('./commands/validate.ts')
      finish(await validate(paths, resolveConfig(flags), { json: flags.json === true }))
    })
}

function addRender(program: Command, finish: (code: number) => void): void {
  withSharedOptions(program.command('render').alias('to-prompt'))
    .description('print the catalog as a conversation that begins now would get it')
    .option('--include <pattern>', 'only skills whose name matches, "*" for anything; repeatable', collect)
    .option('--exclude <pattern>', 'no skills whose name matches; repeatable', collect)
    .option('--max-tokens <count>', 'tokens that the catalog may take', parseCount, DEFAULT_CATALOG_TOKENS)
    .addHelpText(
      'after',
      '\nExamples:\n  stoke render\n  stoke render --include "support-*" --max-tokens 1000 --json',
    )
    .action(async (flags: SharedFlags & { include?: string[]; exclude?: string[]; maxTokens: number }) => {
      const { render } = await import('./commands/render.ts')
      const scope = { include: flags.include ?? [], exclude: flags.exclude ?? [] }
      finish(
        await render(resolveConfig(flags), { json: flags.json === true, maxTokens: flags.maxTokens, scope }),
      )
    })
}

function addWhy(program: Command, finish: (code: number) => void): void {
  withSharedOptions(program.command('why'))
    .description('tell where a skill stopped: found, parsed, eligible, scoped, listed')
    .argument('<name>', 'name of the skill')
    .addHelpText(
      'after',
      '\nExits with 1 when the skill does not get through.\n\nExamples:\n  stoke why pdf\n  stoke why pdf --json',
    )
    .action(async (name: string, flags: SharedFlags) => {
      const { why } = await import('./commands/why.ts')
      finish(await why(name, resolveConfig(flags), { json: flags.json === true }))
    })
}

function addStatus(program: Command, finish: (code: number) => void): void {
  withSharedOptions(program.command('status').alias('ps'))
    .description('tell which folders are read, how they are watched, and what was found')
    .addHelpText('after', '\nExamples:\n  stoke status\n  stoke status --root ./skills --json')
    .action(async (flags: SharedFlags) => {
      const { status } = await import('./commands/status.ts')
      finish(await status(resolveConfig(flags), { json: flags.json === true }))
    })
}

function withSharedOptions(command: Command): Command {
  return command
    .addOption(rootOption())
    .addOption(linkRootOption())
    .addOption(stateOption())
    .option('--json', 'print JSON')
}

function rootOption(): Option {
  return new Option('--root <dir>', 'a folder of skills; repeatable, replaces the default ones').argParser(
    collect,
  )
}

function linkRootOption(): Option {
  return new Option(
    '--link-root <dir>',
    'a folder into which links of the roots may lead; repeatable',
  ).argParser(collect)
}

function stateOption(): Option {
  return new Option('--state <dir>', 'where state is kept (default: $XDG_STATE_HOME/skillstoke)')
}

function collect(value: string, earlier: readonly string[] = []): string[] {
  if (value.trim() === '') throw new InvalidArgumentError('it is empty')
  return [...earlier, value]
}

function parseCount(value: string): number {
  const count = Number(value)
  if (!Number.isInteger(count) || count < 1)
    throw new InvalidArgumentError(`${JSON.stringify(value)} is not a whole number above 0`)
  return count
}
