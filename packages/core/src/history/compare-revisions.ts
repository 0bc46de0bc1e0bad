import { defined } from '../defined.ts'
import { diffFiles, type FileChange } from '../skill/diff-skills.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import { describeNewCapabilities } from './capabilities.ts'

/** The differences between two revisions. */
export interface RevisionDiff {
  /** The earlier revision; absent if the skill has only one revision. */
  readonly from?: Digest
  readonly to: Digest
  /** Frontmatter fields that differ, in the order of the newer revision. */
  readonly fields: readonly FieldChange[]
  /** Whether the instructions differ. */
  readonly isBodyChanged: boolean
  /** All changed files, including the SKILL.md, sorted by path. */
  readonly files: readonly FileChange[]
  /** Texts that describe the capabilities that the newer revision adds. */
  readonly newCapabilities: readonly string[]
}

export interface FieldChange {
  readonly field: string
  /** The earlier value; absent if only the newer revision has the field. */
  readonly before?: unknown
  /** The newer value; absent if the newer revision lacks the field. */
  readonly after?: unknown
}

/** Compares the frontmatter fields, instructions and files of two revisions. */
export function compareRevisions(before: Skill | undefined, after: Skill): RevisionDiff {
  return {
    ...defined({ from: before?.revision }),
    to: after.revision,
    fields: compareFields(before, after),
    isBodyChanged: before?.bodyDigest !== after.bodyDigest,
    files: diffFiles(before?.files ?? [], after.files),
    newCapabilities: describeNewCapabilities(before, after),
  }
}

function compareFields(before: Skill | undefined, after: Skill): readonly FieldChange[] {
  const [old, now] = [before === undefined ? {} : fieldsOf(before), fieldsOf(after)]
  const names = new Set([...Object.keys(now), ...Object.keys(old)])
  return [...names]
    .filter(name => JSON.stringify(old[name]) !== JSON.stringify(now[name]))
    .map(field => ({ field, ...defined({ before: old[field], after: now[field] }) }))
}

function fieldsOf(skill: Skill): Record<string, unknown> {
  const { name, description, license, compatibility, allowedTools, metadata, extra } = skill
  return {
    name,
    description,
    license,
    compatibility,
    'allowed-tools': allowedTools?.join(' '),
    ...Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, value])),
    ...extra,
  }
}
