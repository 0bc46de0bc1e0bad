import { defined } from '../defined.ts'
import { SkillError, toMessage } from '../errors.ts'
import { checkOptions, type KnownOptions } from '../options.ts'
import { quote } from '../quote.ts'
import { defineTool } from '../tool/define-tool.ts'
import { type ToolDefinition, type ToolResult, toolFailure, toolSuccess } from '../tool/tool-definition.ts'
import { TOOL_NAMES } from '../tool/tool-names.ts'
import { type AgentAuthor, checkAuthor, type SkillWriteResult } from './skill-write.ts'
import type { SkillWriter } from './skill-writer.ts'

export interface AuthorToolsOptions {
  /** Returns true if the model may write a skill of this name. @default every name that the writer allows */
  readonly isInScope?: (name: string) => boolean
  /** The agent that writes. Without `conversation`, every write of the agent waits for approval. */
  readonly author?: AgentAuthor
}

const KNOWN: KnownOptions<AuthorToolsOptions> = { isInScope: true, author: true }

/**
 * Creates the tools with which a model writes skills: `write_skill_file` and `reload_skills`. @throws {SkillError}
 * INVALID_OPTION
 *
 * @example
 * ```ts
 * import { createAuthorTools, createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills', { writable: true })] })
 * const session = skills.session({ id: 'chat-1' })
 * const author = { name: 'helper', conversation: session.conversation }
 * const tools = [...session.tools, ...createAuthorTools(skills.writer(), { author })]
 * console.log(tools.map(tool => tool.name).slice(-2)) // prints [ 'write_skill_file', 'reload_skills' ]
 * ```
 */
export function createAuthorTools(
  writer: SkillWriter,
  options: AuthorToolsOptions = {},
): readonly ToolDefinition[] {
  checkOptions('createAuthorTools()', options, KNOWN)
  checkAuthor('createAuthorTools()', options.author, 'author')
  const isInScope = options.isInScope ?? ((): boolean => true)
  const author = options.author ?? {}
  return Object.freeze([
    createWriteTool(writer, isInScope, author),
    createReloadTool(writer, isInScope, author),
  ])
}

function createWriteTool(
  writer: SkillWriter,
  isInScope: (name: string) => boolean,
  agent: AgentAuthor,
): ToolDefinition {
  return defineTool({
    name: TOOL_NAMES.writeFile,
    description:
      'Write one file of a skill: SKILL.md, or a reference, template or script beside it. ' +
      'Folders are made as needed, and an existing file is replaced. A SKILL.md that could not be served is refused with the reason.',
    properties: {
      skill_name: {
        type: 'string',
        description: 'Name of the skill: lower-case letters, digits and hyphens, at most 64.',
      },
      relative_path: {
        type: 'string',
        description: 'Path within the folder of the skill, for example "SKILL.md" or "reference.md".',
      },
      content: { type: 'string', description: 'The whole new content of the file.' },
      base_digest: {
        type: 'string',
        description:
          'Digest of the file as you read it (the digits after "file_"), or "none" for a new file: the write is refused if the file has changed since you read it.',
      },
    },
    required: ['skill_name', 'relative_path', 'content'],
    hints: { readOnly: false },
    endsItself: true,
    async run({ skill_name: skill, relative_path: path, content, base_digest: base }, { signal }) {
      if (skill === undefined || path === undefined || content === undefined)
        return toolFailure('"skill_name", "relative_path" and "content" are needed')
      if (!isInScope(skill)) return toolFailure(`the skill ${quote(skill)} may not be written here`)
      try {
        const baseDigest = base?.replace(/^file_/, '')
        const request = { skill, path, content, agent, isInScope, signal, ...defined({ baseDigest }) }
        return toAnswer(await writer.write(request), agent)
      } catch (thrown) {
        signal?.throwIfAborted()
        if (SkillError.isInstance(thrown)) return toolFailure(thrown.message)
        throw thrown
      }
    },
  })
}

function toAnswer(result: SkillWriteResult, { conversation }: AgentAuthor): ToolResult {
  const lines = [`Written: ${result.path}`, `base_digest: ${result.digest.slice(7, 15)}`]
  if (result.isCopiedUp) lines.push('The other files of the skill were copied to the same folder.')
  if (result.isHeld) {
    lines.push(
      conversation === undefined
        ? 'It is held until a person approves it.'
        : 'It is live in this conversation. Elsewhere it is held until a person approves it.',
    )
  }
  for (const error of result.errors) lines.push(`Not live yet: ${error}`)
  for (const advice of result.advice) lines.push(`Advice: ${advice}`)
  return toolSuccess(lines.join('\n'))
}

function createReloadTool(
  writer: SkillWriter,
  isInScope: (name: string) => boolean,
  { conversation }: AgentAuthor,
): ToolDefinition {
  return defineTool({
    name: TOOL_NAMES.reloadSkills,
    description: 'Read all skills again, so that what was written is active in this conversation.',
    properties: {},
    async run() {
      try {
        const { names, errors } = await writer.reload(conversation)
        const count = names.filter(isInScope).length
        const told = errors.filter(({ skill }) => skill === undefined || isInScope(skill))
        const lines = [
          `Skills reloaded. ${count} skill(s) now active.`,
          ...told.map(({ message }) => message),
        ]
        return toolSuccess(lines.join('\n'))
      } catch (thrown) {
        return toolFailure(`Failed to reload skills: ${toMessage(thrown)}`)
      }
    },
  })
}
