import { defined } from '../defined.ts'
import { SkillError, toMessage } from '../errors.ts'
import type { Hasher } from '../host.ts'
import { quote } from '../quote.ts'
import { type Diagnostic, type DiagnosticCode, isError, type Severity } from '../skill/diagnostic.ts'
import { digestOf } from '../skill/digest.ts'
import { describeHiddenName } from '../skill/hidden-text.ts'
import { INCLUDED_SECRET, LEFT_OUT_SECRET } from '../skill/left-out.ts'
import { isPrivateKey } from '../skill/left-out-names.ts'
import { DEFAULT_LIMITS, type SkillLimits } from '../skill/limits.ts'
import { type SkillFile, sortFiles } from '../skill/manifest.ts'
import { parseSkill } from '../skill/parse-skill.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import { createSkill, type Skill, type SkillPlace } from '../skill/skill.ts'
import { findPathFault } from '../skill/skill-path.ts'
import type { SourceEntry } from '../skill/source-contents.ts'
import { describeTextFile } from '../skill/text-file.ts'
import type { SkillStore } from '../store/skill-store.ts'

export interface EntryRules {
  readonly hasher: Hasher
  readonly limits?: SkillLimits | undefined
  readonly reading?: Partial<ReadingPolicy> | undefined
  /** @default the last segment of the location */
  readonly directoryName?: string | undefined
  /** Returns how a path in the folder of the skill is shown to people. @default the path */
  readonly displayPath?: ((path: string) => string) | undefined
}

/** The bytes of a file. The path is relative to the folder of the skill. */
export interface ReadBytes {
  readonly path: string
  readonly bytes: Uint8Array
}

