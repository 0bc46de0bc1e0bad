import { type Diagnostic, findHiddenText, parseSkill } from '@skillstoke/core'
import type { CheckedSkill } from './checked-skill.ts'
import type { FindingEdit, TextEdit } from './finding.ts'

/** Returns the edit that corrects a finding of the core in SKILL.md, or `undefined`. */
export function findCoreEdit(finding: Diagnostic, skill: CheckedSkill): FindingEdit | undefined {
  switch (finding.code) {
    case 'BYTE_ORDER_MARK':
      return { kind: 'auto', title: 'delete the byte order mark', edits: [{ start: 0, end: 1, text: '' }] }
    case 'TEXT_BEFORE_FRONTMATTER':
      return deleteBefore(skill)
    case 'YAML_REPAIRED':
      return isDeciding(finding, skill) ? undefined : quoteValue(finding, skill, 'auto')
    case 'VALUE_RETYPED':
      return quoteValue(finding, skill, 'auto')
    case 'VALUE_CUT_BY_COMMENT':
      return quoteValue(finding, skill, 'offer')
    case 'HIDDEN_TEXT':
      return deleteHidden(finding, skill)
    default:
      return undefined
  }
}

/** Fields that decide who sees a skill or what it may do. No edit changes them, not even their quotes. */
const DECIDING =
  /^\s*["']?(?:allowed-tools|disallowed-tools|disable-model-invocation|user-invocable|capabilities|hooks)\b/i

function isDeciding({ line = 1 }: Diagnostic, { head }: CheckedSkill): boolean {
  // A value may continue on further lines, so the field is the last line above that is not indented.
  const lines = head.slice(0, line).toReversed()
  const field = lines.find(text => /^\S/.test(text)) ?? ''
  return lines.length === 0 || DECIDING.test(field) || DECIDING.test(head[line - 1] ?? '')
}

function deleteBefore({ text }: CheckedSkill): FindingEdit | undefined {
  const start = text.startsWith('\ufeff') ? 1 : 0
  const end = text.search(/^---[ \t]*\r?$/m)
  if (end <= start) return undefined
  const isBlank = text.slice(start, end).trim() === ''
  const title = isBlank ? 'delete the blank lines' : 'delete the text above the fields'
  return { kind: isBlank ? 'auto' : 'offer', title, edits: [{ start, end, text: '' }] }
}

/**
 * Puts the value of a field in quotes. An automatic edit must leave every served field as it is, so the edited text is read
 * again.
 */
function quoteValue(
  finding: Diagnostic,
  skill: CheckedSkill,
  kind: FindingEdit['kind'],
): FindingEdit | undefined {
  const line = skill.head[(finding.line ?? 1) - 1] ?? ''
  const match = /^(\s*[\w-]+:[ \t]+)(\S.*?)\s*$/.exec(line)
  if (match === null || isDeciding(finding, skill)) return undefined
  const [, key = '', value = ''] = match
  const start = startOfLine(skill, finding.line ?? 1) + key.length
  const bare = /^(["'])(.*)\1$/.exec(value)?.[2] ?? value
  const edit: TextEdit = { start, end: start + value.length, text: JSON.stringify(bare) }
  const title = `put the value of "${key.trim().replace(/:$/, '')}" in quotes`
  if (kind === 'offer') return { kind, title, edits: [edit] }
  return servesTheSame(skill, [edit]) ? { kind, title, edits: [edit] } : undefined
}

function servesTheSame(skill: CheckedSkill, edits: readonly TextEdit[]): boolean {
  const { directoryName } = skill.given
  const options = directoryName === undefined ? {} : { directoryName }
  const read = (text: string): string => {
    const outcome = parseSkill(new TextEncoder().encode(text), options)
    if (!outcome.ok) return ''
    const { frontmatter: _frontmatter, ...served } = outcome.value
    return JSON.stringify(served)
  }
  const after = read(applyEdits(skill.text, edits))
  return after !== '' && after === read(skill.text)
}

function deleteHidden({ line, column }: Diagnostic, skill: CheckedSkill): FindingEdit | undefined {
  const hidden = findHiddenText(skill.text).find(each => each.line === line && each.column === column)
  if (hidden === undefined) return undefined
  const { index, length, shown } = hidden
  return { kind: 'offer', title: `delete ${shown}`, edits: [{ start: index, end: index + length, text: '' }] }
}

function startOfLine({ text }: CheckedSkill, line: number): number {
  return text
    .split('\n')
    .slice(0, line - 1)
    .reduce((sum, each) => sum + each.length + 1, 0)
}

/**
 * Applies edits that do not overlap. Positions are those of the given text.
 *
 * @example
 * ```ts
 * import { applyEdits } from '@skillstoke/author'
 *
 * console.log(applyEdits('see a.md', [{ start: 4, end: 8, text: 'b.md' }])) // prints see b.md
 * ```
 */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  let edited = text
  for (const { start, end, text: inserted } of edits.toSorted((a, b) => b.start - a.start))
    edited = edited.slice(0, start) + inserted + edited.slice(end)
  return edited
}
