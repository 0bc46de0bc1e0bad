import { findNearest, quote } from '@skillstoke/core/internal'
import type { CheckedSkill } from '../checked-skill.ts'
import {
  CLAUDE_TOOLS,
  CLIENTS,
  type ClientFacts,
  MAX_FACT_AGE_DAYS,
  MAX_LISTING,
  SILENT_FIELDS,
} from '../clients.ts'
import { CLIENT_PROFILES } from '../finding-table.ts'
import type { Found, Rule, RuleContext } from './rule.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const RESTRICTIONS: readonly (readonly [field: string, value: boolean])[] = [
  ['disable-model-invocation', true],
  ['user-invocable', false],
]
/** Fields that change what some client does. */
const BEHAVIOURAL = new Set(Object.values(CLIENTS).flatMap(({ reads }) => reads))

/** Reports what each client of the profiles loses. */
export const checkClients: Rule = (skill, context) =>
  CLIENT_PROFILES.filter(client => context.profiles.includes(client)).flatMap(client => [
    ...checkClient(skill, CLIENTS[client], context),
  ])

function* checkClient(skill: CheckedSkill, client: ClientFacts, { today }: RuleContext): Generator<Found> {
  const { title, reads, restricts, readOn } = client
  const { extra, allowedTools } = skill.fields
  const reason = findRefusal(skill, client)
  if (reason !== undefined)
    yield {
      ...at(skill, reason.field),
      code: 'CLIENT_NOT_LOADED',
      message: `${title} does not load the skill: ${reason.message}`,
      fix: reason.fix,
    }
  for (const [field, value] of RESTRICTIONS)
    if (extra[field] === value && !restricts.includes(field))
      yield {
        ...at(skill, field),
        code: 'CLIENT_RESTRICTION_LOST',
        message: `${title} ignores "${field}: ${value}"`,
        fix: `set a permission rule in ${title}, or do not install the skill there`,
      }
  const fields = [...Object.keys(extra), ...(allowedTools.length > 0 ? ['allowed-tools'] : [])]
  for (const field of fields) {
    const isRestriction = RESTRICTIONS.some(([name]) => name === field)
    if (!BEHAVIOURAL.has(field) || reads.includes(field) || isRestriction || SILENT_FIELDS.includes(field))
      continue
    yield {
      ...at(skill, field),
      code: 'CLIENT_FIELD_IGNORED',
      message: `${title} does not read "${field}"`,
      fix: 'say it in the instructions if it matters',
    }
  }
  if (client.replacesArguments !== true) yield* checkSyntax(skill, title)
  const age = (Date.parse(today) - Date.parse(readOn)) / DAY_MS
  if (age > MAX_FACT_AGE_DAYS)
    yield {
      ...at(skill, 'name'),
      code: 'CLIENT_DATA_OLD',
      message: `what is known about ${title} is from ${readOn}`,
      fix: 'update Skillstoke, or check the documentation of the client',
    }
}

/** Codes of skills whose description cannot be read. */
const NO_FIELDS = /^(?:FRONTMATTER_(?:MISSING|UNCLOSED)|DESCRIPTION_MISSING)$/

interface Refusal {
  readonly field: string
  readonly message: string
  readonly fix: string
}

function findRefusal(skill: CheckedSkill, client: ClientFacts): Refusal | undefined {
  const { name, description } = skill.fields
  const { directoryName } = skill.given
  const length = [...description].length
  const hasFields = !skill.diagnostics.some(({ code }) => NO_FIELDS.test(code))
  if (client.needsFields !== false && !hasFields)
    return { field: 'description', message: 'it has no description', fix: 'write the field "description"' }
  if (client.maxDescription !== undefined && length > client.maxDescription)
    return {
      field: 'description',
      message: `the description has ${length} characters, and ${client.maxDescription} are allowed`,
      fix: 'shorten the description',
    }
  if (client.needsFolderName === true && directoryName !== undefined && name !== directoryName)
    return {
      field: 'name',
      message: `the name ${quote(name)} differs from the folder ${quote(directoryName)}`,
      fix: 'give both the same name',
    }
  const isRepaired = skill.diagnostics.some(({ code }) => code === 'YAML_REPAIRED' || code === 'YAML_INVALID')
  if (client.needsYaml === true && isRepaired)
    return {
      field: 'name',
      message: 'its frontmatter is not valid YAML',
      fix: 'repair the value that YAML_REPAIRED names',
    }
  return undefined
}

