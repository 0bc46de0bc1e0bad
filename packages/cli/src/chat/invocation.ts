import type { Generation, Skill, SkillReader } from '@skillstoke/core'
import { isUserInvocable } from '@skillstoke/core/internal'

/** Returns the skills in scope that a person may invoke with a slash. */
export function listInvocable(reader: SkillReader): readonly Skill[] {
  return reader.current.list().filter(skill => reader.isInScope(skill.name) && isUserInvocable(skill))
}

/**
 * Returns why the slash at the beginning of a message invokes no skill. Returns `undefined` if the message invokes a
 * skill, or does not look like an invocation: it names a path such as `/etc/hosts`, or a command such as `/git.status`.
 */
export async function findInvocationFault(message: string, reader: SkillReader): Promise<string | undefined> {
  const [, text, word] = /^\s*\/(([^\s/.]+)(?:\s.*)?)$/s.exec(message) ?? []
  if (text === undefined || word === undefined) return undefined
  const generation = await reader.fresh()
  const skill = findNamed(text.normalize('NFKC'), generation) ?? findByFolder(word, generation, reader)
  if (skill === undefined || !reader.isInScope(skill.name)) {
    const failed = reader.explain(word).steps.find(({ ok }) => !ok)
    return `/${word} is neither a command nor a skill of this conversation: ${failed?.detail ?? 'no skill has this name'}`
  }
  if (isUserInvocable(skill)) return undefined
  return `the skill ${JSON.stringify(skill.name)} has "user-invocable: false"; ask for what it does instead`
}

/** Finds the longest skill name at the beginning of the text. A name may contain spaces. */
function findNamed(text: string, generation: Generation): Skill | undefined {
  const isNamed = ({ name }: Skill): boolean =>
    text.startsWith(name) && /^(?:\s|$)/.test(text.slice(name.length))
  return generation
    .list()
    .filter(isNamed)
    .toSorted((a, b) => b.name.length - a.name.length)[0]
}

function findByFolder(word: string, generation: Generation, reader: SkillReader): Skill | undefined {
  const { skill } = reader.explain(word)
  return skill === undefined ? undefined : generation.find(skill)
}
