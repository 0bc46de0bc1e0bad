import { SkillError, toMessage } from '@skillstoke/core'
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { ApiError } from './client/api-error.ts'
import { type ConfigFlags, resolveConfig } from './config/config.ts'
import type { DecisionVerb } from './decide-skill.ts'
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
    thrown instanceof UsageError ||
    thrown instanceof ApiError ||
    thrown instanceof TypeError ||
    (thrown as Error).name === 'TimeoutError' ||
    SkillError.isInstance(thrown)
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
  stoke dev                      follow ./skills, with a page, an MCP endpoint and a demo agent
  stoke mcp --root ./skills      serve them to an MCP client over standard input and output
  stoke list                     what was found, broken skills included
  stoke why pdf                  where a skill stopped on its way to a conversation
  stoke pending                  changes of other machines' skills that wait for approval
  stoke rollback pdf             the revision before, as a new change

Without --root these folders are read, in this order: ./skills, ./.agents/skills, ./.claude/skills, ~/.agents/skills.
Configuration: flags, then environment variables, then ./skillstoke.json.
Environment: SKILLSTOKE_ROOTS, SKILLSTOKE_CONFIG, SKILLSTOKE_FROZEN=1, SKILLSTOKE_GIT_BASE_URL,
SKILLSTOKE_PRIVATE_HOSTS, SKILLSTOKE_STATE, XDG_STATE_HOME, NO_COLOR; for dev also SKILLSTOKE_HOST,
SKILLSTOKE_PORT, SKILLSTOKE_TOKEN, SKILLSTOKE_MODEL, SKILLSTOKE_BASE_URL, SKILLSTOKE_API_KEY.
Exit codes: 0 ok, 1 findings, 2 usage.`,
    )
  addDev(program, finish)
  addMcp(program, finish)
  addReload(program, finish)
  addList(program, finish)
  addShow(program, finish)
  addValidate(program, finish)
  addRender(program, finish)
  addWhy(program, finish)
  addStatus(program, finish)
  addPending(program, finish)
  for (const verb of ['approve', 'reject', 'pin', 'unpin', 'enable', 'disable'] as const)
    addDecision(program, verb, finish)
  addLog(program, finish)
  addDiff(program, finish)
  addRollback(program, finish)
  addGc(program, finish)
  addAdd(program, finish)
  addUpdate(program, finish)
  addVerify(program, finish)
  addRemove(program, finish)
  addLink(program, finish)
  return program
}

function addDev(program: Command, finish: (code: number) => void): void {
  withScopeOptions(withSourceOptions(program.command('dev')))
    .description('follow the skills: a page, an API, an MCP endpoint, and a conversation of the demo agent')
    .argument('[dir...]', 'folders of skills; replace the default ones')
    .option(
      '--port <number>',
      'where to listen, 0 for any free port (default: 4114, or a free one when it is taken)',
      parsePort,
    )
    .option('--host <address>', 'the address to listen on (default: 127.0.0.1)', parseHost)
    .option('--allow-host <name>', 'a further name under which the server may be called; repeatable', collect)
    .option('--no-agent', 'without the demo agent')
    .option('--ask <question>', 'what the demo agent is asked, now and after each change')
    .option(
      '--model <name>',
      'a model of the server, or a string of the AI SDK such as "openai/gpt-5" (default: offline)',
    )
    .option('--base-url <url>', 'an OpenAI-compatible server, for example http://127.0.0.1:11434/v1')
    .addHelpText(
      'after',
      `
Keys: h help, o open the page, r reload, c clear, d difference of the last change, q quit.

Examples:
  stoke dev
  stoke dev ./skills ~/team/skills --ask "May I get a refund?"
  stoke dev --base-url http://127.0.0.1:11434/v1 --model llama3`,
    )
    .action(async (directories: string[], flags: SharedFlags & { ask?: string; agent: boolean }) => {
      const { dev } = await import('./dev/dev.ts')
      const config = await resolveConfig({ ...flags, root: [...directories, ...(flags.root ?? [])] })
      const question = flags.ask === undefined ? {} : { question: flags.ask }
      finish(await dev(config, { hasAgent: flags.agent, ...question }))
    })
}

