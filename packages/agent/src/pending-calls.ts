import { SkillError } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'
import type { ModelMessage, ToolContent, ToolModelMessage, ToolResultPart } from 'ai'

/** A tool call that waits for the host. */
export type PendingCall =
  /** The tool runs when the host approves the call. */
  | ({ readonly kind: 'approval'; readonly approvalId: string } & RequestedCall)
  /** The tool has no `execute`. The host runs it, for example in a browser. */
  | ({ readonly kind: 'client-tool' } & RequestedCall)

interface RequestedCall {
  readonly callId: string
  readonly name: string
  readonly input: unknown
}

/** The host's answer to a pending call. */
export type CallAnswer =
  | { readonly callId: string; readonly approved: boolean; readonly reason?: string }
  | { readonly callId: string; readonly output: unknown; readonly isError?: boolean }

type ToolPart = ToolContent[number]

/**
 * Returns the calls of the last assistant message that have no result. An approved call waits until it has run.
 * @param canRun whether the agent itself can run a tool. The host runs all other tools, also those that need approval
 */
export function findPendingCalls(
  messages: readonly ModelMessage[],
  canRun: (tool: string) => boolean,
): readonly PendingCall[] {
  const asked = messages.findLastIndex(({ role }) => role === 'assistant')
  const content = messages[asked]?.content
  if (content === undefined || typeof content === 'string') return []
  const parts = content as readonly Exclude<AssistantPart, string>[]
  const approvals = new Map(
    parts.flatMap(part =>
      part.type === 'tool-approval-request' ? [[part.toolCallId, part.approvalId] as const] : [],
    ),
  )
  const results = messages
    .slice(asked + 1)
    .flatMap(partsOf)
    .flatMap(part => (part.type === 'tool-result' ? [part.toolCallId] : []))
  return parts.flatMap((part): PendingCall[] => {
    if (part.type !== 'tool-call' || part.providerExecuted === true || results.includes(part.toolCallId))
      return []
    const call = { callId: part.toolCallId, name: part.toolName, input: part.input }
    const approvalId = approvals.get(part.toolCallId)
    return approvalId === undefined || !canRun(part.toolName)
      ? [{ kind: 'client-tool', ...call }]
      : [{ kind: 'approval', approvalId, ...call }]
  })
}

type AssistantPart = Extract<ModelMessage, { role: 'assistant' }>['content'][number]

function partsOf(message: ModelMessage): readonly ToolPart[] {
  return message.role === 'tool' ? message.content : []
}

/** Results of calls that ran, by call id. */
export type FinishedCalls = ReadonlyMap<string, ToolResultPart>

/**
 * Returns the message that answers all pending calls. A call that already ran is answered with its result.
 * @throws {SkillError} INVALID_OPTION when a pending call has no answer, or an answer has no pending call
 */
export function toAnswerMessage(
  pending: readonly PendingCall[],
  answers: readonly CallAnswer[],
  finished: FinishedCalls,
): ToolModelMessage {
  if (pending.length === 0) refuse('no call waits for an answer', pending)
  const unknown = answers.find(({ callId }) => pending.every(call => call.callId !== callId))
  if (unknown !== undefined) refuse(`no call ${quote(unknown.callId)} waits for an answer`, pending)
  return {
    role: 'tool',
    content: pending.map(call => {
      const result = finished.get(call.callId)
      if (result !== undefined) return result
      const answer = answers.find(({ callId }) => callId === call.callId)
      if (answer === undefined) return refuse(`the call ${quote(call.callId)} has no answer`, pending)
      return toPart(call, answer, pending)
    }),
  }
}

function toPart(call: PendingCall, answer: CallAnswer, pending: readonly PendingCall[]): ToolPart {
  if (call.kind === 'approval') {
    if (!('approved' in answer)) return refuse(`the call ${quote(call.callId)} needs "approved"`, pending)
    const { approved, reason } = answer
    return {
      type: 'tool-approval-response',
      approvalId: call.approvalId,
      approved,
      ...(reason === undefined ? {} : { reason }),
    }
  }
  if (!('output' in answer)) return refuse(`the call ${quote(call.callId)} needs "output"`, pending)
  return toResultPart(call, answer.output, answer.isError ?? false)
}

/** Returns the result of a call that ran. Skill tools and failed tools return an object with a text. */
export function toFinishedPart(call: Pick<PendingCall, 'callId' | 'name'>, output: unknown): ToolResultPart {
  const { text, isError } = (output ?? {}) as { readonly text?: unknown; readonly isError?: unknown }
  return toResultPart(call, typeof text === 'string' ? text : output, isError === true)
}

function toResultPart(
  { callId, name }: Pick<PendingCall, 'callId' | 'name'>,
  output: unknown,
  isError: boolean,
): ToolResultPart {
  const value = typeof output === 'string' ? output : JSON.stringify(output ?? null)
  return {
    type: 'tool-result',
    toolCallId: callId,
    toolName: name,
    output: { type: isError ? 'error-text' : 'text', value },
  }
}

/**
 * Returns a message that declines all pending calls that did not run. Providers refuse a history in which a call has no result, so a new
 * question of the user must not leave a call open.
 */
export function toDeclinedMessage(
  pending: readonly PendingCall[],
  finished: FinishedCalls,
): ToolModelMessage {
  const reason = 'This call has no result, because the user wrote a new message instead of answering it.'
  const content = pending.map(call => finished.get(call.callId) ?? toResultPart(call, reason, true))
  return { role: 'tool', content }
}

/** @throws {SkillError} INVALID_OPTION, because a summary would lose the waiting calls */
export function refuseOpenCalls(pending: readonly PendingCall[]): never {
  return refuse('answer the waiting calls before you compact the conversation', pending)
}

function refuse(fault: string, pending: readonly PendingCall[]): never {
  const calls = pending.map(({ callId, name, kind }) => `${callId} (${name}, ${kind})`).join(', ')
  throw new SkillError('INVALID_OPTION', `${fault}; waiting calls: ${calls || 'none'}`)
}
