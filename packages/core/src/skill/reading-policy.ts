import { checkChoice } from '../errors.ts'
import { checkOptions, type KnownOptions } from '../options.ts'

/** The values that each field of a `ReadingPolicy` may have. */
export const READING_CHOICES = {
  names: ['strict', 'lenient', 'any'],
  matchDirectory: ['warn', 'error', 'off'],
  description: ['required', 'empty', 'first-heading'],
  missingName: ['folder', 'error'],
  keys: ['exact', 'any-case'],
} as const

/** How forgiving the texts of a source are read; what is tolerated is told by a diagnostic. */
export interface ReadingPolicy {
  /**
   * A name that breaks the specification's rules is `strict`: an error, `lenient`: a warning, `any`: nobody's business.
   * Names that are no safe folder name are refused in every mode. @default 'lenient'
   */
  readonly names: (typeof READING_CHOICES.names)[number]
  /** What a name that differs from its folder is. @default 'warn' */
  readonly matchDirectory: (typeof READING_CHOICES.matchDirectory)[number]
  /**
   * A skill without a description is `required`: broken, `empty`: served with none, `first-heading`: described by the
   * first heading of its instructions, or their first line. The last two read texts without frontmatter, too.
   * @default 'required'
   */
  readonly description: (typeof READING_CHOICES.description)[number]
  /** What stands for a missing name: the name of the folder, with a warning, or nothing: an error. @default 'folder' */
  readonly missingName: (typeof READING_CHOICES.missingName)[number]
  /** Whether `Name:` is another field than `name:`. @default 'exact' */
  readonly keys: (typeof READING_CHOICES.keys)[number]
}

const KNOWN: KnownOptions<ReadingPolicy> = {
  names: true,
  matchDirectory: true,
  description: true,
  missingName: true,
  keys: true,
}

/**
 * @param owner the function or class that takes the policy
 * @throws {SkillError} INVALID_OPTION with the option, its value, and what would be right
 */
export function checkReading(owner: string, reading: Partial<ReadingPolicy> = {}, path = 'reading'): void {
  checkOptions(owner, reading, KNOWN, { path })
  for (const name of Object.keys(KNOWN) as (keyof ReadingPolicy)[])
    checkChoice<string>(`${path}.${name}`, reading[name], READING_CHOICES[name])
}

export const DEFAULT_READING: ReadingPolicy = Object.freeze({
  names: 'lenient',
  matchDirectory: 'warn',
  description: 'required',
  missingName: 'folder',
  keys: 'exact',
})
