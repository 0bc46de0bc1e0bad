/** What the process tells its caller. */
export const EXIT_OK = 0
/** The command worked and found something wrong: an invalid skill, a name that is not there. */
export const EXIT_FINDINGS = 1
/** The command could not be understood or carried out. */
export const EXIT_USAGE = 2

/** Somebody pressed Ctrl-C, and the command is for its result. */
export const EXIT_INTERRUPTED = 130

/** Ends a command with a sentence for the user instead of a stack trace. */
export class UsageError extends Error {
  override readonly name: string = 'UsageError'
}
