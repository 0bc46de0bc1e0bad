import { existsSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseSkill } from '@skillstoke/core'
import { defined, toMessage } from '@skillstoke/core/internal'
import { DEFAULT_LIMITS } from '@skillstoke/core/source'
import type { Connection, TextDocuments } from 'vscode-languageserver/node'
import type { TextDocument } from 'vscode-languageserver-textdocument'
import { type CheckOptions, checkSkill } from '../check/check-skill.ts'
import type { SkillToCheck } from '../check/checked-skill.ts'
import type { Finding } from '../check/finding.ts'
import { toDiagnostic } from './show-findings.ts'

/** Reads skills from the disk, by the path of SKILL.md. */
export interface SkillFolders {
  /** Returns `undefined` if there is no such skill. Calls `onChange` after each change of the folder, until `close()`. */
  readonly load: (skillFile: string, onChange: () => void) => Promise<SkillToCheck | undefined>
  readonly close: (skillFile: string) => void
}

export interface OpenSkillsOptions extends CheckOptions {
  /** The texts of open documents replace what the folders contain. */
  readonly folders: SkillFolders
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

const SKILL_FILES = ['SKILL.md', 'skill.md']
const NOTHING = new Uint8Array()
/** Checks wait for a pause of this length in the typing. */
const PAUSE_MS = 150

/** @param path a path in the folder of a skill */
export function isSkillFile(path: string): boolean {
  return SKILL_FILES.includes(path)
}

/**
 * The skills of the open documents. Keys of the maps are paths of SKILL.md. A skill is read again when its folder changes,
 * and checked again when a text changes, too. The editor gets the findings after a pause in the typing.
 */
export class OpenSkills {
  readonly #connection: Connection
  readonly #documents: TextDocuments<TextDocument>
  readonly #options: OpenSkillsOptions
  readonly #loaded = new Map<string, Promise<SkillToCheck | undefined>>()
  readonly #checks = new Map<string, Promise<Check>>()
  readonly #timers = new Map<string, NodeJS.Timeout>()
  /** Addresses of the files whose findings the editor shows. */
  readonly #shown = new Map<string, readonly string[]>()

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
    const own = findings.filter(({ path }) => this.#toUri(path ?? skillFile) === uri)
    return { document, path: toRelative(skillFile, uri), skill, findings: own }
  }

  /** Checks the skill of a document again, which may be closed. */
  textChanged(uri: string): void {
    const skillFile = findSkillFile(uri)
    if (skillFile !== undefined) this.#checkLater(skillFile)
  }

  #checkLater(skillFile: string): void {
    this.#checks.delete(skillFile)
    clearTimeout(this.#timers.get(skillFile))
    const timer = setTimeout(() => {
      const isNewest = (): boolean => this.#timers.get(skillFile) === timer
      this.#publish(skillFile, isNewest).catch((thrown: unknown) =>
        this.#connection.console.error(toMessage(thrown)),
      )
    }, PAUSE_MS)
    this.#timers.set(skillFile, timer)
  }

  async #publish(skillFile: string, isNewest: () => boolean): Promise<void> {
    const open = this.#listOpen(skillFile).map(({ uri }) => uri)
    if (open.length === 0) this.#close(skillFile)
    const { findings } = open.length === 0 ? { findings: [] } : await this.#check(skillFile)
    if (!isNewest()) return
    const byFile = Map.groupBy(findings, ({ path }: Finding) => this.#toUri(path ?? skillFile))
    const shown = [...byFile.keys(), ...open]
    for (const uri of new Set([...shown, ...(this.#shown.get(skillFile) ?? [])])) {
      const diagnostics = (byFile.get(uri) ?? []).map(each => toDiagnostic(each, this.#documents.get(uri)))
      await this.#connection.sendDiagnostics({ uri, diagnostics })
    }
    this.#shown.set(skillFile, shown)
  }

  /** Stops following the folder of a skill without open documents. */
  #close(skillFile: string): void {
    this.#loaded.delete(skillFile)
    this.#options.folders.close(skillFile)
  }

  #listOpen(skillFile: string): readonly TextDocument[] {
    return this.#documents.all().filter(({ uri }) => findSkillFile(uri) === skillFile)
  }

  /** Returns the address of a file as the editor spells it. */
  #toUri(path: string): string {
    const isOpen = ({ uri }: TextDocument): boolean => uri.startsWith('file:') && fileURLToPath(uri) === path
    return this.#documents.all().find(isOpen)?.uri ?? pathToFileURL(path).href
  }

  /** Checks a skill, unless nothing changed since its last check. */
  #check(skillFile: string): Promise<Check> {
    const check = this.#checks.get(skillFile) ?? this.#checkTexts(skillFile)
    this.#checks.set(skillFile, check)
    return check
  }

  async #checkTexts(skillFile: string): Promise<Check> {
    const loaded = await this.#load(skillFile)
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
    const { profiles, severities, countTokens } = this.#options
    return { skill, findings: await checkSkill(skill, defined({ profiles, severities, countTokens })) }
  }

  #load(skillFile: string): Promise<SkillToCheck | undefined> {
    const onChange = (): void => {
      this.#loaded.delete(skillFile)
      this.#checkLater(skillFile)
    }
    const loading = this.#loaded.get(skillFile) ?? this.#options.folders.load(skillFile, onChange)
    this.#loaded.set(skillFile, loading)
    return loading
  }
}

/** Returns the path of the SKILL.md to whose folder a document belongs. */
function findSkillFile(uri: string): string | undefined {
  if (!uri.startsWith('file:')) return undefined
  const path = fileURLToPath(uri)
  if (isSkillFile(basename(path))) return path
  let folder = dirname(path)
  for (let depth = 0; depth < DEFAULT_LIMITS.maxFolderDepth; depth++) {
    const file = SKILL_FILES.map(name => join(folder, name)).find(each => existsSync(each))
    if (file !== undefined) return file
    folder = dirname(folder)
  }
  return undefined
}

function toRelative(skillFile: string, uri: string): string {
  return relative(dirname(skillFile), fileURLToPath(uri)).replaceAll(sep, '/')
}
