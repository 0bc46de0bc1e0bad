import { type Command, Option } from 'commander'
import {
  CATALOG_FORMAT_NAMES,
  DEFAULT_CATALOG,
  EXPLANATION_STEPS,
  SKILL_STATUSES,
  VISIBILITIES,
} from '../config/known-values.ts'
import { act, actOn } from './act.ts'
import { parseCount, withScopeOptions, withSharedOptions } from './verb-options.ts'

/** Adds the verbs that read the skills and change nothing, for example `list`. */
export function addLookVerbs(program: Command): void {
  addList(program)
  addShow(program)
  addRender(program)
  addBudget(program)
  addWhy(program)
  addStatus(program)
}

function addList(program: Command): void {
  withSharedOptions(program.command('list').alias('ls'))
    .description('list every skill that was found, including broken and shadowed skills')
    .option('--filter <text>', 'only skills with this text in the name, the description or the source')
    .addOption(
      new Option('--status <status...>', 'only skills with one of these statuses or visibilities').choices([
        ...SKILL_STATUSES,
        ...VISIBILITIES,
      ]),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  stoke list\n  stoke list --status broken unlisted\n  stoke list --filter pdf --json',
    )
    .action(act(async () => (await import('../commands/list.ts')).list))
}

function addShow(program: Command): void {
  withSharedOptions(program.command('show').alias('info'))
    .description('show one skill: fields, files, instructions')
    .argument('<name>', 'skill name, folder name, or path')
    .option(
      '--revision <revision>',
      'revision to show: digest or its first digits, -1 for the revision before, yesterday, or a date (default: the served revision)',
    )
    .option('--copy-to <dir>', 'copy the revision into this folder, to try it there')
    .addHelpText(
      'after',
      '\nExamples:\n  stoke show pdf\n  stoke show pdf --revision -1\n  stoke show pdf --revision yesterday --copy-to /tmp/try\n  stoke show skills/pdf\n  stoke show pdf --json',
    )
    .action(actOn(async () => (await import('../commands/show.ts')).show))
}

function addRender(program: Command): void {
  withCatalogOptions(program.command('render').alias('to-prompt'))
    .description('print the catalog that a new conversation would get')
    .addHelpText(
      'after',
      '\nExamples:\n  stoke render\n  stoke render --format markdown\n  stoke render --include "support-*" --max-tokens 1000 --json',
    )
    .action(act(async () => (await import('../commands/render.ts')).render))
}

/** Adds the options of the verbs about the catalog of a new conversation. */
function withCatalogOptions(command: Command): Command {
  return withScopeOptions(withSharedOptions(command))
    .option(
      '--max-tokens <count>',
      `maximum size of the catalog in tokens (default: ${DEFAULT_CATALOG.maxTokens})`,
      parseCount,
    )
    .addOption(
      new Option('--format <name>', `catalog format (default: ${DEFAULT_CATALOG.format})`).choices(
        CATALOG_FORMAT_NAMES,
      ),
    )
}

function addBudget(program: Command): void {
  withCatalogOptions(program.command('budget'))
    .description('print the tokens of each skill, what the catalog leaves out, and the limits of clients')
    .addHelpText(
      'after',
      '\nExamples:\n  stoke budget\n  stoke budget --max-tokens 2000 --exclude "draft-*"\n  stoke budget --json',
    )
    .action(act(async () => (await import('../commands/budget.ts')).budget))
}

function addWhy(program: Command): void {
  withSharedOptions(program.command('why'))
    .description(
      `show at which step a skill stopped (${EXPLANATION_STEPS.join(', ')}), or why a folder or file is not a skill`,
    )
    .argument('<name>', 'skill name, folder name, or path')
    .option('--session <id>', 'explain for this conversation of the running dev server')
    .addHelpText(
      'after',
      '\nExits with 1 if the skill fails a step.\n\nExamples:\n  stoke why pdf\n  stoke why ./skills/_draft\n  stoke why pdf --session dev\n  stoke why pdf --json',
    )
    .action(act(async () => (await import('../commands/why.ts')).why))
}

function addStatus(program: Command): void {
  withSharedOptions(program.command('status').alias('ps'))
    .description('show which sources are read, how they are watched, and how many skills were found')
    .addHelpText('after', '\nExamples:\n  stoke status\n  stoke status --root ./skills --json')
    .action(act(async () => (await import('../commands/status.ts')).status))
}
