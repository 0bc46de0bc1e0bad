import type { Diagnostic, Digest } from '@skillstoke/core'
import type { ScriptText } from '@skillstoke/core/source'
import type { Answer } from '../script-worker.ts'
import type { ScriptReaders } from './script-readers.ts'

const MAX_KEPT = 2_000

/** A module as plain JavaScript at the same lines and columns, or why there is none. */
export type PlainModule = { readonly code: string } | { readonly diagnostic: Diagnostic }

/** Takes the types out of TypeScript, once for each text. */
export class PlainJavaScript {
  readonly #kept = new Map<Digest, string>()
  readonly #readers: ScriptReaders

  constructor(readers: ScriptReaders) {
    this.#readers = readers
  }

  async get(skill: string, { path, digest, text }: ScriptText, signal?: AbortSignal): Promise<PlainModule> {
    const known = this.#kept.get(digest)
    if (known !== undefined) return { code: known }
    const answer = await this.#readers.ask({
      skill,
      identity: `strip ${digest}`,
      question: { kind: 'strip', text },
      ...(signal === undefined ? {} : { signal }),
    })
    if (answer.kind !== 'code') return { diagnostic: describe(path, answer) }
    const [oldest] = this.#kept.keys()
    if (this.#kept.size >= MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest)
    this.#kept.set(digest, answer.code)
    return { code: answer.code }
  }
}

function describe(path: string, answer: Exclude<Answer, { kind: 'code' }>): Diagnostic {
  if (answer.kind !== 'refused')
    return {
      code: 'SCRIPT_INVALID',
      severity: 'error',
      message: 'its types cannot be taken out: it is nested too deeply, or it takes too long',
      path,
    }
  return {
    code: 'SCRIPT_INVALID',
    severity: 'error',
    message: `${answer.message}: types are only taken out, not translated`,
    fix: 'write it in JavaScript that types were added to: no enum, no namespace, no parameter properties',
    path,
    ...answer.place,
  }
}
