// Worker thread that removes types from TypeScript and finds commands. If a deeply nested script crashes or blocks the thread, the host replaces the thread.
import { stripTypeScriptTypes } from 'node:module'
import { parentPort } from 'node:worker_threads'
import { defined } from '@skillstoke/core/internal'
import type { ScriptScan, ScriptText } from '@skillstoke/core/source'
import type { Place } from './scan/parse-module.ts'
import { scanScripts } from './scan/scan-scripts.ts'

export type Question =
  | { readonly kind: 'strip'; readonly text: string }
  | {
      readonly kind: 'scan'
      readonly skill: string
      readonly files: readonly ScriptText[]
      readonly known: readonly string[]
    }

export type Answer =
  | { readonly kind: 'code'; readonly code: string }
  | { readonly kind: 'scan'; readonly scan: ScriptScan }
  /** The text is invalid. */
  | { readonly kind: 'refused'; readonly message: string; readonly place?: Place }
  /** The thread failed and must be replaced. */
  | { readonly kind: 'broken' }

parentPort?.on('message', (question: Question) => {
  void answer(question).then(each => parentPort?.postMessage(each, []))
})

async function answer(question: Question): Promise<Answer> {
  if (question.kind === 'strip') return await strip(question.text)
  const { skill, files, known } = question
  return { kind: 'scan', scan: await scanScripts(skill, files, known) }
}

async function strip(text: string): Promise<Answer> {
  try {
    return { kind: 'code', code: stripTypeScriptTypes(text, { mode: 'strip' }) }
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException
    const isText = code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX' || code === 'ERR_INVALID_TYPESCRIPT_SYNTAX'
    if (!isText) return { kind: 'broken' }
    const { findUnerasable } = await import('./scan/find-unerasable.ts')
    const place = findUnerasable(text)
    return { kind: 'refused', message: message.split('\n')[0] ?? '', ...defined({ place }) }
  }
}
