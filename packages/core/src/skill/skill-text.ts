/** The parts of a SKILL.md text. */
export interface SkillDefinition {
  readonly name: string
  readonly description: string
  /** The instructions in Markdown. @default '' */
  readonly body?: string
  /** Other fields of the frontmatter, as JSON values. @default {} */
  readonly fields?: Readonly<Record<string, unknown>>
}

/**
 * Renders a SKILL.md. Writes every value as JSON, which is always valid YAML.
 *
 * @example
 * ```ts
 * import { mkdir, writeFile } from 'node:fs/promises'
 * import { renderSkillText } from '@skillstoke/core'
 *
 * const text = renderSkillText({ name: 'maps', description: 'Finds routes.', body: 'Call route.' })
 * await mkdir('skills/maps', { recursive: true })
 * await writeFile('skills/maps/SKILL.md', text)
 * ```
 */
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
