import { type ConnectionOptions, credsAuthenticator, nkeyAuthenticator } from '@nats-io/transport-node'
import { SkillError } from '@skillstoke/core'
import { checkOptions, defined, digestOf, type KnownOptions, quote } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import { FleetFeed } from './fleet-feed.ts'
import { NatsEngine } from './nats-engine.ts'
import { TrustedKeys } from './signing.ts'

/** How a program identifies itself at the servers of a fleet. */
export type FleetCredentials =
  | { readonly kind: 'password'; readonly user: string; readonly password: string }
  | { readonly kind: 'token'; readonly token: string }
  /** The seed of an nkey, which begins with `SU`. */
  | { readonly kind: 'nkey'; readonly seed: string }
  /** Text of a `.creds` file with a JWT and a seed. */
  | { readonly kind: 'creds'; readonly text: string }

/** Files with certificates in PEM. A server whose URL begins with `tls://` needs no further setting. */
export interface FleetTls {
  /** Certificates of the authorities that may sign the certificate of a server. @default those of Node */
  readonly caFile?: string
  /** Certificate of this program, if the servers require one. */
  readonly certFile?: string
  readonly keyFile?: string
}

export interface FleetConnectionOptions {
  /**
   * URLs of the servers, for example `nats://127.0.0.1:4222` or `tls://nats.example.com`. A user and a password in a URL
   * are used as credentials.
   */
  readonly servers: string | readonly string[]
  /** @default those of the first URL, or none */
  readonly credentials?: FleetCredentials
  readonly tls?: FleetTls
  /**
   * Public keys whose signatures are trusted, in the form `ed25519:` and 43 characters. If at least one key is given,
   * everything that is not signed by one of the keys is refused.
   * @default none: signatures are not checked
   */
  readonly trustedKeys?: readonly string[]
  /** Name of this program in the lists of the server. @default 'skillstoke' */
  readonly name?: string
  /** Prefix of the subjects for answers. Needed if the server allows this program no other one. @default '_INBOX' */
  readonly inboxPrefix?: string
}

const KNOWN: KnownOptions<FleetConnectionOptions> = {
  servers: true,
  credentials: true,
  tls: true,
  trustedKeys: true,
  name: true,
  inboxPrefix: true,
}
const KNOWN_TLS: KnownOptions<FleetTls> = { caFile: true, certFile: true, keyFile: true }

/**
 * One connection to the servers of a fleet, for all sources, publishers and reports of a process. Connects at the first
 * use. After a failed first attempt, the next use tries again. A lost connection is restored in the background.
 *
 * @example
 * ```ts no-run
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { FleetConnection, fleetSource } from '@skillstoke/fleet'
 *
 * await using fleet = new FleetConnection({ servers: 'nats://127.0.0.1:4222' })
 * await using skills = await createSkillRuntime({ sources: [fleetSource(fleet, { channel: 'stable' })] })
 * console.log(skills.current.list().map(skill => skill.name))
 * ```
 */
export class FleetConnection implements AsyncDisposable {
  /** Host and port of the servers, without credentials. */
  readonly address: string
  /** Who this program is at the servers, without a secret; absent without credentials. */
  readonly user: string | undefined
  /** The keys whose signatures are trusted. */
  readonly trusted: TrustedKeys
  readonly #options: ConnectionOptions
  #connecting: Promise<NatsEngine> | undefined
  #feed: FleetFeed | undefined
  #isClosed = false

