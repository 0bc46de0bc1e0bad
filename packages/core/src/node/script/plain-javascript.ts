import { stripTypeScriptTypes } from 'node:module'
import { parseSync, Visitor } from 'oxc-parser'
import { type Diagnostic, type Digest, toMessage } from '../../index.ts'
import { placeOf } from './scan-scripts.ts'

const MAX_KEPT = 2_000

/** A module as plain JavaScript at the same lines and columns, or why there is none. */
export type PlainModule = { readonly code: string } | { readonly diagnostic: Diagnostic }

/** Takes the types out of TypeScript, once for each text. */
export class PlainJavaScript {
  readonly #kept = new Map<Digest, string>()

  get(path: string, digest: Digest, text: string): PlainModule {
    const known = this.#kept.get(digest)
    if (known !== undefined) return { code: known }
    try {
      const code = withoutWarning(() => stripTypeScriptTypes(text, { mode: 'strip' }))
      const [oldest] = this.#kept.keys()
      if (this.#kept.size >= MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest)
      this.#kept.set(digest, code)
      return { code }
    } catch (thrown) {
      return { diagnostic: describe(path, text, thrown) }
    }
  }
}

/**
 * Node says of the function at its first use that it is experimental. That is a note to its users, which we are, and not to
 * ours. To be removed when Node does not say it any more.
 */
function withoutWarning<T>(work: () => T): T {
  const original = Object.getOwnPropertyDescriptor(process, 'emitWarning')
  process.emitWarning = () => undefined
  try {
    return work()
  } finally {
    if (original !== undefined) Object.defineProperty(process, 'emitWarning', original)
  }
}

function describe(path: string, text: string, thrown: unknown): Diagnostic {
  const start = findUnerasable(path, text)
  return {
    code: 'SCRIPT_INVALID',
    severity: 'error',
    message: `${toMessage(thrown).split('\n')[0]}: types are only taken out, not translated`,
    fix: 'write it in JavaScript that types were added to: no enum, no namespace, no parameter properties',
    path,
    ...(start === undefined ? {} : placeOf(text, start)),
  }
}

/** Where the first thing is that is TypeScript and more than a type. */
function findUnerasable(path: string, text: string): number | undefined {
  const { program } = parseSync(path, text, { lang: 'ts', sourceType: 'module' })
  const starts: number[] = []
  const note = ({ start }: { readonly start: number }): void => void starts.push(start)
  new Visitor({
    TSEnumDeclaration: node => (node.declare ? undefined : note(node)),
    TSModuleDeclaration: node => (node.declare ? undefined : note(node)),
    TSParameterProperty: note,
    TSImportEqualsDeclaration: note,
    TSExportAssignment: note,
  }).visit(program)
  return starts.sort((a, b) => a - b)[0]
}
