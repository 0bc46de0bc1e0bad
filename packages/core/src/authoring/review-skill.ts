import { quote } from '../quote.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { ParsedSkill } from '../skill/skill-fields.ts'

const MAX_LINES = 500
const MAX_DEPTH = 2

/** Returns advice to the author of a valid skill. */
export function reviewSkill(skill: ParsedSkill, files: readonly string[]): readonly string[] {
  const advice: string[] = []
  if (!/^use (?:this skill )?when\b/i.test(skill.description))
    advice.push('begin the description with "Use when", so that a model knows when the skill applies')
  if (/\b(?:I|we|you|your|my)\b/i.test(skill.description))
    advice.push('write the description in the third person')
  const lines = skill.body.split('\n').length
  if (lines >= MAX_LINES)
    advice.push(`the body has ${lines} lines; keep it under ${MAX_LINES} and move details into files`)
  const deep = files.find(path => path.split('/').length > MAX_DEPTH)
  if (deep !== undefined)
    advice.push(`${quote(deep)} is more than one level deep; models often stop reading there`)
  return advice
}

/** Returns advice about fields that are invalid YAML. This library can read such fields, but other clients may fail. */
export function adviseRepairs(diagnostics: readonly Diagnostic[]): readonly string[] {
  return diagnostics
    .filter(({ code }) => code === 'YAML_REPAIRED')
    .map(({ line, message, fix }) => `line ${line ?? 1}: ${message}; ${fix ?? 'correct it'}`)
}
