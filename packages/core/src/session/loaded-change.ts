import type { LedgerEntry } from '../activation/ledger.ts'
import { changedPaths, diffSkills } from '../skill/diff-skills.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'

/** A file of a loaded skill that differs from the last revision reported to the conversation. */
export interface LoadedFileChange {
  readonly kind: 'added' | 'changed' | 'removed'
  readonly path: string
}

/** A loaded skill whose current revision differs from the last reported revision. */
export interface LoadedChange {
  readonly entry: LedgerEntry
  readonly skill: Skill
  /** True if the instructions differ from those that the conversation has. */
  readonly needsLoading: boolean
  /** Files and scripts that changed since the last report about the skill, sorted by path. */
  readonly files: readonly LoadedFileChange[]
}

/**
 * The fields of a skill that stay available when its revision is no longer served. Every `Skill` has these fields.
 * Unlike `Pick`, this type requires fields that are optional in `Skill`, so that a copy cannot omit them.
 */
export type KnownRevision = {
  readonly [Field in 'revision' | 'files' | 'skillFile' | 'frontmatterDigest' | 'bodyDigest']: Skill[Field]
}

/**
 * Compares a loaded skill with its current revision. Returns `undefined` if the change was already reported, or if only
 * the frontmatter changed. The listing of the notice reports a changed description.
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
  // The older revision is not known, so the notice cannot name the changed files.
  if (loaded === undefined || told === undefined)
    return { entry, skill, needsLoading: !isAsLoaded, files: [] }
  const files = findFileChanges(told, skill)
  if (files.length === 0 && !hasOtherBody(told, skill)) return undefined
  return { entry, skill, needsLoading: !isAsLoaded && hasOtherBody(loaded, skill), files }
}

/**
 * True if a skill was reported as removed, and is back now at the revision that the conversation loaded. In this case,
 * the notice only lists the skill as added.
 */
export function isBackAsLoaded(entry: LedgerEntry, skill: Skill): boolean {
  return entry.toldRevision === undefined && skill.revision === entry.revision
}

function hasOtherBody(before: KnownRevision, after: Skill): boolean {
  // Give the older revision the current source and location, so that only the folders are compared.
  return diffSkills({ ...after, ...before }, after).includes('body')
}

function findFileChanges(before: KnownRevision, after: Skill): readonly LoadedFileChange[] {
  const [old, now] = [before, after].map(({ files }) => new Set(files.map(({ path }) => path)))
  const isSkillFile = (path: string): boolean => path === before.skillFile || path === after.skillFile
  return changedPaths(before.files, after.files)
    .filter(path => !isSkillFile(path))
    .map(path => ({ kind: !old?.has(path) ? 'added' : now?.has(path) ? 'changed' : 'removed', path }))
}
