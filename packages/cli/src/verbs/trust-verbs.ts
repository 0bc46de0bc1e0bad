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

/** What may be served, what was, and the way back. */
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
    .description('tell which changes wait for approval, and what is new about them')
    .addHelpText(
      'after',
      '\nExits with 1 when something waits.\n\nExamples:\n  stoke pending\n  stoke pending --json',
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
    words: 'keep the newest revision from being served, also when it is served now',
    examples: ['stoke reject pdf', 'stoke reject team/pdf --note "asks for secrets"'],
  },
  pin: {
    words: 'serve one revision whatever is written: the present one, or the one named',
    examples: ['stoke pin pdf', 'stoke pin pdf@sha256:...'],
  },
  unpin: { words: 'follow the source of a skill again', examples: ['stoke unpin pdf'] },
  enable: { words: 'serve a skill again that was disabled', examples: ['stoke enable pdf'] },
  disable: { words: 'serve nothing of a skill', examples: ['stoke disable pdf', 'stoke disable team/pdf'] },
}

interface HiddenFlags {
  readonly confirmHidden?: boolean
}

const CONFIRM_HIDDEN =
  'the characters that show nothing were looked at, as <U+200B> in "stoke diff", and are meant'

const NAMED =
  'name, or source/name; with @ and the whole digest of the revision that you have read, as "stoke pending" prints it'

function addApprove(program: Command, finish: Finish): void {
  withSharedOptions(program.command('approve'))
    .description('let a revision of a skill go live, for every process of the state directory')
    .argument('[skill...]', NAMED)
    .option('--note <text>', 'why, for the history')
    .option('--all', 'everything that waits now')
    .option('--yes', 'do not ask: approve the revision that waits at this moment, unread')
    .option('--confirm-hidden', CONFIRM_HIDDEN)
    .addHelpText(
      'after',
      `
Without a revision, a terminal shows what would go live and asks; anywhere else the command refuses and prints the one to run.

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
    .argument('[skill...]', verb === 'reject' || verb === 'pin' ? NAMED : 'name, or source/name')
    .option('--note <text>', 'why, for the history')
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

/** How many revisions `log` lists without `--limit`. */
const DEFAULT_LOG_LENGTH = 20

function addLog(program: Command, finish: Finish): void {
  withSharedOptions(program.command('log').alias('history'))
    .description('list the revisions of a skill: when, by whom, why')
    .argument('<name>', 'name of the skill, or source/name')
    .option('--limit <count>', `how many of the newest (default: ${DEFAULT_LOG_LENGTH})`, parseCount)
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
    .argument('<name>', 'name of the skill, or source/name')
    .argument(
      '[from]',
      'first digits of a revision (default: what is served instead of the newest, or was before it)',
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
      'bring an earlier revision of a skill back: as a new change, or as a pin where nothing may be written',
    )
    .argument('<name>', 'name of the skill, or source/name')
    .argument('[revision]', 'its whole digest (default: the one that was served before)')
    .option('--dry-run', 'only tell what would change, and the whole digest; the first digits are enough')
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
    .description('free the disk of what the state directory keeps and nothing needs')
    .option(
      '--keep <count>',
      `steps in the history of each skill whose files are kept (default: ${DEFAULT_HISTORY_LENGTH})`,
      parseCount,
    )
    .option('--dry-run', 'only tell what would go')
    .option('--state <dir>', 'where state is kept (default: $XDG_STATE_HOME/skillstoke)')
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
