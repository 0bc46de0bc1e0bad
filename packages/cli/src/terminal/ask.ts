import { createInterface } from 'node:readline/promises'

/** Asks the person at the terminal a yes-or-no question. Returns false for every answer except "y" or "yes". */
export async function askYes(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  // If the person closes the input with Ctrl-D, this counts as no.
  const closed = new Promise<string>(resolve => lines.once('close', () => resolve('')))
  try {
    const answer = await Promise.race([lines.question(`${question} [y/N] `), closed])
    return /^\s*y(es)?\s*$/i.test(answer)
  } finally {
    lines.close()
  }
}
