import type { DecisionVerb } from '@skillstoke/core/internal'
import type { Command } from 'commander'
import type { DecideFlags } from '../commands/decide.ts'
import { DECISION_VERBS, DEFAULT_HISTORY_LENGTH } from '../config/known-values.ts'
import { act } from './act.ts'
import { parseCount, withSharedOptions } from './verb-options.ts'

/** Adds the verbs for approvals, pins, the history and rollback. */
export function addTrustVerbs(program: Command): void {
  addPending(program)
  addApprove(program)
  for (const verb of DECISION_VERBS) if (verb !== 'approve') addDecision(program, verb)
  addLog(program)
  addDiff(program)
  addRollback(program)
  addUndo(program)
  addGc(program)
}

function addPending(program: Command): void {
  withSharedOptions(program.command('pending'))
    .description('list the changes that wait for approval, with their new capabilities')
    .addHelpText(
      'after',
      '\nExits with 1 if a change waits for approval or a source cannot be read.\n\nExamples:\n  stoke pending\n  stoke pending --json',
    )
    .action(act(async () => (await import('../commands/decide.ts')).pending))
}

const DECISIONS: Readonly<
  Record<Exclude<DecisionVerb, 'approve'>, { readonly words: string; readonly examples: readonly string[] }>
> = {
  reject: {
    words: 'refuse the newest revision, even if it is served now',
    examples: ['stoke reject pdf', 'stoke reject team/pdf --note "asks for secrets"'],
  },
  withdraw: {
    words: 'take back the approval or the rejection of the newest revision, so that it waits again',
    examples: ['stoke withdraw pdf'],
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

const CONFIRM_HIDDEN =
  'confirm that you checked the invisible characters and bytes ("stoke diff" shows them as <U+200B> and <0xFF>) and that they are intended'

const NAMED =
  'name or source/name; to name the revision that you have read, add @ and the whole digest that "stoke pending" prints'

function addApprove(program: Command): void {
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
    .action(act(async () => (await import('../commands/approve.ts')).approve))
}

function addDecision(program: Command, verb: Exclude<DecisionVerb, 'approve'>): void {
  const { words, examples } = DECISIONS[verb]
  const command = withSharedOptions(program.command(verb))
  if (verb === 'pin') command.option('--confirm-hidden', CONFIRM_HIDDEN)
  command
    .description(words)
    .argument('[skill...]', verb === 'reject' || verb === 'pin' ? NAMED : 'name or source/name')
    .option('--note <text>', 'reason to record in the history')
    .addHelpText('after', `\nExamples:\n${examples.map(example => `  ${example}`).join('\n')}`)
    .action(
      act(async () => {
        const { decide } = await import('../commands/decide.ts')
        return (config, flags: DecideFlags, targets: string[]) => decide(verb, config, flags, targets)
      }),
    )
}

const ANY_REVISION =
  'digest or its first digits, or -1 for the revision before, yesterday, or a date such as 2026-11-24 (UTC)'

function addLog(program: Command): void {
  withSharedOptions(program.command('log').alias('history'))
    .description('list the revisions of a skill, with time, author and reason')
    .argument('<name>', 'name or source/name')
    .option('--limit <count>', `maximum number of revisions, newest first (default: 20)`, parseCount)
    .option('-p, --patch', 'also print the difference of each revision to the one before it')
    .addHelpText(
      'after',
      '\nThe first column names a revision for "show", "diff" and "rollback". In a git work tree, author and note come from\nthe commit that wrote the files.\n\nExamples:\n  stoke log pdf\n  stoke log pdf -p --limit 3\n  stoke log team/pdf --limit 5 --json',
    )
    .action(act(async () => (await import('../commands/history.ts')).log))
}

function addDiff(program: Command): void {
  withSharedOptions(program.command('diff'))
    .description('compare two revisions of a skill: fields, instructions, files')
    .argument('<name>', 'name or source/name')
    .argument(
      '[from]',
      `${ANY_REVISION} (default: the served revision; if that is the newest, the revision before it)`,
    )
    .argument('[to]', 'the same forms (default: the newest)')
    .addHelpText(
      'after',
      '\nExamples:\n  stoke diff pdf\n  stoke diff pdf -2\n  stoke diff pdf yesterday\n  stoke diff pdf a1b2c3d4 e5f60718 --json',
    )
    .action(act(async () => (await import('../commands/history.ts')).diff))
}

function addRollback(program: Command): void {
  withSharedOptions(program.command('rollback'))
    .description(
      'restore an earlier revision of a skill as a new change, or as a pin if its source is read-only',
    )
    .argument('<name>', 'name or source/name')
    .argument(
      '[revision]',
      'whole digest; or -1, yesterday or a date such as 2026-11-24 (UTC), which asks first (default: the previously served revision)',
    )
    .option(
      '--dry-run',
      'only print the whole digest and what would change; the first digits of a digest are enough',
    )
    .option('--yes', 'do not ask before a revision is restored that -1, yesterday or a date chose')
    .option('--confirm-hidden', CONFIRM_HIDDEN)
    .addHelpText(
      'after',
      '\nExamples:\n  stoke rollback pdf\n  stoke rollback pdf -2\n  stoke rollback pdf 2026-11-24 --yes\n  stoke rollback pdf sha256:...\n  stoke rollback pdf a1b2c3d4 --dry-run',
    )
    .action(act(async () => (await import('../commands/rollback.ts')).rollback))
}

function addUndo(program: Command): void {
  withSharedOptions(program.command('undo'))
    .description(
      'show the last change of a skill, ask, and restore the revision before it; a second undo takes it back',
    )
    .argument('<name>', 'name or source/name')
    .option('--dry-run', 'only print what would change')
    .option('--yes', 'do not ask')
    .option('--confirm-hidden', CONFIRM_HIDDEN)
    .addHelpText('after', '\nExamples:\n  stoke undo pdf\n  stoke undo pdf --yes')
    .action(act(async () => (await import('../commands/rollback.ts')).undo))
}

function addGc(program: Command): void {
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
    .action(act(async () => (await import('../commands/gc.ts')).gc))
}