function addMcp(program: Command, finish: (code: number) => void): void {
  withScopeOptions(withSourceOptions(program.command('mcp')))
    .description('serve the skills to an MCP client over standard input and output')
    .option('--verbose', 'say on standard error what happens')
    .addHelpText(
      'after',
      `
Only folders that are named are served. Over HTTP, "stoke dev" has an endpoint at /mcp.

Examples:
  stoke mcp --root ./skills
  claude mcp add skills -- npx -y skillstoke mcp --root ~/skills
  stoke mcp --root ~/skills --include "support-*"`,
    )
    .action(async (flags: SharedFlags & { verbose?: boolean }) => {
      const { mcp } = await import('./commands/mcp.ts')
      finish(await mcp(await resolveConfig(flags), { isVerbose: flags.verbose === true }))
    })
}

function addReload(program: Command, finish: (code: number) => void): void {
  withSharedOptions(program.command('reload'))
    .description('make the running dev read everything again')
    .addHelpText(
      'after',
      '\nExits with 1 when a skill is broken afterwards.\n\nExamples:\n  stoke reload\n  stoke reload --root ./skills --json',
    )
    .action(async (flags: SharedFlags) => {
      const { reload } = await import('./commands/reload.ts')
      finish(await reload(await resolveConfig(flags), { json: flags.json === true }))
    })
}

function addList(program: Command, finish: (code: number) => void): void {
  withSharedOptions(program.command('list').alias('ls'))
    .description('list every skill that was found: broken ones are never hidden')
    .addHelpText('after', '\nExamples:\n  stoke list\n  stoke list --root ./skills --json')
    .action(async (flags: SharedFlags) => {
      const { list } = await import('./commands/list.ts')
      finish(await list(await resolveConfig(flags), { json: flags.json === true }))
    })
}

function addShow(program: Command, finish: (code: number) => void): void {
  withSharedOptions(program.command('show').alias('info'))
    .description('show one skill as it is served: fields, files, instructions')
    .argument('<name>', 'name of the skill')
    .addHelpText('after', '\nExamples:\n  stoke show pdf\n  stoke show pdf --json')
    .action(async (name: string, flags: SharedFlags) => {
      const { show } = await import('./commands/show.ts')
      finish(await show(name, await resolveConfig(flags), { json: flags.json === true }))
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
      finish(await validate(paths, await resolveConfig(flags), { json: flags.json === true }))
    })
}

function addRender(program: Command, finish: (code: number) => void): void {
  withScopeOptions(withSharedOptions(program.command('render').alias('to-prompt')))
    .description('print the catalog as a conversation that begins now would get it')
    .option('--max-tokens <count>', 'tokens that the catalog may take (default: 4000)', parseCount)
    .addOption(
      new Option('--format <name>', 'how it is written (default: agentskills-xml)').choices([
        'agentskills-xml',
        'pai-xml',
        'markdown',
        'none',
      ]),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  stoke render\n  stoke render --format markdown\n  stoke render --include "support-*" --max-tokens 1000 --json',
    )
    .action(async (flags: SharedFlags) => {
      const { render } = await import('./commands/render.ts')
      finish(await render(await resolveConfig(flags), { json: flags.json === true }))
    })
}

function addWhy(program: Command, finish: (code: number) => void): void {
  withSharedOptions(program.command('why'))
    .description('tell where a skill stopped: found, parsed, eligible, scoped, listed')
    .argument('<name>', 'name of the skill')
    .option('--session <id>', 'as this conversation of the running dev sees it')
    .addHelpText(
      'after',
      '\nExits with 1 when the skill does not get through.\n\nExamples:\n  stoke why pdf\n  stoke why pdf --session dev\n  stoke why pdf --json',
    )
    .action(async (name: string, flags: SharedFlags & { session?: string }) => {
      const { why } = await import('./commands/why.ts')
      const session = flags.session === undefined ? {} : { session: flags.session }
      finish(await why(name, await resolveConfig(flags), { json: flags.json === true, ...session }))
    })
}

