import type { Diagnostic, Digest } from '../../index.ts'
import type { ScriptThread } from './script-thread.ts'
import type { Answer } from './script-worker.ts'

const MAX_KEPT = 2_000

/** A module as plain JavaScript at the same lines and columns, or why there is none. */
export type PlainModule = { readonly code: string } | { readonly diagnostic: Diagnostic }

/** Takes the types out of TypeScript, once for each text. */
export class PlainJavaScript {
  readonly #kept = new Map<Digest, string>()
  readonly #thread: ScriptThread

  constructor(thread: ScriptThread) {
    this.#thread = thread
  }

  async get(path: string, digest: Digest, text: string): Promise<PlainModule> {
    const known = this.#kept.get(digest)
    if (known !== undefined) return { code: known }
    const answer = await this.#thread.ask({ kind: 'strip', text })
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
      message: 'its types cannot be taken out: it is nested too deeply',
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
