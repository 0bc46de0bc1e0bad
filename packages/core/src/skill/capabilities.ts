import { quote } from '../quote.ts'
import type { Diagnostic } from './diagnostic.ts'
import type { Skill } from './skill.ts'

/**
 * A right that scripts of a skill ask for, as one word of `metadata.capabilities`: `net` (the network), `exec`
 * (start programs), `env:NAME` (read one environment variable), `fs.read` and `fs.write` (the workspace of the host), or
 * `fs.read:path` and `fs.write:path` (another folder).
 */
export type ScriptCapability = string

/**
 * The forms of a capability, each with its notation and the pattern that matches it. `PART_OF_FORM` in
 * `@skillstoke/scripts` defines the access that each form gives.
 */
const FORMS = {
  net: 'net',
  exec: 'exec',
  'env:NAME': 'env:[A-Za-z_][A-Za-z0-9_]*',
  'fs.read': 'fs\\.read',
  'fs.write': 'fs\\.write',
  'fs.read:path': 'fs\\.read:\\S+',
  'fs.write:path': 'fs\\.write:\\S+',
} as const

export type CapabilityForm = keyof typeof FORMS

/** The notations of all forms of a capability, for messages. */
export const CAPABILITY_FORMS: string = Object.keys(FORMS).join(', ')

export function isCapability(word: string): word is ScriptCapability {
  return findCapabilityForm(word) !== undefined
}

export function findCapabilityForm(word: string): CapabilityForm | undefined {
  return (Object.keys(FORMS) as CapabilityForm[]).find(form => new RegExp(`^${FORMS[form]}$`).test(word))
}

/**
 * Returns the words of `metadata.capabilities` without repetitions, in the order of the file. Unknown words are
 * included.
 */
export function declaredCapabilities(skill: Pick<Skill, 'metadata'> | undefined): readonly string[] {
  const declared: unknown = skill?.metadata['capabilities']
  return typeof declared === 'string' ? [...new Set(declared.split(/\s+/).filter(Boolean))] : []
}

/** Reports the words of `metadata.capabilities` that are not capabilities. */
export function checkCapabilities(skill: Pick<Skill, 'metadata'>): readonly Diagnostic[] {
  return declaredCapabilities(skill)
    .filter(word => !isCapability(word))
    .map(word => ({
      code: 'CAPABILITY_UNKNOWN',
      severity: 'warning',
      message: `metadata.capabilities asks for ${quote(word)}, which is not a capability; the capabilities are ${CAPABILITY_FORMS}`,
      fix: 'remove it, or write the capabilities as one text, separated only by spaces',
    }))
}

/** Returns the wanted capabilities that are not granted. A grant of `fs.write` includes the right to read. */
export function findMissing(
  wanted: readonly ScriptCapability[],
  granted: readonly ScriptCapability[],
): readonly ScriptCapability[] {
  return wanted.filter(
    capability =>
      !granted.includes(capability) && !granted.includes(capability.replace(/^fs\.read(?=:|$)/, 'fs.write')),
  )
}
