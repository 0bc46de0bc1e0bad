import type { SkillSession, ToolDefinition, ToolResult } from '@skillstoke/core'
import { shortDigest, TOOL_NAMES } from '@skillstoke/core/internal'

/**
 * Adds the list of skills to the first answer of a connection, because several hosts do not pass the instructions of a
 * server on to the model. An answer that is the list itself gets the name of its generation instead.
 */
export class FirstAnswer {
  readonly #session: SkillSession | undefined
  #isTold = false

  /** @param session the conversation of the connection; without a conversation, no answer is the first one */
  constructor(session: SkillSession | undefined) {
    this.#session = session
  }

  /** Returns the texts to append to an answer. */
  add(tool: ToolDefinition, input: unknown, result: ToolResult): string[] {
    const { generation } = result
    if (isList(tool, input, result) && generation !== undefined) {
      this.#isTold = true
      return [`The generation is ${shortDigest(generation)}. Pass it as "since" to learn what has changed.`]
    }
    if (this.#isTold || this.#session === undefined || generation === undefined) return []
    this.#isTold = true
    const { catalog } = this.#session
    return catalog === '' ? [] : [`The skills of this server:\n${catalog}`]
  }
}

function isList({ name }: ToolDefinition, input: unknown, { isError }: ToolResult): boolean {
  const asked = typeof input === 'object' && input !== null && 'name' in input ? input.name : undefined
  return name === TOOL_NAMES.loadSkill && !isError && (asked === undefined || asked === '' || asked === '/')
}
