import { type Collision, estimateTriggers, findCollisions, type SkillTests } from '@skillstoke/author'
import { listCompeting, readTestsOf } from '@skillstoke/author/internal'
import type { Skill, SkillReader, SkillRuntime } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import { summarizeCollision } from '../terminal/describe-collision.ts'
import { summarizeEstimate } from '../terminal/describe-estimate.ts'
import { toTerminalLine } from '../terminal/output.ts'

/** A change of more skills at once, for example by a checkout, is not compared. */
const MAX_SKILLS = 10

/**
 * After each save, prints the collisions that a new description causes, and what the words of the tests say about the
 * saved skill. Returns a function that stops printing.
 * @param askModel sends the messages of a skill to a model, and describes the result. @default no model is asked
 */
export function printTests(
  skills: SkillRuntime,
  { isInScope }: Pick<SkillReader, 'isInScope'>,
  print: (line: string) => void,
  askModel?: (tests: SkillTests) => Promise<string>,
): () => void {
  return skills.subscribe(({ changes, previous, generation }) => {
    const saved = changes.flatMap(change => (change.kind === 'removed' ? [] : change.name))
    if (saved.length === 0 || saved.length > MAX_SKILLS) return
    const [before, after] = [
      listCompeting({ current: previous, isInScope }),
      listCompeting({ current: generation, isInScope }),
    ]
    const isRedescribed = (name: string): boolean =>
      previous.find(name)?.description !== generation.find(name)?.description
    const tested = after.filter(({ name }) => saved.includes(name))
    // Conversations hear of the change first, because a comparison with thousands of skills takes long.
    setImmediate(() => {
      for (const pair of findNewCollisions(saved.filter(isRedescribed), before, after))
        print(summarizeCollision(pair))
      for (const skill of tested) void printEstimate(skill, after, skills, print, askModel)
    })
  })
}

function findNewCollisions(
  of: readonly string[],
  before: readonly Skill[],
  after: readonly Skill[],
): readonly Collision[] {
  if (of.length === 0) return []
  const keyOf = ({ skills }: Collision): string => skills.map(({ name }) => name).join(' ')
  const known = new Set(findCollisions(before, { of }).map(keyOf))
  return findCollisions(after, { of }).filter(each => each.settledBy === undefined && !known.has(keyOf(each)))
}

async function printEstimate(
  skill: Skill,
  competing: readonly Skill[],
  skills: SkillRuntime,
  print: (line: string) => void,
  askModel?: (tests: SkillTests) => Promise<string>,
): Promise<void> {
  try {
    const tests = await readTestsOf(skill, skills)
    if (tests.triggers.length === 0) return
    print(summarizeEstimate(estimateTriggers(competing, tests)))
    if (askModel !== undefined) print(await askModel(tests))
  } catch (thrown) {
    print(`tests ${toTerminalLine(skill.name)}: ${toMessage(thrown)}`)
  }
}
