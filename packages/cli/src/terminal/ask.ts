import { createInterface } from 'node:readline/promises'

/** Asks the person at the terminal a yes-or-no question. Returns false for every answer except "y" or "yes". */
export async function askYes(question: string): Promise<boolean> {
  return /^\s*y(es)?\s*$/i.test(await askLine(`${question} [y/N] `))
}

/** Asks the person at the terminal for one line. Returns an empty text if the person closes the input. */
export async function askLine(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const closed = new Promise<string>(resolve => lines.once('close', () => resolve('')))
  try {
    return await Promise.race([lines.question(question), closed])
  } finally {
    lines.close()
  }
}
