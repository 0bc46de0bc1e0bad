import type { Command } from 'commander'
import { DEFAULT_HOST, DEFAULT_MAX_SESSIONS, DEFAULT_PORT } from '../config/defaults.ts'
import { act, withFolders } from './act.ts'
import {
  collect,
  parseCount,
  parseHost,
  parsePort,
  withSandboxOption,
  withScopeOptions,
  withSharedOptions,
  withSourceOptions,
} from './verb-options.ts'

/** Adds `dev`, which runs until it is stopped, and `reload`, which asks a running `dev`. */
export function addFollowVerbs(program: Command): void {
  addDev(program)
  addReload(program)
}

function addDev(program: Command): void {
  withSandboxOption(withScopeOptions(withSourceOptions(program.command('dev'))))
    .description('watch the skills, and serve a page, an API, an MCP endpoint and a demo agent')
    .argument('[dir...]', 'folders that contain skills; they replace the default folders')
    .option(
      '--port <number>',
      `port to listen on, 0 for any free port (default: ${DEFAULT_PORT}, or the port of the last start; a free port if it is in use)`,
      parsePort,
    )
    .option('--host <address>', `address to listen on (default: ${DEFAULT_HOST})`, parseHost)
    .option('--allow-host <name>', 'additional host name that requests may use; repeatable', collect)
    .option(
      '--new-token',
      'replace the token of the last start; configured clients and open pages need the new one',
    )
    .option(
      '--max-sessions <count>',
      `maximum number of open MCP sessions over HTTP (default: ${DEFAULT_MAX_SESSIONS})`,
      parseCount,
    )
    .option('--verbose', 'print each step, as the key v does')
    .option('--no-agent', 'start without the demo agent')
    .option('--ask <question>', 'question for the demo agent, asked at the start and after each change')
    .option(
      '--model <name>',
      'model for the demo agent: a model of the --base-url server, or an AI SDK name such as "openai/gpt-5" (default: an offline model)',
    )
    .option('--test', 'after each save, ask the model the messages that the save affects; needs --model')
    .option('--base-url <url>', 'OpenAI-compatible server, for example http://127.0.0.1:11434/v1')
    .addHelpText(
      'after',
      `
Keys: h help, o open the page, r reload, c clear, d difference of the last change, f fix findings, v details, a ask the
agent, q quit.

A model other than the offline one is asked only by --ask, --test, the key a and the page.

Examples:
  stoke dev
  stoke dev ./skills ~/team/skills --ask "May I get a refund?"
  stoke dev --base-url http://127.0.0.1:11434/v1 --model llama3`,
    )
    .action(act(async () => (await import('../dev/dev.ts')).dev, withFolders))
}

function addReload(program: Command): void {
  withSharedOptions(program.command('reload'))
    .description('make the running dev server read all skills again')
    .addHelpText(
      'after',
      '\nExits with 1 if a skill is broken or a source cannot be read.\n\nExamples:\n  stoke reload\n  stoke reload --root ./skills --json',
    )
    .action(act(async () => (await import('../commands/reload.ts')).reload))
}
