import { type Command, Option } from 'commander'
import { CATALOG_FORMAT_NAMES, DEFAULT_CATALOG, EXPLANATION_STEPS } from '../config/known-values.ts'
import { act } from './act.ts'
import { parseCount, withScopeOptions, withSharedOptions } from './verb-options.ts'

/** Adds the verbs that read the skills and change nothing, for example `list`. */
export function addLookVerbs(program: Command): void {
  addList(program)
  addShow(program)
  addValidate(program)
  addRender(program)
  addWhy(program)
  addStatus(program)
}

function addList(program: Command): void {
  withSharedOptions(program.command('list').alias('ls'))
    .description('list every skill that was found, including broken and shadowed skills')
    .addHelpText('after', '\nExamples:\n  stoke list\n  stoke list --root ./skills --json')
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
    .action(act(async () => (await import('../commands/show.ts')).show))
}

function addValidate(program: Command): void {
  program
    .command('validate')
    .option('--json', 'print JSON')
    .description(
      'check skills against the agentskills.io specification, and scan their scripts without running them',
    )
    .argument(
      '<path...>',
      'skill folders, SKILL.md files, folders that contain skills, or - for standard input',
    )
    .addHelpText(
      'after',
      '\nExits with 1 if any skill is invalid.\n\nExamples:\n  stoke validate skills/pdf\n  stoke validate skills --json\n  stoke validate - < SKILL.md',
    )
    .action(act(async () => (await import('../commands/validate.ts')).validate))
}

function addRender(program: Command): void {
  withScopeOptions(withSharedOptions(program.command('render').alias('to-prompt')))
    .description('print the catalog that a new conversation would get')
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
    .addHelpText(
      'after',
      '\nExamples:\n  stoke render\n  stoke render --format markdown\n  stoke render --include "support-*" --max-tokens 1000 --json',
    )
    .action(act(async () => (await import('../commands/render.ts')).render))
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
