import type { Diagnostic } from '@skillstoke/core'
import { decodeUnmarkedText, defined } from '@skillstoke/core/internal'
import type { ScriptProgram } from '@skillstoke/core/source'
import type { Answer } from '../script-worker.ts'
import type { ScriptReaders } from './script-readers.ts'

/** The TypeScript modules of a revision as plain JavaScript with unchanged lines and columns. */
export interface PlainCode {
  /** The JavaScript code of each TypeScript file, by path. */
  readonly modules: Readonly<Record<string, string>>
  /** One diagnostic for each file whose types cannot be removed. */
  readonly diagnostics: readonly Diagnostic[]
}

/** Removes the types from all TypeScript modules of a revision. */
export async function readPlain(
  { skill, files, readFile }: ScriptProgram,
  readers: ScriptReaders,
  signal?: AbortSignal,
): Promise<PlainCode> {
  const modules: [string, string][] = []
  const diagnostics: Diagnostic[] = []
  for (const { path, digest } of files) {
    if (!/\.m?ts$/.test(path)) continue
    const text = decodeUnmarkedText(await readFile(path))
    const question = { kind: 'strip', text } as const
    const answer = await readers.ask({ skill, identity: `strip ${digest}`, question, ...defined({ signal }) })
    if (answer.kind === 'code') modules.push([path, answer.code])
    else diagnostics.push(describe(path, answer))
  }
  return { modules: Object.fromEntries(modules), diagnostics }
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
