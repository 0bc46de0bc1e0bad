import type { Hasher } from '../host.ts'
import { quote } from '../quote.ts'
import { type Diagnostic, isError } from '../skill/diagnostic.ts'
import { digestOf } from '../skill/digest.ts'
import { describeHiddenName } from '../skill/hidden-text.ts'
import { leaveOutFiles } from '../skill/left-out.ts'
import { DEFAULT_LIMITS, type SkillLimits } from '../skill/limits.ts'
import { type SkillFile, sortFiles } from '../skill/manifest.ts'
import { parseSkill } from '../skill/parse-skill.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import { createSkill } from '../skill/skill.ts'
import { findPathFault } from '../skill/skill-path.ts'
import type { SourceEntry } from '../skill/source-contents.ts'
import { describeTextFile } from '../skill/text-file.ts'
import type { SkillStore } from '../store/skill-store.ts'
import { DEFAULT_LAYOUT } from './file-layout.ts'

/** Content of files by path, relative to the skill's folder. */
export type FileContents = Readonly<Record<string, string | Uint8Array>>

/** The folder of a skill, with the bytes of its files in memory. */
export interface SkillFolder {
  /** Label of the source. */
  readonly source: string
  /** Location of the folder within the source, `/`-separated. */
  readonly location: string
  readonly files: FileContents
  /** Paths of the files that are executable. @default [] */
  readonly executables?: readonly string[]
  /** @default 'SKILL.md', or 'skill.md' if only that file exists */
  readonly skillFile?: string
  /** Path of the folder, if commands on this machine can use the folder. */
  readonly directory?: string
}

export interface CaptureContext {
  readonly store: SkillStore
  readonly hasher: Hasher
  readonly limits?: SkillLimits
  readonly reading?: Partial<ReadingPolicy>
}

const encoder = new TextEncoder()

/**
 * Makes a source entry from the bytes of a skill, for sources that are not file systems. Stores the bytes, parses the
 * SKILL.md, and collects diagnostics.
 *
 * @example
 * ```ts
 * import { captureSkill, MemorySkillStore, portableHasher } from '@skillstoke/core/source'
 *
 * const files = { 'SKILL.md': '---\nname: greet\ndescription: Use when greeting.\n---\nSay hello.\n' }
 * const context = { store: new MemorySkillStore(), hasher: portableHasher }
 * const entry = captureSkill({ source: 'rows', location: 'greet', files }, context)
 * console.log(entry.skill?.description, entry.diagnostics) // prints Use when greeting. []
 * ```
 */
export function captureSkill(folder: SkillFolder, context: CaptureContext): SourceEntry {
  const { source, location, directory } = folder
  const { skillFile = findSkillFile(folder.files) } = folder
  const limits = context.limits ?? DEFAULT_LIMITS
  const directoryName = location.slice(location.lastIndexOf('/') + 1)
  const place = { location, ...(directory === undefined ? {} : { directory }), skillFile }
  const found: Diagnostic[] = []
  const files = toFiles(folder.files, limits, context.reading, found)
  const text = files.get(skillFile)
  if (text === undefined) found.push(describeSkillFileMissing(skillFile))
  if (text === undefined || found.some(isError))
    return Object.freeze({ ...place, name: directoryName, diagnostics: found })
  const parsed = parseSkill(text, {
    ...(directoryName === '' ? {} : { directoryName }),
    limits,
    ...(context.reading === undefined ? {} : { policy: context.reading }),
  })
  const diagnostics = [...parsed.diagnostics, ...found, ...findInTexts(files, skillFile, limits)]
  if (!parsed.ok || diagnostics.some(isError))
    return Object.freeze({ ...place, name: directoryName, diagnostics })
  const executables = new Set(folder.executables?.map(path => path.normalize('NFC')))
  const manifest = [...files].map(([path, bytes]) => capture(path, bytes, executables.has(path), context))
  const skill = createSkill(
    parsed.value,
    sortFiles(manifest),
    { source, ...place },
    diagnostics,
    context.hasher,
  )
  context.store.putTree(skill.revision, skill.files)
  return Object.freeze({ ...place, name: skill.name, skill, diagnostics })
}

function findSkillFile(files: FileContents): string {
  return DEFAULT_LAYOUT.fileNames.find(name => Object.hasOwn(files, name)) ?? 'SKILL.md'
}

/**
 * Finds hidden text in file names, and faults in the text of files that are not larger than the size limit of
 * instructions. The parser finds the faults in the instructions.
 */
export function findInTexts(
  files: ReadonlyMap<string, Uint8Array>,
  skillFile: string,
  limits: SkillLimits,
): Diagnostic[] {
  return [...files].flatMap(([path, bytes]) => [
    ...describeHiddenName(path).map(each => ({ ...each, path })),
    ...(path === skillFile || bytes.length > limits.maxSkillFileBytes ? [] : describeTextFile(path, bytes)),
  ])
}

function toFiles(
  contents: FileContents,
  limits: SkillLimits,
  reading: Partial<ReadingPolicy> | undefined,
  found: Diagnostic[],
): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>()
  for (const [raw, content] of Object.entries(contents)) {
    const reason = findPathFault(raw)
    if (reason === undefined) {
      const bytes = typeof content === 'string' ? encoder.encode(content) : content.slice()
      files.set(raw.normalize('NFC'), bytes)
    } else found.push(describeBadPath(raw, reason))
  }
  const listed = [...files].map(([path, bytes]) => ({ path, bytes }))
  const kept = leaveOutFiles(listed, reading?.secretFiles === 'include', ({ bytes }) => bytes, found)
  const total = kept.reduce((sum, { bytes }) => sum + bytes.length, 0)
  checkTotals({ files: kept.length, bytes: total }, limits, found)
  return new Map(kept.map(({ path, bytes }) => [path, bytes]))
}

/** Adds an error if a skill has more files or bytes than the limits allow. */
export function checkTotals(
  { files, bytes }: { readonly files: number; readonly bytes: number },
  limits: SkillLimits,
  found: Diagnostic[],
): void {
  if (files > limits.maxFiles) {
    const message = `the skill has ${files} files; at most ${limits.maxFiles} are read`
    found.push(fault('TOO_MANY_FILES', message, 'remove files that do not belong to the skill'))
  }
  if (bytes > limits.maxFolderBytes) {
    const message = `the skill has ${bytes} bytes; at most ${limits.maxFolderBytes} are read`
    found.push(fault('FOLDER_TOO_LARGE', message, 'remove files that do not belong to the skill'))
  }
}

export function describeBadPath(path: string, reason: string): Diagnostic {
  return {
    code: 'FILE_SKIPPED',
    severity: 'warning',
    message: `path ${quote(path)} ${reason}`,
    fix: 'rename the file',
  }
}

export function describeSkillFileMissing(skillFile: string): Diagnostic {
  return fault('SKILL_FILE_MISSING', `there is no ${skillFile}`, `add ${skillFile}`)
}

function capture(
  path: string,
  bytes: Uint8Array,
  isExecutable: boolean,
  { store, hasher }: CaptureContext,
): SkillFile {
  const digest = digestOf(bytes, hasher)
  const { length: size } = bytes
  if (!store.has(digest)) store.put(digest, bytes)
  return Object.freeze({ path, digest, size, isExecutable })
}

function fault(code: Diagnostic['code'], message: string, fix: string): Diagnostic {
  return { code, severity: 'error', message, fix }
}
