/** How forgiving the texts of a source are read; what is tolerated is told by a diagnostic. */
export interface ReadingPolicy {
  /**
   * A name that breaks the specification's rules is `strict`: an error, `lenient`: a warning, `any`: nobody's business.
   * Names that are no safe folder name are refused in every mode. @default 'lenient'
   */
  readonly names: 'strict' | 'lenient' | 'any'
  /** What a name that differs from its folder is. @default 'warn' */
  readonly matchDirectory: 'warn' | 'error' | 'off'
  /**
   * A skill without a description is `required`: broken, `empty`: served with none, `first-heading`: described by the
   * first heading of its instructions, or their first line. The last two read texts without frontmatter, too.
   * @default 'required'
   */
  readonly description: 'required' | 'empty' | 'first-heading'
  /** What stands for a missing name: the name of the folder, with a warning, or nothing: an error. @default 'folder' */
  readonly missingName: 'folder' | 'error'
  /** Whether `Name:` is another field than `name:`. @default 'exact' */
  readonly keys: 'exact' | 'any-case'
}

export const DEFAULT_READING: ReadingPolicy = Object.freeze({
  names: 'lenient',
  matchDirectory: 'warn',
  description: 'required',
  missingName: 'folder',
  keys: 'exact',
})
