import type { ComponentChildren } from 'preact'

type Schema = Readonly<Record<string, unknown>>

/** One property of the input of a command. */
interface Property {
  readonly name: string
  /** `string`, `number` and `integer` have a field of their own. The others are written as JSON. */
  readonly type: unknown
  /** Empty if the person may write what they want. */
  readonly choices: readonly string[]
  readonly isRequired: boolean
  readonly hint: string
}

/** Returns the properties of a JSON Schema of type object. */
function listProperties(schema: Schema): readonly Property[] {
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  return Object.entries(Object(schema['properties'])).map(([name, value]) => {
    const { type, description, enum: values, default: preset }: Schema = Object(value)
    const isChoice = Array.isArray(values) && values.every(each => typeof each === 'string')
    const hints = [description, preset !== undefined && `default: ${JSON.stringify(preset)}`]
    return {
      name,
      type: isChoice ? 'string' : type,
      choices: isChoice ? values : type === 'boolean' ? ['true', 'false'] : [],
      isRequired: required.includes(name),
      hint: hints.filter(each => typeof each === 'string').join('; '),
    }
  })
}

/**
 * Converts the values of a form to the input of a command. Leaves out empty fields.
 * @throws {Error} when a JSON field has invalid JSON
 */
export function toInput(schema: Schema, values: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    listProperties(schema).flatMap(({ name, type }) => {
      const text = values[name] ?? ''
      return text === '' ? [] : [[name, toValue(name, type, text)]]
    }),
  )
}

function toValue(name: string, type: unknown, text: string): unknown {
  if (type === 'string') return text
  if (type === 'number' || type === 'integer') return Number(text)
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`"${name}" is not valid JSON: ${text}`)
  }
}

/** Renders a field for each property of the input of a command. */
export function SchemaForm({ schema }: { readonly schema: Schema }): ComponentChildren {
  return listProperties(schema).map(property => {
    const { name, isRequired, hint } = property
    return (
      <div key={name}>
        <label class="s" for={`field-${name}`}>
          {name} {!isRequired && <span class="m">(optional)</span>}
        </label>
        <Field property={property} />
        {hint !== '' && (
          <small class="m" id={`hint-${name}`}>
            {hint}
          </small>
        )}
      </div>
    )
  })
}

function Field({ property }: { readonly property: Property }): ComponentChildren {
  const { name, type, choices, hint } = property
  const describedBy = hint === '' ? undefined : `hint-${name}`
  const shared = { id: `field-${name}`, name, class: 'field', 'aria-describedby': describedBy }
  if (choices.length > 0)
    return (
      <select {...shared}>
        <option value="">–</option>
        {choices.map(each => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    )
  if (type === 'string') return <input {...shared} type="text" />
  if (type === 'number' || type === 'integer') return <input {...shared} type="number" step="any" />
  return <textarea {...shared} rows={3} placeholder="JSON" />
}
