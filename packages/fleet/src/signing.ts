import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { nkeys } from '@nats-io/transport-node'
import { SkillError } from '@skillstoke/core'
import { decodeUnmarkedText, quote } from '@skillstoke/core/internal'

/** Signs what a publisher writes. Implement this interface if the key is in a key management service. */
export interface ManifestSigner {
  /** The public key in the form `ed25519:` and 43 characters of base64url. */
  readonly publicKey: string
  /** Returns the 64 bytes of the Ed25519 signature. */
  sign(data: Uint8Array): Uint8Array | Promise<Uint8Array>
}

const PREFIX = 'ed25519:'

/**
 * Creates a key pair for a publisher. Keep the private key secret. Give the public key to every agent as one of its
 * `trustedKeys`.
 *
 * @example
 * ```ts
 * import { createSigningKey, loadSigningKey } from '@skillstoke/fleet'
 *
 * const { privateKey, publicKey } = createSigningKey() // the private key is PEM text
 * console.log(loadSigningKey(privateKey).publicKey === publicKey) // prints true
 * ```
 */
export function createSigningKey(): { readonly privateKey: string; readonly publicKey: string } {
  const { privateKey } = generateKeyPairSync('ed25519')
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { privateKey: pem, publicKey: toPublicKey(privateKey) }
}

/**
 * Loads a private Ed25519 key.
 * @param pem PKCS #8 in PEM, as `createSigningKey()` and `openssl genpkey -algorithm ed25519` write it
 * @throws {SkillError} INVALID_OPTION if the text is no such key
 *
 * @example
 * ```ts
 * import { createSigningKey, loadSigningKey } from '@skillstoke/fleet'
 *
 * const signer = loadSigningKey(createSigningKey().privateKey)
 * console.log(signer.publicKey.startsWith('ed25519:')) // prints true
 * ```
 */
export function loadSigningKey(pem: string): ManifestSigner {
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch (cause) {
    throw new SkillError('INVALID_OPTION', 'the signing key is no PEM text of a private key', { cause })
  }
  if (key.asymmetricKeyType !== 'ed25519')
    throw new SkillError(
      'INVALID_OPTION',
      `the signing key is a key for ${key.asymmetricKeyType}; use ed25519`,
    )
  return Object.freeze({ publicKey: toPublicKey(key), sign: (data: Uint8Array) => sign(null, data, key) })
}

/**
 * Creates an nkey, with which a program identifies itself at the servers. The public half goes into the configuration of
 * the servers, and the seed into the `credentials` of the program.
 *
 * @example
 * ```ts
 * import { createNkey } from '@skillstoke/fleet'
 *
 * const { seed, publicKey } = createNkey()
 * console.log(seed.slice(0, 2), publicKey.slice(0, 1)) // prints SU U
 * ```
 */
export function createNkey(): { readonly seed: string; readonly publicKey: string } {
  const pair = nkeys.createUser()
  return { seed: decodeUnmarkedText(pair.getSeed()), publicKey: pair.getPublicKey() }
}

/** Checks signatures against the keys that an agent trusts. */
export class TrustedKeys {
  readonly #keys: ReadonlyMap<string, KeyObject>

  /** @throws {SkillError} INVALID_OPTION */
  constructor(keys: readonly string[]) {
    this.#keys = new Map(keys.map(text => [text, parsePublicKey(text)]))
  }

  /** Whether signatures are checked. */
  get isRequired(): boolean {
    return this.#keys.size > 0
  }

  has(publicKey: string): boolean {
    return this.#keys.has(publicKey)
  }

  /** Whether one of the signatures was made by a trusted key. */
  hasSigned(data: Uint8Array, signatures: readonly ManifestSignature[]): boolean {
    return signatures.some(({ key, value }) => {
      const trusted = this.#keys.get(key)
      return trusted !== undefined && verify(null, data, trusted, value)
    })
  }
}

/** Trusts no key, so no signature is checked. */
export const NO_KEYS: TrustedKeys = new TrustedKeys([])

export interface ManifestSignature {
  readonly key: string
  readonly value: Uint8Array
}

function toPublicKey(key: KeyObject): string {
  return `${PREFIX}${createPublicKey(key).export({ format: 'jwk' }).x}`
}

/** @throws {SkillError} INVALID_OPTION */
function parsePublicKey(text: string): KeyObject {
  const x = text.startsWith(PREFIX) ? text.slice(PREFIX.length) : ''
  try {
    if (/^[A-Za-z0-9_-]{43}$/.test(x))
      return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  } catch {
    // The message below names the value.
  }
  throw new SkillError(
    'INVALID_OPTION',
    `the trusted key ${quote(text)} is not valid; use "ed25519:" and 43 characters of base64url`,
  )
}
