import type { Skill, SkillReader } from '@skillstoke/core'
import { decodeUnmarkedText, isModelInvocable } from '@skillstoke/core/internal'
import { mayHaveTests, readSkillTests } from '../evals/read-skill-tests.ts'
import type { SkillTests } from '../evals/skill-tests.ts'

/**
 * Returns the served skills that a model may load by itself. These compete for its messages.
 *
 * @example
 * ```ts
 * import { listCompeting } from '@skillstoke/author/internal'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * console.log(listCompeting(skills).map(skill => skill.name)) // prints [ 'support-pdf' ]
 * ```
 */
export function listCompeting({
  current,
  isInScope,
}: Pick<SkillReader, 'current' | 'isInScope'>): readonly Skill[] {
  return current.list().filter(skill => isModelInvocable(skill) && isInScope(skill.name))
}

/**
 * Reads the tests of a revision of a skill.
 *
 * @example
 * ```ts
 * import { readTestsOf } from '@skillstoke/author/internal'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const tests = await readTestsOf(skills.current.get('support-pdf'), skills)
 * console.log(tests.triggers.length) // prints 0
 * ```
 */
export async function readTestsOf(skill: Skill, reader: Pick<SkillReader, 'readFile'>): Promise<SkillTests> {
  const texts = skill.files.filter(mayHaveTests).map(async ({ path }) => {
    return { path, text: decodeUnmarkedText(await reader.readFile(skill, path)) }
  })
  return readSkillTests(skill.name, await Promise.all(texts))
}
