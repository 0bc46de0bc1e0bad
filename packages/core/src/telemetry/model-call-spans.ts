import type { SkillEvents } from '../index.ts'

export type Attributes = Record<string, string | number | boolean | string[]>

interface Span {
  setAttributes(attributes: Attributes): unknown
}

/** A span of the OpenTelemetry SDK that has just started. */
export interface StartedSpan extends Span {
  readonly attributes: Readonly<Record<string, unknown>>
}

/** The operations of the semantic conventions that call a model. */
const MODEL_CALLS: readonly unknown[] = ['chat', 'text_completion', 'generate_content']

/**
 * Finds the spans of model calls. Most SDKs start this span only after the adapter has prepared the call, below the span
 * that was active then.
 */
export class ModelCallSpans {
  readonly #parents = new WeakMap<Span, Span>()
  /** For each span, the attributes of the newest model call that was prepared while this span was active. */
  readonly #calls = new WeakMap<Span, Attributes>()

  prepared(active: Span, attributes: Attributes): void {
    this.#calls.set(active, attributes)
    active.setAttributes(attributes)
  }

  started(span: StartedSpan, parent: Span | undefined): void {
    if (parent !== undefined) this.#parents.set(span, parent)
    if (!MODEL_CALLS.includes(span.attributes['gen_ai.operation.name'])) return
    for (let around = parent; around !== undefined; around = this.#parents.get(around)) {
      const attributes = this.#calls.get(around)
      if (attributes === undefined) continue
      // A later call of a model without skills, for example for a title, does not get them.
      this.#calls.delete(around)
      return void span.setAttributes(attributes)
    }
  }
}

/** Returns the attributes of a model call. Each call sets all of them, because several calls may share a span. */
export function describeModelCall(call: SkillEvents['skills:offered']): Attributes {
  const { conversation, generation, digest, skills, notice, isPrefixKept } = call
  return {
    'gen_ai.conversation.id': conversation,
    'skillstoke.generation': generation,
    'skillstoke.generation.digest': digest,
    'skillstoke.skills': skills.map(({ name, revision }) => `${name}@${revision}`),
    'skillstoke.notice.skills': [...(notice?.skills ?? [])],
    'skillstoke.notice.tokens': notice?.tokens ?? 0,
    'skillstoke.prefix.kept': isPrefixKept,
  }
}
