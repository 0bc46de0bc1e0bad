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

const CONFIRM_HIDDEN = 'the characters that show nothing were looked at, and are meant'

/** Copies in the project, and their lock file. */
export function addProjectVerbs(program: Command, finish: Finish): void {
  addAdd(program, finish)
  addUpdate(program, finish)
  addVerify(program, finish)
  addRemove(program, finish)
  addLink(program, finish)
}

function addAdd(program: Command, finish: Finish): void {
  withProjectOptions(withAccessOptions(program.command('add')))
    .description('copy skills of another place into the project, and write down where they came from')
    .argument(
      '<place>',
      `as for --source: ${describeSourceForms()}; or a folder of skills, as in ./folder or ../folder`,
    )
    .argument('[skill...]', 'names (default: the only one there is)')
    .option('--all', 'all that the place has')
    .option('--to <dir>', 'the folder of skills into which they are copied (default: the first root)')
    .option('--force', 'replace what is there; it is kept in .trash')
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
    .description('bring copied skills to what their places hold now; what was changed here is kept')
    .argument('[skill...]', 'names (default: all that were added)')
    .option('--check', 'only tell what is newer')
    .option('--force', 'replace what was changed here; it is kept in .trash')
    .option('--reset', 'take what a branch or tag is now, also when its history was rewritten')
    .option(
      '--local',
      'also from places elsewhere on this machine that the lock file names and nobody has added here',
    )
    .option('--confirm-hidden', CONFIRM_HIDDEN)
    .addHelpText(
      'after',
      '\nExits with 1 when something is left to do.\n\nExamples:\n  stoke update\n  stoke update pdf --check\n  stoke update pdf --force',
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
        }
        finish(await update(names, await resolveConfig(flags), options))
      },
    )
}

function addVerify(program: Command, finish: Finish): void {
  withProjectOptions(program.command('verify'))
    .description('tell whether copied skills are, file by file, what skillstoke.lock.json says')
    .addHelpText(
      'after',
      '\nExits with 1 when one is not.\n\nExamples:\n  stoke verify\n  stoke verify --json',
    )
    .action(async (flags: SharedFlags) => {
      const { verify } = await import('../commands/verify.ts')
      finish(await verify(await resolveConfig(flags), { json: flags.json === true }))
    })
}

function addRemove(program: Command, finish: Finish): void {
  withProjectOptions(program.command('remove').alias('rm'))
    .description('put copied skills aside, into .trash beside them')
    .argument('<skill...>', 'names')
    .option('--force', 'also what was changed here')
    .addHelpText('after', '\nExamples:\n  stoke remove pdf\n  stoke rm pdf docx --force')
    .action(async (names: string[], flags: SharedFlags & { force?: boolean }) => {
      const { remove } = await import('../commands/remove.ts')
      const options = { json: flags.json === true, isForced: flags.force === true }
      finish(await remove(names, await resolveConfig(flags), options))
    })
}

function addLink(program: Command, finish: Finish): void {
  withProjectOptions(program.command('link'))
    .description('make a skill that is being written elsewhere part of a root, by a link')
    .argument('<dir>', 'the folder of the skill')
    .option('--to <dir>', 'the folder of skills that gets the link (default: the first root)')
    .option('--link-root <dir>', 'a folder into which links of the roots may lead; repeatable', collect)
    .addHelpText(
      'after',
      '\nExits with 1 when it is not served by that.\n\nExamples:\n  stoke link ../pdf-skill\n  stoke link ../pdf-skill --to .agents/skills',
    )
    .action(async (dir: string, flags: SharedFlags & { to?: string }) => {
      const { link } = await import('../commands/link.ts')
      const to = flags.to === undefined ? {} : { to: flags.to }
      finish(await link(dir, await resolveConfig(flags), { json: flags.json === true, ...to }))
    })
}

function withProjectOptions(command: Command): Command {
  return withRootOptions(command).option('--json', 'print JSON')
}