/** A skill, or why there is none. */
export interface MadeSkill {
  readonly skill?: Skill
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Makes a skill from its SKILL.md. Every source uses this function.
 * @param listFiles lists the files of the skill; called only if the text is valid
 */
export function makeSkill(
  place: SkillPlace,
  text: Uint8Array | undefined,
  listFiles: () => readonly SkillFile[],
  found: readonly Diagnostic[],
  rules: EntryRules,
): MadeSkill {
  const { skillFile } = place
  if (text === undefined) {
    const missing = toFault('SKILL_FILE_MISSING', `there is no ${skillFile}`, `add ${skillFile}`)
    return { diagnostics: found.some(isError) ? found : [...found, missing] }
  }
  const { hasher, limits = DEFAULT_LIMITS, reading, displayPath, directoryName = nameOf(place) } = rules
  const parsed = parseSkill(text, {
    ...(directoryName === '' ? {} : { directoryName }),
    limits,
    ...defined({ policy: reading, path: displayPath?.(skillFile) }),
  })
  const diagnostics = found.length === 0 ? parsed.diagnostics : [...parsed.diagnostics, ...found]
  if (!parsed.ok || diagnostics.some(isError)) return { diagnostics }
  return { skill: createSkill(parsed.value, sortFiles(listFiles()), place, diagnostics, hasher), diagnostics }
}

/** Returns the last segment of the location of a skill. */
export function nameOf({ location }: SkillPlace): string {
  return location.slice(location.lastIndexOf('/') + 1)
}

/** Makes the entry of a skill. `name` is the name of the entry if the skill is broken. */
export function toEntry(
  { location, directory, skillFile }: SkillPlace,
  name: string,
  { skill, diagnostics }: MadeSkill,
): SourceEntry {
  const optional = defined({ directory, skill })
  return Object.freeze({ location, name: skill?.name ?? name, skillFile, ...optional, diagnostics })
}

/** Stores the bytes of a file. */
export function storeFile(
  { path, bytes, isExecutable }: ReadBytes & Pick<SkillFile, 'isExecutable'>,
  { store, hasher }: { readonly store: SkillStore; readonly hasher: Hasher },
): SkillFile {
  const digest = digestOf(bytes, hasher)
  if (!store.has(digest)) store.put(digest, bytes)
  return Object.freeze({ path, digest, size: bytes.length, isExecutable })
}

/**
 * Finds hidden text in file names, and faults in the text of files that are not larger than the size limit of
 * instructions. The parser finds the faults in the instructions.
 */
export function findInTexts(
  files: readonly ReadBytes[],
  skillFile: string,
  { limits = DEFAULT_LIMITS, displayPath = path => path }: Pick<EntryRules, 'limits' | 'displayPath'>,
): Diagnostic[] {
  return files.flatMap(({ path, bytes }) => {
    const shown = displayPath(path)
    const isLooked = path !== skillFile && bytes.length <= limits.maxSkillFileBytes
    const hidden = describeHiddenName(path).map(each => ({ ...each, path: shown }))
    return isLooked ? [...hidden, ...describeTextFile(shown, bytes)] : hidden
  })
}

/** Describes a file that is a private key. `path` is how the file is shown to people. */
export function describeKey(
  file: ReadBytes,
  reading: Partial<ReadingPolicy> | undefined,
  path: string,
): Diagnostic | undefined {
  if (!isPrivateKey(file.path, file.bytes)) return undefined
  const isIncluded = reading?.secretFiles === 'include'
  const { code, severity, reason, fix } = isIncluded ? INCLUDED_SECRET : LEFT_OUT_SECRET
  return { code, severity, message: `${quote(file.path)} ${reason}`, path, fix }
}

/** Returns the files with valid paths, in NFC. */
export function checkPaths<File extends { readonly path: string }>(
  files: readonly File[],
  found: Diagnostic[],
): File[] {
  const checked = new Map<string, File>()
  for (const file of files) {
    const path = file.path.normalize('NFC')
    const fault = describePath(file.path, checked.has(path))
    if (fault !== undefined) found.push(fault)
    else checked.set(path, { ...file, path })
  }
  return [...checked.values()]
}

/** Describes a path that cannot be part of a skill. */
export function describePath(path: string, isTaken: boolean): Diagnostic | undefined {
  const reason = findPathFault(path)
  const code = 'FILE_SKIPPED'
  if (reason !== undefined)
    return { code, severity: 'warning', message: `path ${quote(path)} ${reason}`, fix: 'rename the file' }
  if (!isTaken) return undefined
  const message = `two files have the name ${quote(path.normalize('NFC'))} in different Unicode spellings`
  return toFault('PATH_COLLISION', message, 'rename one of them')
}

/**
 * Adds an error if a skill has more files or bytes than the limits allow.
 * @param path how the folder of the skill is shown to people
 */
export function checkTotals(
  files: readonly { readonly size: number }[],
  { maxFiles, maxFolderBytes }: SkillLimits,
  found: Diagnostic[],
  path?: string,
): void {
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  const fix = 'list files that do not belong to the skill in .skillignore'
  const add = (code: DiagnosticCode, what: string, most: number): void => {
    const message = `the skill has ${what}; at most ${most} are read`
    found.push({ ...toFault(code, message, fix), ...defined({ path }) })
  }
  if (files.length > maxFiles) add('TOO_MANY_FILES', `${files.length} files`, maxFiles)
  if (bytes > maxFolderBytes) add('FOLDER_TOO_LARGE', `${bytes} bytes`, maxFolderBytes)
}

/** Describes why a file of a skill could not be read. Rethrows everything but a `SkillError`. */
export function describeFileFault(
  file: { readonly path: string; readonly isSkillFile: boolean; readonly shownPath: string },
  thrown: unknown,
  limits: SkillLimits,
): Diagnostic {
  if (!SkillError.isInstance(thrown)) throw thrown
  const { path, isSkillFile, shownPath } = file
  const shown = quote(path)
  const reason = toMessage(thrown)
  const make = (code: DiagnosticCode, severity: Severity, message: string, fix: string): Diagnostic => ({
    ...{ code, severity, message, path: shownPath, fix },
  })
  if (thrown.code === 'TOO_LARGE' && isSkillFile) {
    const message = `${path} is larger than ${limits.maxSkillFileBytes} bytes`
    return make('SKILL_FILE_TOO_LARGE', 'error', message, 'move long material into files under references/')
  }
  if (thrown.code === 'TOO_LARGE') {
    const message = `with ${shown} the skill is larger than ${limits.maxFolderBytes} bytes`
    const fix = 'list files that do not belong to the skill in .skillignore'
    return make('FOLDER_TOO_LARGE', 'error', message, fix)
  }
  if (isSkillFile) {
    const message = `${path} cannot be read: ${reason}`
    return make('SKILL_FILE_UNREADABLE', 'error', message, 'replace it with a readable regular file')
  }
  const leftOut = `${shown} was left out: ${reason}`
  if (thrown.code === 'WRONG_KIND') return make('FILE_SKIPPED', 'warning', leftOut, 'remove it')
  if (thrown.code === 'OUTSIDE_ROOT' || thrown.code === 'NOT_FOUND') {
    const fix =
      thrown.data['links'] === undefined
        ? 'copy the file; allow the folder of its target with linkRoots or --link-root only if agents may read all of it'
        : 'replace the hard link with a copy of the file'
    return make('LINK_REFUSED', 'warning', leftOut, fix)
  }
  return make('FILE_UNREADABLE', 'error', `${shown} cannot be read: ${reason}`, 'check the permissions')
}

function toFault(code: DiagnosticCode, message: string, fix: string): Diagnostic {
  return { code, severity: 'error', message, fix }
}
