import type { Hasher } from '../host.ts'

const ALLOWED = /^[A-Za-z0-9_-]{1,64}$/
const MAX_LENGTH = 64
const SUFFIX_DIGITS = 8

/**
 * Returns the name under which a model calls a command of a skill: `skill__command`. If that name is too long or
 * contains letters that tool names must not have, returns a readable prefix and eight digits of a digest. The result
 * always matches `[A-Za-z0-9_-]{1,64}` and is the same on every machine.
 */
export function toToolName(skill: string, command: string, hasher: Hasher): string {
  const plain = `${skill}__${command}`
  // The separator must be unambiguous: skill `a_` with command `b` must not get the name of skill `a` with command
  // `_b`.
  if (ALLOWED.test(plain) && !skill.includes('__') && !skill.endsWith('_')) return plain
  const readable = plain
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9_-]+/g, '')
    .slice(0, MAX_LENGTH - SUFFIX_DIGITS - 1)
  const suffix = hasher.sha256(`${skill}\0${command}`).slice(0, SUFFIX_DIGITS)
  return `${readable === '' ? 'skill' : readable}_${suffix}`
}
