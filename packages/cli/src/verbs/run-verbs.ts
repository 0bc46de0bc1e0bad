import { type Command, InvalidArgumentError } from 'commander'
import { GRANT_VERBS, type GrantVerb } from '../client/decision-verbs.ts'
import { CAPABILITY_FORMS, DEFAULT_CALL_MS, LONGEST_CALL_MS } from '../known-values.ts'
import {
  type Finish,
  resolveConfig,
  type SharedFlags,
  withSandboxOption,
  withSharedOptions,
} from './verb-options.ts'

const MAX_SECONDS = LONGEST_CALL_MS / 1_000

/** Running what skills bring along, and what it may do. */
export function addRunVerbs(program: Command, finish: Finish): void {
  addRun(program, finish)
  for (const verb of GRANT_VERBS) addGrant(program, verb, finish)
}

function addRun(program: Command, finish: Finish): void {
  withSandboxOption(withSharedOptions(program.command('run')))
    .description('run a command of a skill, or one of its other scripts, outside of this process')
    .argument('<target>', 'skill.command, or the name of a skill')
    .argument('[path]', 'a script of the skill, for example scripts/convert.py')
    .argument('[args...]', 'arguments of the script, after --')
    .option('--input <json>', 'what the command takes: JSON, @file.json, or - for standard input')
    .option(
      '--timeout <seconds>',
      `how long it may take, at most ${MAX_SECONDS} (default: ${DEFAULT_CALL_MS / 1_000})`,
      parseSeconds,
    )
    .option('--watch', 'run again after each save')
    .addHelpText(
      'after',
      `
With the name of a skill alone: what can be run of it. Exits with 1 when the script fails, and with 2 when there is no
such thing, its input is wrong, or it may not be run; Ctrl-C ends what runs, and exits with 130.

Examples:
  stoke run git
  stoke run git.status --input '{"path": "."}'
  stoke run pdf scripts/fill.py -- form.pdf out.pdf
  stoke run git.status --watch --json`,
    )
    .action(
      async (
        target: string,
        path: string | undefined,
        args: string[],
        flags: SharedFlags & { input?: string; timeout?: number; watch?: boolean },
      ) => {
        const { run } = await import('../commands/run.ts')
        const { json, input, timeout, watch } = flags
        finish(
          await run({ target, args, ...(path === undefined ? {} : { path }) }, await resolveConfig(flags), {
            json: json === true,
            watch: watch === true,
            ...(input === undefined ? {} : { input }),
            ...(timeout === undefined ? {} : { timeoutMs: timeout * 1_000 }),
          }),
        )
      },
    )
}

const GRANTS = {
  grant: {
    words: 'let the scripts of a skill do more than compute, for every process of the state directory',
    examples: [
      'stoke grant deploy',
      'stoke grant deploy net env:TOKEN --note "read it"',
      'stoke grant deploy@sha256:... net',
      'stoke grant pdf fs.write:out',
    ],
  },
  revoke: {
    words: 'take back what was granted',
    examples: ['stoke revoke deploy', 'stoke revoke deploy net'],
  },
} as const satisfies Record<GrantVerb, unknown>

const NAMED = 'name, or source/name; with @ and the whole digest of the revision that you have read'

function addGrant(program: Command, verb: GrantVerb, finish: Finish): void {
  const { words, examples } = GRANTS[verb]
  const without = verb === 'grant' ? 'what metadata.capabilities asks for, after a question' : 'everything'
  const command = withSharedOptions(program.command(verb))
  if (verb === 'grant') command.option('--yes', 'do not ask: grant whatever it asks for')
  command
    .description(words)
    .argument('<skill>', verb === 'grant' ? NAMED : 'name, or source/name')
    .argument('[capability...]', `${CAPABILITY_FORMS} (default: ${without})`)
    .option('--note <text>', 'why, for the history')
    .addHelpText(
      'after',
      `
Where changes go live by themselves a grant holds for the skill, whatever is written; where they are reviewed, for the
revision that is served.

Examples:
${examples.map(example => `  ${example}`).join('\n')}`,
    )
    .action(
      async (
        skill: string,
        capabilities: string[],
        flags: SharedFlags & { note?: string; yes?: boolean },
      ) => {
        const { grant } = await import('../commands/grant.ts')
        const { json, note, yes } = flags
        finish(
          await grant(verb, skill, capabilities, await resolveConfig(flags), {
            json: json === true,
            isUnseen: yes === true,
            ...(note === undefined ? {} : { note }),
          }),
        )
      },
    )
}

function parseSeconds(value: string): number {
  const seconds = Number(value)
  if (!(seconds > 0 && seconds <= MAX_SECONDS))
    throw new InvalidArgumentError(
      `${JSON.stringify(value)} is not a number above 0 and up to ${MAX_SECONDS}`,
    )
  return seconds
}
