import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { SkillError } from '../errors.ts'
import { compareText } from '../skill/compare.ts'
import type { SessionState } from './session-state.ts'

const MIN_KEY_BYTES = 32
const encoder = new TextEncoder()

/** Seals stored states with a key of the host, so that a program without the key cannot change a state unnoticed. */
export class StateSeal {
  readonly #first: Uint8Array
  readonly #keys: readonly Uint8Array[]

  /**
   * @param keys one key or several keys. The first key seals, and every key opens.
   * @throws {SkillError} INVALID_OPTION when there is no key, or a key is shorter than 32 bytes
   */
  constructor(keys: string | Uint8Array | readonly (string | Uint8Array)[]) {
    this.#keys = [keys].flat().map(toKey)
    const [first] = this.#keys
    if (first === undefined)
      throw new SkillError('INVALID_OPTION', 'state.sealKey is an empty list; pass at least one key')
    this.#first = first
  }

  /** Returns the state with its seal: the HMAC-SHA256 of its JSON with sorted names. */
  seal(state: SessionState): SessionState {
    return { ...state, seal: compute(state, this.#first) }
  }

  /** @throws {SkillError} INVALID_OPTION when the state was not sealed with one of the keys, or was changed later */
  check(state: SessionState): void {
    if (this.#keys.some(key => isSame(state.seal, compute(state, key)))) return
    throw new SkillError(
      'INVALID_OPTION',
      'the state of the session has no valid seal: it was changed, or it was sealed with another key. Pass what state() returned, or leave "resume" out',
      { data: { field: 'seal' } },
    )
  }
}

function toKey(key: string | Uint8Array): Uint8Array {
  const bytes = typeof key === 'string' ? encoder.encode(key) : new Uint8Array(key)
  if (bytes.length >= MIN_KEY_BYTES) return bytes
  throw new SkillError(
    'INVALID_OPTION',
    `state.sealKey has ${bytes.length} bytes; use at least ${MIN_KEY_BYTES} random bytes`,
  )
}

function compute({ seal: _seal, ...state }: SessionState, key: Uint8Array): string {
  return bytesToHex(hmac(sha256, key, encoder.encode(toCanonical(state))))
}

/** Compares in constant time, so that the time does not tell how many digits of a forged seal are right. */
function isSame(given: string | undefined, expected: string): boolean {
  if (given?.length !== expected.length) return false
  let difference = 0
  for (let i = 0; i < expected.length; i++) difference |= given.charCodeAt(i) ^ expected.charCodeAt(i)
  return difference === 0
}

/** Renders JSON with sorted names, because a store may return the fields in another order. */
function toCanonical(state: object): string {
  return JSON.stringify(state, (_, value: unknown) =>
    typeof value !== 'object' || value === null || Array.isArray(value)
      ? value
      : Object.fromEntries(Object.entries(value).sort(([a], [b]) => compareText(a, b))),
  )
}
