import type { SkillAgentOptions } from '@skillstoke/agent'
import { TOOL_NAMES } from '@skillstoke/core/internal'
import type { Confirmation } from './tool-confirmation.ts'

const TOOLS: Readonly<Record<Confirmation, readonly string[]>> = {
  scripts: [TOOL_NAMES.runCommand, TOOL_NAMES.runScript],
  writes: [TOOL_NAMES.writeFile],
}

/** Returns the settings with which calls of the confirmed tools wait for an approval. */
export function toCallSettings(
  confirmations: readonly Confirmation[],
): NonNullable<SkillAgentOptions['call']> {
  const names = confirmations.flatMap(each => TOOLS[each])
  return { toolApproval: ({ toolCall }) => (names.includes(toolCall.toolName) ? 'user-approval' : undefined) }
}

/** Reads the answer to "run it?": `y`, `yes`, `n`, `no`, or `n` with a reason for the model. */
export function parseApproval(
  line: string,
): { readonly approved: boolean; readonly reason?: string } | undefined {
  const [, yes, no, reason = ''] = /^\s*(?:(y|yes)|(n|no)(?:[\s,:]+(.*?))?)\s*$/i.exec(line) ?? []
  if (yes !== undefined) return { approved: true }
  if (no === undefined) return undefined
  return { approved: false, reason: reason === '' ? 'The user declined the call.' : reason }
}
