import { type Diagnostic, type Digest, parseSkill } from '@skillstoke/core'
import { decodeText, digestOf } from '@skillstoke/core/internal'
import { portableHasher } from '@skillstoke/core/source'
import { type Markdown, readMarkdown } from './markdown.ts'

/** Files with more bytes than this are not read. */
export const MAX_FILE_BYTES: number = 1024 * 1024

/** One file of a skill, as a check sees it. */
export interface CheckedFile {
  /** Path relative to the folder of the skill. */
  readonly path: string
  /** In bytes. */
  readonly size: number
  readonly isExecutable: boolean
}

/** A skill to check. The text may be broken, and may differ from the text that is served. */
export interface SkillToCheck {
  /** Name of the folder. Absent for a text without a folder, for example from standard input. */
  readonly directoryName?: string
  /** Path of SKILL.md, in the form that findings show. */
  readonly path: string
  readonly bytes: Uint8Array
  /** All files of the skill, with SKILL.md. */
  readonly files?: readonly CheckedFile[]
  /** Returns the text of a file of the skill, or `undefined` if it is not text. */
  readonly read?: (path: string) => Promise<string | undefined>
  /** Returns whether a path outside the skill exists. The path is relative to the folder of the skill. */
  readonly exists?: (path: string) => boolean
  /**
   * What the core found: in SKILL.md, in the folder, in the scripts, and beside other skills. Without it, the text of
   * SKILL.md is parsed.
   */
  readonly diagnostics?: readonly Diagnostic[]
  /** Whether somebody else wrote the skill. Comments then silence nothing. @default false */
  readonly isReviewed?: boolean
  /** Files of the folder that are under version control, but are no part of a skill. */
  readonly leftovers?: readonly string[]
  /** The other skills of the set. */
  readonly others?: readonly OtherSkill[]
}

/** Another skill of the set, whose files a text may name. */
export interface OtherSkill {
  readonly name: string
  readonly paths: ReadonlySet<string>
}

/** The fields of the frontmatter that a check reads. They are empty if the frontmatter cannot be read. */
export interface CheckedFields {
  readonly name: string
  readonly description: string
  readonly allowedTools: readonly string[]
  readonly extra: Readonly<Record<string, unknown>>
  readonly compatibility: string
}

/** Whether the host did not report a finding. A folder that is a root itself has no name that a source compares. */
function isMissing({ code }: Diagnostic, { diagnostics }: SkillToCheck): boolean {
  if (diagnostics === undefined) return true
  return code === 'NAME_DIRECTORY_MISMATCH' && !diagnostics.some(each => each.code === code)
}

/** A skill with its parsed text. */
export class CheckedSkill {
  readonly given: SkillToCheck
  /** The whole text of SKILL.md, with a byte order mark if there is one. */
  readonly text: string
  readonly fields: CheckedFields
  /** Whether the frontmatter was read and the skill can be served. */
  readonly isReadable: boolean
  /** The findings of the core. */
  readonly diagnostics: readonly Diagnostic[]
  /** The first line of the body, counted from 1. It is 1 if there are no fields. */
  readonly bodyLine: number
  readonly body: string
  /** The lines above the body. */
  readonly head: readonly string[]
  readonly files: ReadonlyMap<string, CheckedFile>
  #markdown: Markdown | undefined
  #folders: ReadonlySet<string> | undefined
  readonly #texts = new Map<string, Promise<string | undefined>>()

  constructor(given: SkillToCheck) {
    const { bytes, directoryName, path } = given
    const parsed = parseSkill(bytes, { path, ...(directoryName === undefined ? {} : { directoryName }) })
    this.given = given
    this.text = decodeText(bytes) ?? ''
    this.diagnostics = [
      ...(given.diagnostics ?? []),
      ...parsed.diagnostics.filter(each => isMissing(each, given)),
    ]
    this.isReadable = parsed.ok
    const value = parsed.ok ? parsed.value : undefined
    this.fields = {
      name: value?.name ?? directoryName ?? '',
      description: value?.description ?? '',
      allowedTools: value?.allowedTools ?? [],
      extra: value?.extra ?? {},
      compatibility: value?.compatibility ?? '',
    }
    const lines = this.text.split('\n')
    // A broken skill has a body, too: the text after the second delimiter.
    this.bodyLine = value?.bodyLine ?? lines.findIndex((line, at) => at > 0 && /^---\s*$/.test(line)) + 2
    this.head = lines.slice(0, this.bodyLine - 1).map(line => line.replace(/\r$/, ''))
    this.body = lines.slice(this.bodyLine - 1).join('\n')
    this.files = new Map((given.files ?? []).map(file => [file.path, file]))
  }

  /** Digest of the text. Computed only if an edit needs it. */
  get digest(): Digest {
    return digestOf(this.text, portableHasher)
  }

  /** The body. Its line numbers and positions are those of the file. */
  get markdown(): Markdown {
    this.#markdown ??= readMarkdown(this.body, this.bodyLine, this.text.length - this.body.length)
    return this.#markdown
  }

  /** The paths of all folders that contain a file. */
  get folders(): ReadonlySet<string> {
    this.#folders ??= new Set([...this.files.keys()].flatMap(listFolders))
    return this.#folders
  }

  /** Returns the line of a field, counted from 1; 1 if the field is absent. */
  lineOf(field: string): number {
    const index = this.head.findIndex(
      line => line.startsWith(field) && line.slice(field.length).trimStart()[0] === ':',
    )
    return Math.max(index, 0) + 1
  }

  /** Returns the text of a file. Returns `undefined` for a large file, and for a file that is not text. */
  async read(path: string): Promise<string | undefined> {
    if ((this.files.get(path)?.size ?? 0) > MAX_FILE_BYTES) return undefined
    // Several rules read the same files.
    const text = this.#texts.get(path) ?? Promise.resolve(this.given.read?.(path))
    this.#texts.set(path, text)
    return await text
  }
}

function listFolders(path: string): readonly string[] {
  const parts = path.split('/')
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'))
}
