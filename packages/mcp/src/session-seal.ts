/** What a sealed session id says about its session: enough to repeat the handshake on any server with the same key. */
export interface SealedSession {
  /** The parameters of the request `initialize`, without what is too large for a header. */
  readonly handshake: {
    readonly protocolVersion: string
    readonly clientInfo: { readonly name: string; readonly version: string }
    readonly capabilities: Readonly<Record<string, unknown>>
  }
  /** Identity of the conversation, in which the texts that the client writes are live. */
  readonly conversation: string
  /** Digest of the generation that the client knew when the session began. */
  readonly generation: string
}

const MAX_NAME = 100
const MAX_CAPABILITIES = 1_000
/** AES-GCM with the key of the server. */
const [ALGORITHM, ENCRYPTION] = ['dir', 'A256GCM']

/**
 * Seals sessions into their ids, which are encrypted JSON Web Tokens. Only a server with the same key can read an id, and
 * only for the owner for whom it was sealed.
 */
export class SessionSeal {
  readonly #secret: string | undefined
  #key: Promise<Uint8Array> | undefined

  /** @param secret the secret that replicas share; `undefined` for a random one */
  constructor(secret: string | undefined) {
    this.#secret = secret
  }

  async seal(session: SealedSession, owner: string): Promise<string> {
    // Loaded at its first use, because only HTTP sessions need it.
    const { EncryptJWT } = await import('jose/jwt/encrypt')
    return await new EncryptJWT({ ...session })
      .setProtectedHeader({ alg: ALGORITHM, enc: ENCRYPTION })
      .setAudience(toAudience(owner))
      .encrypt(await this.#getKey())
  }

  /** Returns `undefined` if the id was not sealed with this key, or not for this owner. */
  async open(id: string, owner: string): Promise<SealedSession | undefined> {
    try {
      const { jwtDecrypt } = await import('jose/jwt/decrypt')
      const { payload } = await jwtDecrypt<SealedSession>(id, await this.#getKey(), {
        audience: toAudience(owner),
        keyManagementAlgorithms: [ALGORITHM],
        contentEncryptionAlgorithms: [ENCRYPTION],
      })
      return payload
    } catch {
      return undefined
    }
  }

  /** Derives the key at its first use, because Cloudflare Workers have no random numbers while they start. */
  async #getKey(): Promise<Uint8Array> {
    this.#key ??= (async () => {
      const secret = this.#secret ?? crypto.randomUUID() + crypto.randomUUID()
      const text = new TextEncoder().encode(`skillstoke session ${secret}`)
      return new Uint8Array(await crypto.subtle.digest('SHA-256', text))
    })()
    return await this.#key
  }
}

/** Returns a text that is never empty, because an empty audience would not be checked. */
function toAudience(owner: string): string {
  return `owner ${owner}`
}

/** Returns the handshake of a request `initialize`; `undefined` for any other body. */
export function readHandshake(body: unknown): SealedSession['handshake'] | undefined {
  const { method, params } = (body ?? {}) as { readonly method?: unknown; readonly params?: unknown }
  if (method !== 'initialize') return undefined
  const { protocolVersion, clientInfo, capabilities } = (params ?? {}) as Partial<
    Readonly<Record<string, unknown>>
  >
  const { name, version } = (clientInfo ?? {}) as Partial<Readonly<Record<string, unknown>>>
  return {
    protocolVersion: toShortText(protocolVersion),
    clientInfo: { name: toShortText(name), version: toShortText(version) },
    capabilities: toShortCapabilities(capabilities),
  }
}

function toShortText(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MAX_NAME) : ''
}

/** Keeps only the names of large capabilities, because an id must fit into a header. */
function toShortCapabilities(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return {}
  if (JSON.stringify(value).length <= MAX_CAPABILITIES) return { ...value }
  const names = Object.keys(value).filter(name => name.length <= MAX_NAME)
  return Object.fromEntries(names.slice(0, MAX_CAPABILITIES / MAX_NAME).map(name => [name, {}]))
}
