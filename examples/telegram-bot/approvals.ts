import { createHash } from 'node:crypto'
import type { PendingCall } from '@skillstoke/agent'
import { showHiddenText } from '@skillstoke/core'
import { InlineKeyboard } from 'grammy'

export type ApprovalCall = Extract<PendingCall, { kind: 'approval' }>

/** The data of a button: the decision, and the key of the call. */
export const PRESS: RegExp = /^(approve|decline):([0-9a-f]{16})$/
const MAX_SHOWN_INPUT = 3_000

export function findApprovals(pending: readonly PendingCall[]): ApprovalCall[] {
  return pending.filter(call => call.kind === 'approval')
}

/**
 * Identifies a call in the data of a button, which Telegram limits to 64 bytes. The id of the approval is unique. The id
 * of a call is not, because some models count their calls in each turn.
 */
export function keyOfCall({ approvalId }: Pick<ApprovalCall, 'approvalId'>): string {
  return createHash('sha256').update(approvalId).digest('hex').slice(0, 16)
}

/** Returns the question that asks for the approval of a call, as Markdown. Shows characters that are invisible. */
export function renderQuestion({ name, input }: ApprovalCall): string {
  const text = showHiddenText(JSON.stringify(input, undefined, 2) ?? 'no input')
  const omitted = text.length - MAX_SHOWN_INPUT
  const rest = omitted > 0 ? `\n(${omitted} more characters are not shown.)` : ''
  return `May I make this call?\n\n${showHiddenText(name)}\n\`\`\`json\n${text.slice(0, MAX_SHOWN_INPUT)}\n\`\`\`${rest}`
}

export function renderKeyboard(call: ApprovalCall): InlineKeyboard {
  const key = keyOfCall(call)
  return new InlineKeyboard().text('Approve', `approve:${key}`).text('Decline', `decline:${key}`)
}
