import { type Command, Option } from 'commander'
import { AGENT_FOLDERS } from '../config/agent-folders.ts'
import { SKILL_TEMPLATES } from '../config/known-values.ts'
import { act } from './act.ts'
import { parseCount, withRootOptions, withSharedOptions } from './verb-options.ts'

/** Adds the verbs for the first minute: create a skill, and find out why something does not work. */
export function addBeginVerbs(program: Command): void {
  addNew(program)
  addDoctor(program)
  addUsage(program)
}

function addUsage(program: Command): void {
  program
    .command('usage')
    .description('show how often each skill was loaded, by whom, and what was searched without a match')
    .option('--days <count>', 'number of days, with today (default: 30, at most 90)', parseCount)
    .option('--state <dir>', 'state directory (default: $XDG_STATE_HOME/skillstoke)')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nCounts dev, mcp, serve and chat.\n\nExamples:\n  stoke usage\n  stoke usage --days 7 --json',
    )
    .action(act(async () => (await import('../commands/usage.ts')).usage))
}

function addDoctor(program: Command): void {
  withSharedOptions(program.command('doctor'))
    .description('examine this setup: sources, hidden and broken skills, copies that differ, clients, limits')
    .addHelpText(
      'after',
      '\nExits with 1 after an error or a warning.\n\nExamples:\n  stoke doctor\n  stoke doctor --root ./skills --json',
    )
    .action(act(async () => (await import('../commands/doctor.ts')).doctor))
}

function addNew(program: Command): void {
  withRootOptions(program.command('new').aliases(['init', 'create']))
    .description('create a skill in the first root: SKILL.md and a file for its tests')
    .argument('<name>', 'lower-case letters, digits and hyphens')
    .option('--what <text>', 'what the skill does')
    .option('--when <text>', 'when an agent should use it')
    .addOption(
      new Option('--template <name>', 'kind of instructions (default: procedure)').choices(SKILL_TEMPLATES),
    )
    .addOption(
      new Option(
        '--agent <name>',
        'create it in the folder of this agent, for example .claude/skills for claude-code',
      ).choices(Object.keys(AGENT_FOLDERS)),
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nIn a terminal, the command asks for what is missing, and whether to open $VISUAL or $EDITOR. It never replaces an existing folder.\n\nExamples:\n  stoke new vat-report\n  stoke new vat-report --what "Writes VAT reports" --when "somebody asks for the VAT of a month"\n  stoke new house-style --template style --agent claude-code',
    )
    .action(act(async () => (await import('../commands/new.ts')).createSkill))
}