function addStatus(program: Command, finish: (code: number) => void): void {
  withSharedOptions(program.command('status').alias('ps'))
    .description('tell which folders are read, how they are watched, and what was found')
    .addHelpText('after', '\nExamples:\n  stoke status\n  stoke status --root ./skills --json')
    .action(async (flags: SharedFlags) => {
      const { status } = await import('./commands/status.ts')
      finish(await status(await resolveConfig(flags), { json: flags.json === true }))
    })
}

function addPending(program: Command, finish: (code: number) => void): void {
  withSharedOptions(program.command('pending'))
    .description('tell which changes wait for approval, and what is new about them')
    .addHelpText(
      'after',
      '\nExits with 1 when something waits.\n\nExamples:\n  stoke pending\n  stoke pending --json',
    )
    .action(async (flags: SharedFlags) => {
      const { pending } = await import('./commands/decide.ts')
      finish(await pending(await resolveConfig(flags), { json: flags.json === true }))
    })
}

const DECISIONS: Readonly<
  Record<DecisionVerb, { readonly words: string; readonly examples: readonly string[] }>
> = {
  approve: {
    words: 'let the newest revision of a skill go live, for every process of the state directory',
    examples: [
      'stoke approve pdf',
      'stoke approve team/pdf@a1b2c3d4 --note "read it"',
      'stoke approve --all',
    ],
  },
  reject: {
    words: 'keep the newest revision from being served, also when it is served now',
    examples: ['stoke reject pdf', 'stoke reject team/pdf@a1b2c3d4 --note "asks for secrets"'],
  },
  pin: {
    words: 'serve one revision whatever is written: the present one, or the one named',
    examples: ['stoke pin pdf', 'stoke pin pdf@a1b2c3d4'],
  },
  unpin: { words: 'follow the source of a skill again', examples: ['stoke unpin pdf'] },
  enable: { words: 'serve a skill again that was disabled', examples: ['stoke enable pdf'] },
  disable: { words: 'serve nothing of a skill', examples: ['stoke disable pdf', 'stoke disable team/pdf'] },
}

function addDecision(program: Command, verb: DecisionVerb, finish: (code: number) => void): void {
  const { words, examples } = DECISIONS[verb]
  const command = withSharedOptions(program.command(verb))
    .description(words)
    .argument(
      '[skill...]',
      'name, or source/name; with @ and the first digits of the revision that you have read',
    )
    .option('--note <text>', 'why, for the history')
  if (verb === 'approve') command.option('--all', 'everything that waits now')
  command
    .addHelpText('after', `\nExamples:\n${examples.map(example => `  ${example}`).join('\n')}`)
    .action(async (targets: string[], flags: SharedFlags & { note?: string; all?: boolean }) => {
      const { decide } = await import('./commands/decide.ts')
      const { json, note, all } = flags
      finish(
        await decide(verb, targets, await resolveConfig(flags), {
          json: json === true,
          ...(note === undefined ? {} : { note }),
          ...(all === undefined ? {} : { all }),
        }),
      )
    })
}

function addLog(program: Command, finish: (code: number) => void): void {
  withSharedOptions(program.command('log').alias('history'))
    .description('list the revisions of a skill: when, by whom, why')
    .argument('<name>', 'name of the skill, or source/name')
    .option('--limit <count>', 'how many of the newest (default: 20)', parseCount)
    .addHelpText('after', '\nExamples:\n  stoke log pdf\n  stoke log team/pdf --limit 5 --json')
    .action(async (name: string, flags: SharedFlags & { limit?: number }) => {
      const { log } = await import('./commands/history.ts')
      const options = { json: flags.json === true, limit: flags.limit ?? 20 }
      finish(await log(name, await resolveConfig(flags), options))
    })
}

