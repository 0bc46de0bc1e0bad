import type { AllowedToolsPolicy } from '../activation/allowed-tools.ts'
import type { Conversation } from '../activation/conversation.ts'
import { type LoadOutcome, loadSkill } from '../activation/load-skill.ts'
import { noteLostFile } from '../activation/lost-skill-file.ts'
import { listForModel } from '../catalog/catalog-cache.ts'
import { escapeEndTag, escapeText } from '../catalog/escape.ts'
import { SkillError } from '../errors.ts'
import { quote } from '../quote.ts'
import type { CommandSummary } from '../reader/command-offer.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import { describeUnread } from '../registry/skill-not-found.ts'
import { isError } from '../skill/diagnostic.ts'
import { shortDigest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import { isTestFile } from '../skill/test-files.ts'
import { disallowedToolsOf } from '../skill/tool-list.ts'
import { defineTool } from './define-tool.ts'
import { type ToolDefinition, type ToolResult, toolFailure, toolSuccess } from './tool-definition.ts'
import { TOOL_NAMES } from './tool-names.ts'

const MAX_LISTED_SKILLS = 200
const MAX_LISTED_FILES = 50
const MAX_LISTED_COMMANDS = 50
const MAX_SCHEMA_CHARACTERS = 4_000

/** Creates the tool that loads the instructions of a skill, lists the skills, or searches them. */
export function createSkillTool(conversation: Conversation, toolName: string): ToolDefinition {
  return defineTool({
    name: toolName,
    description:
      'Load the instructions of a skill by its name before doing a task that the skill describes. ' +
      'The answer is always the newest revision. Without a name it lists the available skills; ' +
      'other words search their names and descriptions.',
    properties: {
      name: {
        type: 'string',
        description: 'Name of the skill as listed, for example "pdf". Empty to list all.',
      },
    },
    async run({ name = '' }, { signal }) {
      try {
        return toResult(await loadSkill(name, conversation, signal), conversation, toolName)
      } catch (thrown) {
        if (SkillError.isInstance(thrown)) return toolFailure(thrown.message)
        throw thrown
      }
    },
  })
}

function toResult(outcome: LoadOutcome, conversation: Conversation, toolName: string): ToolResult {
  const origin = { generation: outcome.generation.digest }
  const unread = describeUnread(outcome.generation.sources())
  const isUnknown = outcome.kind === 'matches' || outcome.kind === 'not-found'
  if (isUnknown && conversation.describeUnknownSkill !== undefined) {
    const skills = listForModel(outcome.generation.list(), conversation.reader.isInScope)
    const text = conversation.describeUnknownSkill(outcome.query, skills)
    return toolFailure(text, outcome.kind === 'matches' ? origin : { ...origin, missed: outcome.query })
  }
  switch (outcome.kind) {
    case 'loaded':
      return toolSuccess(renderLoadedSkill(outcome.skill, outcome.body, conversation), {
        ...origin,
        skill: outcome.skill.name,
        revision: outcome.skill.revision,
      })
    case 'list':
      return toolSuccess(renderList(outcome.skills, toolName), origin)
    case 'matches':
      return toolSuccess(
        `There is no skill ${quote(outcome.query)}${unread}. These match the words; load one by its name:\n${renderLines(outcome.skills)}`,
        origin,
      )
    case 'user-only': {
      const { name } = outcome.skill
      return toolFailure(
        `only the user may invoke ${quote(name)}: its frontmatter has "disable-model-invocation: true"; suggest "/${name}" to the user`,
        origin,
      )
    }
    case 'broken': {
      const reasons = outcome.report.diagnostics
        .filter(isError)
        .map(({ message, line }) => (line ? `line ${line}: ${message}` : message))
      return toolFailure(
        `skill ${quote(outcome.report.name)} cannot be loaded: ${reasons.join('; ')}`,
        origin,
      )
    }
    case 'not-found': {
      const near = outcome.suggestions.map(name => quote(name)).join(' or ')
      const hint =
        outcome.available === 0
          ? 'no skills are available'
          : near === ''
            ? `call ${toolName} with an empty name to list the ${outcome.available} available`
            : `did you mean ${near}?`
      const text = `no skill ${quote(outcome.query)}${unread}; ${hint}`
      return toolFailure(text, { ...origin, missed: outcome.query })
    }
    default:
      return outcome satisfies never
  }
}

/**
 * Renders a loaded skill as text for a model. The name of the tag depends only on the revision, so that equal revisions
 * give equal bytes. A closing tag inside the instructions is escaped.
 */
export function renderLoadedSkill(
  skill: Skill,
  body: string,
  { allowedTools, reader, commandTools }: Pick<Conversation, 'allowedTools' | 'reader' | 'commandTools'>,
): string {
  const revision = shortDigest(skill.revision)
  const tag = `skill_${revision}`
  const lines = [
    `<${tag} name="${escapeText(skill.name)}" revision="${revision}">`,
    escapeEndTag(body, tag),
    `</${tag}>`,
  ]
  const note = noteLostFile(skill)
  if (note !== undefined) lines.push(note)
  if (skill.directory !== undefined) lines.push(`Skill directory: ${escapeText(skill.directory)}`)
  return [
    ...lines,
    ...describeTools(skill, allowedTools),
    ...describeBundle(skill, reader, commandTools),
  ].join('\n')
}

function describeTools(skill: Skill, policy: AllowedToolsPolicy): readonly string[] {
  if (policy === 'ignore') return []
  const [allowed, disallowed] = [skill.allowedTools ?? [], disallowedToolsOf(skill.extra)].map(tools =>
    tools.map(escapeText).join(', '),
  )
  const isAdvice = policy === 'advise'
  const only = isAdvice
    ? 'Tools that the skill is written for'
    : 'Only these tools may be called until the turn ends'
  const without = isAdvice
    ? 'Tools that the skill works without'
    : 'These tools may not be called until the turn ends'
  return [
    ...(allowed === '' ? [] : [`${only}: ${allowed}`]),
    ...(disallowed === '' ? [] : [`${without}: ${disallowed}`]),
  ]
}

/** Lists the commands and the files of a skill, one in each line, with the tools that run and read them. */
export function describeBundle(
  skill: Skill,
  reader: Pick<SkillReader, 'commandsOf'>,
  haveTools = false,
): readonly string[] {
  const lines: string[] = []
  const { commands, problem } = reader.commandsOf(skill)
  if (commands.length > 0) {
    const more = haveTools ? '; from the next turn on, each is also a tool' : ''
    lines.push(`Commands (call them with ${TOOL_NAMES.runCommand}${more}):`)
    for (const command of commands.slice(0, MAX_LISTED_COMMANDS)) lines.push(renderCommand(command))
    if (commands.length > MAX_LISTED_COMMANDS)
      lines.push(`- and ${commands.length - MAX_LISTED_COMMANDS} more`)
  }
  if (problem !== undefined) lines.push(`Its newest commands are not there: ${escapeText(problem)}`)
  const others = skill.files.filter(file => file.path !== skill.skillFile && !isTestFile(file))
  if (others.length > 0) {
    lines.push(`Files (read them with ${TOOL_NAMES.readFile}):`)
    for (const file of others.slice(0, MAX_LISTED_FILES))
      lines.push(`- ${escapeText(file.path)} (${file.size} bytes)`)
    if (others.length > MAX_LISTED_FILES) lines.push(`- and ${others.length - MAX_LISTED_FILES} more`)
  }
  return lines
}

function renderCommand({ name, description, inputSchema }: CommandSummary): string {
  // Escapes `<`, so that no tag can begin in the JSON.
  const schema = JSON.stringify(inputSchema).replaceAll('<', String.raw`\u003c`)
  const input = schema.length > MAX_SCHEMA_CHARACTERS ? 'an object' : schema
  return `- ${name}: ${escapeText(description)} Input: ${input}`
}

function renderList(skills: readonly Skill[], toolName: string): string {
  if (skills.length === 0) return 'There are no skills at the moment.'
  const shown = skills.slice(0, MAX_LISTED_SKILLS)
  const rest = skills.length - shown.length
  const more = rest > 0 ? `\nand ${rest} more; call ${toolName} with a few words to search them` : ''
  return `${renderLines(shown)}${more}`
}

function renderLines(skills: readonly Skill[]): string {
  return skills.map(skill => `- ${escapeText(skill.name)}: ${escapeText(skill.description)}`).join('\n')
}
