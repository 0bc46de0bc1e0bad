import { describeClients, FIELDS, type FieldFacts } from './fields.ts'

const TYPES = { text: 'string', boolean: 'boolean', map: 'object' } as const

/** Returns the JSON Schema of the frontmatter, for editors. It allows fields that it does not know, as clients do. */
export function toFrontmatterSchema(): Record<string, unknown> {
  const fields = Object.entries(FIELDS)
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: 'frontmatter.schema.json',
    title: 'Frontmatter of SKILL.md',
    type: 'object',
    required: fields.flatMap(([name, { isRequired = false }]) => (isRequired ? [name] : [])),
    properties: Object.fromEntries(fields.map(([name, facts]) => [name, toProperty(name, facts)])),
  }
}

function toProperty(name: string, facts: FieldFacts): Record<string, unknown> {
  const { means, type = 'text', maxLength, pattern, values, isRequired = false } = facts
  return {
    description: `${means} ${describeClients(name)}`,
    ...(type === 'any' ? {} : { type: TYPES[type] }),
    // JSON.stringify() leaves out what is undefined.
    ...{ minLength: isRequired ? 1 : undefined, maxLength, pattern, enum: values },
  }
}
