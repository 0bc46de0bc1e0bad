import { randomBytes } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { hashToken } from '@skillstoke/mcp/auth'
import { type ClientEntry, parseClients } from '../config/clients-file.ts'
import { EXIT_OK, UsageError } from '../exit-code.ts'

export interface TokenOptions {
  /** File to add the client to. @default only print the entry */
  readonly file?: string
  readonly include?: readonly string[]
  readonly exclude?: readonly string[]
  readonly expires?: string
  /** Whether to replace the token of a client that the file already has. */
  readonly isReplacing: boolean
  readonly json: boolean
}

/** Implements `stoke token`: makes a token for a client of `stoke serve`, and prints it once. */
export function token(name: string, options: TokenOptions): number {
  const secret = randomBytes(32).toString('base64url')
  const { include, exclude, expires, file } = options
  const entry: ClientEntry = {
    name,
    sha256: hashToken(secret),
    ...(include === undefined ? {} : { include: [...include] }),
    ...(exclude === undefined ? {} : { exclude: [...exclude] }),
    ...(expires === undefined ? {} : { expires }),
  }
  parseClients('the client', JSON.stringify({ clients: [entry] }))
  if (expires !== undefined && Date.parse(expires) <= Date.now())
    throw new UsageError(`--expires ${expires} is in the past; use a later day or time`)
  if (file !== undefined) addToFile(file, entry, options)
  if (options.json) {
    process.stdout.write(`${JSON.stringify({ token: secret, client: entry, file }, undefined, 2)}\n`)
    return EXIT_OK
  }
  process.stdout.write(
    [
      `token for ${name}, shown only now:`,
      `  ${secret}`,
      file === undefined
        ? `entry for the "clients" of a file that you pass to "stoke serve --clients":\n  ${JSON.stringify(entry)}`
        : `added to ${file}`,
      'the client sends it as "Authorization: Bearer ..."',
      '',
    ].join('\n'),
  )
  return EXIT_OK
}

function addToFile(path: string, entry: ClientEntry, { isReplacing }: TokenOptions): void {
  const file = parseClients(path, readIfThere(path))
  const others = (file.clients ?? []).filter(({ name }) => name !== entry.name)
  if (!isReplacing && others.length < (file.clients ?? []).length)
    throw new UsageError(
      `${path} already has a client ${JSON.stringify(entry.name)}; replace its token with --replace`,
    )
  const draft = `${path}.${process.pid}.tmp`
  writeFileSync(draft, `${JSON.stringify({ ...file, clients: [...others, entry] }, undefined, 2)}\n`, {
    mode: 0o600,
  })
  renameSync(draft, path)
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw thrown
  }
}
