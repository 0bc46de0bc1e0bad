import { SkillError, toMessage } from '../errors.ts'
import { type DirectoryEntry, type FileSystem, isSameStat, statIfThere } from '../fs/file-system.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import { toDiagnostic } from '../skill/left-out.ts'
import { parseIgnoreFile } from '../skill/manifest.ts'
import { decodeUnmarkedText } from '../skill/text.ts'
import type { ClassifierOptions } from './entry-classifier.ts'
import { IGNORE_FILE_NAME } from './file-layout.ts'
import type { DirectoryNode, IgnoreFile, ScanPass } from './mirror.ts'
import { joinPath } from './mirror.ts'

interface IgnoreFileOptions extends Pick<ClassifierOptions, 'limits' | 'displayPath'> {
  readonly fileSystem: FileSystem
}

const NO_RULES: Pick<IgnoreFile, 'text' | 'stat'> = { text: '', stat: undefined }

/**
 * Whether the `.skillignore` of a folder is unchanged. The rules decide which entries are listed, so changed rules
 * count as a change of the directory.
 */
export async function isIgnoreFileUnchanged(
  { ignored }: DirectoryNode,
  path: string,
  fileSystem: FileSystem,
): Promise<boolean> {
  if (ignored?.stat === undefined) return true
  const now = await statIfThere(fileSystem, `${path}/${IGNORE_FILE_NAME}`)
  return now !== undefined && isSameStat(ignored.stat, now)
}

/**
 * Reads the `.skillignore` of a folder again. Returns true if the rules changed. The rules still apply while SKILL.md is
 * missing, because a checkout may remove SKILL.md and add it again.
 */
export async function updateIgnoreFile(
  node: DirectoryNode,
  entries: readonly DirectoryEntry[],
  context: { readonly path: string; readonly pass: ScanPass; readonly findings: Diagnostic[] },
  { fileSystem, limits, displayPath }: IgnoreFileOptions,
): Promise<boolean> {
  const isThere = entries.some(entry => entry.name === IGNORE_FILE_NAME && entry.kind === 'file')
  const before = node.ignored
  if (!isThere && before === undefined) return false
  let read = NO_RULES
  if (isThere)
    try {
      const options = { inside: context.pass.insideFolders, maxBytes: limits.maxFrontmatterBytes }
      const { bytes, stat } = await fileSystem.read(`${context.path}/${IGNORE_FILE_NAME}`, options)
      read = { text: decodeUnmarkedText(bytes), stat }
    } catch (thrown) {
      if (SkillError.isInstance(thrown, 'NOT_FOUND')) return false // removed after the listing; checked again later
      const path = joinPath(node.path, IGNORE_FILE_NAME)
      context.findings.push(describeIgnoreFault(path, thrown, displayPath))
      return false
    }
  const isSame = before?.text === read.text
  node.ignored = { ...read, rules: isSame ? before.rules : parseIgnoreFile(read.text) }
  return !isSame
}

/** Describes a `.skillignore` that cannot be read. */
export function describeIgnoreFault(
  path: string,
  thrown: unknown,
  displayPath: (path: string) => string,
): Diagnostic {
  const finding = {
    ...({ code: 'IGNORE_FILE_INVALID', severity: 'error' } as const),
    reason: `cannot be used: ${toMessage(thrown)}`,
    fix: 'replace it with a small, readable text file, or remove it',
  }
  return toDiagnostic(finding, path, displayPath(path))
}
