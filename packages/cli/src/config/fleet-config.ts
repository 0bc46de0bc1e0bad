import { defined } from '@skillstoke/core/internal'
import { type FleetConnectionOptions, loadSigningKey, type ManifestSigner } from '@skillstoke/fleet'
import { UsageError } from '../terminal/exit-code.ts'
import { readText } from './read-text.ts'

/** Options of the command line that name a fleet and the identity of this program. */
export interface FleetFlags {
  readonly fleet?: string
  readonly channel?: string
  readonly trustedKey?: readonly string[]
  readonly creds?: string
  readonly tlsCa?: string
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly signingKey?: string
}

export interface FleetConfig {
  readonly connection: FleetConnectionOptions
  readonly channel: string | undefined
}

/**
 * Resolves the settings of a fleet from flags, then from environment variables.
 * @throws {UsageError} if no server is named, or a file cannot be read
 */
export function resolveFleet(flags: FleetFlags, environment: NodeJS.ProcessEnv = process.env): FleetConfig {
  const read = (flag: string | undefined, name: string): string | undefined =>
    flag ?? (environment[name] === '' ? undefined : environment[name])
  const place = read(flags.fleet, 'SKILLSTOKE_FLEET')
  if (place === undefined)
    throw new UsageError('name a server with --fleet nats://host:4222, or set SKILLSTOKE_FLEET')
  const [servers = '', namedChannel] = place.split('#')
  const keys = flags.trustedKey ?? read(undefined, 'SKILLSTOKE_FLEET_KEYS')?.split(',')
  const creds = read(flags.creds, 'SKILLSTOKE_FLEET_CREDS')
  const caFile = read(flags.tlsCa, 'SKILLSTOKE_FLEET_CA')
  const certFile = read(flags.tlsCert, 'SKILLSTOKE_FLEET_CERT')
  const keyFile = read(flags.tlsKey, 'SKILLSTOKE_FLEET_CERT_KEY')
  const inboxPrefix = read(undefined, 'SKILLSTOKE_FLEET_INBOX')
  const tls = defined({ caFile, certFile, keyFile })
  return {
    connection: {
      servers,
      name: 'stoke',
      ...defined({
        trustedKeys: keys?.map(key => key.trim()),
        credentials: creds === undefined ? undefined : readCredentials(creds),
        tls: Object.keys(tls).length === 0 ? undefined : tls,
        inboxPrefix,
      }),
    },
    channel: flags.channel ?? namedChannel,
  }
}

/** Reads the key that signs versions. @throws {UsageError} if the file cannot be read */
export function readSigner(
  named?: string,
  environment: NodeJS.ProcessEnv = process.env,
): ManifestSigner | undefined {
  const file = named ?? environment['SKILLSTOKE_FLEET_SIGNING_KEY']
  return file === undefined || file === '' ? undefined : loadSigningKey(readSecret(file, 'signing key'))
}

/** A file with a JWT and a seed, or with the seed of an nkey. */
function readCredentials(file: string): NonNullable<FleetConnectionOptions['credentials']> {
  const text = readSecret(file, 'credentials')
  return text.includes('BEGIN NATS USER JWT') ? { kind: 'creds', text } : { kind: 'nkey', seed: text.trim() }
}

function readSecret(file: string, what: string): string {
  return readText(file, `the ${what} in ${JSON.stringify(file)} cannot be read`)
}
