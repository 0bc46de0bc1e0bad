import type { Command } from 'commander'
import { DEFAULT_HOST, DEFAULT_MAX_SESSIONS, DEFAULT_PORT } from '../config/defaults.ts'
import {
  collect,
  type Finish,
  parseCount,
  parseHost,
  parsePort,
  resolveConfig,
  type SharedFlags,
  withSandboxOption,
  withScopeOptions,
  withSharedOptions,
  withSourceOptions,
} from './verb-options.ts'

/** Verbs that go on until they are ended, and the one that talks to them. */
export function addFollowVerbs(program: Command, finish: Finish): void {
  addDev(program, finish)
  addMcp(program, finish)
  addReload(program, finish)
}

function addDev(program: Command, finish: Finish): void {
  withSandboxOption(withScopeOptions(withSourceOptions(program.command('dev'))))
    .description('follow the skills: a page, an API, an MCP endpoint, and a conversation of the demo agent')
    .argument('[dir...]', 'folders of skills; replace the default ones')
    .option(
      '--port <number>',
      `where to listen, 0 for any free port (default: ${DEFAULT_PORT}, or a free one when it is taken)`,
      parsePort,
    )
    .option('--host <address>', `the address to listen on (default: ${DEFAULT_HOST})`, parseHost)
    .option('--allow-host <name>', 'a further name under which the server may be called; repeatable', collect)
    .option(
      '--max-sessions <count>',
      `MCP sessions over HTTP that may be open at once (default: ${DEFAULT_MAX_SESSIONS})`,
      parseCount,
    )
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
      const { dev } = await import('../dev/dev.ts')
      const config = await resolveConfig({ ...flags, root: [...directories, ...(flags.root ?? [])] })
      const question = flags.ask === undefined ? {} : { question: flags.ask }
      finish(await dev(config, { hasAgent: flags.agent, ...question }))
    })
}

function addMcp(program: Command, finish: Finish): void {
  withSandboxOption(withScopeOptions(withSourceOptions(program.command('mcp'))))
    .description('serve the skills to an MCP client over standard input and output')
    .option('--verbose', 'say on standard error what happens')
    .option(
      '--command-tools',
      'a tool for each command of a skill, "skill.command"; the list of tools follows the skills',
    )
    .option('--admin-tools', 'let clients reload and unload the code of skills: skill.reload, skill.unload')
    .addHelpText(
      'after',
      `
Only folders that are named are served. Over HTTP, "stoke dev" has an endpoint at /mcp.

Without bubblewrap, a script of a skill can send signals. npx is a Node process, and SIGUSR1 opens its debugger: start an
installed "skillstoke mcp" instead, or set NODE_OPTIONS=--disable-sigusr1 for npx.

Examples:
  stoke mcp --root ./skills
  claude mcp add skills -- skillstoke mcp --root ~/skills
  claude mcp add skills --env NODE_OPTIONS=--disable-sigusr1 -- npx -y skillstoke mcp --root ~/skills
  stoke mcp --root ~/skills --include "support-*"
  stoke mcp --root ~/skills --command-tools --sandbox require`,
    )
    .action(
      async (flags: SharedFlags & { verbose?: boolean; commandTools?: boolean; adminTools?: boolean }) => {
        const { mcp } = await import('../commands/mcp.ts')
        const options = {
          isVerbose: flags.verbose === true,
          commandTools: flags.commandTools === true,
          adminTools: flags.adminTools === true,
        }
        finish(await mcp(await resolveConfig(flags), options))
      },
    )
}

function addReload(program: Command, finish: Finish): void {
  withSharedOptions(program.command('reload'))
    .description('make the running dev read everything again')
    .addHelpText(
      'after',
      '\nExits with 1 when a skill is broken afterwards.\n\nExamples:\n  stoke reload\n  stoke reload --root ./skills --json',
    )
    .action(async (flags: SharedFlags) => {
      const { reload } = await import('../commands/reload.ts')
      finish(await reload(await resolveConfig(flags), { json: flags.json === true }))
    })
}
