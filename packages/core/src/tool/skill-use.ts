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

/** A search of the model that matched no skill. */
export interface SkillMiss {
  /** The name or the words that the model gave. */
  readonly query: string
  /** The id of the session; absent without a session. */
  readonly conversation?: string
}

/** What a conversation has of the skills at one model call. */
export interface ModelCallSkills {
  /** The id of the session. */
  readonly conversation: string
  /** The generation that the conversation knows at this call, after the notice. */
  readonly generation: number
  readonly digest: Digest
  /** The revisions whose instructions are in the conversation, in the order of loading. */
  readonly skills: readonly { readonly name: string; readonly revision: Digest }[]
  /** The notice that the host appends for this call, with the names that it mentions; absent if no skill changed. */
  readonly notice?: { readonly tokens: number; readonly skills: readonly string[] }
  /** False if the catalog differs from that of the previous call, or if the conversation started over since. */
  readonly isPrefixKept: boolean
}

/** A receiver of uses and misses. */
export interface UseListener {
  used(use: SkillUse): void
  missed(miss: SkillMiss): void
}

/** Returns a tool that reports each successful use of a skill, and each search without a match. */
export function withUses(tool: ToolDefinition, listener: UseListener): ToolDefinition {
  return withExecute(tool, async (input, context) => {
    const result = await tool.execute(input, context)
    const { skill, revision, isError, missed } = result
    if (missed !== undefined) listener.missed({ query: missed })
    if (skill !== undefined && revision !== undefined && !isError)
      listener.used({
        skill,
        revision,
        by: 'model',
        tool: tool.name,
        ...defined({ callId: context?.callId ?? undefined }),
      })
    return result
  })
}
