import { estimateTriggers, findCollisions, type SkillTests } from '@skillstoke/author'
import { listCompeting, readTestsOf } from '@skillstoke/author/internal'
import type { Skill, SkillReader, SkillRuntime } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import { summarizeCollision } from '../terminal/describe-collision.ts'
import { summarizeEstimate } from '../terminal/describe-estimate.ts'
import { toTerminalLine } from '../terminal/output.ts'

/** A change of more skills at once, for example by a checkout, is not compared. */
const MAX_SKILLS = 10

/**
 * After each save, prints the collisions of a skill with a new description, and what the words of the tests say about the
 * saved skill. Returns a function that stops printing.
 * @param askModel sends the messages of a skill to a model, and describes the result. @default no model is asked
 */
export function printTests(
  skills: SkillRuntime,
  { isInScope }: Pick<SkillReader, 'isInScope'>,
  print: (line: string) => void,
  askModel?: (tests: SkillTests) => Promise<string>,
): () => void {
  const printEstimate = async (skill: Skill, competing: readonly Skill[]): Promise<void> => {
    try {
      const tests = await readTestsOf(skill, skills)
      if (tests.triggers.length === 0) return
      print(summarizeEstimate(estimateTriggers(competing, tests)))
      if (askModel !== undefined) print(await askModel(tests))
    } catch (thrown) {
      print(`tests ${toTerminalLine(skill.name)}: ${toMessage(thrown)}`)
    }
  }
  return skills.subscribe(({ changes, previous, generation }) => {
    const names = new Set(changes.map(({ name }) => name))
    const competing = listCompeting({ current: generation, isInScope })
    const saved = competing.filter(({ name }) => names.has(name))
    if (saved.length === 0 || saved.length > MAX_SKILLS) return
    const redescribed = saved.filter(skill => previous.find(skill.name)?.description !== skill.description)
    // Conversations hear of the change first, because a comparison with thousands of skills takes long.
    setImmediate(() => {
      const of = redescribed.map(({ name }) => name)
      for (const pair of of.length === 0 ? [] : findCollisions(competing, { of }))
        if (pair.settledBy === undefined) print(summarizeCollision(pair))
      for (const skill of saved) void printEstimate(skill, competing)
    })
  })
}
