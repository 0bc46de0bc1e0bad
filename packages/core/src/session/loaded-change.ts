import type { LedgerEntry } from '../activation/ledger.ts'
import { SkillError } from '../errors.ts'
import type { Hasher } from '../host.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import { changedPaths, diffSkills } from '../skill/diff-skills.ts'
import { type Digest, digestOf } from '../skill/digest.ts'
import { parseSkill } from '../skill/parse-skill.ts'
import type { Skill } from '../skill/skill.ts'

/** One file of a skill that differs from what the conversation was told of. */
export interface LoadedFileChange {
  readonly kind: 'added' | 'changed' | 'removed'
  readonly path: string
}

/** A skill in the conversation's context that is now another revision. */
export interface LoadedChange {
  readonly entry: LedgerEntry
  readonly skill: Skill
  /** Whether the instructions differ from those that the conversation has. */
  readonly needsLoading: boolean
  /** Files and scripts that changed since the conversation was told of the skill last, sorted by path. */
  readonly files: readonly LoadedFileChange[]
}

/**
 * What is known of a revision that is no longer served. Every `Skill` has it. Unlike in `Pick`, a field that is optional in
 * `Skill` is not optional here, so that no copy can forget it.
 */
export type KnownRevision = {
  readonly [Field in 'revision' | 'files' | 'skillFile' | 'frontmatterDigest' | 'bodyDigest']: Skill[Field]
}

/**
 * Compares what a conversation has loaded with a skill as it is now. Returns `undefined` when nothing has to be said: it was
 * told already, or only the frontmatter changed, whose description the listing shows.
 */
export function findLoadedChange(
  entry: LedgerEntry,
  skill: Skill,
  find: (revision: Digest) => KnownRevision | undefined,
): LoadedChange | undefined {
  const { revision, toldRevision } = entry
  if (skill.revision === toldRevision || isBackAsLoaded(entry, skill)) return undefined
  const isAsLoaded = skill.revision === revision
  const loaded = find(revision)
  const told = toldRevision === undefined ? loaded : find(toldRevision)
  // Nothing is known of the older revision, so its changes cannot be named.
  if (loaded === undefined || told === undefined)
    return { entry, skill, needsLoading: !isAsLoaded, files: [] }
  const files = findFileChanges(told, skill)
  if (files.length === 0 && !hasOtherBody(told, skill)) return undefined
  return { entry, skill, needsLoading: !isAsLoaded && hasOtherBody(loaded, skill), files }
}

/** Told as removed and back as it was loaded: that it is there again is all there is to tell. */
export function isBackAsLoaded(entry: LedgerEntry, skill: Skill): boolean {
  return entry.toldRevision === undefined && skill.revision === entry.revision
}

/**
 * Reads what a revision consisted of from the store.
 * @returns `undefined` when the store no longer has it
 */
export async function readRevision(
  { name, skillFile: newest }: Skill,
  revision: Digest,
  reader: SkillReader,
  hasher: Hasher,
): Promise<KnownRevision | undefined> {
  const files = await reader.listFiles(revision)
  const named = [newest, 'SKILL.md', 'skill.md'].find(path => files?.some(file => file.path === path))
  if (files === undefined || named === undefined) return undefined
  try {
    const bytes = await reader.readFile({ name, revision, files }, named)
    const parsed = parseSkill(bytes, {
      directoryName: name,
      policy: { names: 'any', description: 'empty', matchDirectory: 'off' },
    })
    if (!parsed.ok) return undefined
    const { frontmatter, body } = parsed.value
    return {
      ...{ revision, files, skillFile: named },
      frontmatterDigest: digestOf(frontmatter, hasher),
      bodyDigest: digestOf(body, hasher),
    }
  } catch (thrown) {
    if (SkillError.isInstance(thrown, 'REVISION_NOT_FOUND')) return undefined
    throw thrown
  }
}

function hasOtherBody(before: KnownRevision, after: Skill): boolean {
  // Only the folder counts here: source and place of the older revision are taken as they are now.
  return diffSkills({ ...after, ...before }, after).includes('body')
}

function findFileChanges(before: KnownRevision, after: Skill): readonly LoadedFileChange[] {
  const [old, now] = [before, after].map(({ files }) => new Set(files.map(({ path }) => path)))
  const isSkillFile = (path: string): boolean => path === before.skillFile || path === after.skillFile
  return changedPaths(before.files, after.files)
    .filter(path => !isSkillFile(path))
    .map(path => ({ kind: !old?.has(path) ? 'added' : now?.has(path) ? 'changed' : 'removed', path }))
}
