import { limitMessage } from './quote.ts'

/**
 * The codes of all errors that the library throws. Faults in the text of a skill are not thrown; they become
 * diagnostics.
 */
export type SkillErrorCode =
  /** The path has a forbidden form: absolute, `..`, a backslash, a drive letter or a control character. */
  | 'INVALID_PATH'
  /** The name is not allowed for a skill. */
  | 'INVALID_NAME'
  /** An option or argument has an invalid value. */
  | 'INVALID_OPTION'
  /** The opened file is outside the folders that the caller allowed. */
  | 'OUTSIDE_ROOT'
  /** The path does not exist. */
  | 'NOT_FOUND'
  /**
   * The path has the wrong kind: a FIFO, device, socket or directory instead of a file, or a file instead of a
   * directory.
   */
  | 'WRONG_KIND'
  /** A value exceeds its size limit. */
  | 'TOO_LARGE'
  /** The operating system or a remote peer failed or refused the operation. */
  | 'IO_FAILED'
  /** A required source does not exist. */
  | 'SOURCE_MISSING'
  /** Two skills have the same name, and the host treats duplicates as errors. */
  | 'DUPLICATE_SKILL'
  /** A revision has invisible characters or a script that is not text, and the caller has not confirmed them. */
  | 'HIDDEN_TEXT'
  /** A skill cannot be served, and the host treats invalid skills as an error. */
  | 'SKILL_INVALID'
  /** A hook of the host failed or timed out, and the host treats such failures as an error. */
  | 'HOOK_FAILED'
  /** The file system cannot report changes of this directory. */
  | 'NOT_WATCHABLE'
  /** No visible skill has this name. */
  | 'SKILL_NOT_FOUND'
  /** The skill does not contain this file. */
  | 'FILE_NOT_FOUND'
  /** The store does not contain this revision, or has deleted it. */
  | 'REVISION_NOT_FOUND'
  /** Two sources have the same label. */
  | 'DUPLICATE_SOURCE'
  /** Another open session has the same id. */
  | 'DUPLICATE_SESSION'
  /** The file or skill changed after the caller read it, so the call was refused. */
  | 'CHANGED_SINCE_READ'
  /** The source does not accept writes. */
  | 'READ_ONLY'
  /** Another process or caller kept the lock for too long. */
  | 'LOCKED'
  /** The skill does not have this command. */
  | 'COMMAND_NOT_FOUND'
  /** The input of a command has missing, unknown or wrong fields. */
  | 'INPUT_INVALID'
  /**
   * The script may not run. For example, a grant, a sandbox or an interpreter is missing, or too many calls are
   * waiting.
   */
  | 'SCRIPT_REFUSED'
  /** The script could not be loaded, threw an error, or ended without a result. */
  | 'SCRIPT_FAILED'
  /** A script or a wait exceeded its time limit. */
  | 'TIMED_OUT'
  /** The object was closed before the call. */
  | 'CLOSED'
  /** The content is not signed by a trusted key. */
  | 'UNTRUSTED'
  /** The JavaScript runtime is too old, or cannot run scripts as child processes. */
  | 'UNSUPPORTED_RUNTIME'

export interface SkillErrorOptions {
  readonly cause?: unknown
  /** Machine-readable details of this failure, for example the path or the limit. */
  readonly data?: Readonly<Record<string, unknown>>
}

const BRAND = 'skillstoke.error'

/**
 * The only error class of the library. `code` names the failure.
 *
 * @example
 * ```ts
 * import { createSkillRuntime, SkillError } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * try {
 *   await skills.load('support-doc')
 * } catch (error) {
 *   if (!SkillError.isInstance(error)) throw error
 *   console.log(error.code, error.data['available']) // prints SKILL_NOT_FOUND [ 'support-pdf' ]
 * }
 * ```
 */
export class SkillError extends Error {
  override readonly name: string = 'SkillError'
  readonly code: SkillErrorCode
  readonly data: Readonly<Record<string, unknown>>
  readonly brand: string = BRAND

  constructor(code: SkillErrorCode, message: string, options: SkillErrorOptions = {}) {
    super(limitMessage(message), options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.data = options.data ?? {}
  }

  /**
   * Returns true if a value is a `SkillError`, even one from another loaded copy of this package. If `code` is given,
   * the error must have this code.
   */
  static isInstance(value: unknown, code?: SkillErrorCode): value is SkillError {
    if (typeof value !== 'object' || value === null) return false
    const candidate = value as Partial<SkillError>
    return candidate.brand === BRAND && (code === undefined || candidate.code === code)
  }
}

/** Returns `undefined` if work fails with a `SkillError` of one of the codes, or of any code if none is given. */
export async function unlessFailed<T>(
  work: () => PromiseLike<T> | T,
  ...codes: readonly SkillErrorCode[]
): Promise<T | undefined> {
  try {
    return await work()
  } catch (thrown) {
    if (SkillError.isInstance(thrown) && (codes.length === 0 || codes.includes(thrown.code))) return undefined
    throw thrown
  }
}

/** Returns the message of any thrown value, without control characters, and cut if it is long. */
export function toMessage(thrown: unknown): string {
  return limitMessage(thrown instanceof Error ? thrown.message : String(thrown))
}
