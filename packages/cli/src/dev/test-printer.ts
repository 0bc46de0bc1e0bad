import { estimateTriggers, findCollisions, listCompeting, readTestsOf } from '@skillstoke/author'
import type { Generation, Skill, SkillReader, SkillRuntime } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import { summarizeCollision } from '../terminal/describe-collision.ts'
import { summarizeEstimate } from '../terminal/describe-estimate.ts'
import { formatDiagnostic, toTerminalLine } from '../terminal/output.ts'

/** A change of more skills at once, for example by a checkout, is not compared. */
const MAX_SKILLS = 10

/**
 * After each save, prints the collisions that a new description causes, and what the words of the tests say about the
 * saved skill. Asks no model. Returns a function that stops printing.
 */
export function printTests(
  skills: SkillRuntime,
  { isInScope }: Pick<SkillReader, 'isInScope'>,
  print: (line: string) => void,
): () => void {
  const list = (current: Generation): readonly Skill[] => listCompeting({ current, isInScope })
  return skills.subscribe(({ changes, previous, generation }) => {
    const saved = changes.flatMap(change => (change.kind === 'removed' ? [] : change.name))
    if (saved.length === 0 || saved.length > MAX_SKILLS) return
    const [before, after] = [list(previous), list(generation)]
    for (const skill of after.filter(({ name }) => saved.includes(name))) {
      if (previous.find(skill.name)?.description !== skill.description)
        for (const line of findNewCollisions(skill.name, before, after)) print(line)
      void describeTests(skill, after, skills).then(
        lines => lines.forEach(print),
        (thrown: unknown) => print(`tests ${toTerminalLine(skill.name)}: ${toMessage(thrown)}`),
      )
    }
  })
}

function findNewCollisions(
  name: string,
  before: readonly Skill[],
  after: readonly Skill[],
): readonly string[] {
  const [known, now] = [before, after].map(list => findCollisions(list, { of: [name] }))
  const keyOf = ({ skills }: { readonly skills: readonly { readonly name: string }[] }): string =>
    skills.map(each => each.name).join(' ')
  const seen = new Set(known?.map(keyOf))
  return (now ?? [])
    .filter(each => each.settledBy === undefined && !seen.has(keyOf(each)))
    .map(summarizeCollision)
}

async function describeTests(
  skill: Skill,
  competing: readonly Skill[],
  skills: SkillRuntime,
): Promise<readonly string[]> {
  const tests = await readTestsOf(skill, skills)
  const faults = tests.faults.map(fault => formatDiagnostic(fault))
  return tests.triggers.length === 0
    ? faults
    : [...faults, summarizeEstimate(estimateTriggers(competing, tests))]
}
