import { listForModel } from '../catalog/catalog-cache.ts'
import { askFor, findByNameOrFolder, toKnownName } from '../reader/find-by-name.ts'
import { useNewest } from '../reader/use-newest.ts'
import type { Generation } from '../registry/generation.ts'
import type { SkillReport } from '../registry/skill-report.ts'
import { isModelInvocable } from '../skill/invocation.ts'
import { findNearNames } from '../skill/near-names.ts'
import type { Skill } from '../skill/skill.ts'
import { foldText } from '../skill/text.ts'
import type { Conversation } from './conversation.ts'
import { activateSkill } from './invoke-skill.ts'

/** The outcome of a request for a skill. */
export type LoadOutcome =
  | { readonly kind: 'loaded'; readonly skill: Skill; readonly body: string; readonly generation: Generation }
  /** The requested name was empty. Contains all skills in scope. */
  | { readonly kind: 'list'; readonly skills: readonly Skill[]; readonly generation: Generation }
  /** No skill has the requested name, but these skills match its words. */
  | {
      readonly kind: 'matches'
      readonly query: string
      readonly skills: readonly Skill[]
      readonly generation: Generation
    }
  /** Only a person may invoke the skill, and no person has invoked it in this conversation. */
  | { readonly kind: 'user-only'; readonly skill: Skill; readonly generation: Generation }
  /** The skill exists but has never been valid, so it cannot be served. */
  | { readonly kind: 'broken'; readonly report: SkillReport; readonly generation: Generation }
  | {
      readonly kind: 'not-found'
      readonly query: string
      readonly suggestions: readonly string[]
      readonly available: number
      readonly generation: Generation
    }

const MAX_MATCHES = 5

/**
 * Reads a skill again, then loads it by name or slash id. Tries, in this order: the exact name, the folder name,
 * similar names, a ranked search, and parts of words. A skill that is not in scope is reported as missing.
 * @throws `signal.reason` when the signal aborts; in this case, the skill is not recorded as loaded
 */
export async function loadSkill(
  requested: string,
  conversation: Conversation,
  signal?: AbortSignal,
): Promise<LoadOutcome> {
  const { reader } = conversation
  const asked = await askFor(requested, reader)
  const { name: query, generation } = asked
  if (query === '') {
    const skills = listForModel(generation.list(), reader.isInScope)
    return { kind: 'list', skills, generation }
  }
  return await useNewest(reader, asked, newest => loadFrom(newest, query, conversation, signal))
}

async function loadFrom(
  generation: Generation,
  query: string,
  conversation: Conversation,
  signal: AbortSignal | undefined,
): Promise<LoadOutcome> {
  const { reader } = conversation
  const skill = findByNameOrFolder(generation, query, reader.isInScope)
  if (skill !== undefined) {
    const isLoaded = (): boolean =>
      conversation.ledger.find(toKnownName(generation, skill, query)) !== undefined
    // A model may load the newest revision of a skill that a person invoked earlier in the conversation.
    if (!isModelInvocable(skill) && !isLoaded()) return { kind: 'user-only', skill, generation }
    const body = await activateSkill({ generation, skill, name: query }, conversation, signal)
    return { kind: 'loaded', skill, body, generation }
  }
  const report = generation
    .reports()
    .find(each => each.name === query && each.status === 'broken' && reader.isInScope(each.name))
  if (report !== undefined) return { kind: 'broken', report, generation }
  return findOthers(query, generation, conversation)
}

function findOthers(query: string, generation: Generation, conversation: Conversation): LoadOutcome {
  const scoped = listForModel(generation.list(), conversation.reader.isInScope)
  const names = scoped.map(skill => skill.name)
  const suggestions = findNearNames(query, names)
  if (suggestions.length === 0) {
    const ranked = conversation.reader
      .search(query, { limit: MAX_MATCHES + countHidden(generation) })
      .map(hit => hit.skill)
      .filter(isModelInvocable)
      .slice(0, MAX_MATCHES)
    const skills = ranked.length > 0 ? ranked : findContaining(query, scoped).slice(0, MAX_MATCHES)
    if (skills.length > 0) return { kind: 'matches', query, skills, generation }
  }
  return { kind: 'not-found', query, suggestions, available: names.length, generation }
}

/**
 * Returns the skills whose name or description contains the text, ignoring case. The search index finds only whole
 * words.
 */
function findContaining(query: string, skills: readonly Skill[]): readonly Skill[] {
  const wanted = foldText(query)
  return skills.filter(
    ({ name, description }) => foldText(name).includes(wanted) || foldText(description).includes(wanted),
  )
}

/** Counts the skills that only a person may invoke. */
function countHidden(generation: Generation): number {
  return generation.list().filter(skill => !isModelInvocable(skill)).length
}
