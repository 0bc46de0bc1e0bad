/** What the text of a SKILL.md is made of. */
export interface SkillDefinition {
  readonly name: string
  readonly description: string
  /** The instructions, Markdown. @default '' */
  readonly body?: string
  /** Other fields of the frontmatter, as JSON values. @default {} */
  readonly fields?: Readonly<Record<string, unknown>>
}

/** Writes a SKILL.md: every value in JSON's form, which is YAML whatever it contains. */
export function renderSkillText(definition: SkillDefinition): string {
  const { name, description, body = '', fields = {} } = definition
  const lines = Object.entries({ name, description, ...fields })
    .filter(([, value]) => value !== undefined)
    .map(
      ([key, value]) =>
        `${/^[A-Za-z][\w-]*$/.test(key) ? key : JSON.stringify(key)}: ${JSON.stringify(value)}`,
    )
  return `---\n${lines.join('\n')}\n---\n${body === '' || body.endsWith('\n') ? body : `${body}\n`}`
}
