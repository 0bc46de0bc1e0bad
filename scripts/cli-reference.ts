import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createProgram } from '../packages/cli/src/main.ts'

type Command = ReturnType<typeof createProgram>
type Option = Command['options'][number]

// Writes docs/cli-reference.md from the help texts of `stoke`, so that the page and `--help` cannot differ.

const PAGE = 'docs/cli-reference.md'

/** Renders every verb with its arguments, options and examples. */
export function renderCliReference(): string {
  const program = createProgram(() => undefined)
  return [
    '# Command line reference',
    '',
    'Every verb with its options. `npm run cli-reference` writes this page from the program. [Use the command line](cli.md) explains the verbs by task.',
    '',
    '| verb | does |',
    '|---|---|',
    ...program.commands.map(
      verb => `| [\`stoke ${verb.name()}\`](#stoke-${verb.name()}) | ${toSentence(verb)} |`,
    ),
    ...program.commands.flatMap(verb => renderVerb(verb, 'stoke')),
    '',
  ].join('\n')
}

/** Renders a verb and the verbs below it. `parent` is the command line before its name. */
function renderVerb(verb: Command, parent: string): readonly string[] {
  const name = `${parent} ${verb.name()}`
  const level = '#'.repeat(name.split(' ').length)
  const help = verb.createHelp()
  const aliases = verb.aliases().map(alias => `\`${parent} ${alias}\``)
  const args = verb.registeredArguments.map(argument => [`\`${argument.name()}\``, argument.description])
  const options = help
    .visibleOptions(verb)
    .filter(option => option.long !== '--help')
    .map(option => [`\`${option.flags}\``, describeOption(option)])
  return [
    '',
    `${level} ${name}`,
    '',
    `${toSentence(verb)}${aliases.length === 0 ? '' : ` Also: ${aliases.join(', ')}.`}`,
    '',
    '```text',
    `${name} ${verb.usage()}`.trim(),
    '```',
    ...renderTable('argument', args),
    ...renderTable('option', options),
    ...renderNotes(verb),
    ...verb.commands.flatMap(each => renderVerb(each, name)),
  ]
}

function renderTable(title: string, rows: readonly (readonly string[])[]): readonly string[] {
  if (rows.length === 0) return []
  return ['', `| ${title} | |`, '|---|---|', ...rows.map(row => `| ${row.map(escapeCell).join(' | ')} |`)]
}

/** Renders the notes and examples, which follow the list of options in a help text. */
function renderNotes(verb: Command): readonly string[] {
  let text = ''
  verb.configureOutput({ writeOut: part => (text += part) })
  verb.outputHelp()
  const [, notes = ''] = text.split(/^ {2}-h, --help.*$/m)
  return notes.trim() === '' ? [] : ['', '```text', notes.trim(), '```']
}

function toSentence(verb: Command): string {
  const text = verb.description()
  return escapeCell(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`)
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
  const [code, ...rest] = text.startsWith('`') ? [text] : [text.replace(/<([\w-]+)>/g, '`<$1>`')]
  return [code ?? '', ...rest].join('').replaceAll('|', '\\|').replace(/\s+/g, ' ')
}

if (process.argv[1] === resolve(import.meta.dirname, 'cli-reference.ts')) {
  writeFileSync(PAGE, renderCliReference())
  console.log(`wrote ${PAGE}`)
}
