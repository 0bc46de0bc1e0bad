import type { Diagnostic } from './diagnostic.ts'
import type { Digest } from './digest.ts'
import type { Skill } from './skill.ts'

/** The content of one folder of a source: a valid skill, or the reasons why the skill is broken. */
export interface SourceEntry {
  /** The folder within the source; unique among the entries. */
  readonly location: string
  /** The skill's name, or the folder's name when the text is broken. */
  readonly name: string
  /** Name of the file with the skill's text. @default 'SKILL.md' */
  readonly skillFile?: string
  /** The valid skill. Absent if the text of the skill is broken. */
  readonly skill?: Skill
  /** Digest of the skill's file if its text is broken, so that two broken texts with the same findings differ. */
  readonly refused?: Digest
  /**
   * Whether the path contains a symbolic link. If a folder is found both directly and through a link, the direct path
   * has precedence.
   * @default false
   */
  readonly isLinked?: boolean
  /**
   * Identity of the folder, which does not depend on its path. If the next scan finds the same identity at another
   * path, the folder was moved.
   */
  readonly identity?: string
  /** Path of the folder on this machine. Absent if the folder is not on this machine. */
  readonly directory?: string
  /** Absolute path of the folder with links resolved. Absent if this is the location within the source's origin. */
  readonly realPath?: string
  /** Whether the folder contains links, so that some of its files are also in other folders. @default false */
  readonly hasLinks?: boolean
  /** All findings about this folder, including the findings about its skill. */
  readonly diagnostics: readonly Diagnostic[]
}

/** The complete contents of a source at one moment, never only the changes. */
export interface SourceContents {
  /** Sorted bytewise by location. An unchanged entry is the same object as in the previous contents. */
  readonly entries: readonly SourceEntry[]
  /** Findings about the source itself, for example a missing root or a scan that reached its limit. */
  readonly diagnostics: readonly Diagnostic[]
}

/** Contents with no skills and no findings. */
export const EMPTY_CONTENTS: SourceContents = Object.freeze({
  entries: Object.freeze([]),
  diagnostics: Object.freeze([]),
})
