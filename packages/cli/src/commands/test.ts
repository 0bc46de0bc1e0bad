import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import {
  listCompeting,
  readTestsOf,
  type SkillTests,
  type TestFault,
  toTriggerEvals,
} from '@skillstoke/author'
import type { Skill } from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { openSkills } from '../skills/open-skills.ts'
import { findServed } from '../skills/tested-skill.ts'
import type { Answer } from '../terminal/answer.ts'
import { UsageError } from '../terminal/exit-code.ts'
import { testByWords } from './test-by-words.ts'

export interface TestFlags {
  /** File that gets the messages in the convention of skill-creator. */
  readonly export?: string
}

/** A skill that is tested, and the tests of its served revision. */
export interface TestedSkill {
  readonly skill: Skill
  readonly tests: SkillTests
}

/** Implements `stoke test`: estimates which messages load a skill. */
export async function test(config: Config, flags: TestFlags, names: readonly string[]): Promise<Answer> {
  await using skills = await openSkills(config, { watching: 'off' })
  const reader = skills.forConversation(defined({ scope: config.scope }))
  const isPiped = names.includes('-')
  const asked = names.filter(name => name !== '-').map(name => findServed(name, skills))
  const piped = isPiped ? toMessages(await readText(process.stdin)) : undefined
  if (isPiped && asked.length > 1)
    throw new UsageError('messages from standard input belong to one skill; name one')
  const tested = await Promise.all(
    (asked.length > 0 || isPiped ? asked : listCompeting(reader)).map(async skill => ({
      skill,
      tests: piped === undefined ? await readTestsOf(skill, skills) : toTests(skill.name, piped),
    })),
  )
  if (flags.export !== undefined) return await exportTests(tested, flags.export)
  return await testByWords(tested, { reader, isNamed: asked.length > 0, messages: piped })
}

function toMessages(text: string): readonly string[] {
  const lines = text.split('\n').map(line => line.trim())
  const messages = [...new Set(lines.filter(line => line !== ''))]
  if (messages.length === 0) throw new UsageError('standard input has no message; write one on each line')
  return messages
}

function toTests(skill: string, messages: readonly string[]): SkillTests {
  const triggers = messages.map(message => {
    return { kind: 'fires', message, isPrompt: false, extra: {}, path: '-' } as const
  })
  return { skill, triggers, answers: [], faults: [] }
}

async function exportTests([first, ...others]: readonly TestedSkill[], file: string): Promise<Answer> {
  if (first === undefined || others.length > 0)
    throw new UsageError('--export writes the tests of one skill; name it')
  const evals = toTriggerEvals(first.tests)
  const text = JSON.stringify(evals, undefined, 2)
  if (file === '-') return { json: evals, text: () => [text] }
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, `${text}\n`)
  return { json: evals, text: () => [`wrote ${evals.length} messages of ${first.skill.name} to ${file}`] }
}

/** Returns the faults in the tests of a skill, with paths that a person can open. */
export function faultsOf({ skill, tests }: TestedSkill): readonly TestFault[] {
  return tests.faults.map(fault => ({ ...fault, path: join(skill.directory ?? skill.location, fault.path) }))
}