function addDiff(program: Command, finish: (code: number) => void): void {
  withSharedOptions(program.command('diff'))
    .description('compare two revisions of a skill: fields, instructions, files')
    .argument('<name>', 'name of the skill, or source/name')
    .argument(
      '[from]',
      'first digits of a revision (default: what is served instead of the newest, or was before it)',
    )
    .argument('[to]', 'first digits of a revision (default: the newest)')
    .addHelpText(
      'after',
      '\nExamples:\n  stoke diff pdf\n  stoke diff pdf a1b2c3d4\n  stoke diff pdf a1b2c3d4 e5f60718 --json',
    )
    .action(async (name: string, from: string | undefined, to: string | undefined, flags: SharedFlags) => {
      const { diff } = await import('./commands/history.ts')
      const revisions = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
      finish(await diff(name, revisions, await resolveConfig(flags), { json: flags.json === true }))
    })
}

function addRollback(program: Command, finish: (code: number) => void): void {
  withSharedOptions(program.command('rollback'))
    .description(
      'bring an earlier revision of a skill back: as a new change, or as a pin where nothing may be written',
    )
    .argument('<name>', 'name of the skill, or source/name')
    .argument('[revision]', 'its first digits (default: the one that was served before)')
    .option('--dry-run', 'only tell what would change')
    .addHelpText('after', '\nExamples:\n  stoke rollback pdf\n  stoke rollback pdf a1b2c3d4 --dry-run')
    .action(async (name: string, revision: string | undefined, flags: SharedFlags & { dryRun?: boolean }) => {
      const { rollback } = await import('./commands/history.ts')
      const options = { json: flags.json === true, isDryRun: flags.dryRun === true }
      finish(await rollback(name, revision, await resolveConfig(flags), options))
    })
}

function addAdd(program: Command, finish: (code: number) => void): void {
  withSharedOptions(program.command('add'))
    .description('copy skills of another place into the project, and write down where they came from')
    .argument(
      '<place>',
      'as for --source: a repository, x.zip, x.tar.gz, npm:folder, well-known+https://host, mcp+https://host/mcp',
    )
    .argument('[skill...]', 'names (default: the only one there is)')
    .option('--all', 'all that the place has')
    .option('--to <dir>', 'the folder of skills into which they are copied (default: the first root)')
    .option('--force', 'replace what is there; it is kept in .trash')
    .addHelpText(
      'after',
      '\nExamples:\n  stoke add acme/skills pdf docx\n  stoke add https://github.com/acme/skills/tree/v2/skills --all --to .agents/skills\n  stoke add team.zip --json',
    )
    .action(
      async (
        place: string,
        names: string[],
        flags: SharedFlags & { all?: boolean; to?: string; force?: boolean },
      ) => {
        const { add } = await import('./commands/add.ts')
        const to = flags.to === undefined ? {} : { to: flags.to }
        const options = {
          json: flags.json === true,
          isAll: flags.all === true,
          isForced: flags.force === true,
          ...to,
        }
        finish(await add(place, names, await resolveConfig(flags), options))
      },
    )
}

function addUpdate(program: Command, finish: (code: number) => void): void {
  withSharedOptions(program.command('update'))
    .description('bring copied skills to what their places hold now; what was changed here is kept')
    .argument('[skill...]', 'names (default: all that were added)')
    .option('--check', 'only tell what is newer')
    .option('--force', 'replace what was changed here; it is kept in .trash')
    .option('--reset', 'take what a branch or tag is now, also when its history was rewritten')
    .addHelpText(
      'after',
      '\nExits with 1 when something is left to do.\n\nExamples:\n  stoke update\n  stoke update pdf --check\n  stoke update pdf --force',
    )
    .action(
      async (names: string[], flags: SharedFlags & { check?: boolean; reset?: boolean; force?: boolean }) => {
        const { update } = await import('./commands/update.ts')
        const options = {
          json: flags.json === true,
          isCheck: flags.check === true,
          isReset: flags.reset === true,
          isForced: flags.force === true,
        }
        finish(await update(names, await resolveConfig(flags), options))
      },
    )
}

function addVerify(program: Command, finish: (code: number) => void): void {
  withSharedOptions(program.command('verify'))
    .description('tell whether copied skills are, file by file, what skillstoke.lock.json says')
    .addHelpText(
      'after',
      '\nExits with 1 when one is not.\n\nExamples:\n  stoke verify\n  stoke verify --json',
    )
    .action(async (flags: SharedFlags) => {
      const { verify } = await import('./commands/verify.ts')
      finish(await verify(await resolveConfig(flags), { json: flags.json === true }))
    })
}

