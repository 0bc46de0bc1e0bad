import type { GrantVerb } from '@skillstoke/core/internal'
import { type Command, InvalidArgumentError } from 'commander'
import type { GrantFlags } from '../commands/grant.ts'
import { CALL_TIMEOUT_MS, CAPABILITY_FORMS, GRANT_VERBS } from '../config/known-values.ts'
import { act } from './act.ts'
import { withSandboxOption, withSharedOptions } from './verb-options.ts'

const MAX_SECONDS = CALL_TIMEOUT_MS.longest / 1_000

/** Adds the verbs that run scripts, and those that grant and revoke capabilities. */
export function addRunVerbs(program: Command): void {
  addRun(program)
  for (const verb of GRANT_VERBS) addGrant(program, verb)
}

function addRun(program: Command): void {
  withSandboxOption(withSharedOptions(program.command('run')))
    .description('run a command or another script of a skill in a separate process')
    .argument('<target>', 'skill.command, or a skill name')
    .argument('[path]', 'script of the skill, for example scripts/convert.py')
    .argument('[args...]', 'arguments for the script, after --')
    .option('--input <json>', 'input of the command: JSON, @file.json, or - for standard input')
    .option(
      '--timeout <seconds>',
      `time limit in seconds, at most ${MAX_SECONDS} (default: ${CALL_TIMEOUT_MS.default / 1_000})`,
      parseSeconds,
    )
    .option('--watch', 'run again after each save')
    .addHelpText(
      'after',
      `
If only a skill name is given, lists the commands and scripts of the skill. Exits with 1 if the script fails. Exits
with 2 if the target does not exist or may not run, or if the input is invalid. Ctrl-C stops the script and exits with
130.

Examples:
  stoke run git
  stoke run git.status --input '{"path": "."}'
  stoke run pdf scripts/fill.py -- form.pdf out.pdf
  stoke run git.status --watch --json`,
    )
    .action(act(async () => (await import('../commands/run.ts')).run))
}

const GRANTS = {
  grant: {
    words: 'grant capabilities to the scripts of a skill, for every process that uses the state directory',
    examples: [
      'stoke grant deploy',
      'stoke grant deploy net env:TOKEN --note "read it"',
      'stoke grant deploy@sha256:... net',
      'stoke grant pdf fs.write:out',
    ],
  },
  revoke: {
    words: 'revoke granted capabilities',
    examples: ['stoke revoke deploy', 'stoke revoke deploy net'],
  },
} as const satisfies Record<GrantVerb, unknown>

const NAMED = 'name or source/name; to name the revision that you have read, add @ and its whole digest'

function addGrant(program: Command, verb: GrantVerb): void {
  const { words, examples } = GRANTS[verb]
  const without = verb === 'grant' ? 'the capabilities in metadata.capabilities, after you confirm' : 'all'
  const command = withSharedOptions(program.command(verb))
  if (verb === 'grant') command.option('--yes', 'do not ask; grant all capabilities that the skill asks for')
  command
    .description(words)
    .argument('<skill>', verb === 'grant' ? NAMED : 'name or source/name')
    .argument('[capability...]', `${CAPABILITY_FORMS} (default: ${without})`)
    .option('--note <text>', 'reason to record in the history')
    .addHelpText(
      'after',
      `
If the source is trusted, a grant is valid for every revision of the skill. If the source is reviewed, a grant is valid
only for the served revision.

Examples:
${examples.map(example => `  ${example}`).join('\n')}`,
    )
    .action(
      act(async () => {
        const { grant } = await import('../commands/grant.ts')
        return (config, flags: GrantFlags, skill: string, words: string[]) =>
          grant(verb, config, flags, skill, words)
      }),
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
