import { checkOptions, type KnownOptions } from '../options.ts'
import { toWildcard } from '../skill/wildcard.ts'

/** Which files and folders of a source are skills. */
export interface FileLayout {
  /** What the text of a skill is called, best name first. @default ['SKILL.md', 'skill.md'] */
  readonly fileNames: readonly string[]
  /** Whether the root of the source may itself be a skill's folder. @default true */
  readonly rootSkill: boolean
  /** Whether a Markdown file right in the root, README.md apart, is a skill of its own. @default false */
  readonly standaloneFiles: boolean
  /**
   * Names below which no skill is looked for, `*` standing for any characters; one that begins with `/` counts at the top
   * level only. The root itself is never skipped. @default DEFAULT_LAYOUT.skip
   */
  readonly skip: readonly string[]
}

const KNOWN: KnownOptions<FileLayout> = {
  fileNames: true,
  rootSkill: true,
  standaloneFiles: true,
  skip: true,
}

/**
 * @param owner the function or class that takes the layout
 * @throws {SkillError} INVALID_OPTION with the name of an option that does not exist
 */
export function checkLayout(owner: string, layout: Partial<FileLayout> | undefined): void {
  checkOptions(owner, layout, KNOWN, { path: 'layout' })
}

/** Hidden folders, installed packages, caches and build output, and at the top level what begins with an underscore. */
export const DEFAULT_LAYOUT: FileLayout = Object.freeze({
  fileNames: Object.freeze(['SKILL.md', 'skill.md']),
  rootSkill: true,
  standaloneFiles: false,
  skip: Object.freeze(['.*', '/_*', 'node_modules', '__pycache__', 'target']),
})

export const IGNORE_FILE_NAME = '.skillignore'

/** A layout as the mirror asks it. */
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

  /** The same text for the same layout. */
  get key(): string {
    return JSON.stringify(this.#layout)
  }

  /** Whether no skill is looked for below a folder, or in a file; `depth` counts from 1 for what is right in the root. */
  isSkipped(name: string, depth: number): boolean {
    return this.findSkip(name, depth) !== undefined
  }

  /** The entry of `skip` that names a folder or file, or `undefined`. */
  findSkip(name: string, depth: number): string | undefined {
    return this.#skip.find(
      ({ isTopLevelOnly, pattern }) => (!isTopLevelOnly || depth === 1) && pattern.test(name),
    )?.text
  }

  /** Whether `standaloneFiles` makes skills of Markdown files in the root. */
  get hasStandaloneFiles(): boolean {
    return this.#layout.standaloneFiles
  }

  /** Whether a file that belongs to no skill is one by itself. */
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

  /** What the text of a skill may be called. */
  get fileNames(): readonly string[] {
    return this.#layout.fileNames
  }

  /** The text of the skill among the names in a folder; `depth` is 0 for the root. */
  findSkillFile(isThere: (name: string) => boolean, depth: number): string | undefined {
    if (depth === 0 && !this.#layout.rootSkill) return undefined
    return this.#layout.fileNames.find(isThere)
  }
}
