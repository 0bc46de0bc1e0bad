// A thread that takes types out of TypeScript. What it runs is WebAssembly, which can be brought to its end by a text that
// is nested deeply enough, and is of no use afterwards: then the thread is ended, and another one takes its place.
import { stripTypeScriptTypes } from 'node:module'
import { parentPort } from 'node:worker_threads'

/** What became of one text. */
export type StripAnswer =
  | { readonly kind: 'code'; readonly code: string }
  /** The text is at fault. */
  | { readonly kind: 'refused'; readonly message: string }
  /** The thread is of no use any more. */
  | { readonly kind: 'broken'; readonly message: string }

parentPort?.on('message', (text: string) => {
  parentPort?.postMessage(strip(text), [])
})

function strip(text: string): StripAnswer {
  try {
    return { kind: 'code', code: stripTypeScriptTypes(text, { mode: 'strip' }) }
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException
    const isText = code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX' || code === 'ERR_INVALID_TYPESCRIPT_SYNTAX'
    return { kind: isText ? 'refused' : 'broken', message: message.split('\n')[0] ?? '' }
  }
}
