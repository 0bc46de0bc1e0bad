import { SkillError, toMessage } from '../errors.ts'
import { quote } from '../quote.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { SkillLimits } from '../skill/limits.ts'
import type { StoreFault } from '../store/skill-store.ts'

/** Describes a source that could not be read; `rest` is the end of the message and says what is still served. */
export function describeFailure(
  origin: string,
  thrown: unknown,
  rest = 'its last contents stay',
): Diagnostic {
  return {
    code: 'SOURCE_FAILED',
    severity: 'error',
    message: `the source could not be read: ${toMessage(thrown)}; ${rest}`,
    path: origin,
  }
}

/** Describes a fault of the store. */
export function describeStoreFault({ message, isStoring }: StoreFault): Diagnostic {
  const diagnostic = { code: 'STORE_FAILED', severity: 'warning' } as const
  if (isStoring) return { ...diagnostic, message }
  return {
    ...diagnostic,
    message: `files cannot be stored: ${message}; they are served from memory until this process ends`,
    fix: 'free up disk space for the state directory, or make the directory writable; the missing files are then stored',
  }
}

/** Describes a source with more folders than its limit. */
export function describeBudget({ maxDirectories }: SkillLimits, path: string): Diagnostic {
  return {
    code: 'SCAN_BUDGET_EXCEEDED',
    severity: 'warning',
    message: `there are more than ${maxDirectories} folders; the remaining folders were not scanned`,
    path,
    fix: 'use a root that contains only skills',
  }
}

/** Creates the error for a missing root if `onMissing` is `throw`. */
export function missingFolder(path: string): SkillError {
  return new SkillError(
    'SOURCE_MISSING',
    `the folder ${quote(path)} does not exist; make it, or name another`,
  )
}

/** Describes a missing root if `onMissing` allows it. */
export function describeMissing(path: string): Diagnostic {
  const message = `the folder ${quote(path)} does not exist yet; its skills appear when it is created`
  return { code: 'ROOT_MISSING', severity: 'info', message, path }
}

/**
 * Describes a skill's folder that did not settle in time. `path` is relative to the source; `displayPath` is shown to
 * people.
 */
export function describeRestless(path: string, displayPath: string): Diagnostic {
  return {
    code: 'FOLDER_UNSTABLE',
    severity: 'warning',
    message: `the folder ${quote(path)} keeps changing while it is read; its last state is still served`,
    path: displayPath,
    fix: 'move files that change all the time to another folder, or list these files in .skillignore',
  }
}
