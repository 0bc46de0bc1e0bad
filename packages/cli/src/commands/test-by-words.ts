import {
  estimateTriggers,
  listCompeting,
  type MessageRanking,
  rankSkills,
  type TriggerEstimate,
  withBodies,
} from '@skillstoke/author'
import type { SkillReader } from '@skillstoke/core'
import type { Answer } from '../terminal/answer.ts'
import { describeEstimate, describeRanking } from '../terminal/describe-estimate.ts'
import { paint, printFindings, toAdvice, toTerminalLine } from '../terminal/output.ts'
import { faultsOf, type TestedSkill } from './test.ts'

interface WordsOptions {
  readonly reader: SkillReader
  /** Whether the person named the skills. If not, skills without tests are only counted. */
  readonly isNamed: boolean
  /** Messages without a skill that they belong to, unless a skill is tested. */
  readonly messages: readonly string[] | undefined
}

/** Runs the tests of skills without a model. */
export async function testByWords(
  tested: readonly TestedSkill[],
  { reader, isNamed, messages = [] }: WordsOptions,
): Promise<Answer> {
  const competing = await withBodies(listCompeting(reader), reader)
  const having = tested.filter(({ tests }) => tests.triggers.length > 0)
  const estimates = having.map(({ tests }) => estimateTriggers(competing, tests))
  const without = tested.filter(each => !having.includes(each)).map(({ skill }) => skill.name)
  const rankings = tested.length > 0 ? [] : messages.map(message => rankSkills(message, competing))
  const faults = tested.flatMap(faultsOf)
  return {
    json: { tier: 'words', skills: estimates, withoutTests: without, messages: rankings, faults },
    text: function* () {
      printFindings(faults)
      yield* describeAll(estimates, rankings)
      yield* isNamed
        ? without.map(describeMissing)
        : countMissing(without, estimates.length + rankings.length)
    },
  }
}

function* describeAll(
  estimates: readonly TriggerEstimate[],
  rankings: readonly MessageRanking[],
): Generator<string> {
  for (const estimate of estimates) yield* [...describeEstimate(estimate), '']
  if (rankings.length > 0) yield paint('dim', 'words only, no model was asked')
  for (const ranking of rankings) yield* describeRanking(ranking)
}

function describeMissing(name: string): string {
  return toAdvice(
    `${toTerminalLine(name)} has no messages in evals/tests.yaml; write some below "fires:" and "silent:", or pipe them: "stoke test ${toTerminalLine(name)} -"`,
  )
}

function countMissing({ length }: readonly string[], shown: number): readonly string[] {
  if (length === 0) return shown > 0 ? [] : ['there are no skills that a model may load']
  const count = length === 1 ? '1 skill has' : `${length} skills have`
  const advice = shown > 0 ? '' : '; write some below "fires:" and "silent:", or pipe them: "stoke test -"'
  return [paint('dim', toAdvice(`${count} no messages in evals/tests.yaml${advice}`))]
}
