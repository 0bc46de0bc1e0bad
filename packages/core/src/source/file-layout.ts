import type { KnownOptions } from '../options.ts'
import { toWildcard } from '../skill/wildcard.ts'

/** Rules that decide which files and folders of a source are skills. */
export interface FileLayout {
  /** File names that make a folder a skill, best name first. @default ['SKILL.md', 'skill.md'] */
  readonly fileNames: readonly string[]
  /** Whether the root of the source may be the folder of a skill. @default true */
  readonly rootSkill: boolean
  /** Whether a Markdown file directly in the root is a skill, except README.md. @default false */
  readonly standaloneFiles: boolean
  /**
   * Names of folders that are not searched for skills. `*` stands for any characters. A name that begins with `/`
   * applies only at the top level. The root itself is never skipped.
   * @default DEFAULT_LAYOUT.skip
   */
  readonly skip: readonly string[]
}

export const LAYOUT_OPTIONS: KnownOptions<FileLayout> = {
  fileNames: true,
  rootSkill: true,
  standaloneFiles: true,
  skip: true,
}

/**
 * Skips hidden folders, installed packages, caches, build output, and top-level names that begin with an underscore.
 */
export const DEFAULT_LAYOUT: FileLayout = Object.freeze({
  fileNames: Object.freeze(['SKILL.md', 'skill.md']),
  rootSkill: true,
  standaloneFiles: false,
  skip: Object.freeze(['.*', '/_*', 'node_modules', '__pycache__', 'target']),
})

export const IGNORE_FILE_NAME = '.skillignore'

/** A checked layout, in the form that the mirror uses. */
export class LayoutRules {
  readonly #layout: FileLayout
  readonly #skip: readonly {
    readonly text: string
    readonly isTopLevelOnly: boolean
    readonly pattern: RegExp
  }[]

  constructor(layout: Partial<FileLayout> = {}) {
    this.#layout = { ...DEFAULT_LAYOUT, ...layout }
    this.#skip = this.#layout.skip.map(text => ({
      text,
      isTopLevelOnly: text.startsWith('/'),
      pattern: toWildcard(text.startsWith('/') ? text.slice(1) : text),
    }))
  }

  /** The layout as text. Two equal layouts have the same text. */
  get key(): string {
    return JSON.stringify(this.#layout)
  }

  /** Whether the layout skips a folder or a file. For entries of the root, `depth` is 1. */
  isSkipped(name: string, depth: number): boolean {
    return this.findSkip(name, depth) !== undefined
  }

  /** Returns the entry of `skip` that matches a folder or file, or `undefined`. */
  findSkip(name: string, depth: number): string | undefined {
    return this.#skip.find(
      ({ isTopLevelOnly, pattern }) => (!isTopLevelOnly || depth === 1) && pattern.test(name),
    )?.text
  }

  /** The value of `standaloneFiles`: whether each Markdown file in the root is a skill. */
  get hasStandaloneFiles(): boolean {
    return this.#layout.standaloneFiles
  }

  /** Whether a file outside of all skills is a skill by itself. */
  isStandalone(name: string, depth: number): boolean {
    return (
      this.#layout.standaloneFiles &&
      depth === 1 &&
      /\.md$/i.test(name) &&
      !/^readme\.md$/i.test(name) &&
      !this.#layout.fileNames.includes(name) &&
      !this.isSkipped(name, depth)
    )
  }

  /** The file names that make a folder a skill. */
  get fileNames(): readonly string[] {
    return this.#layout.fileNames
  }

  /** Finds the file with the skill's text among the file names in a folder. For the root, `depth` is 0. */
  findSkillFile(isThere: (name: string) => boolean, depth: number): string | undefined {
    if (depth === 0 && !this.#layout.rootSkill) return undefined
    return this.#layout.fileNames.find(isThere)
  }
}
