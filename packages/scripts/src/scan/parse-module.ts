import { parse } from '@babel/parser'
import type { Comment, File, ImportDeclaration, Node, Statement, StringLiteral } from '@babel/types'
import type { Diagnostic } from '@skillstoke/core'
import type { ScriptText } from '@skillstoke/core/source'
import type { WrittenImport } from './script-imports.ts'

// Maximum length of one script, because parsing is slow.
const MAX_CHARACTERS = 262_144

/** A parsed module. */
export interface ParsedModule {
  readonly file: ScriptText
  readonly body: readonly Statement[]
  readonly comments: readonly Comment[]
  readonly imports: readonly ImportDeclaration[]
  /** All imports and re-exports, except statements with only types. */
  readonly written: readonly WrittenImport[]
  readonly diagnostics: readonly Diagnostic[]
}

/** Parses a module. If the module cannot be parsed, returns diagnostics and no code. */
export function parseModule(file: ScriptText): ParsedModule {
  const nothing = { file, body: [], comments: [], imports: [], written: [] }
  const refuse = (message: string, place: Place = {}): ParsedModule => ({
    ...nothing,
    diagnostics: [{ code: 'SCRIPT_INVALID', severity: 'error', message, path: file.path, ...place }],
  })
  if (file.text.length > MAX_CHARACTERS)
    return refuse(`the script has ${file.text.length} characters; at most ${MAX_CHARACTERS} are read`)
  try {
    return toParsed(file, parseText(file))
  } catch (thrown) {
    // Deep nesting exhausts the stack of the parser.
    if (thrown instanceof RangeError) return refuse('the script is nested too deeply')
    const { message, loc } = thrown as Error & {
      readonly loc?: { readonly line: number; readonly column: number }
    }
    const words = message.replace(/\s*\(\d+:\d+\)$/, '').replace(/\.$/, '')
    const place = loc === undefined ? {} : { line: loc.line, column: loc.column + 1 }
    return refuse(`${words.charAt(0).toLowerCase()}${words.slice(1)}`, place)
  }
}

function parseText({ path, text }: ScriptText): File {
  const isTyped = /\.[mc]?ts$/.test(path)
  // CommonJS files cannot define commands, but other scripts may import them.
  const sourceType = /\.c[jt]s$/.test(path) ? 'commonjs' : 'module'
  return parse(text, { sourceType, plugins: isTyped ? ['typescript'] : [] })
}

function toParsed(file: ScriptText, { program, comments }: File): ParsedModule {
  const imports = program.body.filter(statement => statement.type === 'ImportDeclaration')
  const written = program.body.flatMap((statement): WrittenImport[] => {
    const { source } = statement as { readonly source?: StringLiteral | null }
    if (!source || isTypeOnly(statement)) return []
    return [{ specifier: source.value, place: placeOf(source) }]
  })
  return { file, body: program.body, comments: comments ?? [], imports, written, diagnostics: [] }
}

/** Position in a text. Lines and columns start at 1. */
export interface Place {
  readonly line?: number
  readonly column?: number
}

/** Babel counts columns from 0. */
export function placeOf({ loc }: Partial<Pick<Node, 'loc'>>): Place {
  return loc ? { line: loc.start.line, column: loc.start.column + 1 } : {}
}

/** Whether a statement imports or exports only types, which are removed before the code runs. */
function isTypeOnly(statement: Statement): boolean {
  if (statement.type === 'ImportDeclaration')
    return (
      statement.importKind === 'type' ||
      (statement.specifiers.length > 0 &&
        statement.specifiers.every(each => each.type === 'ImportSpecifier' && each.importKind === 'type'))
    )
  return 'exportKind' in statement && statement.exportKind === 'type'
}
