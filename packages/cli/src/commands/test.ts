import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import {
  estimateTriggers,
  readSkillTests,
  type SkillTests,
  type TestFault,
  toTriggerEvals,
} from '@skillstoke/author'
import { listCompeting, rankSkills, readTestsOf } from '@skillstoke/author/internal'
import type { Skill, SkillReader } from '@skillstoke/core'
import { defined, toMessage } from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { openSkills } from '../skills/open-skills.ts'
import { findServed } from '../skills/tested-skill.ts'
import type { Answer } from '../terminal/answer.ts'
import { toCommandLine } from '../terminal/command-line.ts'
import { describeEstimate, describeRanking } from '../terminal/describe-estimate.ts'
import { UsageError } from '../terminal/exit-code.ts'
import { paint, printFindings, toAdvice, toTerminalLine } from '../terminal/output.ts'
import { type ModelFlags, testWithModel } from './test-with-model.ts'

export interface TestFlags extends ModelFlags {
  /** File that gets the messages in the convention of skill-creator. */
  readonly export?: string
}

/** A skill that is tested, and the tests of its served revision. */
export interface TestedSkill {
  readonly skill: Skill
  readonly tests: SkillTests
  /** Whether the messages come from standard input, and not from the files of the revision. */
  readonly isTyped: boolean
}

/** Implements `stoke test`: estimates which messages load a skill. */
export async function test(config: Config, flags: TestFlags, names: readonly string[]): Promise<Answer> {
  await using skills = await openSkills(config, { watching: 'off' })
  const reader = skills.forConversation(defined({ scope: config.scope }))
  const messages = names.includes('-') ? readMessages(await readText(process.stdin)) : undefined
  const named = names.filter(name => name !== '-').map(name => findServed(name, skills))
  if (messages !== undefined && named.length > 1)
    throw new UsageError('messages from standard input belong to one skill; name one')
  const asked = named.length > 0 || messages !== undefined ? named : listCompeting(reader)
  const tested = await Promise.all(
    asked.map(async skill => ({
      skill,
      isTyped: messages !== undefined,
      tests: messages === undefined ? await readTestsOf(skill, skills) : toTests(skill.name, messages),
    })),
  )
  if (flags.export !== undefined) return await exportTests(tested, flags.export)
  // Only a flag chooses a model here, because a model of the environment may cost money.
  if (flags.model !== undefined || flags.baseUrl !== undefined)
    return await testWithModel(tested, skills, config, flags)
  const needless = NEED_MODEL.find(([name]) => flags[name] !== undefined)
  if (needless !== undefined)
    throw new UsageError(`${needless[1]} needs --model, because words alone ask nothing`)
  return await testByWords(tested, reader, named.length > 0 ? [] : messages)
}

/** Options that mean nothing without a model. */
const NEED_MODEL = [
  ['against', '--against'],
  ['revision', '--revision'],
  ['answers', '--answers'],
  ['report', '--report'],
  ['dryRun', '--dry-run'],
  ['maxCost', '--max-cost'],
  ['price', '--price'],
] as const

function readMessages(text: string): readonly string[] {
  const lines = text.split('\n').map(line => line.trim())
  const messages = [...new Set(lines.filter(line => line !== ''))]
  if (messages.length === 0) throw new UsageError('standard input has no message; write one on each line')
  return messages
}

function toTests(skill: string, messages: readonly string[]): SkillTests {
  const text = JSON.stringify({ should_trigger: messages })
  return readSkillTests(skill, [{ path: 'standard input', text }])
}

/** Runs the tests of skills without a model. Ranks all skills for messages that belong to no skill. */
async function testByWords(
  tested: readonly TestedSkill[],
  reader: SkillReader,
  messages: readonly string[] = [],
): Promise<Answer> {
  // The advice names words of the instructions.
  const bodies = listCompeting(reader).map(async skill => ({ ...skill, body: await reader.readBody(skill) }))
  const competing = await Promise.all(bodies)
  const having = tested.filter(({ tests }) => tests.triggers.length > 0)
  const estimates = having.map(({ tests }) => estimateTriggers(competing, tests))
  const rankings = messages.map(message => rankSkills(message, competing))
  const rest = tested.filter(each => !having.includes(each))
  const withoutTests = rest.filter(({ tests }) => tests.answers.length === 0).map(({ skill }) => skill.name)
  const faults = listFaults(tested)
  return {
    json: { tier: 'words', skills: estimates, withoutTests, messages: rankings, faults },
    text: function* () {
      printFindings(faults)
      for (const estimate of estimates) yield* [...describeEstimate(estimate), '']
      for (const ranking of rankings) yield* describeRanking(ranking)
      if (rest.length > withoutTests.length)
        yield toAdvice('a model answers the messages below "ask:"; add --model NAME --base-url URL --answers')
      if (tested.length === 0) yield toAdvice('there are no skills; create one with "stoke new my-skill"')
      if (rankings.length > 0) yield paint('dim', 'words only, no model was asked')
      if (withoutTests.length > 0) yield* describeMissing(withoutTests, estimates.length === 0)
    },
  }
}

/** Lists the mistakes in the tests, with the paths of their files. */
export function listFaults(tested: readonly TestedSkill[]): readonly TestFault[] {
  return tested.flatMap(({ skill, tests }) =>
    tests.faults.map(fault => ({ ...fault, path: join(skill.directory ?? skill.location, fault.path) })),
  )
}

/** Creates the folder of a file that will be written. @throws {UsageError} when the file cannot be written */
export function prepareFile(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true })
    if (existsSync(path)) accessSync(path, constants.W_OK)
  } catch (thrown) {
    throw new UsageError(`${path} cannot be written: ${toMessage(thrown)}`)
  }
  if (existsSync(path) && statSync(path).isDirectory())
    throw new UsageError(`${path} is a folder; name a file`)
}

function* describeMissing(names: readonly string[], needsAdvice: boolean): Generator<string> {
  const shown = names.length === 1 ? toTerminalLine(names.join()) : `${names.length} skills`
  yield paint('dim', `no messages in evals/tests.yaml: ${shown}`)
  if (needsAdvice)
    yield toAdvice(
      `write messages below "fires:" and "silent:", or pipe them: "stoke test ${toCommandLine(names.slice(0, 1))} - < messages.txt"`,
    )
}

async function exportTests(tested: readonly TestedSkill[], file: string): Promise<Answer> {
  const [only, another] = tested
  if (only === undefined || another !== undefined)
    throw new UsageError('--export writes the messages of one skill; name it')
  const evals = toTriggerEvals(only.tests)
  const text = JSON.stringify(evals, undefined, 2)
  if (file === '-') return { json: evals, text: () => [text] }
  prepareFile(file)
  await writeFile(file, `${text}\n`)
  return { json: evals, text: () => [`wrote ${evals.length} messages of ${only.skill.name} to ${file}`] }
}
