import type { Hasher } from '../host.ts'
import type { Diagnostic } from './diagnostic.ts'
import { type Digest, digestOf } from './digest.ts'
import { revisionOf, type SkillFile } from './manifest.ts'
import type { ParsedSkill, SkillDescription } from './skill-fields.ts'

/**
 * One skill at one revision. The object is immutable and complete, and a new object is created only when the skill
 * changes.
 */
export interface Skill extends SkillDescription {
  /** Label of the skill's source. */
  readonly source: string
  /** The skill's folder within the source, `/`-separated; empty when the skill is the root itself. */
  readonly location: string
  /** Path under which commands on this machine find the skill's folder. Absent if the skill is not on a disk. */
  readonly directory?: string
  /** `SKILL.md` or `skill.md`. */
  readonly skillFile: string
  /** Every regular file of the folder, sorted bytewise by path. */
  readonly files: readonly SkillFile[]
  /**
   * SHA-256 over the raw text between the frontmatter delimiters. For a skill of a source that retrieves files on demand:
   * SHA-256 over the listed frontmatter as JSON.
   */
  readonly frontmatterDigest: Digest
  /**
   * SHA-256 over the instructions, without blank lines around them. For a skill of a source that retrieves files on
   * demand: SHA-256 over the whole SKILL.md.
   */
  readonly bodyDigest: Digest
  /**
   * The frontmatter as the origin lists it, as JSON values. Present only for a skill whose files are not retrieved yet.
   * The revision does not cover the list, so the list may differ from the file.
   */
  readonly listedFrontmatter?: Readonly<Record<string, unknown>>
  /** Digest of the manifest of the whole folder. */
  readonly revision: Digest
  /** Warnings and remarks. A text with errors does not become a `Skill`. */
  readonly diagnostics: readonly Diagnostic[]
}

/** A skill together with its instructions. */
export interface LoadedSkill extends Skill {
  readonly body: string
}

/** The place of a skill in its source. */
export type SkillPlace = Pick<Skill, 'source' | 'location' | 'directory' | 'skillFile'>

/** Creates a skill from its parsed text, its files and its place. `files` must be sorted. */
export function createSkill(
  parsed: ParsedSkill,
  files: readonly SkillFile[],
  place: SkillPlace,
  diagnostics: readonly Diagnostic[],
  hasher: Hasher,
): Skill {
  const { frontmatter, body, bodyLine: _bodyLine, ...fields } = parsed
  return Object.freeze({
    ...fields,
    ...place,
    files: Object.freeze(files),
    frontmatterDigest: digestOf(frontmatter, hasher),
    bodyDigest: digestOf(body, hasher),
    revision: revisionOf(files, hasher),
    diagnostics: Object.freeze(diagnostics),
  })
}
