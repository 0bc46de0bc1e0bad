import { parse } from '@babel/parser'

/** Position in a text. Lines and columns start at 1. */
export interface Place {
  readonly line: number
  readonly column: number
}

/**
 * Returns the position of the first TypeScript syntax that must be translated instead of removed, for example an enum.
 */
export function findUnerasable(text: string): Place | undefined {
  const found: Place[] = []
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
    return undefined // the syntax error was reported before
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
