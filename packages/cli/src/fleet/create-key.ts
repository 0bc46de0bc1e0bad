import { writeFileSync } from 'node:fs'
import { createSigningKey } from '@skillstoke/fleet'
import { EXIT_OK, UsageError } from '../exit-code.ts'
import { printJson, printLine } from '../output.ts'

/** Implements `stoke fleet key`: writes a new private key that only this user can read. Never overwrites a file. */
export function createKey(file: string, { json }: { readonly json: boolean }): number {
  const { privateKey, publicKey } = createSigningKey()
  try {
    writeFileSync(file, privateKey, { flag: 'wx', mode: 0o600 })
  } catch (cause) {
    const isThere = (cause as NodeJS.ErrnoException).code === 'EEXIST'
    const why = isThere
      ? 'exists; keys are never overwritten'
      : `cannot be written: ${(cause as Error).message}`
    throw new UsageError(`${JSON.stringify(file)} ${why}`, { cause })
  }
  if (json) printJson({ file, publicKey })
  else {
    printLine(publicKey)
    printLine(`The private key is in ${file}. Give the line above to every agent with --trusted-key.`)
  }
  return EXIT_OK
}
