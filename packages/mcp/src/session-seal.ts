import type { webcrypto } from 'node:crypto'
import { decodeUnmarkedText } from '@skillstoke/core/internal'

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

const IV_BYTES = 12
const MAX_NAME = 100
const MAX_CAPABILITIES = 1_000

/**
 * Seals sessions into their ids. Only a server with the same key can read an id, and only for the owner for whom it was
 * sealed.
 */
export class SessionSeal {
  readonly #secret: string | undefined
  #key: Promise<webcrypto.CryptoKey> | undefined

  /** @param secret the secret that replicas share; `undefined` for a random one */
  constructor(secret: string | undefined) {
    this.#secret = secret
  }

  async seal(session: SealedSession, owner: string): Promise<string> {
    const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES))
    const text = new TextEncoder().encode(JSON.stringify(session))
    const sealed = await crypto.subtle.encrypt(toAlgorithm(iv, owner), await this.#importKey(), text)
    return toBase64Url(Uint8Array.of(...iv, ...new Uint8Array(sealed)))
  }

  /** Returns `undefined` if the id was not sealed with this key, or not for this owner. */
  async open(id: string, owner: string): Promise<SealedSession | undefined> {
    try {
      const bytes = fromBase64Url(id)
      const iv = bytes.subarray(0, IV_BYTES)
      const text = await crypto.subtle.decrypt(
        toAlgorithm(iv, owner),
        await this.#importKey(),
        bytes.subarray(IV_BYTES),
      )
      return JSON.parse(decodeUnmarkedText(new Uint8Array(text))) as SealedSession
    } catch {
      return undefined
    }
  }

  /** Imports the key at its first use, because Cloudflare Workers have no random numbers while they start. */
  async #importKey(): Promise<webcrypto.CryptoKey> {
    this.#key ??= (async () => {
      const secret = this.#secret ?? crypto.randomUUID() + crypto.randomUUID()
      const text = new TextEncoder().encode(`skillstoke session ${secret}`)
      const bytes = await crypto.subtle.digest('SHA-256', text)
      return await crypto.subtle.importKey('raw', bytes, 'AES-GCM', false, ['encrypt', 'decrypt'])
    })()
    return await this.#key
  }
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

/** Cloudflare Workers have no `Buffer`. */
function toBase64Url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes))
  return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

/** @throws if the text is not Base64 */
function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, character => character.charCodeAt(0))
}

function toAlgorithm(iv: Uint8Array<ArrayBuffer>, owner: string): webcrypto.AesGcmParams {
  return { name: 'AES-GCM', iv, additionalData: new TextEncoder().encode(owner) }
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
