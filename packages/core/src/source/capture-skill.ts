import { defined } from '../defined.ts'
import type { Hasher } from '../host.ts'
import { type Diagnostic, isError } from '../skill/diagnostic.ts'
import { leaveOutFiles } from '../skill/left-out.ts'
import { DEFAULT_LIMITS, type SkillLimits } from '../skill/limits.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import type { SourceEntry } from '../skill/source-contents.ts'
import type { SkillStore } from '../store/skill-store.ts'
import { DEFAULT_LAYOUT } from './file-layout.ts'
import { checkPaths, checkTotals, findInTexts, makeSkill, nameOf, storeFile, toEntry } from './make-skill.ts'

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
  const { source, location, directory, skillFile = findSkillFile(folder.files) } = folder
  const { limits = DEFAULT_LIMITS, reading, store } = context
  const executables = new Set(folder.executables?.map(path => path.normalize('NFC')))
  const found: Diagnostic[] = []
  const files = Object.entries(folder.files).map(([path, content]) => {
    const bytes = typeof content === 'string' ? encoder.encode(content) : content.slice()
    return { path, bytes, size: bytes.length, isExecutable: executables.has(path.normalize('NFC')) }
  })
  const includesSecrets = reading?.secretFiles === 'include'
  const kept = leaveOutFiles(checkPaths(files, found), includesSecrets, ({ bytes }) => bytes, found)
  checkTotals(kept, limits, found)
  const text = found.some(isError) ? undefined : kept.find(({ path }) => path === skillFile)?.bytes
  const findings = text === undefined ? found : [...found, ...findInTexts(kept, skillFile, { limits })]
  const place = { source, location, ...defined({ directory }), skillFile }
  const listFiles = () => kept.map(file => storeFile(file, context))
  const made = makeSkill(place, text, listFiles, findings, context)
  if (made.skill !== undefined) store.putTree(made.skill.revision, made.skill.files)
  return toEntry(place, nameOf(place), made)
}

function findSkillFile(files: FileContents): string {
  return DEFAULT_LAYOUT.fileNames.find(name => Object.hasOwn(files, name)) ?? 'SKILL.md'
}
