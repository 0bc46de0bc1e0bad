import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { UsageError } from './exit-code.ts'

/** A skill as a person names it on the command line. */
export interface NamedSkill {
  /** `name`, or `source/name`. */
  readonly skill: string
  /** The revision that the person has read. */
  readonly revision?: string
}

/** Reads `name@sha256:...`; a folder may have an `@` too, and then a `/` after it. */
export function parseNamedSkill(text: string): NamedSkill {
  const [, skill = text, revision] = /^(.+)@([^@/]+)$/.exec(text) ?? []
  return { skill, ...(revision === undefined ? {} : { revision }) }
}

/**
 * What is asked for by the name of a skill or of its folder, or by a path. A path that leads somewhere from here is made absolute,
 * because a running dev is somewhere else.
 * @throws {UsageError} when it is empty
 */
export function toAsked(text: string): string {
  if (text.trim() === '') throw new UsageError('the name is empty; "stoke list" shows the names there are')
  const isPath = /[/\\]/.test(text) || text.startsWith('.')
  return isPath && existsSync(text) ? resolve(text) : text
}
