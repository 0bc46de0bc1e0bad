import { randomBytes } from 'node:crypto'
import { defined } from '@skillstoke/core/internal'
import { hashToken } from '@skillstoke/mcp/auth'
import { type ClientEntry, parseClients } from '../config/clients-file.ts'
import { orFail, readIfThere } from '../config/read-text.ts'
import { replaceFile } from '../config/replace-file.ts'
import type { Answer } from '../terminal/answer.ts'
import { UsageError } from '../terminal/exit-code.ts'

export interface TokenFlags {
  /** File to add the client to. @default only print the entry */
  readonly clients?: string
  readonly include?: readonly string[]
  readonly exclude?: readonly string[]
  readonly expires?: string
  /** Whether to replace the token of a client that the file already has. */
  readonly replace?: boolean
}

/** Implements `stoke token`: makes a token for a client of `stoke serve`, and prints it once. */
export function token(flags: TokenFlags, name: string): Answer {
  const secret = randomBytes(32).toString('base64url')
  const { include, exclude, expires, clients: file } = flags
  const given: ClientEntry = { name, sha256: hashToken(secret), ...defined({ include, exclude, expires }) }
  if (expires !== undefined && Number.isNaN(Date.parse(expires)))
    throw new UsageError(
      `--expires ${expires} is no date; use a day such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z`,
    )
  parseClients('the client', JSON.stringify({ clients: [given] }))
  if (expires !== undefined && Date.parse(expires) <= Date.now())
    throw new UsageError(`--expires ${expires} is in the past; use a later day or time`)
  const entry = file === undefined ? given : addToFile(file, given, flags)
  return {
    json: { token: secret, client: entry, file },
    text: () => [
      `token for ${name}, shown only now:`,
      `  ${secret}`,
      file === undefined
        ? `entry for the "clients" of a file that you pass to "stoke serve --clients":\n  ${JSON.stringify(entry)}`
        : `added to ${file}: ${describeEntry(entry)}`,
      'the client sends it as "Authorization: Bearer ..."',
    ],
  }
}

/** Says which skills a client sees, and until when. */
function describeEntry({ include, exclude, expires }: ClientEntry): string {
  const skills = include === undefined ? 'all skills' : `the skills ${include.join(', ')}`
  const without = exclude === undefined ? '' : ` without ${exclude.join(', ')}`
  return `${skills}${without}, ${expires === undefined ? 'without an end' : `until ${expires}`}`
}

/** Adds a client to a file. A replaced token keeps the scope and the end of the earlier one, unless new ones are given. */
function addToFile(path: string, given: ClientEntry, { replace }: TokenFlags): ClientEntry {
  const file = parseClients(path, readIfThere(path, `${path} cannot be read`) ?? '')
  const others = (file.clients ?? []).filter(({ name }) => name !== given.name)
  if (!replace && others.length < (file.clients ?? []).length)
    throw new UsageError(
      `${path} already has a client ${JSON.stringify(given.name)}; replace its token with --replace`,
    )
  const entry = { ...file.clients?.find(({ name }) => name === given.name), ...given }
  const text = `${JSON.stringify({ ...file, clients: [...others, entry] }, undefined, 2)}\n`
  orFail('the clients cannot be written', () => replaceFile(path, text))
  return entry
}
