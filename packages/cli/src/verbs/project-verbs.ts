import type { Command } from 'commander'
import { describeSourceForms } from '../config/source-kinds.ts'
import { act, actAlone } from './act.ts'
import { collect, withAccessOptions, withRootOptions } from './verb-options.ts'

const CONFIRM_HIDDEN =
  'confirm that you checked the invisible characters and bytes and that they are intended'

/** Adds the verbs for copied and linked skills, and for the code of a project. */
export function addProjectVerbs(program: Command): void {
  addAdd(program)
  addUpdate(program)
  addVerify(program)
  addRemove(program)
  addLink(program)
  addAttach(program)
}

function addAdd(program: Command): void {
  withProjectOptions(withAccessOptions(program.command('add')))
    .description('copy skills from a source into the project, and record their origin in the lock file')
    .argument(
      '<place>',
      `where the skills are: ${describeSourceForms()}, or a folder such as ./folder or ../folder`,
    )
    .argument('[skill...]', 'skill names (default: the only skill, if the source has one skill)')
    .option('--all', 'copy all skills of the source')
    .option('--to <dir>', 'folder to copy the skills into (default: the first root)')
    .option('--force', 'replace existing folders; the old ones are kept in .trash')
    .option('--confirm-hidden', CONFIRM_HIDDEN)
    .addHelpText(
      'after',
      '\nExamples:\n  stoke add acme/skills pdf docx\n  stoke add https://github.com/acme/skills/tree/v2/skills --all --to .agents/skills\n  stoke add ../other-project/skills pdf\n  stoke add team.zip --json',
    )
    .action(act(async () => (await import('../commands/add.ts')).add))
}

function addUpdate(program: Command): void {
  withProjectOptions(withAccessOptions(program.command('update')))
    .description('update copied skills from their sources; local changes are kept')
    .argument('[skill...]', 'skill names (default: all copied skills)')
    .option('--check', 'only report available updates')
    .option('--force', 'replace local changes; the old folder is kept in .trash')
    .option('--reset', 'accept the present state of a branch or tag, even if its history was rewritten')
    .option(
      '--local',
      'also read local sources that the lock file names, even if "stoke add" never copied from them in this folder',
    )
    .option('--confirm-hidden', CONFIRM_HIDDEN)
    .option('--yes', 'follow skills that moved to another folder of their source, without asking')
    .addHelpText(
      'after',
      '\nExits with 1 if a skill is not up to date.\n\nExamples:\n  stoke update\n  stoke update pdf --check\n  stoke update pdf --force',
    )
    .action(act(async () => (await import('../commands/update.ts')).update))
}

function addVerify(program: Command): void {
  withProjectOptions(program.command('verify'))
    .description('compare copied skills with skillstoke.lock.json, file by file')
    .addHelpText(
      'after',
      '\nExits with 1 if a copy differs or is missing.\n\nExamples:\n  stoke verify\n  stoke verify --json',
    )
    .action(act(async () => (await import('../commands/verify.ts')).verify))
}

function addRemove(program: Command): void {
  withProjectOptions(program.command('remove').alias('rm'))
    .description('remove copied skills; their folders are moved to .trash')
    .argument('<skill...>', 'skill names')
    .option('--force', 'also remove skills with local changes')
    .addHelpText('after', '\nExamples:\n  stoke remove pdf\n  stoke rm pdf docx --force')
    .action(act(async () => (await import('../commands/remove.ts')).remove))
}

function addLink(program: Command): void {
  withProjectOptions(program.command('link'))
    .description('create a link in a root to a skill folder elsewhere')
    .argument('<dir>', 'skill folder to link')
    .option('--to <dir>', 'root that gets the link (default: the first root)')
    .option(
      '--link-root <dir>',
      'additional folder that links in the roots may point into; repeatable',
      collect,
    )
    .addHelpText(
      'after',
      '\nExits with 1 if the linked skill is not served.\n\nExamples:\n  stoke link ../pdf-skill\n  stoke link ../pdf-skill --to .agents/skills',
    )
    .action(act(async () => (await import('../commands/link.ts')).link))
}

function addAttach(program: Command): void {
  program
    .command('attach')
    .description('print the program that attaches live skills to the agent SDK of a project')
    .argument('[sdk]', 'name or npm package of an SDK (default: the SDKs in the nearest package.json)')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExits with 1 if the project uses no SDK that has an adapter. Writes no files.\n\nExamples:\n  stoke attach\n  stoke attach ai-sdk\n  stoke attach @openai/agents > agent.ts',
    )
    .action(actAlone(async () => (await import('../commands/attach.ts')).attach))
}

function withProjectOptions(command: Command): Command {
  return withRootOptions(command).option('--json', 'print JSON')
}
