import { checkOptions, compareText, defined, type KnownOptions } from '@skillstoke/core/internal'
import type { SkillTests } from '../evals/skill-tests.ts'
import { spellings } from '../words/content-words.ts'
import { Likeness, type SimilarPair } from './likeness.ts'
import { rankAll } from './rank-skills.ts'
import type { TriggerSkill } from './skill-words.ts'

/**
 * How two skills collide. `equal`: the same name or description. `fight`: messages exist for which either could be chosen; people
 * agreed for 12 of 14 pairs. `similar`: worth a look; 13 of 21 pairs fought.
 */
export const COLLISION_KINDS = ['equal', 'fight', 'similar'] as const
export type CollisionKind = (typeof COLLISION_KINDS)[number]

/** One of two skills that collide. */
export interface CollidingSkill {
  readonly name: string
  readonly source?: string
  /** Important words that only this skill has. */
  readonly only: readonly string[]
}

/** A message of the tests that shares more words with the other skill. */
export interface LostMessage {
  readonly message: string
  readonly meantFor: string
  readonly first: string
}

/** Two skills that compete for messages. */
export interface Collision {
  readonly kind: CollisionKind
  readonly cosine: number
  readonly skills: readonly [CollidingSkill, CollidingSkill]
  /** The shared words, the most important first. */
  readonly shared: readonly string[]
  readonly lostMessages: readonly LostMessage[]
  /** The sentence in which one description names the other skill. */
  readonly settledBy?: { readonly skill: string; readonly sentence: string }
  /** What an author can do. Absent for a settled pair. */
  readonly suggestion?: string
}

export interface CollisionOptions {
  /** Tests whose messages are compared. @default [] */
  readonly tests?: readonly SkillTests[]
  /** Names of skills; finds only pairs with one of these. @default all skills */
  readonly of?: readonly string[]
}

const FIGHT = 0.35
const SIMILAR = 0.25
const MAX_SHARED = 6
const MAX_ONLY = 4
const KNOWN: KnownOptions<CollisionOptions> = { tests: true, of: true }

/**
 * Finds pairs of skills whose names and descriptions are so alike that a message could load either. Settled pairs are last;
 * in both parts, the most similar pair is first.
 *
 * @example
 * ```ts
 * import { findCollisions } from '@skillstoke/author'
 *
 * const found = findCollisions([
 *   { name: 'ads', description: 'Plans paid campaigns on LinkedIn and Facebook.' },
 *   { name: 'ad-creative', description: 'Writes paid ads for LinkedIn and Facebook.' },
 *   { name: 'pdf', description: 'Fills in forms.' },
 * ])
 * console.log(found.map(each => each.kind), found[0]?.shared[0]) // prints [ 'fight' ] ads
 * ```
 */
export function findCollisions(
  skills: readonly TriggerSkill[],
  options: CollisionOptions = {},
): readonly Collision[] {
  checkOptions('findCollisions()', options, KNOWN)
  const { tests = [], of } = options
  const likeness = new Likeness(skills)
  const asked = of && skills.filter(({ name }) => of.includes(name))
  const fires = tests.flatMap(({ skill, triggers }) =>
    triggers.filter(({ kind }) => kind === 'fires').map(({ message }) => ({ message, meantFor: skill })),
  )
  const firesOf = Map.groupBy(fires, ({ meantFor }) => meantFor)
  const findLost = (skill: TriggerSkill, { name: first }: TriggerSkill): readonly LostMessage[] =>
    (firesOf.get(skill.name) ?? [])
      .filter(({ message, meantFor }) => meantFor !== first && rankAll(message, skills)[0]?.skill === first)
      .map(lost => ({ ...lost, first }))
  return likeness
    .findPairs(SIMILAR, asked)
    .map(pair => describe(pair, likeness, findLost))
    .sort((a, b) => Number('settledBy' in a) - Number('settledBy' in b) || b.cosine - a.cosine)
}

function describe(
  { cosine, ...pair }: SimilarPair,
  likeness: Likeness,
  findLost: (skill: TriggerSkill, other: TriggerSkill) => readonly LostMessage[],
): Collision {
  const [a, b] = compareText(pair.a.name, pair.b.name) < 0 ? [pair.a, pair.b] : [pair.b, pair.a]
  const isEqual = a.name === b.name || a.description === b.description
  const kind = isEqual ? 'equal' : cosine >= FIGHT ? 'fight' : 'similar'
  const toSide = (skill: TriggerSkill, other: TriggerSkill): CollidingSkill => {
    const only = findWords(skill, other, false, likeness).slice(0, MAX_ONLY)
    return { name: skill.name, ...defined({ source: skill.source }), only }
  }
  const skills = [toSide(a, b), toSide(b, a)] as const
  const settledBy = findNamingSentence(a, b) ?? findNamingSentence(b, a)
  return {
    ...{ kind, cosine, skills, shared: findWords(a, b, true, likeness).slice(0, MAX_SHARED) },
    lostMessages: [...findLost(a, b), ...findLost(b, a)],
    ...(settledBy === undefined ? { suggestion: suggest(kind, skills) } : { settledBy }),
  }
}

/** Returns words of a skill that another skill has or has not, as the first spells them, the most important first. */
function findWords(
  skill: TriggerSkill,
  other: TriggerSkill,
  isShared: boolean,
  likeness: Likeness,
): readonly string[] {
  const spelled = spellings(`${skill.description} ${skill.name}`)
  const others = likeness.vectorOf(other)
  return [...likeness.vectorOf(skill)]
    .filter(([word]) => others.has(word) === isShared)
    .sort(([, a], [, b]) => b - a)
    .map(([word]) => spelled.get(word) ?? word)
}

/**
 * Finds the sentence in which the description of a skill sends a reader to another skill. A name of one word, such as `pdf`,
 * is often an ordinary word, so it counts only after "use" or "see", in quotation marks, or before "skill".
 */
function findNamingSentence(
  { name, description }: TriggerSkill,
  other: TriggerSkill,
): Collision['settledBy'] {
  const written = other.name.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
  const word = `(?<![\\p{L}\\p{N}-])${written}(?![\\p{L}\\p{N}-])`
  const isCompound = other.name.includes('-')
  const cue = isCompound ? word : `(?:(?:use|see)(?: the)?\\s+|["'\`/$])${word}|${word} skill`
  const pattern = new RegExp(cue, 'iu')
  const sentence = description.split(/(?<=[.!?])\s+|\n+/).find(each => pattern.test(each))
  return sentence === undefined ? undefined : { skill: name, sentence: sentence.trim() }
}

function suggest(kind: CollisionKind, [a, b]: Collision['skills']): string {
  if (kind === 'equal') return 'Keep one of the two, or say in each description what only that skill does'
  const cases = b.only.length > 0 ? b.only.slice(0, 2).join(' and ') : '...'
  return `Say in the description of ${a.name} when the other one is meant, for example "For ${cases}, use ${b.name}."`
}
