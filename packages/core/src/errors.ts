/** Every way in which the library can fail, on one screen. Skill texts never fail: they get diagnostics. */
export type SkillErrorCode =
  /** A path has a form that no skill may use: absolute, `..`, a backslash, a drive letter, a control character. */
  | 'INVALID_PATH'
  /** A skill may not be called so. */
  | 'INVALID_NAME'
  /** An option or argument has a value that cannot work. */
  | 'INVALID_OPTION'
  /** The opened file is not inside the folders it was allowed to come from. */
  | 'OUTSIDE_ROOT'
  /** There is nothing at this path. */
  | 'NOT_FOUND'
  /** A FIFO, device, socket or directory where a regular file was expected, or a file where a directory was. */
  | 'WRONG_KIND'
  /** Something is larger than its limit. */
  | 'TOO_LARGE'
  /** The operating system or a remote peer refused or failed. */
  | 'IO_FAILED'
  /** A source that has to be there is not. */
  | 'SOURCE_MISSING'
  /** Two skills have one name, and the host asked for that to be an error. */
  | 'DUPLICATE_SKILL'
  /** A revision has characters that nobody sees, and nobody has confirmed them. */
  | 'HIDDEN_TEXT'
  /** A skill cannot be served, and the host asked for that to be an error. */
  | 'SKILL_INVALID'
  /** A function of the host failed or ran out of time, and the host asked for that to be an error. */
  | 'HOOK_FAILED'
  /** This file system cannot report changes of this directory. */
  | 'NOT_WATCHABLE'
  /** No visible skill has this name. */
  | 'SKILL_NOT_FOUND'
  /** The skill has no such file. */
  | 'FILE_NOT_FOUND'
  /** The store no longer holds this revision, or never did. */
  | 'REVISION_NOT_FOUND'
  /** Two sources carry the same label. */
  | 'DUPLICATE_SOURCE'
  /** Another open session has this id. */
  | 'DUPLICATE_SESSION'
  /** What is to be written was changed by somebody else meanwhile. */
  | 'CHANGED_SINCE_READ'
  /** This source is not written to. */
  | 'READ_ONLY'
  /** Somebody else held a lock for too long. */
  | 'LOCKED'
  /** The skill has no such command. */
  | 'COMMAND_NOT_FOUND'
  /** The input of a command has fields that are missing, unknown or wrong. */
  | 'INPUT_INVALID'
  /** A script may not be run: nobody granted what it needs, or nothing would contain it. */
  | 'SCRIPT_REFUSED'
  /** A script does not load, threw, or ended without a result. */
  | 'SCRIPT_FAILED'
  /** A script took longer than it may. */
  | 'TIMED_OUT'
  /** The object was closed before the call. */
  | 'CLOSED'
  /** The JavaScript runtime is too old. */
  | 'UNSUPPORTED_RUNTIME'

export interface SkillErrorOptions {
  readonly cause?: unknown
  /** Machine-readable details of this failure, for example the path or the limit. */
  readonly data?: Readonly<Record<string, unknown>>
}

const BRAND = 'skillstoke.error'

/** The one error class of the library; `code` says which of the closed set of failures happened. */
export class SkillError extends Error {
  override readonly name: string = 'SkillError'
  readonly code: SkillErrorCode
  readonly data: Readonly<Record<string, unknown>>
  readonly brand: string = BRAND

  constructor(code: SkillErrorCode, message: string, options: SkillErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.data = options.data ?? {}
  }

  /** Recognises errors of any loaded copy of this package, optionally of one code only. */
  static isInstance(value: unknown, code?: SkillErrorCode): value is SkillError {
    if (typeof value !== 'object' || value === null) return false
    const candidate = value as Partial<SkillError>
    return candidate.brand === BRAND && (code === undefined || candidate.code === code)
  }
}

/** The text of anything that was thrown. */
export function toMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** @throws {SkillError} INVALID_OPTION when an option that was given has none of the values that it may have */
export function checkChoice<T>(name: string, value: T | undefined, choices: readonly T[]): void {
  if (value === undefined || choices.includes(value)) return
  const known = choices.map(choice => JSON.stringify(choice)).join(', ')
  throw new SkillError('INVALID_OPTION', `${name} is ${show(value)}; use one of ${known}`)
}

/** @throws {SkillError} INVALID_OPTION when an option that was given is no number in this range */
export function checkNumber(
  name: string,
  value: number | undefined,
  least: number,
  most: number = Infinity,
): void {
  if (value === undefined || (typeof value === 'number' && value >= least && value <= most)) return
  throw refuseNumber(name, value, 'number', least, most)
}

/** @throws {SkillError} INVALID_OPTION when an option that was given is no whole number in this range */
export function checkWholeNumber(
  name: string,
  value: number | undefined,
  least: number,
  most: number = Number.MAX_SAFE_INTEGER,
): void {
  if (value === undefined || (Number.isInteger(value) && value >= least && value <= most)) return
  throw refuseNumber(name, value, 'whole number', least, most)
}

function refuseNumber(name: string, value: unknown, kind: string, least: number, most: number): SkillError {
  const range =
    most >= Number.MAX_SAFE_INTEGER ? `a ${kind} from ${least} on` : `a ${kind} from ${least} to ${most}`
  return new SkillError('INVALID_OPTION', `${name} is ${show(value)}; use ${range}`)
}

function show(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}
