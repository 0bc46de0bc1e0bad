import type { Diagnostic, Digest } from '@skillstoke/core'
import type { ScriptText } from '@skillstoke/core/source'
import type { Answer } from '../script-worker.ts'
import type { ScriptReaders } from './script-readers.ts'

// In UTF-16 code units. The cache is limited, because every edit of a script adds an entry.
const MAX_KEPT_LENGTH = 1_048_576

/** A module as plain JavaScript with unchanged lines and columns, or the reason why it cannot be converted. */
export type PlainModule = { readonly code: string } | { readonly diagnostic: Diagnostic }

/** Removes the types from TypeScript, and caches the results. */
export class PlainJavaScript {
  /** Plain JavaScript by the digest of the script, least recently used first. */
  readonly #kept = new Map<Digest, string>()
  #keptLength = 0
  readonly #readers: ScriptReaders

  constructor(readers: ScriptReaders) {
    this.#readers = readers
  }

  async get(skill: string, { path, digest, text }: ScriptText, signal?: AbortSignal): Promise<PlainModule> {
    const known = this.#kept.get(digest)
    if (known !== undefined) {
      this.#keep(digest, known)
      return { code: known }
    }
    const answer = await this.#readers.ask({
      skill,
      identity: `strip ${digest}`,
      question: { kind: 'strip', text },
      ...(signal === undefined ? {} : { signal }),
    })
    if (answer.kind !== 'code') return { diagnostic: describe(path, answer) }
    this.#keep(digest, answer.code)
    return { code: answer.code }
  }

  #keep(digest: Digest, code: string): void {
    this.#forget(digest)
    this.#kept.set(digest, code)
    this.#keptLength += code.length
    for (const [oldest] of this.#kept) {
      if (this.#keptLength <= MAX_KEPT_LENGTH) break
      this.#forget(oldest)
    }
  }

  #forget(digest: Digest): void {
    this.#keptLength -= this.#kept.get(digest)?.length ?? 0
    this.#kept.delete(digest)
  }
}

function describe(path: string, answer: Exclude<Answer, { kind: 'code' }>): Diagnostic {
  if (answer.kind !== 'refused')
    return {
      code: 'SCRIPT_INVALID',
      severity: 'error',
      message:
        'the types of the module cannot be removed: the module is nested too deeply, or the removal takes too long',
      path,
    }
  return {
    code: 'SCRIPT_INVALID',
    severity: 'error',
    message: `${answer.message}: types are removed, but no other TypeScript syntax is translated`,
    fix: 'use only types that can be erased: no enum, no namespace, no parameter properties',
    path,
    ...answer.place,
  }
}
