import type { Command } from 'commander'
import { describeSourceForms } from '../config/source-kinds.ts'
import {
  collect,
  type Finish,
  resolveConfig,
  type SharedFlags,
  withAccessOptions,
  withRootOptions,
} from './verb-options.ts'

const CONFIRM_HIDDEN =
  'confirm that you checked the invisible characters and bytes and that they are intended'

/** Adds the verbs for copied and linked skills, and for the code of a project. */
export function addProjectVerbs(program: Command, finish: Finish): void {
  addAdd(program, finish)
  addUpdate(program, finish)
  addVerify(program, finish)
  addRemove(program, finish)
  addLink(program, finish)
  addAttach(program, finish)
}

function addAdd(program: Command, finish: Finish): void {
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
    .action(
      async (
        place: string,
        names: string[],
        flags: SharedFlags & { all?: boolean; to?: string; force?: boolean; confirmHidden?: boolean },
      ) => {
        const { add } = await import('../commands/add.ts')
        const to = flags.to === undefined ? {} : { to: flags.to }
        const options = {
          json: flags.json === true,
          isAll: flags.all === true,
          isForced: flags.force === true,
          confirmsHidden: flags.confirmHidden === true,
          ...to,
        }
        finish(await add(place, names, await resolveConfig(flags), options))
      },
    )
}

function addUpdate(program: Command, finish: Finish): void {
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
    .action(
      async (
        names: string[],
        flags: SharedFlags & {
          check?: boolean
          reset?: boolean
          force?: boolean
          local?: boolean
          confirmHidden?: boolean
          yes?: boolean
        },
      ) => {
        const { update } = await import('../commands/update.ts')
        const options = {
          json: flags.json === true,
          isCheck: flags.check === true,
          isReset: flags.reset === true,
          isForced: flags.force === true,
          isLocal: flags.local === true,
          confirmsHidden: flags.confirmHidden === true,
          followsMoves: flags.yes === true,
        }
        finish(await update(names, await resolveConfig(flags), options))
      },
    )
}

function addVerify(program: Command, finish: Finish): void {
  withProjectOptions(program.command('verify'))
    .description('compare copied skills with skillstoke.lock.json, file by file')
    .addHelpText(
      'after',
      '\nExits with 1 if a copy differs or is missing.\n\nExamples:\n  stoke verify\n  stoke verify --json',
    )
    .action(async (flags: SharedFlags) => {
      const { verify } = await import('../commands/verify.ts')
      finish(await verify(await resolveConfig(flags), { json: flags.json === true }))
    })
}

function addRemove(program: Command, finish: Finish): void {
  withProjectOptions(program.command('remove').alias('rm'))
    .description('remove copied skills; their folders are moved to .trash')
    .argument('<skill...>', 'skill names')
    .option('--force', 'also remove skills with local changes')
    .addHelpText('after', '\nExamples:\n  stoke remove pdf\n  stoke rm pdf docx --force')
    .action(async (names: string[], flags: SharedFlags & { force?: boolean }) => {
      const { remove } = await import('../commands/remove.ts')
      const options = { json: flags.json === true, isForced: flags.force === true }
      finish(await remove(names, await resolveConfig(flags), options))
    })
}

function addLink(program: Command, finish: Finish): void {
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
    .action(async (dir: string, flags: SharedFlags & { to?: string }) => {
      const { link } = await import('../commands/link.ts')
      const to = flags.to === undefined ? {} : { to: flags.to }
      finish(await link(dir, await resolveConfig(flags), { json: flags.json === true, ...to }))
    })
}

function addAttach(program: Command, finish: Finish): void {
  program
    .command('attach')
    .description('print the program that attaches live skills to the agent SDK of a project')
    .argument('[sdk]', 'name or npm package of an SDK (default: the SDKs in the nearest package.json)')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExits with 1 if the project uses no SDK that has an adapter. Writes no files.\n\nExamples:\n  stoke attach\n  stoke attach ai-sdk\n  stoke attach @openai/agents > agent.ts',
    )
    .action(async (sdk: string | undefined, flags: { json?: boolean }) => {
      const { attach } = await import('../commands/attach.ts')
      finish(attach(sdk, { json: flags.json === true, folder: process.cwd() }))
    })
}

function withProjectOptions(command: Command): Command {
  return withRootOptions(command).option('--json', 'print JSON')
}
