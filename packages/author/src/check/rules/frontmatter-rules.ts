import { findNearest, quote } from '@skillstoke/core/internal'
import { KNOWN_FIELDS } from '../clients.ts'
import type { Rule } from './rule.ts'

const DELIMITER = /^---[ \t]*\r?$/
/** A field, a line that belongs to the field above it, or a blank line. */
const FIELD_LINE = /^(?:[\w-]+:|[ \t]|\r?$)/

/** Reports a second block of fields directly below the first one. */
export const checkSecondBlock: Rule = skill => {
  const lines = skill.body.split('\n')
  const first = lines.findIndex(line => line.trim() !== '')
  const last = lines.findIndex((line, at) => at > first && DELIMITER.test(line))
  const fields = lines.slice(first + 1, Math.max(last, 0))
  const isBlock = DELIMITER.test(lines[first] ?? '') && fields.every(line => FIELD_LINE.test(line))
  if (skill.bodyLine === 1 || !isBlock || !fields.some(line => /^(?:name|description):/.test(line))) return []
  const start = skill.text.length - skill.body.length
  const end = start + lines.slice(0, last + 1).join('\n').length
  const line = skill.bodyLine + first
  return [
    {
      ...{ code: 'FRONTMATTER_TWICE', line, column: 1 },
      message: 'a second block of fields follows the first one; models read it as instructions',
      fix: 'keep one block of fields',
      edit: {
        kind: 'offer',
        title: 'delete the second block',
        edits: [{ start, end, text: '' }],
      },
    },
  ]
}

/** Reports fields whose name is near to a known one. */
export const checkFieldNames: Rule = skill =>
  // The fields of a broken skill are only lines.
  [...new Set(skill.head.map(line => /^[\w-]+(?=\s*:)/.exec(line)?.[0] ?? ''))].flatMap(key => {
    if (KNOWN_FIELDS.includes(key) || key.includes('.') || key.length < 4) return []
    const plain = (name: string): string => name.toLowerCase().replaceAll(/[-_]/g, '')
    const near = KNOWN_FIELDS.find(field => plain(field) === plain(key)) ?? findNearest(key, KNOWN_FIELDS)
    // A field that only contains the name of another one, or begins otherwise, has a meaning of its own.
    if (near === undefined || Math.abs(plain(near).length - plain(key).length) > 2) return []
    const isOther = near.includes(key) || key.includes(near) || near[0] !== key[0]
    if (plain(near) !== plain(key) && isOther) return []
    return [
      {
        ...{ code: 'FIELD_MISSPELT', line: skill.lineOf(key), column: 1 },
        message: `${quote(key)} is not a known field, so clients ignore it`,
        fix: `if you mean ${quote(near)}, write it so`,
      } as const,
    ]
  })

/** Reports entries of `allowed-tools` that no client understands. */
export const checkToolForms: Rule = skill => {
  const line = skill.lineOf('allowed-tools')
  const written = skill.head[line - 1] ?? ''
  const isJson = /^allowed-tools:\s*["'][[{]/.test(written)
  const faulty = skill.fields.allowedTools.filter(
    tool => tool === '*' || /\(\s*\)/.test(tool) || count(tool, '(') !== count(tool, ')'),
  )
  if (faulty.length === 0 && !isJson) return []
  const what = isJson ? 'JSON in quotes' : faulty.map(tool => quote(tool)).join(', ')
  return [
    {
      ...{ code: 'TOOLS_FORM', line, column: 1 },
      message: `no client understands ${what} in "allowed-tools"`,
      fix: 'write names and patterns with spaces between them, for example "Read Bash(git:*)"',
    },
  ]
}

function count(text: string, character: string): number {
  return text.split(character).length - 1
}
