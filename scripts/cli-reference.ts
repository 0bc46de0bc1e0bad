import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createProgram } from '../packages/cli/src/main.ts'

type Command = ReturnType<typeof createProgram>
type Option = Command['options'][number]

// Writes docs/cli-reference.md from the help texts of `stoke`, so that the page and `--help` cannot differ.

const PAGE = 'docs/cli-reference.md'
const WIDTH = 110

/** Groups that most verbs accept together. The page gives them one name. */
const SKILLS = ['source', 'root', 'state', 'git-base-url', 'link-root']

/** Options that the same verbs have. */
interface SharedOptions {
  readonly name: string
  readonly options: readonly Option[]
}

/** Renders every verb with its own options, and the options that several verbs share. */
export function renderCliReference(): string {
  const program = createProgram()
  const shared = findSharedOptions(listVerbs(program))
  return [
    '# Command line reference',
    '',
    'Every verb with its options, written by `npm run cli-reference`. [Use the command line](cli.md) explains the verbs by task. `stoke <verb> --help` also prints the shared options, notes and examples.',
    '',
    `${program.commands.map(verb => `[${verb.name()}](#stoke-${verb.name()})`).join(', ')}.`,
    '',
    '## Shared options',
    '',
    `Each verb names the groups of this table that it accepts. "skills" stands for ${SKILLS.join(', ')}.`,
    '',
    '| group | option | |',
    '|---|---|---|',
    ...shared.flatMap(({ name, options }) =>
      options.map(
        (option, index) =>
          `| ${index === 0 ? name : ''} | \`${option.flags}\` | ${escapeCell(describeOption(option))} |`,
      ),
    ),
    ...program.commands.flatMap(verb => renderVerb(verb, 'stoke', shared)),
    '',
  ].join('\n')
}

function listVerbs(command: Command): readonly Command[] {
  return command.commands.flatMap(verb => [verb, ...listVerbs(verb)])
}

/** Groups the options that several verbs have by the set of these verbs. The first option of a group gives it its name. */
function findSharedOptions(verbs: readonly Command[]): readonly SharedOptions[] {
  const groups = new Map<string, Option[]>()
  for (const key of new Set(verbs.flatMap(verb => verb.options.map(toKey)))) {
    const having = verbs.filter(verb => verb.options.some(option => toKey(option) === key))
    const option = having[0]?.options.find(each => toKey(each) === key)
    if (option === undefined || having.length === 1) continue
    const verbsOfGroup = having.map(verb => `${verb.parent?.name()} ${verb.name()}`).join()
    groups.set(verbsOfGroup, [...(groups.get(verbsOfGroup) ?? []), option])
  }
  const shared = [...groups.values()].map(options => ({ name: options[0]?.name() ?? '', options }))
  // Two groups of one name could not be told apart. The verbs of the second one show its options.
  return shared.filter(({ name }, index) => shared.findIndex(each => each.name === name) === index)
}

function toKey(option: Option): string {
  return `${option.flags} ${describeOption(option)}`
}

/** Renders a verb and the verbs below it. `parent` is the command line before its name. */
function renderVerb(verb: Command, parent: string, shared: readonly SharedOptions[]): readonly string[] {
  const name = `${parent} ${verb.name()}`
  const keys = new Set(verb.options.map(toKey))
  const groups = shared.filter(({ options }) => options.every(option => keys.has(toKey(option))))
  const isShared = (option: Option): boolean =>
    groups.some(({ options }) => options.some(each => toKey(each) === toKey(option)))
  const text = renderHelp(verb, option => option.long === '--help' || isShared(option))
  return [
    '',
    `${'#'.repeat(name.split(' ').length)} ${name}`,
    '',
    '```text',
    text,
    '```',
    ...(groups.length === 0 ? [] : ['', `Option groups: ${nameGroups(groups.map(group => group.name))}.`]),
    ...verb.commands.flatMap(each => renderVerb(each, name, shared)),
  ]
}

/** Returns usage, description, arguments and the options that are not left out. Notes and examples stay in `--help`. */
function renderHelp(verb: Command, isLeftOut: (option: Option) => boolean): string {
  const help = verb.createHelp()
  const visibleOptions = help.visibleOptions.bind(help)
  help.helpWidth = WIDTH
  help.visibleOptions = command => visibleOptions(command).filter(option => !isLeftOut(option))
  // They have sections of their own.
  help.visibleCommands = () => []
  return help
    .formatHelp(verb, help)
    .replace(/^Usage: (.*)/, (_line, usage: string) => toArguments(usage, verb))
    .replace(/^(?:Arguments|Options):\n/gm, '')
    .trim()
}

/** Returns the usage without "[options]", which every verb has; an empty text if it says no more than the heading. */
function toArguments(usage: string, verb: Command): string {
  const text = usage.replace(' [options]', '')
  return text.endsWith(` ${verb.name()}`) ? '' : text
}

function nameGroups(names: readonly string[]): string {
  const areSkills = SKILLS.every(name => names.includes(name))
  return (areSkills ? ['skills', ...names.filter(name => !SKILLS.includes(name))] : names).join(', ')
}

function describeOption({ description, defaultValue, argChoices }: Option): string {
  const parts = [
    description,
    ...(argChoices === undefined || description.includes(argChoices[0] ?? '')
      ? []
      : [`one of ${argChoices.join(', ')}`]),
    ...(defaultValue === undefined || typeof defaultValue === 'boolean' ? [] : [`default: ${defaultValue}`]),
  ]
  return parts.join('; ')
}

function escapeCell(text: string): string {
  return text
    .replace(/<([^<>\s]+)>/g, '`<$1>`')
    .replaceAll('|', '\\|')
    .replace(/\s+/g, ' ')
}

if (process.argv[1] === resolve(import.meta.dirname, 'cli-reference.ts')) {
  writeFileSync(PAGE, renderCliReference())
  console.log(`wrote ${PAGE}`)
}
