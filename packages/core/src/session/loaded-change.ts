import { contentKeys, haveEqualContent } from '../activation/content-keys.ts'
import type { LedgerEntry } from '../activation/ledger.ts'
import type { Hasher } from '../host.ts'
import { diffFiles } from '../skill/diff-skills.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import { isTestFile } from '../skill/test-files.ts'

/** A file of a loaded skill that differs from the last revision reported to the conversation. */
export interface LoadedFileChange {
  readonly kind: 'added' | 'changed' | 'removed'
  readonly path: string
}

/** A loaded skill whose content differs from what the conversation was told. */
export interface LoadedChange {
  readonly entry: LedgerEntry
  readonly skill: Skill
  /** True if the instructions differ from those that the conversation has. */
  readonly needsLoading: boolean
  /**
   * Files and scripts that changed since the last report about the skill, sorted by path; `undefined` if files changed
   * and the store no longer has the reported revision.
   */
  readonly files: readonly LoadedFileChange[] | undefined
}

/** The fields of a skill that stay available when its revision is no longer served. */
export type KnownRevision = Pick<Skill, 'revision' | 'files' | 'skillFile' | 'bodyDigest'>

export interface ChangeOptions {
  readonly hasher: Hasher
  /** Returns a revision that the conversation was told, if the store still has it. */
  readonly find: (revision: Digest) => KnownRevision | undefined
}

/**
 * Compares a loaded skill with its current revision. Returns `undefined` if the change was already reported, or if only
 * the frontmatter or the tests changed. The listing of the notice reports a changed description.
 */
export function findLoadedChange(
  entry: LedgerEntry,
  skill: Skill,
  { hasher, find }: ChangeOptions,
): LoadedChange | undefined {
  const { revision, toldRevision = revision } = entry
  if (skill.revision === toldRevision) return undefined
  const keysOf = (each: KnownRevision | undefined): ReturnType<typeof contentKeys> | undefined =>
    each && contentKeys(each, hasher)
  const now = contentKeys(skill, hasher)
  const loaded = entry.content ?? keysOf(find(revision))
  const told = toldRevision === revision ? loaded : (entry.toldContent ?? keysOf(find(toldRevision)))
  if (haveEqualContent(told, now)) return undefined
  const isAsLoaded = skill.revision === revision
  const needsLoading = loaded === undefined ? !isAsLoaded : loaded.body !== now.body
  const files = told?.files === now.files ? [] : findFileChanges(find(toldRevision), skill)
  return { entry, skill, needsLoading, files: told === undefined ? (files ?? []) : files }
}

/**
 * True if a skill was reported as removed, and is back now with the content that the conversation loaded. In this case,
 * the notice only lists the skill as added.
 */
export function isBackAsLoaded(entry: LedgerEntry, skill: Skill, hasher: Hasher): boolean {
  if (entry.toldRevision !== undefined) return false
  return skill.revision === entry.revision || haveEqualContent(entry.content, contentKeys(skill, hasher))
}

function findFileChanges(
  before: KnownRevision | undefined,
  after: Skill,
): readonly LoadedFileChange[] | undefined {
  if (before === undefined) return undefined
  const isSkillFile = (path: string): boolean => path === before.skillFile || path === after.skillFile
  return diffFiles(before.files, after.files)
    .filter(({ path }) => !isSkillFile(path) && !isTestFile({ path }))
    .map(({ path, ...file }) => ({
      kind: file.before === undefined ? 'added' : file.after === undefined ? 'removed' : 'changed',
      path,
    }))
}
