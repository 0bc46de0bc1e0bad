import type { Diagnostic } from './diagnostic.ts'
import type { Skill } from './skill.ts'

/** What a source found in one folder: a skill, or the reasons why there is none. */
export interface SourceEntry {
  /** The folder within the source; unique in its contents. */
  readonly location: string
  /** The skill's name, or the best guess (the folder's name) when the text is broken. */
  readonly name: string
  /** Name of the file that holds the skill's text. @default 'SKILL.md' */
  readonly skillFile?: string
  /** Absent when the text is broken. */
  readonly skill?: Skill
  /** Whether a symbolic link is on the way to it: the folder itself comes first then. @default false */
  readonly isLinked?: boolean
  /** What the folder is, whatever it is called: where two readings have the same, it was moved. */
  readonly identity?: string
  /** Where the folder is on this machine, if it is. */
  readonly directory?: string
  /** Everything found about this folder, the skill's own diagnostics included. */
  readonly diagnostics: readonly Diagnostic[]
}

/** Everything that a source holds at one moment: always complete, never an edit. */
export interface SourceContents {
  /** Sorted bytewise by location. An unchanged entry is the same object as before. */
  readonly entries: readonly SourceEntry[]
  /** Findings about the source itself, for example a missing root or a scan that stopped at its budget. */
  readonly diagnostics: readonly Diagnostic[]
}

export const EMPTY_CONTENTS: SourceContents = Object.freeze({
  entries: Object.freeze([]),
  diagnostics: Object.freeze([]),
})
