import type { TriggerSkill } from './skill-words.ts'

/**
 * Finds the sentence in which the description of a skill sends a reader to another skill. A name of one word, such as `pdf`,
 * is often an ordinary word, so it counts only after "use" or "see", in quotation marks, or before "skill".
 */
export function findNamingSentence(
  { name, description }: TriggerSkill,
  other: TriggerSkill,
): { readonly skill: string; readonly sentence: string } | undefined {
  const written = other.name.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
  const word = `(?<![\\p{L}\\p{N}-])${written}(?![\\p{L}\\p{N}-])`
  const isCompound = other.name.includes('-')
  const cue = isCompound ? word : `(?:(?:use|see)(?: the)?\\s+|["'\`/$])${word}|${word} skill`
  const pattern = new RegExp(cue, 'iu')
  const sentence = description.split(/(?<=[.!?])\s+|\n+/).find(each => pattern.test(each))
  return sentence === undefined ? undefined : { skill: name, sentence: sentence.trim() }
}
