import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { parse } from '@babel/parser'
import type { Diagnostic, Digest } from '../../index.ts'
import type { StripAnswer } from './strip-worker.ts'

const MAX_KEPT = 2_000
const DEADLINE_MS = 10_000
const WORKER = new URL(`./strip-worker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)

/** A module as plain JavaScript at the same lines and columns, or why there is none. */
export type PlainModule = { readonly code: string } | { readonly diagnostic: Diagnostic }

/** Takes the types out of TypeScript, once for each text, in a thread that may be lost. */
export class PlainJavaScript {
  readonly #kept = new Map<Digest, string>()
  #worker: Worker | undefined
  #queue: Promise<unknown> = Promise.resolve()

  async get(path: string, digest: Digest, text: string): Promise<PlainModule> {
    const known = this.#kept.get(digest)
    if (known !== undefined) return { code: known }
    const answer = await this.#ask(text)
    if (answer.kind !== 'code') return { diagnostic: describe(path, text, answer) }
    const [oldest] = this.#kept.keys()
    if (this.#kept.size >= MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest)
    this.#kept.set(digest, answer.code)
    return { code: answer.code }
  }

  async close(): Promise<void> {
    await this.#end()
  }

  /** One text after the other. */
  async #ask(text: string): Promise<StripAnswer> {
    const turn = this.#queue.then(() => this.#strip(text))
    this.#queue = turn
    return await turn
  }

  async #strip(text: string): Promise<StripAnswer> {
    this.#worker ??= new Worker(WORKER, { execArgv: ['--disable-warning=ExperimentalWarning'], env: {} })
    const worker = this.#worker
    worker.ref()
    try {
      const signal = AbortSignal.timeout(DEADLINE_MS)
      const answered = once(worker, 'message', { signal })
      worker.postMessage(text, [])
      const [answer] = (await answered) as [StripAnswer]
      if (answer.kind === 'broken') await this.#end()
      return answer
    } catch {
      await this.#end()
      return { kind: 'broken', message: 'the types could not be taken out' }
    } finally {
      // Nothing waits for it: it keeps no process alive.
      worker.unref()
    }
  }

  async #end(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }
}

function describe(
  path: string,
  text: string,
  { kind, message }: Exclude<StripAnswer, { kind: 'code' }>,
): Diagnostic {
  if (kind === 'broken')
    return {
      code: 'SCRIPT_INVALID',
      severity: 'error',
      message: 'its types cannot be taken out: it is nested too deeply',
      path,
    }
  const place = findUnerasable(text)
  return {
    code: 'SCRIPT_INVALID',
    severity: 'error',
    message: `${message}: types are only taken out, not translated`,
    fix: 'write it in JavaScript that types were added to: no enum, no namespace, no parameter properties',
    path,
    ...(place === undefined ? {} : place),
  }
}

/** Where the first thing is that is TypeScript and more than a type. */
function findUnerasable(text: string): { readonly line: number; readonly column: number } | undefined {
  const found: { readonly line: number; readonly column: number }[] = []
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each)
    if (typeof value !== 'object' || value === null || !('type' in value)) return
    const { type, loc, declare } = value as {
      readonly type: unknown
      readonly loc?: { readonly start: { readonly line: number; readonly column: number } }
      readonly declare?: boolean
    }
    if (UNERASABLE.includes(String(type)) && declare !== true && loc !== undefined)
      found.push({ line: loc.start.line, column: loc.start.column + 1 })
    for (const child of Object.values(value)) visit(child)
  }
  try {
    visit(parse(text, { sourceType: 'module', plugins: ['typescript'] }).program)
  } catch {
    return undefined // it cannot be read at all, and that was told before
  }
  return found.sort((a, b) => a.line - b.line || a.column - b.column)[0]
}

const UNERASABLE = [
  'TSEnumDeclaration',
  'TSModuleDeclaration',
  'TSParameterProperty',
  'TSImportEqualsDeclaration',
  'TSExportAssignment',
]
