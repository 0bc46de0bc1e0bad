/** The command succeeded. */
export const EXIT_OK = 0
/** The command ran to its end and found a problem, for example an invalid skill or an unknown name. */
export const EXIT_FINDINGS = 1
/** The command was invalid or could not be carried out. */
export const EXIT_USAGE = 2

/** A signal such as Ctrl-C interrupted the command before it printed its result. */
export const EXIT_INTERRUPTED = 130

/** An error that ends a command. Only the message of such an error is printed, not the stack trace. */
export class UsageError extends Error {
  override readonly name: string = 'UsageError'
}
