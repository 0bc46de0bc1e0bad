import { parse } from '@babel/parser'
import type { Node } from '@babel/types'
import { type Place, placeOf } from './parse-module.ts'

/**
 * Returns the position of the first TypeScript syntax that must be translated instead of removed, for example an enum.
 */
export function findUnerasable(text: string): Place | undefined {
  const found: Node[] = []
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each)
    if (typeof value !== 'object' || value === null || !('type' in value)) return
    const node = value as Node & { readonly declare?: boolean }
    if (UNERASABLE.includes(node.type) && node.declare !== true) found.push(node)
    for (const child of Object.values(value)) visit(child)
  }
  try {
    visit(parse(text, { sourceType: 'module', plugins: ['typescript'] }).program)
  } catch {
    return undefined // the syntax error was reported before
  }
  const [first] = found.sort((a, b) => (a.start ?? 0) - (b.start ?? 0))
  return first && placeOf(first)
}

const UNERASABLE: readonly string[] = [
  'TSEnumDeclaration',
  'TSModuleDeclaration',
  'TSParameterProperty',
  'TSImportEqualsDeclaration',
  'TSExportAssignment',
]
