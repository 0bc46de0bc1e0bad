import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { readSkillTests, type SkillTests, toTriggerEvals } from '@skillstoke/author'
import { listCompeting, readTestsOf } from '@skillstoke/author/internal'
import type { Skill } from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { openSkills } from '../skills/open-skills.ts'
import { findServed } from '../skills/tested-skill.ts'
import type { Answer } from '../terminal/answer.ts'
import { UsageError } from '../terminal/exit-code.ts'
import { testByWords } from './test-by-words.ts'
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
  return await testByWords(tested, { reader, isNamed: named.length > 0, messages })
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

async function exportTests(tested: readonly TestedSkill[], file: string): Promise<Answer> {
  const [only, another] = tested
  if (only === undefined || another !== undefined)
    throw new UsageError('--export writes the messages of one skill; name it')
  const evals = toTriggerEvals(only.tests)
  const text = JSON.stringify(evals, undefined, 2)
  if (file === '-') return { json: evals, text: () => [text] }
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, `${text}\n`)
  return { json: evals, text: () => [`wrote ${evals.length} messages of ${only.skill.name} to ${file}`] }
}
