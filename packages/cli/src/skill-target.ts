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
