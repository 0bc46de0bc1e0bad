import { SkillError } from '../errors.ts'
import type { Hasher } from '../host.ts'
import { quote } from '../quote.ts'

const BYTES = 16
const HEX = 16
const FORM = /^[0-9a-f]{32}$/
const SHOWN_CHARACTERS = 40

/** Creates the random value that a conversation keeps in its stored state. */
export function createConversationSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES))
  return [...bytes].map(byte => byte.toString(HEX).padStart(2, '0')).join('')
}

/** Returns true for a text that has the form of a secret or an identity. */
export function hasIdentityForm(value: unknown): boolean {
  return typeof value === 'string' && FORM.test(value)
}

/**
 * Returns the identity of a conversation. Unapproved texts are live in the conversation with the identity that wrote
 * them. The id alone decides nothing, because hosts choose it. A copy of the state under another id is another
 * conversation.
 */
export function toConversationIdentity(secret: string, id: string, hasher: Hasher): string {
  return hasher.sha256(`${secret}\0${id}`).slice(0, BYTES * 2)
}

/** @throws {SkillError} INVALID_OPTION when a value is not the identity of a session, for example an id of the host */
export function checkConversationIdentity(path: string, value: unknown): void {
  if (value === undefined || hasIdentityForm(value)) return
  const shown = typeof value === 'string' ? quote(value, SHOWN_CHARACTERS) : typeof value
  throw new SkillError(
    'INVALID_OPTION',
    `${path} is ${shown}, which does not identify a conversation; pass the property "conversation" of its session`,
  )
}
