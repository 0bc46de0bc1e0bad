import { quote } from '@skillstoke/core/internal'
import type { CheckedSkill } from '../checked-skill.ts'
import type { CheckCode } from '../finding-table.ts'
import type { Found, Rule } from './rule.ts'

const MAX_SHOWN = 60
const MIN_LENGTH = 40
/** How many Latin letters one CJK character stands for. */
const CJK_WEIGHT = 3
const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu

/** Words and phrases that say when a skill is used. */
const TRIGGER =
  /\b(?:when(?:ever)?|if|while|before|after|during|whether|once|until|unless|upon|in case|any ?time|each time|every time|on request|proactively|triggers?|triggered|activates?|invokes?|invoked|applies|consult|asks?|asked|asking|mentions?|says|wants?|needs?|looking for|requests?|(?:useful|helpful|handy|suitable|intended|designed|ideal|best|great|perfect|essential) (?:for|in|to)|(?:use|used|using|usable|call|run|apply|load|read|choose|prefer) (?:this|it|the|for|to|in|on|with|as|by|at|only|every|[a-z-]+ (?:skill )?(?:for|to|in|with)))\b/i

const FILLER = new Set(
  'a an and any are as at be by do for from help helps how i in into is it its me my of on or our should skill skills task tasks that the their them these this those to tool tools up use used user users using want wants we when whenever with work working works you your about need needs expert expertise guide guidelines best practice practices provide provides providing comprehensive relevant related everything all things stuff various'.split(
    ' ',
  ),
)

const ROLE = /^\s*(?:you are|you're|act as|acting as|pretend to be)\b/i
const ABRUPT = /(?:\b(?:and|or|the|a|an|of)|,|\.{3}|…)\s*$/i
const PLACEHOLDER =
  /\breplace with\b|\$ARGUMENTS\b|\[(?:todo|describe|description|insert)\b|\btodo: (?:add|complete|write|describe)|your (?:skill )?description here|a (?:clear|brief|short) description of (?:what )?(?:this|the) skill|what (?:this|the|it) (?:skill )?does and when to use (?:it|this)|^<description>$/i

const WHEN_HEADING =
  /^#{1,6}\s+(when (?:to (?:use|apply|activate|invoke|run|load)|should|you)\b.*|use (?:this|it|cases?)\b.*|triggers?\b.*)$/im

/** Checks the wording of the description. Only English text is checked, except for its length. */
export const checkDescription: Rule = skill => {
  const { description } = skill.fields
  if (description === '') return []
  const length = description.length + (description.match(CJK)?.length ?? 0) * (CJK_WEIGHT - 1)
  if (length < MIN_LENGTH)
    return [
      found(
        skill,
        'DESCRIPTION_TOO_SHORT',
        `the description has only ${description.length} characters: ${quote(description, MAX_SHOWN)}`,
        'say what the skill does, and when to use it',
      ),
    ]
  return isEnglish(description) ? [...checkWording(skill, description)] : []
}

function* checkWording(skill: CheckedSkill, description: string): Generator<Found> {
  if (PLACEHOLDER.test(description))
    yield found(
      skill,
      'DESCRIPTION_PLACEHOLDER',
      `the description is text of a template: ${quote(PLACEHOLDER.exec(description)?.[0] ?? '', MAX_SHOWN)}`,
      'replace it with what the skill does, and when to use it',
    )
  else if (repeatsName(skill, description))
    yield found(
      skill,
      'DESCRIPTION_REPEATS_NAME',
      `the description says no more than the name ${quote(skill.fields.name, MAX_SHOWN)}`,
      'name the inputs, the results and the situations',
    )
  else if (ROLE.test(description))
    yield found(
      skill,
      'DESCRIPTION_ROLE_PROMPT',
      `the description starts with ${quote(ROLE.exec(description)?.[0].trim() ?? '', MAX_SHOWN)}, as a system prompt does`,
      'start with what the skill does; move the role into the instructions',
    )
  if (ABRUPT.test(description))
    yield found(
      skill,
      'DESCRIPTION_ENDS_ABRUPTLY',
      `the description ends with ${quote(description.trim().slice(-12), MAX_SHOWN)}, as if it was cut`,
      'complete the sentence',
    )
  if (!TRIGGER.test(description) && isChosenByModel(skill)) yield withoutTrigger(skill)
}

/** Skills that only people start, and skills with a field of their own, need no trigger. */
function isChosenByModel({ fields: { extra } }: CheckedSkill): boolean {
  return extra['disable-model-invocation'] !== true && extra['when_to_use'] === undefined
}

function withoutTrigger(skill: CheckedSkill): Found {
  const heading = WHEN_HEADING.exec(skill.body)?.[1]?.trim()
  const hint =
    heading === undefined
      ? ''
      : `; the section ${quote(heading, MAX_SHOWN)} is read only after the skill was chosen`
  return found(
    skill,
    'DESCRIPTION_NO_TRIGGER',
    `the description does not say when to use the skill${hint}`,
    heading === undefined
      ? 'add "Use when ..." with the situations in which it helps'
      : `copy the situations from ${quote(heading, MAX_SHOWN)} into the description`,
  )
}

/** Whether all words of the description occur in the name, or say nothing. */
function repeatsName({ fields: { name } }: CheckedSkill, description: string): boolean {
  const words = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  const known = new Set(words(name).map(stem))
  return words(description).every(word => FILLER.has(word) || known.has(stem(word)))
}

function stem(word: string): string {
  return word.replace(/(?:ing|ed|es|s)$/, '')
}

/** Whether a text is English prose. Rules of wording would be wrong for other languages. */
export function isEnglish(text: string): boolean {
  const letters = text.match(/\p{L}/gu) ?? []
  const foreign = letters.filter(letter => letter > '\u007f').length
  return foreign <= letters.length * 0.03 && /\b(?:the|and|of|for|to|with|in|a|your)\b/i.test(text)
}

function found(skill: CheckedSkill, code: CheckCode, message: string, fix: string): Found {
  return { code, message, fix, line: skill.lineOf('description'), column: 1 }
}
