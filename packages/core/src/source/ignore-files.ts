import { SkillError, toMessage } from '../errors.ts'
import { type DirectoryEntry, type FileSystem, isSameStat } from '../fs/file-system.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import { parseIgnoreFile } from '../skill/manifest.ts'
import { decodeUnmarkedText } from '../skill/text.ts'
import { type ClassifierOptions, toFinding } from './entry-classifier.ts'
import { IGNORE_FILE_NAME } from './file-layout.ts'
import type { DirectoryNode, IgnoreFile, ScanPass } from './mirror.ts'

interface IgnoreFileOptions extends Pick<ClassifierOptions, 'limits' | 'displayPath'> {
  readonly fileSystem: FileSystem
}

const NO_RULES: Pick<IgnoreFile, 'text' | 'stat'> = { text: '', stat: undefined }

/**
 * Keeps the rules of each folder's `.skillignore`. The rules still apply while SKILL.md is missing, because a checkout
 * may remove SKILL.md and add it again.
 */
export class IgnoreFiles {
  readonly #options: IgnoreFileOptions

  constructor(options: IgnoreFileOptions) {
    this.#options = options
  }

  /**
   * Whether the `.skillignore` of a folder is unchanged. The rules decide which entries are listed, so changed rules
   * count as a change of the directory.
   */
  async isUnchanged(node: DirectoryNode, path: string): Promise<boolean> {
    const before = node.ignored?.stat
    if (before === undefined) return true
    try {
      return isSameStat(before, await this.#options.fileSystem.stat(`${path}/${IGNORE_FILE_NAME}`))
    } catch {
      return false // the next reading finds the reason
    }
  }

  /** Reads the `.skillignore` of a folder again. Returns true if the rules changed. */
  async update(
    node: DirectoryNode,
    entries: readonly DirectoryEntry[],
    path: string,
    findings: Diagnostic[],
    pass: ScanPass,
  ): Promise<boolean> {
    const isThere = entries.some(entry => entry.name === IGNORE_FILE_NAME && entry.kind === 'file')
    const before = node.ignored
    if (!isThere && before === undefined) return false
    const read = isThere ? await this.#read(node, path, findings, pass) : NO_RULES
    if (read === undefined) return false
    const isSame = before?.text === read.text
    node.ignored = { ...read, rules: isSame ? before.rules : parseIgnoreFile(read.text) }
    return !isSame
  }

  async #read(
    node: DirectoryNode,
    path: string,
    findings: Diagnostic[],
    pass: ScanPass,
  ): Promise<Pick<IgnoreFile, 'text' | 'stat'> | undefined> {
    const { fileSystem, limits, displayPath } = this.#options
    try {
      const options = { inside: pass.insideFolders, maxBytes: limits.maxFrontmatterBytes }
      const { bytes, stat } = await fileSystem.read(`${path}/${IGNORE_FILE_NAME}`, options)
      return { text: decodeUnmarkedText(bytes), stat }
    } catch (thrown) {
      if (SkillError.isInstance(thrown, 'NOT_FOUND')) return undefined // removed after the listing; checked again later
      const ignoreFile = node.path === '' ? IGNORE_FILE_NAME : `${node.path}/${IGNORE_FILE_NAME}`
      findings.push(describeIgnoreFault(ignoreFile, thrown, displayPath))
      return undefined
    }
  }
}

/** Describes a `.skillignore` that cannot be read. */
export function describeIgnoreFault(
  path: string,
  thrown: unknown,
  displayPath: (path: string) => string,
): Diagnostic {
  return toFinding(displayPath, {
    code: 'IGNORE_FILE_INVALID',
    severity: 'error',
    path,
    reason: `cannot be used: ${toMessage(thrown)}`,
    fix: 'replace it with a small, readable text file, or remove it',
  })
}
