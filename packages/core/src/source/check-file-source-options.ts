import { checkChoice, checkNumber, SkillError } from '../errors.ts'
import { LONGEST_TIMER_MS } from '../host.ts'
import type { FileSourceOptions } from './file-source-options.ts'
import { checkSettle } from './settle.ts'

/** @throws {SkillError} INVALID_OPTION with the option, its value, and what would be right */
export function checkFileSourceOptions(options: FileSourceOptions): void {
  const { label, root, reading = {} } = options
  if (label === '') throw new SkillError('INVALID_OPTION', 'label is empty; give the source a short name')
  if (root === '') throw new SkillError('INVALID_OPTION', 'root is empty; use the absolute path of a folder')
  checkChoice('trust', options.trust, ['auto', 'review'])
  checkChoice('symlinks', options.symlinks, ['within-root', 'follow', 'deny'])
  checkChoice('watching', options.watching, ['auto', 'polling', 'off'])
  checkChoice('onMissing', options.onMissing, ['wait', 'empty', 'throw'])
  checkChoice('reading.names', reading.names, ['strict', 'lenient', 'any'])
  checkChoice('reading.matchDirectory', reading.matchDirectory, ['warn', 'error', 'off'])
  checkChoice('reading.description', reading.description, ['required', 'empty', 'first-heading'])
  checkChoice('reading.missingName', reading.missingName, ['folder', 'error'])
  checkChoice('reading.keys', reading.keys, ['exact', 'any-case'])
  checkSettle('settle', options.settle)
  checkNumber('pollMs', options.pollMs, 1, LONGEST_TIMER_MS)
  checkNumber('reconcileMs', options.reconcileMs, 1, LONGEST_TIMER_MS)
}
