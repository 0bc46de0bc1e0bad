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
  const count = (text: string): string => `${countTokens(text).toLocaleString('en')} tokens`
  const skill = new CheckedSkill(given)
  const field = findFrontmatterLine(document, line)?.field
  if (field !== undefined) {
    const { name, description } = skill.fields
    const isListed = field === 'name' || field === 'description'
    const cost = isListed && skill.isReadable ? [`Listed with ${count(`${name} ${description}`)}.`] : []
    return [`**${field}**`, FIELDS[field]?.means ?? '', describeClients(field), ...cost].join('\n\n')
  }
  const section = readSection(skill, line + 1)
  if (section === undefined) return undefined
  return `This section has ${count(section)}, all instructions have ${count(skill.body)}.`
}

/** Returns the text from a heading to the next heading of its level or a higher one. */
function readSection(skill: CheckedSkill, number: number): string | undefined {
  const lines = skill.markdown.lines.filter(each => each.number >= number)
  const levelOf = ({ kind, text }: (typeof lines)[number]): number =>
    kind === 'text' ? (/^(#{1,6})\s/.exec(text)?.[1]?.length ?? Infinity) : Infinity
  const [first] = lines
  if (first === undefined || first.number !== number || levelOf(first) === Infinity) return undefined
  const end = lines.findIndex((each, index) => index > 0 && levelOf(each) <= levelOf(first))
  return lines
    .slice(0, end < 0 ? undefined : end)
    .map(({ text }) => text)
    .join('\n')
}