  /** @throws {SkillError} INVALID_OPTION */
  constructor(options: FleetConnectionOptions) {
    checkOptions('FleetConnection', options, KNOWN)
    checkOptions('FleetConnection', options.tls, KNOWN_TLS, { path: 'tls' })
    const servers = typeof options.servers === 'string' ? options.servers.split(',') : options.servers
    const urls = servers.map(parseServer)
    const [first] = urls
    if (first === undefined)
      throw new SkillError('INVALID_OPTION', 'servers is empty; name at least one server')
    this.trusted = new TrustedKeys(options.trustedKeys ?? [])
    this.address = urls.map(url => url.host).join(',')
    const { name = 'skillstoke', inboxPrefix, tls, credentials = credentialsOf(first) } = options
    const identity = credentials === undefined ? undefined : identify(credentials)
    this.user = identity?.user
    const isEncrypted = tls !== undefined || urls.some(url => url.protocol === 'tls:')
    this.#options = {
      servers: urls.map(url => `${url.hostname}:${url.port || '4222'}`),
      name,
      ...identity?.authentication,
      ...defined({ inboxPrefix, tls: isEncrypted ? { ...tls } : undefined }),
    }
  }

  /** The connected engine. @throws {SkillError} IO_FAILED, CLOSED */
  async open(): Promise<NatsEngine> {
    if (this.#isClosed) throw new SkillError('CLOSED', `the connection to ${this.address} is closed`)
    this.#connecting ??= NatsEngine.connect(this.#options, this.address)
    const connecting = this.#connecting
    try {
      const engine = await connecting
      if (!engine.isClosed) return engine
    } catch (thrown) {
      if (this.#connecting === connecting) this.#connecting = undefined
      throw thrown
    }
    if (this.#connecting === connecting) this.#connecting = undefined
    return await this.open()
  }

  /** The heads of the fleet, which all readers of this process share. After the end of the connection, the last ones. */
  get feed(): FleetFeed {
    this.#feed ??= new FleetFeed(this)
    return this.#feed
  }

  /** Ends the connection. Sources keep their skills. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#feed?.close()
    const engine = await this.#connecting?.catch(() => undefined)
    await engine?.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

/** @throws {SkillError} INVALID_OPTION */
function parseServer(text: string): URL {
  const url = text.includes('://') ? text : `nats://${text}`
  if (URL.canParse(url) && /^(?:nats|tls):$/.test(new URL(url).protocol) && new URL(url).hostname !== '')
    return new URL(url)
  const shown = text.replace(/\/\/[^@/]*@/, '//…@')
  throw new SkillError(
    'INVALID_OPTION',
    `the server ${quote(shown)} is not valid; use nats://host:4222 or tls://host:4222`,
  )
}

function credentialsOf({ username, password }: URL): FleetCredentials | undefined {
  if (username === '') return undefined
  try {
    const user = decodeURIComponent(username)
    return password === ''
      ? { kind: 'token', token: user }
      : { kind: 'password', user, password: decodeURIComponent(password) }
  } catch {
    throw new SkillError(
      'INVALID_OPTION',
      'the user or password in the URL of the server is not valid; write "%" as "%25"',
    )
  }
}

/** Who a program is, without a secret, and how it identifies itself. */
interface Identity {
  readonly user: string
  readonly authentication: ConnectionOptions
}

/** @throws {SkillError} INVALID_OPTION */
function identify(credentials: FleetCredentials): Identity {
  const nameBy = (secret: string): string =>
    digestOf(secret, nodeHasher).slice('sha256:'.length, 'sha256:'.length + 12)
  const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
  switch (credentials.kind) {
    case 'password': {
      const { user, password } = credentials
      return { user, authentication: { user, pass: password } }
    }
    case 'token': {
      const { token } = credentials
      return { user: nameBy(token), authentication: { token } }
    }
    case 'nkey': {
      const seed = credentials.seed.trim()
      return { user: nameBy(seed), authentication: { authenticator: nkeyAuthenticator(encode(seed)) } }
    }
    case 'creds': {
      const { text } = credentials
      return {
        user: nameBy(text.trim()),
        authentication: { authenticator: credsAuthenticator(encode(text)) },
      }
    }
    default:
      throw new SkillError(
        'INVALID_OPTION',
        `the kind of credentials ${quote((credentials satisfies never as FleetCredentials).kind)} is not known; use password, token, nkey or creds`,
      )
  }
}
