import { defined } from '@skillstoke/core/internal'
import type { BearerClient, OAuthResourceOptions } from '@skillstoke/mcp/auth'
import { z } from 'zod'
import { UsageError } from '../terminal/exit-code.ts'
import { describeJsonFault } from './json-fault.ts'
import { readIfThere } from './read-text.ts'

/** Who may use `stoke serve`: clients with their own tokens, or the tokens of an authorization server. */
export type ClientsFile =
  | { readonly kind: 'bearer'; readonly clients: readonly BearerClient[] }
  | { readonly kind: 'oauth'; readonly oauth: OAuthResourceOptions }

const MAX_BYTES = 1_048_576
const patterns = z.array(z.string().min(1))
// An empty list would hide every skill, which is always a mistake.
const included = patterns.min(1, 'names no skill; use "*" for all skills, or leave it out')
const sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/i, 'must have 64 hexadecimal digits; "stoke token" prints them')

const entry = z.strictObject({
  name: z.string().min(1),
  /** Hash of the token, which `stoke token` prints. */
  sha256,
  include: included.readonly().optional(),
  exclude: patterns.readonly().optional(),
  /** Day or time when the token ends. */
  expires: z.iso
    .date()
    .or(z.iso.datetime({ offset: true }))
    .optional(),
})
const fileSchema = z.strictObject({
  clients: z.array(entry).optional(),
  oauth: z
    .strictObject({
      resource: z.string(),
      issuer: z.string(),
      jwksUrl: z.string().optional(),
      audience: z.string().optional(),
      requiredScopes: z.array(z.string()).optional(),
      skills: z.record(z.string(), included).optional(),
      resourceName: z.string().optional(),
    })
    .optional(),
})

/** An entry for a client, as the file contains it. */
export type ClientEntry = z.infer<typeof entry>

/** The content of the file. */
export type ClientsContent = z.infer<typeof fileSchema>

/**
 * Reads a file of clients. Accepts an empty list of clients, but not a file without a list.
 * @throws {UsageError} with the file, the field and the reason
 */
export function readClientsFile(path: string): ClientsFile {
  const file = parseClients(path, readClients(path))
  const { clients, oauth } = file
  if (oauth !== undefined && clients !== undefined && clients.length > 0)
    throw new UsageError(`${path}: has "clients" and "oauth"; use two servers, or one of the two`)
  if (oauth !== undefined) return { kind: 'oauth', oauth: defined(oauth) as OAuthResourceOptions }
  if (clients === undefined)
    throw new UsageError(`${path}: names no client; add one with "stoke token <name>"`)
  return { kind: 'bearer', clients: clients.map(toClient) }
}

/** Parses the text of a file of clients. An empty text is a file without clients. */
export function parseClients(path: string, text: string): ClientsContent {
  let value: unknown
  try {
    const json = text.replace(/^\uFEFF/, '')
    value = json.trim() === '' ? {} : JSON.parse(json)
  } catch (thrown) {
    throw new UsageError(`${path}: not valid JSON: ${describeJsonFault(thrown)}`, { cause: thrown })
  }
  const parsed = fileSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map(issue => `${path}: "${issue.path.join('.')}": ${issue.message}`)
  throw new UsageError(faults.join('\n'))
}

function readClients(path: string): string {
  const text = readIfThere(path, 'the clients cannot be read')
  if (text === undefined)
    throw new UsageError(
      `the file of clients ${JSON.stringify(path)} does not exist; create it with "stoke token my-client --clients ${path}"`,
    )
  const size = Buffer.byteLength(text)
  if (size > MAX_BYTES) throw new UsageError(`${path} has ${size} bytes; at most ${MAX_BYTES} are read`)
  return text
}

function toClient({ name, sha256, include, exclude, expires }: ClientEntry): BearerClient {
  const scope = defined({ include, exclude })
  const expiresAt = expires === undefined ? undefined : Date.parse(expires)
  return { name, sha256, ...(Object.keys(scope).length === 0 ? {} : { scope }), ...defined({ expiresAt }) }
}
