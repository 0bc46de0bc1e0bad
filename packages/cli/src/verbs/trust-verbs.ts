import type { Command } from 'commander'
import { DECISION_VERBS, type DecisionVerb } from '../client/decision-verbs.ts'
import { DEFAULT_HISTORY_LENGTH } from '../known-values.ts'
import {
  type Finish,
  parseCount,
  resolveConfig,
  type SharedFlags,
  withSharedOptions,
} from './verb-options.ts'

/** Adds the verbs for approvals, pins, the history and rollback. */
export function addTrustVerbs(program: Command, finish: Finish): void {
  addPending(program, finish)
  addApprove(program, finish)
  for (const verb of DECISION_VERBS) if (verb !== 'approve') addDecision(program, verb, finish)
  addLog(program, finish)
  addDiff(program, finish)
  addRollback(program, finish)
  addGc(program, finish)
}

function addPending(program: Command, finish: Finish): void {
  withSharedOptions(program.command('pending'))
    .description('list the changes that wait for approval, with their new capabilities')
    .addHelpText(
      'after',
      '\nExits with 1 if a change waits for approval or a source cannot be read.\n\nExamples:\n  stoke pending\n  stoke pending --json',
    )
    .action(async (flags: SharedFlags) => {
      const { pending } = await import('../commands/decide.ts')
      finish(await pending(await resolveConfig(flags), { json: flags.json === true }))
    })
}

const DECISIONS: Readonly<
  Record<Exclude<DecisionVerb, 'approve'>, { readonly words: string; readonly examples: readonly string[] }>
> = {
  reject: {
    words: 'refuse the newest revision, even if it is served now',
    examples: ['stoke reject pdf', 'stoke reject team/pdf --note "asks for secrets"'],
  },
  pin: {
    words: 'serve one fixed revision: the revision that is served now, or the revision that you name',
    examples: ['stoke pin pdf', 'stoke pin pdf@sha256:...'],
  },
  unpin: {
    words: 'remove the pin of a skill, so that the skill follows its source again',
    examples: ['stoke unpin pdf'],
  },
  enable: { words: 'serve a disabled skill again', examples: ['stoke enable pdf'] },
  disable: { words: 'stop serving a skill', examples: ['stoke disable pdf', 'stoke disable team/pdf'] },
}

interface HiddenFlags {
  readonly confirmHidden?: boolean
}

const CONFIRM_HIDDEN =
  'confirm that you checked the invisible characters and bytes ("stoke diff" shows them as <U+200B> and <0xFF>) and that they are intended'

const NAMED =
  'name or source/name; to name the revision that you have read, add @ and the whole digest that "stoke pending" prints'

function addApprove(program: Command, finish: Finish): void {
  withSharedOptions(program.command('approve'))
    .description('approve a revision of a skill, for every process that uses the state directory')
    .argument('[skill...]', NAMED)
    .option('--note <text>', 'reason to record in the history')
    .option('--all', 'approve every revision that waits now')
    .option('--yes', 'do not ask; approve the waiting revision unread')
    .option('--confirm-hidden', CONFIRM_HIDDEN)
    .addHelpText(
      'after',
      `
If no revision is named, the command shows the change on the terminal and asks. If there is no terminal, the command
fails and prints the command to run.

Examples:
  stoke approve pdf
  stoke approve team/pdf@sha256:... --note "read it"
  stoke approve --all`,
    )
    .action(
      async (
        targets: string[],
        flags: SharedFlags & HiddenFlags & { note?: string; all?: boolean; yes?: boolean },
      ) => {
        const { approve } = await import('../commands/approve.ts')
        const { json, note, all, yes } = flags
        finish(
          await approve(targets, await resolveConfig(flags), {
            json: json === true,
            confirmsHidden: flags.confirmHidden === true,
            isAll: all === true,
            isUnseen: yes === true,
            ...(note === undefined ? {} : { note }),
          }),
        )
      },
    )
}

