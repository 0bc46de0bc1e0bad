import type { ComponentChildren } from 'preact'

/** A form field for one property of the input of a command. */
export interface Field {
  readonly name: string
  readonly kind: 'text' | 'number' | 'boolean' | 'choice' | 'json'
  readonly isRequired: boolean
  readonly hint: string
  readonly choices: readonly string[]
}

type Schema = Readonly<Record<string, unknown>>

/** Returns the fields of a JSON Schema of type object. */
export function toFields(schema: Schema): readonly Field[] {
  const properties = isSchema(schema['properties']) ? schema['properties'] : {}
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  return Object.entries(properties).map(([name, value]) => {
    const property = isSchema(value) ? value : {}
    const { type, description, enum: choices, default: preset } = property
    const options = Array.isArray(choices) && choices.every(each => typeof each === 'string') ? choices : []
    return {
      name,
      isRequired: required.includes(name),
      hint: [
        ...(typeof description === 'string' ? [description] : []),
        ...(preset === undefined ? [] : [`default: ${JSON.stringify(preset)}`]),
      ].join('; '),
      choices: options,
      kind:
        options.length > 0
          ? 'choice'
          : type === 'string'
            ? 'text'
            : type === 'number' || type === 'integer'
              ? 'number'
              : type === 'boolean'
                ? 'boolean'
                : 'json',
    }
  })
}

/**
 * Converts the values of a form to the input of a command. Leaves out empty fields.
 * @throws {Error} when a JSON field has invalid JSON
 */
export function toInput(
  fields: readonly Field[],
  values: Readonly<Record<string, string>>,
): Record<string, unknown> {
  return Object.fromEntries(
    fields.flatMap(({ name, kind }): [string, unknown][] => {
      const value = values[name] ?? ''
      if (value === '') return []
      if (kind === 'number') return [[name, Number(value)]]
      if (kind === 'boolean') return [[name, value === 'true']]
      if (kind !== 'json') return [[name, value]]
      try {
        return [[name, JSON.parse(value) as unknown]]
      } catch {
        throw new Error(`"${name}" is not valid JSON: ${value}`)
      }
    }),
  )
}

interface SchemaFormProps {
  readonly fields: readonly Field[]
  readonly values: Readonly<Record<string, string>>
  readonly onChange: (name: string, value: string) => void
}

/** Renders inputs for the fields of a command. */
export function SchemaForm({ fields, values, onChange }: SchemaFormProps): ComponentChildren {
  return fields.map(field => (
    <div key={field.name}>
      <label class="s" for={`field-${field.name}`}>
        {field.name} {!field.isRequired && <span class="m">(optional)</span>}
      </label>
      <Input field={field} value={values[field.name] ?? ''} onChange={value => onChange(field.name, value)} />
      {field.hint !== '' && (
        <small class="m" id={`hint-${field.name}`}>
          {field.hint}
        </small>
      )}
    </div>
  ))
}

interface InputProps {
  readonly field: Field
  readonly value: string
  readonly onChange: (value: string) => void
}

function Input({ field, value, onChange }: InputProps): ComponentChildren {
  const shared = {
    id: `field-${field.name}`,
    class: 'field',
    value,
    ...(field.hint === '' ? {} : { 'aria-describedby': `hint-${field.name}` }),
  }
  switch (field.kind) {
    case 'choice':
    case 'boolean':
      return (
        <select {...shared} onChange={event => onChange(event.currentTarget.value)}>
          <option value="">–</option>
          {(field.kind === 'boolean' ? ['true', 'false'] : field.choices).map(each => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      )
    case 'json':
      return (
        <textarea
          {...shared}
          rows={3}
          placeholder="JSON"
          onInput={event => onChange(event.currentTarget.value)}
        />
      )
    case 'number':
      return (
        <input {...shared} type="number" step="any" onInput={event => onChange(event.currentTarget.value)} />
      )
    case 'text':
      return <input {...shared} type="text" onInput={event => onChange(event.currentTarget.value)} />
    default:
      return field.kind satisfies never
  }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
