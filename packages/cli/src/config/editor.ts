/** Returns the command of the editor that the user prefers, which may contain options. */
export function findEditor({ VISUAL, EDITOR }: NodeJS.ProcessEnv = process.env): string | undefined {
  return VISUAL?.trim() || EDITOR?.trim() || undefined
}
