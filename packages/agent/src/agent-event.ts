import type { Digest, SessionUpdate } from '@skillstoke/core'
import type { PrefixReading } from './prefix-meter.ts'

/** An event of a running turn. */
export type AgentEvent =
  /** The message began with `/` and the name of a skill, so the instructions of that skill were inserted. */
  | { readonly kind: 'skill-invoked'; readonly name: string; readonly revision: Digest }
  /** The conversation received a notice of changed skills, right before a model call. */
  | { readonly kind: 'skills-updated'; readonly update: SessionUpdate }
  /** A model call is about to start. */
  | { readonly kind: 'model-call'; readonly step: number; readonly prefix: PrefixReading }
  | { readonly kind: 'text'; readonly delta: string }
  | { readonly kind: 'tool-call'; readonly name: string; readonly input: unknown }
  | { readonly kind: 'tool-result'; readonly name: string; readonly output: unknown }
  /**
   * The turn has ended. `hasReachedLimit` is true if `maxSteps` ended the turn while the model still requested tools.
   */
  | {
      readonly kind: 'finish'
      readonly text: string
      readonly steps: number
      readonly hasReachedLimit: boolean
    }
