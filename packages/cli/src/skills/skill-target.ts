import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { defined } from '@skillstoke/core/internal'
import { UsageError } from '../terminal/exit-code.ts'

/** A skill that the command line names. */
export interface NamedSkill {
  /** `name`, or `source/name`. */
  readonly skill: string
  /** The revision that the person has seen and names. */
  readonly revision?: string
}

/** Parses `name@sha256:...`. An `@` before a `/` is part of a folder name. */
export function parseNamedSkill(text: string): NamedSkill {
  const [, skill = text, revision] = /^(.+)@([^@/]+)$/.exec(text) ?? []
  return { skill, ...defined({ revision }) }
}

/**
 * Normalizes a skill name, folder name or path. Makes an existing path absolute, because a running `stoke dev` may have
 * another working directory.
 * @throws {UsageError} when the text is empty
 */
export function toAsked(text: string): string {
  if (text.trim() === '') throw new UsageError('the name is empty; "stoke list" shows all names')
  const isPath = /[/\\]/.test(text) || text.startsWith('.')
  return isPath && existsSync(text) ? resolve(text) : text
}