const CLIENT_SYNTAX = /\$ARGUMENTS\b|\$\{CLAUDE_[A-Z_]+\}|(?<![\w`])!`[^`]+`/

function checkSyntax(skill: CheckedSkill, title: string): readonly Found[] {
  for (const { text, number } of skill.markdown.lines) {
    const match = CLIENT_SYNTAX.exec(text)
    if (match === null) continue
    return [
      {
        code: 'CLIENT_SYNTAX',
        line: number,
        column: match.index + 1,
        message: `${title} passes ${quote(match[0], 40)} to the model as it is written`,
        fix: 'describe in words what belongs there',
      },
    ]
  }
  return []
}

/** Reports what Claude Code shortens, and tools that it does not have. */
export const checkClaudeCode: Rule = (skill, { profiles }) => {
  if (!profiles.includes('claude-code')) return []
  const { description, extra, allowedTools } = skill.fields
  const when = extra['when_to_use']
  const length = description.length + (typeof when === 'string' ? when.length : 0)
  const cut: readonly Found[] =
    length > MAX_LISTING
      ? [
          {
            ...at(skill, 'description'),
            code: 'LISTING_CUT',
            message: `description and "when_to_use" have ${length} characters; Claude Code lists ${MAX_LISTING}`,
            fix: 'shorten the description',
          },
        ]
      : []
  const unknown = allowedTools
    .map(tool => tool.split('(', 1).join())
    .filter(tool => !tool.startsWith('mcp__') && !CLAUDE_TOOLS.includes(tool) && /^\w+$/.test(tool))
  return [
    ...cut,
    ...unknown.map((tool): Found => {
      const near = findNearest(tool, CLAUDE_TOOLS)
      return {
        ...at(skill, 'allowed-tools'),
        code: 'TOOLS_UNKNOWN',
        message: `Claude Code has no tool ${quote(tool)}`,
        fix: near === undefined ? 'check the name of the tool' : `if you mean ${quote(near)}, write it so`,
      }
    }),
  ]
}

/** Reports what only the strict specification, or the upload to Claude.ai, refuses. */
export const checkStrictNames: Rule = (skill, { profiles }) => {
  const { name, description, allowedTools } = skill.fields
  const found: Found[] = []
  const tools = skill.head[skill.lineOf('allowed-tools') - 1] ?? ''
  if (profiles.includes('spec') && allowedTools.length > 1 && /^allowed-tools:[^[]*,/.test(tools))
    found.push({
      ...at(skill, 'allowed-tools'),
      code: 'TOOLS_COMMA',
      message: 'commas separate the tools; the specification separates them with spaces',
      fix: 'check first what each client allows when you write spaces',
    })
  if (!profiles.includes('claude-ai')) return found
  const reserved = /claude|anthropic/i.exec(name)?.[0]
  if (reserved !== undefined)
    found.push({
      ...at(skill, 'name'),
      code: 'NAME_RESERVED',
      message: `the name ${quote(name)} contains ${quote(reserved)}, which the upload refuses`,
      fix: 'choose another name',
    })
  if (/[<>]/.test(description))
    found.push({
      ...at(skill, 'description'),
      code: 'DESCRIPTION_MARKUP',
      message: 'the description has angle brackets, which the upload refuses',
      fix: 'describe it in words',
    })
  return found
}

function at(skill: CheckedSkill, field: string): { readonly line: number; readonly column: number } {
  return { line: skill.lineOf(field), column: 1 }
}
