import { CLIENTS, type ClientFacts, SILENT_FIELDS } from './clients.ts'

/** A field of the frontmatter, as an editor describes it. */
export interface FieldFacts {
  readonly means: string
  /** `any`: text, a list or a map. @default 'text' */
  readonly type?: 'text' | 'boolean' | 'map' | 'any'
  /** In characters. */
  readonly maxLength?: number
  readonly pattern?: string
  /** The only values, if the field is text. */
  readonly values?: readonly string[]
  /** @default false */
  readonly isRequired?: boolean
  /** Whether the value is a list of tools. @default false */
  readonly namesTools?: boolean
}

/** The fields that editors complete and describe, in the order in which they are offered. */
export const FIELDS: Readonly<Record<string, FieldFacts>> = {
  name: {
    means: 'The name of the skill and of its folder: lower-case letters, digits and single hyphens.',
    maxLength: 64,
    pattern: '^[\\p{Ll}\\p{Lo}\\p{N}]+(-[\\p{Ll}\\p{Lo}\\p{N}]+)*$',
    isRequired: true,
  },
  description: {
    means: 'What the skill does and when to use it. Models choose a skill by this text.',
    maxLength: 1024,
    isRequired: true,
  },
  license: { means: 'The licence of the skill, or the file with its text.' },
  compatibility: { means: 'What the skill needs, for example a program or a network.', maxLength: 500 },
  metadata: { means: 'Fields of your own, with text values.', type: 'map' },
  'allowed-tools': {
    means: 'Tools that run without a question, with spaces between them: Read Bash(git:*).',
    namesTools: true,
  },
  'disallowed-tools': {
    means: 'Tools that are off while the skill is used.',
    type: 'any',
    namesTools: true,
  },
  'disable-model-invocation': {
    means: 'With true, no model sees the skill; only people start it.',
    type: 'boolean',
  },
  'user-invocable': { means: 'With false, only models start the skill.', type: 'boolean' },
  'argument-hint': { means: 'What the slash command shows behind its name.', type: 'any' },
  arguments: { means: 'Names for the arguments of the slash command.', type: 'any' },
  when_to_use: { means: 'More about when to use the skill, listed behind the description.' },
  model: { means: 'The model that follows the skill.' },
  effort: { means: 'How much the model thinks while it follows the skill.' },
  context: { means: 'With fork, a sub-agent follows the skill.', values: ['fork'] },
  agent: { means: 'The kind of the sub-agent, with "context: fork".' },
  hooks: { means: 'Programs that run at events while the skill is used.', type: 'any' },
  paths: { means: 'Patterns of the files for which the skill is offered.', type: 'any' },
  shell: { means: 'The shell of inline commands.' },
}

/** Returns what each client does with a field, as sentences. */
export function describeClients(field: string): string {
  if (SILENT_FIELDS.includes(field)) return 'Clients accept the field and do nothing with it.'
  const clients = Object.values(CLIENTS)
  const listTitles = (isReading: boolean): string =>
    clients
      .filter(({ reads }) => reads.includes(field) === isReading)
      .map(({ title }) => title)
      .join(', ')
  const [readers, others] = [listTitles(true), listTitles(false)]
  if (readers === '') return 'No client that Skillstoke knows reads the field.'
  if (others !== '') return `Read by: ${readers}. Without effect in: ${others}.`
  return ['All clients read the field.', ...clients.flatMap(client => describeRefusal(field, client))].join(
    ' ',
  )
}

function describeRefusal(field: string, client: ClientFacts): readonly string[] {
  const { title, maxDescription, needsFolderName = false } = client
  if (field === 'description' && maxDescription !== undefined)
    return [
      `${title} does not load a skill whose description has more than ${maxDescription.toLocaleString('en')} characters.`,
    ]
  return field === 'name' && needsFolderName
    ? [`${title} does not load a skill whose name differs from its folder.`]
    : []
}
