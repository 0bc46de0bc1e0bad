import { existsSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSkill } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import { DEFAULT_LIMITS } from '@skillstoke/core/source'
import type { Connection, TextDocuments } from 'vscode-languageserver/node'
import type { TextDocument } from 'vscode-languageserver-textdocument'
import { type CheckOptions, checkSkill } from '../check/check-skill.ts'
import type { SkillToCheck } from '../check/checked-skill.ts'
import type { Finding } from '../check/finding.ts'
import { toDiagnostic } from './show-findings.ts'

/** The folder of a skill on the disk. */
export interface SkillFolder extends AsyncDisposable {
  /** Reads the newest contents. Returns `undefined` if there is no skill. */
  readonly read: () => Promise<SkillToCheck | undefined>
}

export interface OpenSkillsOptions {
  readonly checks: CheckOptions
  /** Opens the folder of a SKILL.md. Calls `onChange` after each change, until the folder is disposed. */
  readonly openFolder: (skillFile: string, onChange: () => void) => Promise<SkillFolder>
}

interface Check {
  /** The skill with the texts of the editor. */
  readonly skill: SkillToCheck
  readonly findings: readonly Finding[]
}

/** An open document that belongs to a skill, with the findings about this document. */
export interface OpenDocument extends Check {
  readonly document: TextDocument
  /** Path of the document in the folder of the skill. */
  readonly path: string
}

/** A skill with open documents. */
interface OpenSkill {
  readonly folder: Promise<SkillFolder>
  /** Absent after a change. */
  check?: Promise<Check>
  timer?: NodeJS.Timeout
}

const SKILL_FILES = ['SKILL.md', 'skill.md']
const NOTHING = new Uint8Array()
/** Checks wait for a pause of this length in the typing. */
const PAUSE_MS = 150

/** @param path a path in the folder of a skill */
export function isSkillFile(path: string): boolean {
  return SKILL_FILES.includes(path)
}

/**
 * The skills of the open documents, by the paths of their SKILL.md. A skill is checked again when its folder or a text
 * changes. The editor gets the findings after a pause in the typing.
 */
export class OpenSkills {
  readonly #connection: Connection
  readonly #documents: TextDocuments<TextDocument>
  readonly #options: OpenSkillsOptions
  readonly #skills = new Map<string, OpenSkill>()

  constructor(connection: Connection, documents: TextDocuments<TextDocument>, options: OpenSkillsOptions) {
    this.#connection = connection
    this.#documents = documents
    this.#options = options
  }

  /** Returns a document with the newest findings about it. */
  async open(uri: string): Promise<OpenDocument | undefined> {
    const skillFile = findSkillFile(uri)
    const document = this.#documents.get(uri)
    if (skillFile === undefined || document === undefined) return undefined
    const { version } = document
    const { skill, findings } = await this.#check(skillFile)
    // Positions are those of the checked text.
    if (document.version !== version) return await this.open(uri)
    const file = fileURLToPath(uri)
    const own = findings.filter(({ path = skillFile }) => path === file)
    return { document, path: toRelative(skillFile, uri), skill, findings: own }
  }

  /** Checks the skill of a document again. */
  textChanged({ uri }: TextDocument): void {
    const skillFile = findSkillFile(uri)
    if (skillFile !== undefined) this.#checkLater(skillFile)
  }

  /** Clears the findings of a document. Closes the folder of a skill without open documents. */
  async textClosed({ uri }: TextDocument): Promise<void> {
    await this.#connection.sendDiagnostics({ uri, diagnostics: [] })
    const skillFile = findSkillFile(uri) ?? ''
    if (this.#listOpen(skillFile).length > 0) return this.#checkLater(skillFile)
    const folder = this.#skills.get(skillFile)?.folder
    this.#skills.delete(skillFile)
    // A folder that could not be opened has nothing to close.
    await (await folder?.catch(() => undefined))?.[Symbol.asyncDispose]()
  }

  #find(skillFile: string): OpenSkill {
    const folder = (): Promise<SkillFolder> =>
      this.#options.openFolder(skillFile, () => this.#checkLater(skillFile))
    const skill = this.#skills.get(skillFile) ?? { folder: folder() }
    this.#skills.set(skillFile, skill)
    return skill
  }

  #checkLater(skillFile: string): void {
    const skill = this.#find(skillFile)
    delete skill.check
    clearTimeout(skill.timer)
    skill.timer = setTimeout(() => {
      this.#publish(skillFile).catch((thrown: unknown) => this.#connection.console.error(toMessage(thrown)))
    }, PAUSE_MS)
  }

  async #publish(skillFile: string): Promise<void> {
    for (const { uri } of this.#listOpen(skillFile)) {
      const open = await this.open(uri)
      const diagnostics = open?.findings.map(each => toDiagnostic(each, open.document))
      if (diagnostics !== undefined) await this.#connection.sendDiagnostics({ uri, diagnostics })
    }
  }

  #listOpen(skillFile: string): readonly TextDocument[] {
    return this.#documents.all().filter(({ uri }) => findSkillFile(uri) === skillFile)
  }

  /** Checks a skill, unless nothing changed since its last check. */
  #check(skillFile: string): Promise<Check> {
    const skill = this.#find(skillFile)
    skill.check ??= this.#checkTexts(skillFile, skill)
    return skill.check
  }

  async #checkTexts(skillFile: string, { folder }: OpenSkill): Promise<Check> {
    const loaded = await (await folder).read()
    const open = this.#listOpen(skillFile)
    const texts = new Map(open.map(each => [toRelative(skillFile, each.uri), each.getText()]))
    const typed = texts.get(basename(skillFile))
    const bytes = typed === undefined ? (loaded?.bytes ?? NOTHING) : new TextEncoder().encode(typed)
    const place = { path: skillFile, directoryName: basename(dirname(skillFile)) }
    // The faults of SKILL.md on the disk may already be corrected.
    const elsewhere = (loaded?.diagnostics ?? []).flatMap(each => {
      const path = resolve(each.path ?? skillFile)
      return path === skillFile ? [] : { ...each, path }
    })
    const skill: SkillToCheck = {
      ...loaded,
      ...place,
      bytes,
      diagnostics: [...parseSkill(bytes, place).diagnostics, ...elsewhere],
      read: async path => texts.get(path) ?? (await loaded?.read?.(path)),
    }
    return { skill, findings: await checkSkill(skill, this.#options.checks) }
  }
}

/** Returns the path of the SKILL.md to whose folder a document belongs. */
function findSkillFile(uri: string): string | undefined {
  const path = toPath(uri)
  if (path === undefined) return undefined
  if (isSkillFile(basename(path))) return path
  let folder = dirname(path)
  for (let depth = 0; depth < DEFAULT_LIMITS.maxFolderDepth; depth++) {
    const file = SKILL_FILES.map(name => join(folder, name)).find(each => existsSync(each))
    if (file !== undefined) return file
    folder = dirname(folder)
  }
  return undefined
}

/** Returns `undefined` for a document that is no file of this machine. */
function toPath(uri: string): string | undefined {
  try {
    return fileURLToPath(uri)
  } catch {
    return undefined
  }
}

function toRelative(skillFile: string, uri: string): string {
  return relative(dirname(skillFile), fileURLToPath(uri)).replaceAll(sep, '/')
}
