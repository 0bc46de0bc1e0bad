import type { Generation, Skill, SkillReader } from '@skillstoke/core'
import { differsOnlyInTests, diffListings, isTestFile, quote, shortDigest } from '@skillstoke/core/internal'

const MAX_GENERATIONS = 64
/** Limits the memory of large catalogs: the number of skills in all remembered generations together. */
const MAX_SKILLS = 200_000
const MAX_NAMES = 12
const DIGEST = /^(?:sha256:)?([0-9a-f]{8,64})$/

/** Remembers the last generations, to report to a client without a connection what changed between two answers. */
export class RecentGenerations {
  readonly #seen: Generation[]

  constructor(current: Generation) {
    this.#seen = [current]
  }

  add(generation: Generation): void {
    this.#seen.push(generation)
    let count = this.#seen.reduce((sum, each) => sum + each.list().length, 0)
    while (this.#seen.length > MAX_GENERATIONS || (count > MAX_SKILLS && this.#seen.length > 1))
      count -= this.#seen.shift()?.list().length ?? 0
  }

  /** Returns the generation with a digest; `undefined` if it is unknown. */
  find(digest: string): Generation | undefined {
    return this.#seen.findLast(each => each.digest === digest)
  }

  /**
   * Returns one line that says what has changed since an earlier answer.
   * @param since digest of a generation, or of a revision of the skill, whole or its first 8 digits or more
   * @param name the skill that the answer is about; absent for lists
   */
  describe(since: string, { current: now, isInScope }: SkillReader, name: string | undefined): string {
    const skill = name === undefined ? undefined : now.find(name)
    const digits = DIGEST.exec(since.trim().toLowerCase())?.[1]
    if (digits === undefined)
      return `"since" is ${quote(since)}; use the generation or the revision that an earlier answer names.`
    const isMeant = (digest: string): boolean => digest.startsWith(`sha256:${digits}`)
    const shown = digits.slice(0, 8)
    if (skill !== undefined) {
      const old = isMeant(skill.revision) ? skill : this.#findRevision(skill.name, isMeant)
      if (old !== undefined && differsOnlyInTests(old, skill))
        return `${showName(skill.name)} has not changed since ${shown}.`
      if (old !== undefined)
        return `${showName(skill.name)} has changed since ${shown}, it is now ${shortDigest(skill.revision)}: ${list(changedPaths(old, skill))}.`
    }
    const generation = isMeant(now.digest) ? now : this.#seen.findLast(each => isMeant(each.digest))
    if (generation === undefined)
      return `${shown} is not known to this server any more; rely only on the newest answers.`
    const changes = listChanges(generation, now, isInScope)
    return changes.length === 0
      ? `No skill has changed since ${shown}.`
      : `Changed since ${shown}, the generation is now ${shortDigest(now.digest)}: ${list(changes)}.`
  }

  #findRevision(name: string, isMeant: (digest: string) => boolean): Skill | undefined {
    for (const generation of this.#seen.toReversed()) {
      const skill = generation.find(name)
      if (skill !== undefined && isMeant(skill.revision)) return skill
    }
    return undefined
  }
}

/** Returns the changes as the model sees them. A skill that only a person may invoke does not exist for the model. */
function listChanges(
  before: Generation,
  now: Generation,
  isInScope: SkillReader['isInScope'],
): readonly string[] {
  const { added, removed, changed } = diffListings(before.list(), now.list(), isInScope)
  const isTold = (skill: Skill): boolean => {
    const old = before.find(skill.name)
    return old === undefined || !differsOnlyInTests(old, skill)
  }
  return [
    ...added.map(({ name }) => `${showName(name)} added`),
    ...removed.map(name => `${showName(name)} removed`),
    ...changed.filter(isTold).map(({ name }) => `${showName(name)} changed`),
  ]
}

function changedPaths(before: Skill, after: Skill): string[] {
  const old = before.files.filter(file => !isTestFile(file))
  const now = after.files.filter(file => !isTestFile(file))
  const digests = new Map(old.map(({ path, digest }) => [path, digest]))
  const changed = now.filter(({ path, digest }) => digests.get(path) !== digest)
  const kept = new Set(now.map(({ path }) => path))
  return [
    ...changed.map(({ path }) => showName(path)),
    ...old.filter(({ path }) => !kept.has(path)).map(({ path }) => `${showName(path)} removed`),
  ]
}

/** Quotes a name that could be mistaken for other text of the line. */
export function showName(name: string): string {
  return /^[\p{L}\p{N}_./@+-]+$/u.test(name) ? name : quote(name)
}

function list(items: readonly string[]): string {
  if (items.length === 0) return 'only modes of files'
  const rest = items.length - MAX_NAMES
  return `${items.slice(0, MAX_NAMES).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}
