import { SkillError, toMessage } from '../errors.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import { quote } from '../skill/text.ts'
import type { StoreFault } from '../store/skill-store.ts'

/** What is told when a place could not be read; `rest` says what is shown of it all the same. */
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

/** What is told while something is wrong with the store. */
export function describeStoreFault({ message, isStoring }: StoreFault): Diagnostic {
  const diagnostic = { code: 'STORE_FAILED', severity: 'warning' } as const
  if (isStoring) return { ...diagnostic, message }
  return {
    ...diagnostic,
    message: `what is read is not being stored: ${message}; it is served from memory and does not outlive this process`,
    fix: 'make room for the state directory, or make it writable; what is missing is stored then',
  }
}

/** A root that has to exist and does not. */
export function missingFolder(path: string): SkillError {
  return new SkillError(
    'SOURCE_MISSING',
    `the folder ${quote(path)} does not exist; make it, or name another`,
  )
}

/** A root that does not exist, which is no failure. */
export function describeMissing(path: string): Diagnostic {
  const message = `the folder ${quote(path)} does not exist; it is awaited`
  return { code: 'ROOT_MISSING', severity: 'info', message, path }
}

/** A folder of a skill that did not come to rest in time; `path` within the source, and as people see it. */
export function describeRestless(path: string, displayPath: string): Diagnostic {
  return {
    code: 'FOLDER_UNSTABLE',
    severity: 'warning',
    message: `the folder ${quote(path)} keeps changing while it is read; its last state stays`,
    path: displayPath,
    fix: 'keep files that are written all the time out of the folder, or name them in .skillignore',
  }
}
