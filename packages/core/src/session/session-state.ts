import type { LedgerEntry } from '../activation/ledger.ts'
import { SkillError } from '../errors.ts'
import type { Hasher } from '../host.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'

/**
 * What a conversation was told and has loaded, as a JSON value: to be stored with its messages and given to
 * `SkillRuntime.session` when it goes on, in this process or another.
 */
export interface SessionState {
  readonly version: 1
  /** Digest of the generation of which it was told last. */
  readonly generation: Digest
  /** The skills it was told of: each name, and the first digits of its description's digest. Sorted by name. */
  readonly announced: readonly (readonly [name: string, description: string])[]
  readonly ledger: readonly LedgerEntry[]
  /** The revisions of which it was given something, by name, newest last. */
  readonly seen: Readonly<Record<string, readonly Digest[]>>
}

const DIGITS = 16
const keys = new WeakMap<Skill, string>()

/** What stands for a description in a stored state. Skills are immutable, so it is computed once for each. */
export function descriptionKey(skill: Skill, hasher: Hasher): string {
  let key = keys.get(skill)
  if (key === undefined) {
    key = hasher.sha256(skill.description).slice(0, DIGITS)
    keys.set(skill, key)
  }
  return key
}

/** @throws {SkillError} INVALID_OPTION when this is no state, or one of a newer version */
export function checkSessionState(state: SessionState): SessionState {
  const { version, announced, ledger, seen } = state
  const isWhole =
    version === 1 && Array.isArray(announced) && Array.isArray(ledger) && typeof seen === 'object'
  if (isWhole && seen !== null) return state
  throw new SkillError(
    'INVALID_OPTION',
    `the state of the session has version ${JSON.stringify(version)}; a state of version 1 is expected`,
  )
}
