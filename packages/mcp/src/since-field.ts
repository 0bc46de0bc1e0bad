import type { ToolDefinition, ToolResult } from '@skillstoke/core'
import { shortDigest, TOOL_NAMES } from '@skillstoke/core/internal'

/** The input field with which a client asks the tool `skill` what has changed since an earlier answer. */
const SINCE_FIELD = 'since'

/** Returns the input schema of a tool. The schema of the tool `skill` also has the field `since`. */
export function withSince({ name, inputSchema }: ToolDefinition): ToolDefinition['inputSchema'] {
  if (name !== TOOL_NAMES.loadSkill) return inputSchema
  const since = {
    type: 'string' as const,
    description:
      'A generation or revision from an earlier answer. The answer then also says in one line what has changed since.',
  }
  return { ...inputSchema, properties: { ...inputSchema.properties, [SINCE_FIELD]: since } }
}

/** Returns the sentence that says how a model without a session asks later whether a loaded skill has changed. */
export function describeAsking(
  { name: tool }: ToolDefinition,
  { skill, revision, isError }: ToolResult,
): string[] {
  if (tool !== TOOL_NAMES.loadSkill || isError || skill === undefined || revision === undefined) return []
  return [
    `To learn later whether it has changed, call "${tool}" with this name and "${SINCE_FIELD}": "${shortDigest(revision)}".`,
  ]
}

/** Takes `since` out of the input of the tool `skill`, because the tool itself does not know the field. */
export function splitSince(
  { name }: ToolDefinition,
  input: Readonly<Record<string, unknown>> | undefined,
): { readonly since?: string; readonly input: unknown } {
  if (name !== TOOL_NAMES.loadSkill || input === undefined || !Object.hasOwn(input, SINCE_FIELD))
    return { input }
  const { [SINCE_FIELD]: since, ...rest } = input
  if (since === undefined || since === null || since === '') return { input: rest }
  return { since: typeof since === 'string' ? since : JSON.stringify(since), input: rest }
}
