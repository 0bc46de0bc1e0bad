import type { Diagnostic, Digest } from '@skillstoke/core'
import type { FindingCode } from './finding-table.ts'

/** A replacement of a part of one file. Offsets count UTF-16 code units from the start of the file. */
export interface TextEdit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** How a finding can be corrected with an edit. */
export interface FindingEdit {
  /**
   * `auto`: `stoke check --fix` applies the edit, because the model and the clients read the same as before. `offer`: a
   * person decides, because the model reads something else afterwards.
   */
  readonly kind: 'auto' | 'offer'
  /** Says what the edit does, for example `write "references/rates.md"`. */
  readonly title: string
  /** Edits of the file of the finding, in the order of their offsets. */
  readonly edits: readonly TextEdit[]
  /** Digest of the text to which the offsets belong. Edits of another text would destroy it. */
  readonly digest?: Digest
}

/** One finding about a skill. It has the fields of a `Diagnostic`, the edit that corrects it, and the page of its code. */
export interface Finding extends Diagnostic<FindingCode> {
  readonly edit?: FindingEdit
  /** Address of the description of the code. */
  readonly page: string
}
