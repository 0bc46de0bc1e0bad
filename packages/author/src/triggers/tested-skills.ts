import type { Skill, SkillReader } from '@skillstoke/core'
import { decodeUnmarkedText, isModelInvocable, mapConcurrently } from '@skillstoke/core/internal'
import { mayHaveTests, readSkillTests } from '../evals/read-skill-tests.ts'
import type { SkillTests } from '../evals/skill-tests.ts'
import type { TriggerSkill } from './skill-words.ts'

type Reader = Pick<SkillReader, 'current' | 'isInScope' | 'readFile' | 'readBody'>

const MOST_AT_ONCE = 16

/** Returns the served skills that a model may load by itself. These compete for its messages. */
export function listCompeting({
  current,
  isInScope,
}: Pick<Reader, 'current' | 'isInScope'>): readonly Skill[] {
  return current.list().filter(skill => isModelInvocable(skill) && isInScope(skill.name))
}

/** Adds the instructions, which the estimate needs for its advice. */
export async function withBodies(skills: readonly Skill[], reader: Reader): Promise<readonly TriggerSkill[]> {
  const add = async (skill: Skill): Promise<TriggerSkill> => {
    const { name, description, source } = skill
    return { name, description, source, body: await reader.readBody(skill) }
  }
  return await mapConcurrently(skills, add, MOST_AT_ONCE, new AbortController().signal)
}

/** Reads the tests of a revision of a skill. */
export async function readTestsOf(skill: Skill, reader: Pick<Reader, 'readFile'>): Promise<SkillTests> {
  const files = skill.files.filter(mayHaveTests)
  const texts = files.map(async ({ path }) => ({
    path,
    text: decodeUnmarkedText(await reader.readFile(skill, path)),
  }))
  return readSkillTests(skill.name, await Promise.all(texts))
}
