import type { Digest, SessionUpdate } from '@skillstoke/core'
import type { PrefixReading } from './prefix-meter.ts'

/** What happens during a turn, as it happens. */
export type AgentEvent =
  /** The message began with `/` and a skill's name: its instructions were put in. */
  | { readonly kind: 'skill-invoked'; readonly name: string; readonly revision: Digest }
  /** The conversation was told of changed skills, right before a model call. */
  | { readonly kind: 'skills-updated'; readonly update: SessionUpdate }
  /** A model is about to be called. */
  | { readonly kind: 'model-call'; readonly step: number; readonly prefix: PrefixReading }
  | { readonly kind: 'text'; readonly delta: string }
  | { readonly kind: 'tool-call'; readonly name: string; readonly input: unknown }
  | { readonly kind: 'tool-result'; readonly name: string; readonly output: unknown }
  /** The turn is over; `hasReachedLimit` when the model still wanted to call tools. */
  | {
      readonly kind: 'finish'
      readonly text: string
      readonly steps: number
      readonly hasReachedLimit: boolean
    }
