import { checkChoice, checkNumber, SkillError } from '../errors.ts'
import { LONGEST_TIMER_MS } from '../host.ts'
import { checkOptions, type KnownOptions } from '../options.ts'
import { checkLimits } from '../skill/limits.ts'
import { checkReading } from '../skill/reading-policy.ts'
import { TRUSTS } from '../skill/trust.ts'
import { SYMLINK_POLICIES } from './entry-classifier.ts'
import { WATCHING_MODES } from './event-trust.ts'
import { checkLayout } from './file-layout.ts'
import type { FileSourceOptions } from './file-source-options.ts'
import { checkSettle } from './settle.ts'

/** The values of `MissingRootPolicy`. */
export const MISSING_ROOT_POLICIES = ['wait', 'empty', 'throw'] as const

/** How the source treats a missing root. */
export type MissingRootPolicy = (typeof MISSING_ROOT_POLICIES)[number]

const KNOWN: KnownOptions<FileSourceOptions> = {
  fileSystem: true,
  root: true,
  label: true,
  displayRoot: true,
  trust: true,
  hasDirectories: true,
  symlinks: true,
  linkRoots: true,
  nestedSkills: true,
  writable: true,
  layout: true,
  reading: true,
  onMissing: true,
  watching: true,
  reconcileMs: true,
  pollMs: true,
  settle: true,
  limits: true,
  isBusy: true,
  clock: true,
}

/** Checks all options. @throws {SkillError} INVALID_OPTION with the option, its value, and what would be right */
export function checkFileSourceOptions(options: FileSourceOptions): void {
  checkOptions('FileSource', options, KNOWN)
  checkLayout('FileSource', options.layout)
  checkLimits('FileSource', options.limits)
  checkReading('FileSource', options.reading)
  if (options.label === '')
    throw new SkillError('INVALID_OPTION', 'label is empty; give the source a short name')
  if (options.root === '')
    throw new SkillError('INVALID_OPTION', 'root is empty; use the absolute path of a folder')
  checkChoice('trust', options.trust, TRUSTS)
  checkChoice('symlinks', options.symlinks, SYMLINK_POLICIES)
  checkChoice('watching', options.watching, WATCHING_MODES)
  checkChoice('onMissing', options.onMissing, MISSING_ROOT_POLICIES)
  checkSettle('FileSource', options.settle, 'settle')
  checkNumber('pollMs', options.pollMs, 1, LONGEST_TIMER_MS)
  checkNumber('reconcileMs', options.reconcileMs, 1, LONGEST_TIMER_MS)
}
