import { type KnownOptions, oneOf } from '../options.ts'

/** The values that each field of a `ReadingPolicy` may have. */
export const READING_CHOICES = {
  names: ['strict', 'lenient', 'any'],
  matchDirectory: ['warn', 'error', 'off'],
  description: ['required', 'empty', 'first-heading'],
  missingName: ['folder', 'error'],
  keys: ['exact', 'any-case'],
  secretFiles: ['leave-out', 'include'],
} as const

/** How tolerantly the texts of a source are read. Each tolerated fault becomes a diagnostic. */
export interface ReadingPolicy {
  /**
   * A name that breaks the rules of the specification is an error (`strict`), a warning (`lenient`), or accepted (`any`).
   * Every mode refuses names that are not safe as folder names. @default 'lenient'
   */
  readonly names: (typeof READING_CHOICES.names)[number]
  /** Severity of the finding if the name of a skill differs from the name of its folder. @default 'warn' */
  readonly matchDirectory: (typeof READING_CHOICES.matchDirectory)[number]
  /**
   * Decides about a skill without a description. `required`: the skill is broken. `empty`: the skill gets an empty
   * description. `first-heading`: the description is the first heading of the instructions or, without a heading, their
   * first line. With `empty` and `first-heading`, a text without frontmatter is also a skill.
   * @default 'required'
   */
  readonly description: (typeof READING_CHOICES.description)[number]
  /**
   * `folder`: the folder's name replaces a missing name, with a warning. `error`: a missing name is an error.
   * @default 'folder'
   */
  readonly missingName: (typeof READING_CHOICES.missingName)[number]
  /** Whether `Name:` counts as `name:` (`any-case`) or as a different field (`exact`). @default 'exact' */
  readonly keys: (typeof READING_CHOICES.keys)[number]
  /**
   * Whether files that usually hold a secret, such as `.env`, are files of the skill. A skill with such a file cannot be
   * published. @default 'leave-out'
   */
  readonly secretFiles: (typeof READING_CHOICES.secretFiles)[number]
}

export const READING_OPTIONS: KnownOptions<ReadingPolicy> = {
  names: oneOf(READING_CHOICES.names),
  matchDirectory: oneOf(READING_CHOICES.matchDirectory),
  description: oneOf(READING_CHOICES.description),
  missingName: oneOf(READING_CHOICES.missingName),
  keys: oneOf(READING_CHOICES.keys),
  secretFiles: oneOf(READING_CHOICES.secretFiles),
}

export const DEFAULT_READING: ReadingPolicy = Object.freeze({
  names: 'lenient',
  matchDirectory: 'warn',
  description: 'required',
  missingName: 'folder',
  keys: 'exact',
  secretFiles: 'leave-out',
})
