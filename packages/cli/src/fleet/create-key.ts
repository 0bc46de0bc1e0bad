import { writeFileSync } from 'node:fs'
import { createNkey, createSigningKey } from '@skillstoke/fleet'
import type { Answer } from '../terminal/answer.ts'
import { UsageError } from '../terminal/exit-code.ts'

/** Implements `stoke fleet key`: writes a new secret that only this user can read. Never overwrites a file. */
export function createKey({ nkey }: { readonly nkey?: boolean }, file: string): Answer {
  const { secret, publicKey, use } = nkey ? makeNkey() : makeSigningKey()
  try {
    writeFileSync(file, secret, { flag: 'wx', mode: 0o600 })
  } catch (cause) {
    const isThere = (cause as NodeJS.ErrnoException).code === 'EEXIST'
    const why = isThere
      ? 'exists; keys are never overwritten'
      : `cannot be written: ${(cause as Error).message}`
    throw new UsageError(`${JSON.stringify(file)} ${why}`, { cause })
  }
  return {
    json: { file, publicKey },
    text: () => [publicKey, `The secret half is in ${file}. ${use}`],
  }
}

interface MadeKey {
  readonly secret: string
  readonly publicKey: string
  /** What to do with the public half. */
  readonly use: string
}

function makeSigningKey(): MadeKey {
  const { privateKey, publicKey } = createSigningKey()
  return { secret: privateKey, publicKey, use: 'Give the line above to every agent with --trusted-key.' }
}

function makeNkey(): MadeKey {
  const { seed, publicKey } = createNkey()
  return { secret: `${seed}\n`, publicKey, use: 'Put the line above into the configuration of the servers.' }
}
