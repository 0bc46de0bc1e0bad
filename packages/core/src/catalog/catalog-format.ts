import type { Skill } from '../skill/skill.ts'
import { escapeText } from './escape.ts'

/**
 * Renders a catalog. Receives the listed skills, sorted by name, the number of omitted skills, and the omitted skills. A
 * format must return the same text for the same input. The list of skills is empty if no skill fits the budget.
 *
 * @example
 * ```ts
 * import { type CatalogFormat, createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * const oneLine: CatalogFormat = listed => `Skills: ${listed.map(skill => skill.name).join()}`
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')], catalog: { format: oneLine } })
 * console.log(skills.session({ id: 'chat-1' }).catalog) // prints Skills: support-pdf
 * ```
 */
export type CatalogFormat = (skills: readonly Skill[], omitted: number, rest: readonly Skill[]) => string

const HINT = 'Call the skill tool with a few words to search the rest.'

/**
 * The named formats. To add a format, add an entry to this table. The option checks, the command-line help, the
 * configuration schema and the TypeScript type of a format name are derived from this table.
 */
export const CATALOG_FORMATS = {
  /** The block of agentskills.io for agents that load skills with a tool: without locations. */
  'agentskills-tool-xml': (skills: readonly Skill[], omitted: number): string =>
    renderStandardBlock(skills.map(renderToolEntry), omitted),
  /** The block of agentskills.io for agents that read the files themselves: with the location of each SKILL.md. */
  'agentskills-xml': (skills: readonly Skill[], omitted: number): string =>
    renderStandardBlock(skills.map(renderStandardEntry), omitted),
  /** The block that the pai SDK writes. This format includes usage instructions for the model. */
  'pai-xml': (skills: readonly Skill[], omitted: number): string =>
    joinLines(
      '<available-skills>',
      ...skills.map(renderPaiEntry),
      omitted > 0 && `<omitted count="${omitted}" />`,
      '</available-skills>',
      '',
      '<skill-usage-instructions>',
      "When a user request matches a skill's description:",
      "1. Read the skill's SKILL.md file to get detailed instructions",
      "2. Follow the skill's guidelines to complete the task",
      "3. Use available file and shell tools to execute the skill's instructions",
      '</skill-usage-instructions>',
    ),
  /** A Markdown list under a heading. */
  markdown: (skills: readonly Skill[], omitted: number): string =>
    joinLines(
      '## Available Skills',
      ...skills.map(renderMarkdownEntry),
      omitted > 0 && `- and ${omitted} more. ${HINT}`,
    ),
  /** The names of all skills, then one line for each skill, without locations. Used over MCP. */
  lines: (skills: readonly Skill[], omitted: number, rest: readonly Skill[]): string =>
    joinLines(
      `Skills: ${renderNames([...skills, ...rest])}.`,
      ...skills.map(renderLine),
      omitted > 0 && `- and ${omitted} more. ${HINT}`,
    ),
  /** The empty text, for agents that find skills only with tools. */
  none: (): string => '',
} as const
Object.freeze(CATALOG_FORMATS)

export type CatalogFormatName = keyof typeof CATALOG_FORMATS

/** The names of all catalog formats. */
export const CATALOG_FORMAT_NAMES: readonly CatalogFormatName[] = Object.freeze(
  Object.keys(CATALOG_FORMATS) as CatalogFormatName[],
)

/**
 * Returns the location of a skill for the catalog: a path if commands run on this machine, otherwise the URI that the MCP
 * server answers.
 */
export function locationOf(skill: Skill): string {
  const { directory, skillFile } = skill
  // A path from another operating system keeps the separator of that system.
  if (directory !== undefined)
    return `${directory}${/^[^/]*\\[^/]*$/.test(directory) ? '\\' : '/'}${skillFile}`
  return `${uriOf(skill)}/SKILL.md`
}

/** Returns the folder of a skill as a path or a URI. Chooses between path and URI in the same way as `locationOf`. */
function folderOf(skill: Skill): string {
  return skill.directory ?? uriOf(skill)
}

/** Names are unique in a catalog, so a URI needs no source. */
function uriOf({ name }: Skill): string {
  return `skill://${encodeURIComponent(name)}`
}

function renderStandardBlock(entries: readonly string[], omitted: number): string {
  const rest = omitted > 0 && `<omitted count="${omitted}">${HINT}</omitted>`
  return joinLines('<available_skills>', ...entries, rest, '</available_skills>')
}

const renderToolEntry = remember(skill => renderElement(skill))

const renderStandardEntry = remember(skill =>
  renderElement(skill, `<location>${escapeText(locationOf(skill))}</location>\n`),
)

function renderElement({ name, description }: Skill, location = ''): string {
  return `<skill>\n<name>${escapeText(name)}</name>\n<description>${escapeText(description)}</description>\n${location}</skill>`
}

const renderPaiEntry = remember(
  skill =>
    `<skill name="${escapeText(skill.name)}">\n  <description>${escapeText(skill.description)}</description>\n  <path>${escapeText(folderOf(skill))}</path>\n</skill>`,
)

const renderMarkdownEntry = remember(
  skill => `- **${escapeText(skill.name)}**: ${escapeText(skill.description)}`,
)

const renderLine = remember(skill => `- ${escapeText(skill.name)}: ${escapeText(skill.description)}`)

/** Limits the names at the start of a catalog, so that the names of thousands of skills leave room for descriptions. */
const MAX_NAMES = 200

function renderNames(skills: readonly Skill[]): string {
  const names = skills.slice(0, MAX_NAMES).map(({ name }) => escapeText(name))
  const more = skills.length - names.length
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/**
 * Caches the entry of each skill. A skill object is immutable, and a changed skill has a new object, so only entries of
 * changed skills are rendered again. All scopes share the cached entries.
 */
function remember(render: (skill: Skill) => string): (skill: Skill) => string {
  const entries = new WeakMap<Skill, string>()
  return skill => {
    let entry = entries.get(skill)
    if (entry === undefined) {
      entry = render(skill)
      entries.set(skill, entry)
    }
    return entry
  }
}

function joinLines(...lines: readonly (string | false)[]): string {
  return lines.filter(line => line !== false).join('\n')
}
