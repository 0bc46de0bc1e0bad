import type { Conversation } from '../activation/conversation.ts'
import { createReadSkillFileTool } from './read-skill-file-tool.ts'
import { createSkillTool } from './skill-tool.ts'
import type { ToolDefinition } from './tool-definition.ts'
import { TOOL_NAMES } from './tool-names.ts'

/** Creates the constant tools of one conversation, in the order in which models receive them. */
export function createSkillTools(
  conversation: Conversation,
  skillToolName: string = TOOL_NAMES.loadSkill,
  more: readonly ToolDefinition[] = [],
): readonly ToolDefinition[] {
  return Object.freeze([
    createSkillTool(conversation, skillToolName),
    createReadSkillFileTool(conversation),
    ...more,
  ])
}
