import type { ToolDefinition, ToolResult } from '@skillstoke/core'
import { shortDigest, TOOL_NAMES } from '@skillstoke/core/internal'
import type { AttachedParts } from './attach-skills.ts'

const CONTINUED =
  'The connection was interrupted, and skills may have changed meanwhile. Load a skill again before relying on what you loaded earlier.'

/**
 * Returns a function that returns the texts to append to an answer. The first answer of a connection gets the list of
 * skills, because several hosts do not pass the instructions of a server on to the model. A model that names a skill
 * knows the list, so it is not repeated. An answer that is the list itself gets the name of its generation instead.
 */
export function addToFirstAnswer({
  session,
  catalog,
  isContinued,
}: Pick<AttachedParts, 'session' | 'catalog' | 'isContinued'>): (
  tool: ToolDefinition,
  input: unknown,
  result: ToolResult,
) => string[] {
  let isTold = false
  return (tool, input, result) => {
    const { generation } = result
    if (generation === undefined) return []
    const isFirst = session !== undefined && !isTold
    isTold ||= isFirst
    const texts = isFirst && isContinued ? [CONTINUED] : []
    if (isList(tool, input, result))
      texts.push(
        `The generation is ${shortDigest(generation)}. Pass it as "since" to learn what has changed.`,
      )
    else if (isFirst && (isContinued || result.skill === undefined) && catalog !== '')
      texts.push(`The skills of this server:\n${catalog}`)
    return texts
  }
}

function isList({ name }: ToolDefinition, input: unknown, { isError }: ToolResult): boolean {
  const asked = typeof input === 'object' && input !== null && 'name' in input ? input.name : undefined
  return name === TOOL_NAMES.loadSkill && !isError && (asked === undefined || asked === '' || asked === '/')
}
