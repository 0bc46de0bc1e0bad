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
    case 'FRONTMATTER_MISSING':
      return removeWrapper(skill)
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

/** Fields that decide who sees a skill or what it may do. Not even their quotes are changed. */
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

const WRAPPER = /^(?:`{3,}|~{3,}|-{4,})(?:\w[\w-]*)?\s*$/
const CLOSING = /^(?:`{3,}|~{3,}|-{3,})\s*$/

/** Removes a code fence around the fields or the file, or writes "---" instead of a fence or a longer line. */
function removeWrapper(skill: CheckedSkill): FindingEdit | undefined {
  const lines = skill.text.split('\n')
  const find = (from: number, pattern: RegExp): number =>
    lines.findIndex((line, at) => at >= from && pattern.test(line))
  const first = find(0, /\S/)
  const start = find(first + 1, /\S/)
  const end = find(start + 1, CLOSING)
  if (!WRAPPER.test(lines[first] ?? '') || start === -1 || end === -1) return undefined
  const hasOwn = /^---\s*$/.test(lines[start] ?? '')
  const below = find(end + 1, /\S/)
  const last = lines.findLastIndex(line => line.trim() !== '')
  const closing = [below, last].find(at => /^[`~]{3}/.test(lines[at] ?? '') && CLOSING.test(lines[at] ?? ''))
  const chosen = hasOwn ? [first, closing ?? first] : [first, end]
  const edits = [...new Set(chosen)].map(at => ({
    start: at === first ? 0 : startOfLine(skill, at + 1),
    end: Math.min(startOfLine(skill, at + 2), skill.text.length),
    text: hasOwn ? '' : '---\n',
  }))
  const title = hasOwn ? 'delete the lines around the fields' : 'write "---" above and below the fields'
  return parseEdited(skill, edits).ok ? { kind: 'offer', title, edits } : undefined
}

/** A value in quotes that YAML reads. */
const IS_QUOTED = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')$/

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
  const match = /^(\s*[\w-]+:[ \t]+)(\S.*)$/.exec(line.trimEnd())
  if (match === null || isDeciding(finding, skill)) return undefined
  const [, key = '', value = ''] = match
  if (IS_QUOTED.test(value)) return undefined
  const start = startOfLine(skill, finding.line ?? 1) + key.length
  const bare = /^(["'])(.*)\1$/.exec(value)?.[2] ?? value
  const edit: TextEdit = { start, end: start + value.length, text: JSON.stringify(bare) }
  const title = `put the value of "${key.trim().replace(/:$/, '')}" in quotes`
  if (kind === 'offer') return { kind, title, edits: [edit] }
  return servesTheSame(skill, [edit]) ? { kind, title, edits: [edit] } : undefined
}

function servesTheSame(skill: CheckedSkill, edits: readonly TextEdit[]): boolean {
  const read = (given: readonly TextEdit[]): string => {
    const outcome = parseEdited(skill, given)
    if (!outcome.ok) return ''
    const { frontmatter: _frontmatter, ...served } = outcome.value
    return JSON.stringify(served)
  }
  const after = read(edits)
  return after !== '' && after === read([])
}

/** Whether edits of SKILL.md leave everything as it is that decides who sees the skill or what it may do. */
export function keepsRights(skill: CheckedSkill, edits: readonly TextEdit[]): boolean {
  const bodyStart = skill.text.length - skill.body.length
  if (skill.isReadable && edits.every(({ start }) => start >= bodyStart)) return true
  const [before, after] = [parseEdited(skill, []), parseEdited(skill, edits)]
  if (!after.ok) return !before.ok
  const { name, allowedTools, metadata, extra } = after.value
  if (before.ok) {
    const { value } = before
    const [a, b] = [
      [name, allowedTools, metadata, extra],
      [value.name, value.allowedTools, value.metadata, value.extra],
    ]
    return JSON.stringify(a) === JSON.stringify(b)
  }
  // A broken skill has no rights yet.
  const isPlain = Object.keys(metadata ?? {}).every(key => !key.startsWith('skillstoke'))
  return isPlain && (allowedTools ?? []).length === 0 && Object.keys(extra).length === 0
}

function parseEdited(
  { text, given }: CheckedSkill,
  edits: readonly TextEdit[],
): ReturnType<typeof parseSkill> {
  const options = given.directoryName === undefined ? {} : { directoryName: given.directoryName }
  return parseSkill(new TextEncoder().encode(applyEdits(text, edits)), options)
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