function addDecision(program: Command, verb: Exclude<DecisionVerb, 'approve'>, finish: Finish): void {
  const { words, examples } = DECISIONS[verb]
  const command = withSharedOptions(program.command(verb))
  if (verb === 'pin') command.option('--confirm-hidden', CONFIRM_HIDDEN)
  command
    .description(words)
    .argument('[skill...]', verb === 'reject' || verb === 'pin' ? NAMED : 'name or source/name')
    .option('--note <text>', 'reason to record in the history')
    .addHelpText('after', `\nExamples:\n${examples.map(example => `  ${example}`).join('\n')}`)
    .action(async (targets: string[], flags: SharedFlags & HiddenFlags & { note?: string }) => {
      const { decide } = await import('../commands/decide.ts')
      const { json, note } = flags
      finish(
        await decide(verb, targets, await resolveConfig(flags), {
          json: json === true,
          confirmsHidden: flags.confirmHidden === true,
          ...(note === undefined ? {} : { note }),
        }),
      )
    })
}

/** Number of revisions that `log` lists if `--limit` is not given. */
const DEFAULT_LOG_LENGTH = 20

function addLog(program: Command, finish: Finish): void {
  withSharedOptions(program.command('log').alias('history'))
    .description('list the revisions of a skill, with time, author and reason')
    .argument('<name>', 'name or source/name')
    .option(
      '--limit <count>',
      `maximum number of revisions, newest first (default: ${DEFAULT_LOG_LENGTH})`,
      parseCount,
    )
    .addHelpText('after', '\nExamples:\n  stoke log pdf\n  stoke log team/pdf --limit 5 --json')
    .action(async (name: string, flags: SharedFlags & { limit?: number }) => {
      const { log } = await import('../commands/history.ts')
      const options = { json: flags.json === true, limit: flags.limit ?? DEFAULT_LOG_LENGTH }
      finish(await log(name, await resolveConfig(flags), options))
    })
}

function addDiff(program: Command, finish: Finish): void {
  withSharedOptions(program.command('diff'))
    .description('compare two revisions of a skill: fields, instructions, files')
    .argument('<name>', 'name or source/name')
    .argument(
      '[from]',
      'first digits of a revision (default: the served revision; if that is the newest, the revision before it)',
    )
    .argument('[to]', 'first digits of a revision (default: the newest)')
    .addHelpText(
      'after',
      '\nExamples:\n  stoke diff pdf\n  stoke diff pdf a1b2c3d4\n  stoke diff pdf a1b2c3d4 e5f60718 --json',
    )
    .action(async (name: string, from: string | undefined, to: string | undefined, flags: SharedFlags) => {
      const { diff } = await import('../commands/history.ts')
      const revisions = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
      finish(await diff(name, revisions, await resolveConfig(flags), { json: flags.json === true }))
    })
}

function addRollback(program: Command, finish: Finish): void {
  withSharedOptions(program.command('rollback'))
    .description(
      'restore an earlier revision of a skill as a new change, or as a pin if its source is read-only',
    )
    .argument('<name>', 'name or source/name')
    .argument(
      '[revision]',
      'whole digest of the revision; --dry-run prints this digest (default: the previously served revision)',
    )
    .option(
      '--dry-run',
      'only print the whole digest and what would change; the first digits of a digest are enough',
    )
    .option('--confirm-hidden', CONFIRM_HIDDEN)
    .addHelpText(
      'after',
      '\nExamples:\n  stoke rollback pdf\n  stoke rollback pdf sha256:...\n  stoke rollback pdf a1b2c3d4 --dry-run',
    )
    .action(
      async (
        name: string,
        revision: string | undefined,
        flags: SharedFlags & HiddenFlags & { dryRun?: boolean },
      ) => {
        const { rollback } = await import('../commands/history.ts')
        const options = {
          json: flags.json === true,
          isDryRun: flags.dryRun === true,
          confirmsHidden: flags.confirmHidden === true,
        }
        finish(await rollback(name, revision, await resolveConfig(flags), options))
      },
    )
}

function addGc(program: Command, finish: Finish): void {
  program
    .command('gc')
    .description('remove unused files from the state directory')
    .option(
      '--keep <count>',
      `for each skill, keep the files of this many newest history steps (default: ${DEFAULT_HISTORY_LENGTH})`,
      parseCount,
    )
    .option('--dry-run', 'only print what would be removed')
    .option('--state <dir>', 'state directory (default: $XDG_STATE_HOME/skillstoke)')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  stoke gc --dry-run\n  stoke gc --keep 20')
    .action(async (flags: SharedFlags & { keep?: number; dryRun?: boolean }) => {
      const { gc } = await import('../commands/gc.ts')
      finish(
        await gc(await resolveConfig(flags), {
          json: flags.json === true,
          isDryRun: flags.dryRun === true,
          ...(flags.keep === undefined ? {} : { keep: flags.keep }),
        }),
      )
    })
}
