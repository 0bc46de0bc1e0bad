import { type Collision, estimateTriggers, findCollisions, type SkillTests } from '@skillstoke/author'
import { listCompeting, readTestsOf } from '@skillstoke/author/internal'
import type { Skill, SkillReader, SkillRuntime } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import { summarizeCollision } from '../terminal/describe-collision.ts'
import { summarizeEstimate } from '../terminal/describe-estimate.ts'
import { formatDiagnostic, toTerminalLine } from '../terminal/output.ts'

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
    const [before, after] = [previous, generation].map(current => listCompeting({ current, isInScope })) as [
      readonly Skill[],
      readonly Skill[],
    ]
    const redescribed = saved.filter(
      name => previous.find(name)?.description !== generation.find(name)?.description,
    )
    if (redescribed.length > 0)
      for (const pair of findNewCollisions(redescribed, before, after)) print(summarizeCollision(pair))
    for (const skill of after.filter(({ name }) => saved.includes(name)))
      void describeTests(skill, after, skills, askModel).then(
        lines => {
          for (const line of lines) print(line)
        },
        (thrown: unknown) => print(`tests ${toTerminalLine(skill.name)}: ${toMessage(thrown)}`),
      )
  })
}

function findNewCollisions(
  of: readonly string[],
  before: readonly Skill[],
  after: readonly Skill[],
): readonly Collision[] {
  const keyOf = ({ skills }: Collision): string => skills.map(({ name }) => name).join(' ')
  const known = new Set(findCollisions(before, { of }).map(keyOf))
  return findCollisions(after, { of }).filter(each => each.settledBy === undefined && !known.has(keyOf(each)))
}

async function describeTests(
  skill: Skill,
  competing: readonly Skill[],
  skills: SkillRuntime,
  askModel?: (tests: SkillTests) => Promise<string>,
): Promise<readonly string[]> {
  const tests = await readTestsOf(skill, skills)
  const faults = tests.faults.map(fault => formatDiagnostic(fault))
  if (tests.triggers.length === 0) return faults
  const asked = askModel === undefined ? [] : [await askModel(tests)]
  return [...faults, summarizeEstimate(estimateTriggers(competing, tests)), ...asked]
}
