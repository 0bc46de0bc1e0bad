import { defined } from '../defined.ts'
import type { Digest } from '../skill/digest.ts'
import { withExecute } from './define-tool.ts'
import type { ToolDefinition } from './tool-definition.ts'

/** One use of a skill: its instructions, a file or the result of a script entered a conversation. */
export interface SkillUse {
  readonly skill: string
  /** The revision that was used. */
  readonly revision: Digest
  /** Who caused the use. A user invokes a skill with a slash command, a model calls a tool. */
  readonly by: 'model' | 'user'
  /** The tool that the model called; absent if a user caused the use. */
  readonly tool?: string
  /** The id of the tool call, if the host passed it as `callId`. The spans of the host have the same id. */
  readonly callId?: string
  /** The id of the session; absent without a session. */
  readonly conversation?: string
}

/** Returns a tool that reports each successful use of a skill. */
export function withUses(tool: ToolDefinition, report: (use: SkillUse) => void): ToolDefinition {
  return withExecute(tool, async (input, context) => {
    const result = await tool.execute(input, context)
    const { skill, revision, isError } = result
    if (skill !== undefined && revision !== undefined && !isError)
      report({
        skill,
        revision,
        by: 'model',
        tool: tool.name,
        ...defined({ callId: context?.callId ?? undefined }),
      })
    return result
  })
}