function addRemove(program: Command, finish: (code: number) => void): void {
  withSharedOptions(program.command('remove').alias('rm'))
    .description('put copied skills aside, into .trash beside them')
    .argument('<skill...>', 'names')
    .option('--force', 'also what was changed here')
    .addHelpText('after', '\nExamples:\n  stoke remove pdf\n  stoke rm pdf docx --force')
    .action(async (names: string[], flags: SharedFlags & { force?: boolean }) => {
      const { remove } = await import('./commands/remove.ts')
      const options = { json: flags.json === true, isForced: flags.force === true }
      finish(await remove(names, await resolveConfig(flags), options))
    })
}

function addLink(program: Command, finish: (code: number) => void): void {
  withSharedOptions(program.command('link'))
    .description('make a skill that is being written elsewhere part of a root, by a link')
    .argument('<dir>', 'the folder of the skill')
    .option('--to <dir>', 'the folder of skills that gets the link (default: the first root)')
    .addHelpText(
      'after',
      '\nExits with 1 when it is not served by that.\n\nExamples:\n  stoke link ../pdf-skill\n  stoke link ../pdf-skill --to .agents/skills --link-root ..',
    )
    .action(async (dir: string, flags: SharedFlags & { to?: string }) => {
      const { link } = await import('./commands/link.ts')
      const to = flags.to === undefined ? {} : { to: flags.to }
      finish(await link(dir, await resolveConfig(flags), { json: flags.json === true, ...to }))
    })
}

function addGc(program: Command, finish: (code: number) => void): void {
  program
    .command('gc')
    .description('free the disk of what the state directory keeps and nothing needs')
    .option(
      '--keep <count>',
      'steps in the history of each skill whose files are kept (default: 100)',
      parseCount,
    )
    .option('--dry-run', 'only tell what would go')
    .option('--state <dir>', 'where state is kept (default: $XDG_STATE_HOME/skillstoke)')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  stoke gc --dry-run\n  stoke gc --keep 20')
    .action(async (flags: SharedFlags & { keep?: number; dryRun?: boolean }) => {
      const { gc } = await import('./commands/gc.ts')
      finish(
        await gc(await resolveConfig(flags), {
          json: flags.json === true,
          isDryRun: flags.dryRun === true,
          ...(flags.keep === undefined ? {} : { keep: flags.keep }),
        }),
      )
    })
}

function withSharedOptions(command: Command): Command {
  return withSourceOptions(command).option('--json', 'print JSON')
}

/** Where skills come from. */
function withSourceOptions(command: Command): Command {
  return command
    .option('--root <dir>', 'a folder of skills; repeatable, replaces the default ones', collect)
    .option(
      '--source <place>',
      'a repository (URL, owner/repo or file:///folder, with #branch:folder), x.zip, x.tar.gz, npm:folder, well-known+https://host, mcp+https://host/mcp; repeatable',
      collect,
    )
    .option('--git-base-url <url>', 'where owner/repo is, for a GitHub of your own')
    .option(
      '--private-host <host>',
      'a host or host:port that may be in a private network or on this machine; repeatable',
      collect,
    )
    .option('--frozen', 'let every change wait for approval')
    .option('--link-root <dir>', 'a folder into which links of the roots may lead; repeatable', collect)
    .option('--state <dir>', 'where state is kept (default: $XDG_STATE_HOME/skillstoke)')
    .option('--config <file>', 'a configuration (default: ./skillstoke.json when it is there)')
}

/** What conversations and clients may see. */
function withScopeOptions(command: Command): Command {
  return command
    .option('--include <pattern>', 'only skills whose name matches, "*" for anything; repeatable', collect)
    .option('--exclude <pattern>', 'no skills whose name matches; repeatable', collect)
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

function parseHost(value: string): string {
  if (value.trim() === '') throw new InvalidArgumentError('it is empty')
  return value
}

function parsePort(value: string): number {
  const port = Number(value)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new InvalidArgumentError(`${JSON.stringify(value)} is not a number from 0 to 65535`)
  return port
}
