import type { Digest, SessionUpdate } from '@skillstoke/core'
import type { FinishReason } from 'ai'
import type { PendingCall } from './pending-calls.ts'
import type { PrefixReading } from './prefix-meter.ts'
import type { TokenUsage } from './token-usage.ts'

/** An event of a running turn. */
export type AgentEvent =
  /** The message began with `/` and the name of a skill, so the instructions of that skill were inserted. */
  | { readonly kind: 'skill-invoked'; readonly name: string; readonly revision: Digest }
  /** The conversation received a notice of changed skills, right before a model call. */
  | { readonly kind: 'skills-updated'; readonly update: SessionUpdate }
  /** A summary replaced the messages of the conversation. `restored` lists the loaded skills that were put back. */
  | { readonly kind: 'compacted'; readonly messages: number; readonly restored: readonly string[] }
  /** A model call is about to start. */
  | { readonly kind: 'model-call'; readonly step: number; readonly prefix: PrefixReading }
  | { readonly kind: 'text'; readonly delta: string }
  | { readonly kind: 'reasoning'; readonly delta: string }
  | { readonly kind: 'tool-call'; readonly callId: string; readonly name: string; readonly input: unknown }
  | { readonly kind: 'tool-result'; readonly callId: string; readonly name: string; readonly output: unknown }
  /** A model call is complete, and its messages are stored. */
  | {
      readonly kind: 'model-answer'
      readonly step: number
      readonly finishReason: FinishReason
      readonly usage: TokenUsage
    }
  /** The turn has ended. */
  | ({ readonly kind: 'finish' } & TurnResult)

/** The result of a turn. */
export interface TurnResult {
  /** The text of the last answer. */
  readonly text: string
  /** Number of model calls. */
  readonly steps: number
  /** True if `maxSteps` ended the turn while the model still requested tools. */
  readonly hasReachedLimit: boolean
  /** Why the last model call ended. */
  readonly finishReason: FinishReason
  /** The tokens of all model calls of the turn. */
  readonly usage: TokenUsage
  /** Tool calls that wait for an approval, or for a result from the host. Pass the answers to `send()`. */
  readonly pending: readonly PendingCall[]
}
