import { posix } from 'node:path'
import { defined } from '@skillstoke/core/internal'
import { type CompletionItem, CompletionItemKind, type Position } from 'vscode-languageserver/node'
import { CLAUDE_TOOLS, CLIENTS } from '../check/clients.ts'
import { describeClients, FIELDS } from '../check/fields.ts'
import { findFrontmatterLine } from './frontmatter-lines.ts'
import { isSkillFile, type OpenDocument } from './open-skills.ts'

/** Completes fields, values and tools in the frontmatter, and paths of the skill in the text. */
export function complete({ document, path, skill }: OpenDocument, position: Position): CompletionItem[] {
  const typed = document.getText({ start: { line: position.line, character: 0 }, end: position })
  const line = isSkillFile(path) ? findFrontmatterLine(document, position.line) : undefined
  const files = (skill.files ?? []).map(each => each.path)
  const items =
    line === undefined
      ? completePaths(typed, path, files)
      : /^[\w-]*$/.test(typed)
        ? completeFields(line.fields)
        : completeValues(line.field)
  const word = typed.split(/[\s`(,:[\]"']/).at(-1) ?? ''
  const start = { ...position, character: position.character - word.length }
  return items.map(({ insertText, ...item }) => ({
    ...item,
    textEdit: { range: { start, end: position }, newText: insertText ?? item.label },
  }))
}

function completeFields(present: readonly string[]): readonly CompletionItem[] {
  return Object.entries(FIELDS)
    .filter(([name]) => !present.includes(name))
    .map(([name, { means, type = 'text' }], index) => ({
      label: name,
      kind: CompletionItemKind.Property,
      insertText: type === 'map' ? `${name}:` : `${name}: `,
      detail: means,
      documentation: describeClients(name),
      // Keeps the order of the table.
      sortText: String(index).padStart(2, '0'),
    }))
}

function completeValues(field = ''): readonly CompletionItem[] {
  const { type, values = [], namesTools = false } = FIELDS[field] ?? { means: '' }
  if (namesTools)
    return toItems(CLAUDE_TOOLS, CompletionItemKind.Function, `tool of ${CLIENTS['claude-code'].title}`)
  return toItems(type === 'boolean' ? ['true', 'false'] : values, CompletionItemKind.Value)
}

const LINK_TARGET = /\]\([^()\s]*$/
const INLINE_CODE = /^(?:[^`]|`[^`]*`)*`[^`]*$/

/** Links are relative to their file. Inline code names files from the folder of the skill. */
function completePaths(typed: string, path: string, files: readonly string[]): readonly CompletionItem[] {
  const isLink = LINK_TARGET.test(typed)
  if (!isLink && !INLINE_CODE.test(typed)) return []
  const targets = files.filter(file => file !== path && !isSkillFile(file))
  const paths = isLink ? targets.map(file => posix.relative(posix.dirname(path), file)) : targets
  return toItems(paths, CompletionItemKind.File)
}

function toItems(
  labels: readonly string[],
  kind: CompletionItemKind,
  detail?: string,
): readonly CompletionItem[] {
  return labels.map(label => ({ label, kind, ...defined({ detail }) }))
}
