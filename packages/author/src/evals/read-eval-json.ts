import { defined, isRecord } from '@skillstoke/core/internal'
import type { TriggerTest } from './skill-tests.ts'

type Fields = Readonly<Record<string, unknown>>

/** A message, and whether it should load the skill that is tested. */
type Found = Pick<TriggerTest, 'kind' | 'message' | 'isPrompt' | 'triggerRate' | 'extra'>

const MESSAGES = ['query', 'prompt', 'message', 'input']
const LISTS = ['queries', 'evals', 'results', 'cases', 'tests']
const POSITIVE = ['should_trigger', 'positive', 'should', 'fires']
const NEGATIVE = ['should_not_trigger', 'negative', 'should_not', 'silent']

/**
 * Reads messages from a JSON value of another tool. The shape decides, because these files have no common name: a list
 * with `query` and `should_trigger`, an object around such a list, two lists, a map from skills to two lists, a list with
 * expected skills, or the prompts of output tests. Returns an empty list for any other value.
 * @param skill the name of the tested skill; a message for another skill should not load it
 */
export function readEvalJson(value: unknown, skill: string): readonly Found[] {
  if (Array.isArray(value)) return value.flatMap(each => readItem(each, skill, skill))
  if (!isRecord(value)) return []
  const owner = asText(value['skill']) ?? asText(value['skill_name']) ?? skill
  const list = LISTS.map(key => value[key]).find(each => Array.isArray(each)) as
    | readonly unknown[]
    | undefined
  if (list !== undefined) return list.flatMap(each => readItem(each, owner, skill))
  const both = readTwoLists(value, owner === skill)
  if (both.length > 0) return both
  const bySkill = isRecord(value['skills']) ? value['skills'] : value
  return Object.entries(bySkill).flatMap(([name, each]) =>
    isRecord(each)
      ? readTwoLists(each, name === skill).filter(({ kind }) => name === skill || kind === 'silent')
      : [],
  )
}

function readItem(item: unknown, owner: string, skill: string): readonly Found[] {
  if (!isRecord(item)) return []
  const key = MESSAGES.find(each => asText(item[each]) !== undefined)
  if (key === undefined) return []
  const { [key]: message, should_trigger: wanted, trigger_rate: rate, ...extra } = item
  const isWanted = typeof wanted === 'boolean' ? wanted : readExpect(item['expect'])
  const expected = expectedSkills(item)
  const kind = kindOf(isWanted, expected, owner === skill, skill)
  if (kind === undefined) return []
  const isPrompt = isWanted === undefined && expected === undefined
  const triggerRate = typeof rate === 'number' ? rate : undefined
  return [{ kind, message: message as string, isPrompt, extra, ...defined({ triggerRate }) }]
}

/** Returns `undefined` if the item says nothing about this skill: not every message for another skill is about this one. */
function kindOf(
  isWanted: boolean | undefined,
  expected: readonly unknown[] | undefined,
  isOwn: boolean,
  skill: string,
): Found['kind'] | undefined {
  if (expected !== undefined) return expected.includes(skill) ? 'fires' : 'silent'
  if (isOwn) return isWanted === false ? 'silent' : 'fires'
  return isWanted === true ? 'silent' : undefined
}

/** Returns the names of the skills that should be loaded, or `undefined` if the item names none. */
function expectedSkills(item: Fields): readonly unknown[] | undefined {
  for (const key of ['expected_skills', 'expected_skill', 'expect']) {
    const value = item[key]
    if (value === null) return []
    const names = Array.isArray(value)
      ? value
      : key === 'expected_skill' && asText(value)
        ? [value]
        : undefined
    // Other tools write sentences below `expect`.
    if (names?.every(each => typeof each === 'string' && !/\s/.test(each))) return names
  }
  return undefined
}

function readExpect(value: unknown): boolean | undefined {
  return value === 'trigger' ? true : value === 'no-trigger' ? false : undefined
}

/** Reads two lists of messages. If they belong to another skill, the messages for it should not load this one. */
function readTwoLists(value: Fields, isOwn: boolean): readonly Found[] {
  const read = (keys: readonly string[], kind: Found['kind']): readonly Found[] =>
    keys.flatMap(key => {
      const list = value[key]
      if (!Array.isArray(list)) return []
      return list.flatMap(each => {
        const message = asText(isRecord(each) ? (each['query'] ?? each['prompt']) : each)
        return message === undefined ? [] : { kind, message, isPrompt: false, extra: {} }
      })
    })
  return isOwn ? [...read(POSITIVE, 'fires'), ...read(NEGATIVE, 'silent')] : read(POSITIVE, 'silent')
}

function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}
