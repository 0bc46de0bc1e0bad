import type { Position } from 'vscode-languageserver/node'
import type { SkillToCheck } from '../check/checked-skill.ts'
import { countTextEntry } from '../check/count-entry.ts'
import { describeClients, FIELDS } from '../check/fields.ts'
import { findFrontmatterLine } from './frontmatter-lines.ts'
import { isSkillFile, type OpenDocument } from './open-skills.ts'

/** Describes the field at a position in SKILL.md. Returns Markdown. */
export function describeAt(
  { document, path, skill: given }: OpenDocument,
  { line }: Position,
  countTokens: (text: string) => number,
): string | undefined {
  if (!isSkillFile(path)) return undefined
  const field = findFrontmatterLine(document, line)?.field
  if (field === undefined) return undefined
  const means = [`**${field}**`, FIELDS[field]?.means ?? '', describeClients(field)]
  const isListed = field === 'name' || field === 'description'
  return [...means, ...(isListed ? describeEntry(given, countTokens) : [])].join('\n\n')
}

/** Returns what the skill takes in the catalog of a new conversation, unless it cannot be read. */
function describeEntry(skill: SkillToCheck, countTokens: (text: string) => number): readonly string[] {
  const tokens = countTextEntry(skill, countTokens)
  if (tokens === undefined) return []
  return [tokens === 0 ? 'Hidden from models: 0 tokens listed.' : `${tokens} tokens listed.`]
}
