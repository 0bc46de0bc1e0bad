import { existsSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseSkill } from '@skillstoke/core'
import { DEFAULT_LIMITS } from '@skillstoke/core/source'
import type { TextDocuments } from 'vscode-languageserver/node'
import type { TextDocument } from 'vscode-languageserver-textdocument'
import { type CheckOptions, checkSkill } from '../check/check-skill.ts'
import type { SkillToCheck } from '../check/checked-skill.ts'
import type { Finding } from '../check/finding.ts'

/**
 * Reads a skill from the disk. Returns `undefined` if there is none. Calls `onChange` when the folder has changed since the first
 * call.
 */
export type LoadSkill = (skillFile: string, onChange: () => void) => Promise<SkillToCheck | undefined>

/** An open document that belongs to a skill. */
export interface OpenDocument {
  readonly document: TextDocument
  /** Path of the document in the folder of the skill. */
  readonly path: string
  /** The skill with the texts of the editor. */
  readonly skill: SkillToCheck
  /** The findings about this document. */
  readonly findings: readonly Finding[]
}

interface Check {
  readonly skill: SkillToCheck
  readonly findings: readonly Finding[]
}

const SKILL_FILES = ['SKILL.md', 'skill.md']

/** @param path a path in the folder of a skill */
export function isSkillFile(path: string): boolean {
  return SKILL_FILES.includes(path)
}

const NOTHING = new Uint8Array()

/** The skills of the open documents. A skill is read again when its folder changes, and checked again when a text changes. */
export class OpenSkills {
  readonly #documents: TextDocuments<TextDocument>
  readonly #load: (skillFile: string) => Promise<SkillToCheck | undefined>
  readonly #options: CheckOptions
  readonly #loaded = new Map<string, Promise<SkillToCheck | undefined>>()
  readonly #checks = new Map<string, Promise<Check>>()

  constructor(
    documents: TextDocuments<TextDocument>,
    options: CheckOptions & { readonly load: LoadSkill },
    onChange: (skillFile: string) => void,
  ) {
    this.#documents = documents
    this.#options = options
    this.#load = async skillFile =>
      await options.load(skillFile, () => {
        this.#loaded.delete(skillFile)
        onChange(skillFile)
      })
  }

  /** Returns the path of the SKILL.md to whose folder a document belongs. */
  findSkillFile(uri: string): string | undefined {
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

  /** Returns a document with the newest findings about it. */
  async open(uri: string): Promise<OpenDocument | undefined> {
    const skillFile = this.findSkillFile(uri)
    const document = this.#documents.get(uri)
    if (skillFile === undefined || document === undefined) return undefined
    const { skill, findings } = await this.check(skillFile)
    const own = findings.filter(({ path }) => this.toUri(path ?? skillFile) === uri)
    return { document, path: toRelative(skillFile, uri), skill, findings: own }
  }

  /** Checks a skill, unless no text has changed since its last check. */
  check(skillFile: string): Promise<Check> {
    const check = this.#checks.get(skillFile) ?? this.#check(skillFile)
    this.#checks.set(skillFile, check)
    return check
  }

  /** Makes the next call check the texts again. */
  forget(skillFile: string): void {
    this.#checks.delete(skillFile)
  }

  /** Lists the open documents of a skill. */
  listOpen(skillFile: string): readonly TextDocument[] {
    return this.#documents.all().filter(({ uri }) => this.findSkillFile(uri) === skillFile)
  }

  /** Returns the address of a file as the editor spells it. */
  toUri(path: string): string {
    const isOpen = ({ uri }: TextDocument): boolean => uri.startsWith('file:') && fileURLToPath(uri) === path
    return this.#documents.all().find(isOpen)?.uri ?? pathToFileURL(path).href
  }

  async #check(skillFile: string): Promise<Check> {
    const loading = this.#loaded.get(skillFile) ?? this.#load(skillFile)
    this.#loaded.set(skillFile, loading)
    const loaded = await loading
    const open = this.listOpen(skillFile)
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
    return { skill, findings: await checkSkill(skill, this.#options) }
  }
}

function toRelative(skillFile: string, uri: string): string {
  return relative(dirname(skillFile), fileURLToPath(uri)).replaceAll(sep, '/')
}
