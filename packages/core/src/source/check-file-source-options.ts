import { SkillError } from '../errors.ts'
import { LONGEST_TIMER_MS } from '../host.ts'
import { checkOptions, type KnownOptions, number, oneOf } from '../options.ts'
import { LIMIT_OPTIONS } from '../skill/limits.ts'
import { READING_OPTIONS } from '../skill/reading-policy.ts'
import { TRUSTS } from '../skill/trust.ts'
import { SYMLINK_POLICIES } from './entry-classifier.ts'
import { WATCHING_MODES } from './event-trust.ts'
import { LAYOUT_OPTIONS } from './file-layout.ts'
import type { FileSourceOptions, FolderOptions } from './file-source-options.ts'
import { SETTLE_OPTIONS } from './settle.ts'

/** The values of `MissingRootPolicy`. */
export const MISSING_ROOT_POLICIES = ['wait', 'empty', 'throw'] as const

/** How the source treats a missing root. */
export type MissingRootPolicy = (typeof MISSING_ROOT_POLICIES)[number]

/** The options of every function that makes sources of folders. */
export const FOLDER_OPTIONS: KnownOptions<FolderOptions> = {
  trust: oneOf(TRUSTS),
  hasDirectories: true,
  symlinks: oneOf(SYMLINK_POLICIES),
  linkRoots: true,
  nestedSkills: true,
  layout: LAYOUT_OPTIONS,
  reading: READING_OPTIONS,
  onMissing: oneOf(MISSING_ROOT_POLICIES),
  onMissingRoot: true,
  watching: oneOf(WATCHING_MODES),
  reconcileMs: number(1, LONGEST_TIMER_MS),
  pollMs: number(1, LONGEST_TIMER_MS),
  settle: SETTLE_OPTIONS,
  limits: LIMIT_OPTIONS,
  clock: true,
}

const KNOWN: KnownOptions<FileSourceOptions> = {
  ...FOLDER_OPTIONS,
  fileSystem: true,
  root: true,
  label: true,
  displayRoot: true,
  writable: true,
  isBusy: true,
}

/** Checks all options. @throws {SkillError} INVALID_OPTION with the option, its value, and what would be right */
export function checkFileSourceOptions(options: FileSourceOptions): void {
  checkOptions('FileSource', options, KNOWN)
  if (options.label === '')
    throw new SkillError('INVALID_OPTION', 'label is empty; give the source a short name')
  if (options.root === '')
    throw new SkillError('INVALID_OPTION', 'root is empty; use the absolute path of a folder')
}
