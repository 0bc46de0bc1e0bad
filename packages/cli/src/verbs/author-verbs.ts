import type { Profile } from '@skillstoke/author'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { ConfigFlags } from '../config/config.ts'
import { PROFILES, REPORT_FORMATS } from '../config/known-values.ts'
import { act } from './act.ts'
import { parseCount, withRootOptions } from './verb-options.ts'

const PATHS =
  'skill names, skill folders, SKILL.md files, folders that contain skills, or - for standard input'

/** Adds the verbs for people who write skills. */
export function addAuthorVerbs(program: Command): void {
  addCheck(program)
  addValidate(program)
  addLsp(program)
}

/** Adds the option that names what a skill is checked for in addition. */
function withProfiles(command: Command): Command {
  return command.option(
    '--for <profiles>',
    `also check for clients or rules, separated by commas: ${PROFILES.join(', ')}; spec alone checks only the specification`,
    parseProfiles,
  )
}

function addCheck(program: Command): void {
  withProfiles(withRootOptions(program.command('check').alias('lint')))
    .description('report what is wrong with skills, with file, line and fix')
    .argument('[path...]', `${PATHS} (default: the roots)`)
    .option('--fix', 'correct what changes no served text and no permission')
    .option('--dry-run', 'with --fix: print the changes, and write nothing')
    .option('--since <revision>', 'only check skills that changed since this revision of git')
    .option('--max-warnings <count>', 'number of warnings that are accepted (default: 0)', parseLimit)
    .option('--budget <tokens>', 'fail if the catalog of all skills has more tokens', parseCount)
    .option('--strict', 'exit with 1 for remarks, too')
    .addOption(
      new Option('--format <name>', 'form of the output (default: text)').choices([
        'text',
        'json',
        ...REPORT_FORMATS,
      ]),
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Exits with 1 if there are errors or warnings.

Examples:
  stoke check
  stoke check pdf --fix --dry-run
  stoke check skills --for codex,cursor
  stoke check --since origin/main --format github
  stoke check - < SKILL.md`,
    )
    .action(act(async () => (await import('../commands/check.ts')).check, withoutFormat))
}

/** The format of a report is not the format of a catalog, which has the same flag. */
function withoutFormat({ format: _format, ...flags }: ConfigFlags): ConfigFlags {
  return flags
}

function addValidate(program: Command): void {
  withRootOptions(program.command('validate'))
    .option('--json', 'print JSON')
    .description(
      'check skills against the strict agentskills.io specification, as "stoke check --for spec" does',
    )
    .argument('[path...]', `${PATHS} (default: the roots)`)
    .addHelpText(
      'after',
      '\nExits with 1 if any skill is invalid.\n\nExamples:\n  stoke validate skills/pdf\n  stoke validate skills --json\n  stoke validate - < SKILL.md',
    )
    .action(act(async () => (await import('../commands/check.ts')).validate))
}

function addLsp(program: Command): void {
  withProfiles(program.command('lsp'))
    .option('--config <file>', 'configuration file (default: ./skillstoke.json if it exists)')
    .option('--stdio', 'changes nothing; many editors add it')
    .description('serve an editor over standard input and output: findings, fixes, completion, hovers')
    .addHelpText(
      'after',
      '\nThe editor starts and ends this command. docs/check-skills.md has the settings of several editors.\n\nExamples:\n  stoke lsp\n  stoke lsp --for codex,cursor',
    )
    .action(act(async () => (await import('../commands/lsp.ts')).lsp))
}

function parseProfiles(value: string, earlier: readonly Profile[] = []): readonly Profile[] {
  const named = value.split(',').map(word => word.trim())
  const unknown = named.find(word => !PROFILES.some(profile => profile === word))
  if (unknown !== undefined)
    throw new InvalidArgumentError(`${JSON.stringify(unknown)} is not one of ${PROFILES.join(', ')}`)
  return [...earlier, ...(named as readonly Profile[])]
}

function parseLimit(value: string): number {
  const limit = Number(value)
  if (!Number.isInteger(limit) || limit < 0)
    throw new InvalidArgumentError(`${JSON.stringify(value)} is not a whole number from 0`)
  return limit
}
