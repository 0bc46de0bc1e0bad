import { compareText, defined } from '@skillstoke/core/internal'
import type { SkillTests } from '../evals/skill-tests.ts'
import { spellings } from '../words/content-words.ts'
import { findNamingSentence } from './find-naming-sentence.ts'
import { Likeness, type SimilarPair } from './likeness.ts'
import { SkillIndex } from './skill-index.ts'
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

/**
 * Finds pairs of skills whose names and descriptions are so alike that a message could load either. Settled pairs are last;
 * in both parts, the most similar pair is first.
 *
 * @example
 * const found = findCollisions([
 *   { name: 'ads', description: 'Plans paid campaigns on LinkedIn and Facebook.' },
 *   { name: 'ad-creative', description: 'Writes paid ads for LinkedIn and Facebook.' },
 *   { name: 'pdf', description: 'Fills in forms.' },
 * ])
 * console.log(found.map(each => `${each.kind}: ${each.shared.join(', ')}`)) // prints [ 'fight: ads, facebook, linkedin, paid' ]
 */
export function findCollisions(
  skills: readonly TriggerSkill[],
  { tests = [], of }: CollisionOptions = {},
): readonly Collision[] {
  const likeness = new Likeness(skills)
  const pairs = of === undefined ? likeness.findPairs(SIMILAR) : findPairsOf(of, skills, likeness)
  const bySkill = new Map(tests.map(each => [each.skill, each]))
  return pairs
    .map(pair => describe(pair, skills, likeness, bySkill))
    .sort((a, b) => Number('settledBy' in a) - Number('settledBy' in b) || b.cosine - a.cosine)
}

function findPairsOf(
  names: readonly string[],
  skills: readonly TriggerSkill[],
  likeness: Likeness,
): readonly SimilarPair[] {
  const asked = new Set(names)
  const found = new Map<string, SimilarPair>()
  for (const [place, { name }] of skills.entries())
    if (asked.has(name))
      for (const pair of likeness.findLike(place, SIMILAR)) found.set(`${pair.first} ${pair.second}`, pair)
  return [...found.values()]
}

function describe(
  { first, second, cosine }: SimilarPair,
  skills: readonly TriggerSkill[],
  likeness: Likeness,
  tests: ReadonlyMap<string, SkillTests>,
): Collision {
  const [a, b] = [skills[first], skills[second]].sort((x, y) =>
    compareText(x?.name ?? '', y?.name ?? ''),
  ) as [TriggerSkill, TriggerSkill]
  const [ofA, ofB] = [likeness.vectorOf(a), likeness.vectorOf(b)]
  const wordsOnlyIn = (skill: TriggerSkill, own: typeof ofA, other: typeof ofA): readonly string[] =>
    heaviest(skill, own, word => !other.has(word)).slice(0, MAX_ONLY)
  const shared = heaviest(a, ofA, word => ofB.has(word)).slice(0, MAX_SHARED)
  const sides = [
    { name: a.name, ...defined({ source: a.source }), only: wordsOnlyIn(a, ofA, ofB) },
    { name: b.name, ...defined({ source: b.source }), only: wordsOnlyIn(b, ofB, ofA) },
  ] as const
  const isEqual = a.name === b.name || a.description === b.description
  const kind = isEqual ? 'equal' : cosine >= FIGHT ? 'fight' : 'similar'
  const settledBy = findNamingSentence(a, b) ?? findNamingSentence(b, a)
  return {
    kind,
    cosine,
    skills: sides,
    shared,
    lostMessages: [...findLost(a, b, skills, tests), ...findLost(b, a, skills, tests)],
    ...(settledBy === undefined ? { suggestion: suggest(kind, sides) } : { settledBy }),
  }
}

/** Returns words of a skill as it spells them, the most important first. */
function heaviest(
  { name, description }: TriggerSkill,
  vector: ReadonlyMap<string, number>,
  isMeant: (word: string) => boolean,
): readonly string[] {
  const spelled = spellings(`${description} ${name}`)
  return [...vector]
    .filter(([word]) => isMeant(word))
    .sort(([, a], [, b]) => b - a)
    .map(([word]) => spelled.get(word) ?? word)
}

function findLost(
  skill: TriggerSkill,
  other: TriggerSkill,
  skills: readonly TriggerSkill[],
  tests: ReadonlyMap<string, SkillTests>,
): readonly LostMessage[] {
  const fires = tests.get(skill.name)?.triggers.filter(({ kind }) => kind === 'fires') ?? []
  return fires.flatMap(({ message }) =>
    SkillIndex.of(skills).rank(message)[0]?.skill === other
      ? { message, meantFor: skill.name, first: other.name }
      : [],
  )
}

function suggest(kind: CollisionKind, [a, b]: readonly [CollidingSkill, CollidingSkill]): string {
  if (kind === 'equal') return `keep one of the two, or say in each description what only that skill does`
  const cases = b.only.length > 0 ? b.only.slice(0, 2).join(' and ') : '...'
  return `say in the description of ${a.name} when the other one is meant, for example "For ${cases}, use ${b.name}."`
}
