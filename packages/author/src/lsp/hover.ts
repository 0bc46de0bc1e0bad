import { basename, dirname } from 'node:path'
import { countEntry, DEFAULT_CATALOG } from '@skillstoke/core/internal'
import { captureSkill, MemorySkillStore, portableHasher } from '@skillstoke/core/source'
import type { Position } from 'vscode-languageserver/node'
import { CheckedSkill } from '../check/checked-skill.ts'
import { describeClients, FIELDS } from '../check/fields.ts'
import { findFrontmatterLine } from './frontmatter-lines.ts'
import { isSkillFile, type OpenDocument } from './open-skills.ts'

/** Describes the field, or the heading of the instructions, at a position in SKILL.md. Returns Markdown. */
export function describeAt(
  { document, path, skill: given }: OpenDocument,
  { line }: Position,
  countTokens: (text: string) => number,
): string | undefined {
  if (!isSkillFile(path)) return undefined
  const skill = new CheckedSkill(given)
  const field = findFrontmatterLine(document, line)?.field
  if (field !== undefined) {
    const isListed = field === 'name' || field === 'description'
    const cost = isListed ? describeEntry(skill, countTokens) : []
    return [`**${field}**`, FIELDS[field]?.means ?? '', describeClients(field), ...cost].join('\n\n')
  }
  const section = readSection(skill, line + 1)
  if (section === undefined) return undefined
  const [own, all] = [section, skill.body].map(text => countTokens(text.trim()).toLocaleString('en'))
  return `This section has ${own} tokens, all instructions have ${all}.`
}

/** Returns what the skill takes in the catalog of a new conversation, unless it cannot be read. */
function describeEntry(
  { given, text }: CheckedSkill,
  countTokens: (text: string) => number,
): readonly string[] {
  const directory = dirname(given.path)
  const place = { source: 'editor', location: basename(directory), directory }
  const context = { store: new MemorySkillStore(), hasher: portableHasher }
  const { skill } = captureSkill({ ...place, files: { 'SKILL.md': text } }, context)
  if (skill === undefined) return []
  const tokens = countEntry(skill, DEFAULT_CATALOG.format, countTokens)
  return [tokens === 0 ? 'Hidden from models: 0 tokens listed.' : `${tokens} tokens listed.`]
}

/** Returns the text from a heading to the next heading of its level or a higher one. */
function readSection({ markdown }: CheckedSkill, number: number): string | undefined {
  const levelOf = ({ kind, text }: (typeof markdown.lines)[number]): number =>
    kind === 'text' ? (/^(#{1,6})\s/.exec(text)?.[1]?.length ?? Infinity) : Infinity
  const [first, ...rest] = markdown.lines.filter(each => each.number >= number)
  if (first?.number !== number || levelOf(first) === Infinity) return undefined
  const end = rest.findIndex(each => levelOf(each) <= levelOf(first))
  return [first, ...rest.slice(0, end < 0 ? undefined : end)].map(({ text }) => text).join('\n')
}
