import { defined, isRecord } from '@skillstoke/core/internal'
import type { TriggerKind, TriggerTest } from './skill-tests.ts'

type Fields = Readonly<Record<string, unknown>>

/** A message, and whether it should load the skill that is tested. */
type Found = Omit<TriggerTest, 'path' | 'line'>

const MESSAGES = ['query', 'prompt', 'message']
const LISTS = ['queries', 'evals', 'results', 'cases']
/** The names of two lists, and whether their messages should load the skill. */
const TWO_LISTS = {
  ...{ should_trigger: true, positive: true, should: true },
  ...{ should_not_trigger: false, negative: false, should_not: false },
}

/**
 * Reads messages from a JSON value of another tool. The shape decides, because these files have no common name: a list
 * with `query` and `should_trigger`, an object around such a list, two lists, a map from skills to two lists, a list with
 * expected skills, or the prompts of output tests. Returns an empty list for any other value.
 * @param skill the name of the tested skill; a message for another skill should not load it
 */
export function readEvalJson(value: unknown, skill: string): readonly Found[] {
  if (Array.isArray(value)) return value.flatMap(each => readItem(each, true, skill))
  if (!isRecord(value)) return []
  const isOwn = (value['skill'] ?? value['skill_name'] ?? skill) === skill
  const list = LISTS.map(key => value[key]).find(each => Array.isArray(each))
  if (Array.isArray(list)) return list.flatMap(each => readItem(each, isOwn, skill))
  const both = readTwoLists(value, isOwn, skill)
  if (both.length > 0) return both
  const skills = isRecord(value['skills']) ? value['skills'] : value
  return Object.entries(skills).flatMap(([name, each]) => readTwoLists(each, name === skill, skill))
}

function readItem(item: unknown, isOwn: boolean, skill: string): readonly Found[] {
  if (!isRecord(item)) return []
  const key = MESSAGES.find(each => isText(item[each]))
  if (key === undefined) return []
  const { [key]: message, should_trigger: wanted, trigger_rate: rate, ...extra } = item
  const expected = expectedSkills(item)
  const isWanted =
    typeof wanted === 'boolean' ? wanted : { trigger: true, 'no-trigger': false }[String(item['expect'])]
  const kind =
    expected === undefined ? kindOf(isWanted, isOwn) : expected.includes(skill) ? 'fires' : 'silent'
  if (kind === undefined) return []
  const isPrompt = isWanted === undefined && expected === undefined
  const triggerRate = typeof rate === 'number' ? rate : undefined
  return [{ kind, message: message as string, isPrompt, extra, ...defined({ triggerRate }) }]
}

/** Returns `undefined` for an item that says nothing about this skill: what is not for another skill may be for this one. */
function kindOf(isWanted: boolean | undefined, isOwn: boolean): TriggerKind | undefined {
  if (isOwn) return isWanted === false ? 'silent' : 'fires'
  return isWanted === true ? 'silent' : undefined
}

/** Returns the names of the skills that should be loaded, or `undefined` if the item names none. */
function expectedSkills(item: Fields): readonly unknown[] | undefined {
  const value = ['expected_skills', 'expected_skill'].map(key => item[key]).find(each => each !== undefined)
  if (value !== undefined) return value === null ? [] : [value].flat()
  // Other tools write sentences below `expect`.
  const { expect } = item
  const isNames = Array.isArray(expect) && expect.every(each => isText(each) && !/\s/.test(each))
  return isNames ? expect : expect === null ? [] : undefined
}

/** Reads two lists of messages, as one list of items that say whether the skill is wanted. */
function readTwoLists(value: unknown, isOwn: boolean, skill: string): readonly Found[] {
  if (!isRecord(value)) return []
  return Object.entries(TWO_LISTS).flatMap(([key, wanted]) => {
    const list = value[key]
    const messages = Array.isArray(list) ? list.map(each => (isRecord(each) ? each : { query: each })) : []
    return messages.flatMap(each => readItem({ ...each, should_trigger: wanted }, isOwn, skill))
  })
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}
