import { EXIT_OK } from './exit-code.ts'
import { printJson, printLine } from './output.ts'

/** What a verb found. The program prints it as text, or as JSON with `--json`. */
export interface Answer {
  readonly json: unknown
  /** Returns the lines for people. Called only if they are printed. */
  readonly text: () => Iterable<string> | AsyncIterable<string>
  /** @default EXIT_OK */
  readonly exit?: number
}

/** Prints an answer. Returns its exit code. */
export async function printAnswer({ json, text, exit = EXIT_OK }: Answer, isJson: boolean): Promise<number> {
  if (isJson) {
    printJson(json)
    return exit
  }
  // One write for all lines, because one write per line is slow for thousands of lines.
  const lines: string[] = []
  for await (const line of text()) lines.push(line)
  if (lines.length > 0) printLine(lines.join('\n'))
  return exit
}
