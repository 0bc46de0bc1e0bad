import { join } from 'node:path'
import { estimateTriggers } from '@skillstoke/author'
import { listCompeting, rankSkills, withBodies } from '@skillstoke/author/internal'
import type { SkillReader } from '@skillstoke/core'
import type { Answer } from '../terminal/answer.ts'
import { describeEstimate, describeRanking } from '../terminal/describe-estimate.ts'
import { paint, printFindings, toAdvice, toTerminalLine } from '../terminal/output.ts'
import type { TestedSkill } from './test.ts'

interface WordsOptions {
  readonly reader: SkillReader
  /** Whether the person named the skills. If not, skills without tests are only counted. */
  readonly isNamed: boolean
  /** Messages from standard input. */
  readonly messages: readonly string[] | undefined
}

/** Runs the tests of skills without a model. Without skills, ranks all skills for each message. */
export async function testByWords(
  tested: readonly TestedSkill[],
  { reader, isNamed, messages = [] }: WordsOptions,
): Promise<Answer> {
  const competing = await withBodies(listCompeting(reader), reader)
  const [having, without] = [true, false].map(has =>
    tested.filter(({ tests }) => tests.triggers.length > 0 === has),
  ) as [TestedSkill[], TestedSkill[]]
  const estimates = having.map(({ tests }) => estimateTriggers(competing, tests))
  const rankings = tested.length > 0 ? [] : messages.map(message => rankSkills(message, competing))
  const withoutTests = without.map(({ skill }) => skill.name)
  const faults = tested.flatMap(({ skill, tests }) =>
    tests.faults.map(fault => ({ ...fault, path: join(skill.directory ?? skill.location, fault.path) })),
  )
  return {
    json: { tier: 'words', skills: estimates, withoutTests, messages: rankings, faults },
    text: function* () {
      printFindings(faults)
      for (const estimate of estimates) yield* [...describeEstimate(estimate), '']
      for (const ranking of rankings) yield* describeRanking(ranking)
      if (rankings.length > 0) yield paint('dim', 'words only, no model was asked')
      yield* describeMissing(withoutTests, isNamed || estimates.length === 0)
    },
  }
}

function* describeMissing(names: readonly string[], needsAdvice: boolean): Generator<string> {
  if (names.length === 0) return
  const shown = names.length === 1 ? toTerminalLine(names.join()) : `${names.length} skills`
  yield paint('dim', `no messages in evals/tests.yaml: ${shown}`)
  if (needsAdvice)
    yield toAdvice(
      'write messages below "fires:" and "silent:", or pipe them: "stoke test SKILL - < messages.txt"',
    )
}
