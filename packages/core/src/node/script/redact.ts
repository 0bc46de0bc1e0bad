/** Takes secrets out of a text. */
export type Redact = (text: string) => string

// Shorter ones would be found everywhere, and say nothing.
const MIN_LENGTH = 4

/**
 * Takes the values of granted variables out of whatever leaves a script: as they are, line by line, and as JSON, Base64,
 * hexadecimal and in URLs. What a script makes of a secret otherwise cannot be known.
 */
export function createRedaction(secrets: Readonly<Record<string, string>>): Redact {
  const forms = Object.entries(secrets).flatMap(([name, value]) =>
    formsOf(value).map(form => ({ form, mark: `[redacted ${name}]` })),
  )
  // A longer one may contain a shorter one.
  forms.sort((a, b) => b.form.length - a.form.length)
  if (forms.length === 0) return text => text
  return text => forms.reduce((rest, { form, mark }) => rest.replaceAll(form, mark), text)
}

/** The same for each text of a value, names of fields included. */
export function redactValue(value: unknown, redact: Redact): unknown {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return value.map(each => redactValue(each, redact))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    // Not by assignment: `__proto__` is a name like any other here.
    Object.entries(value).map(([key, each]) => [redact(key), redactValue(each, redact)]),
  )
}

function formsOf(value: string): readonly string[] {
  const lines = value.split(/\r?\n/)
  const parts = lines.length > 1 ? [value, ...lines] : [value]
  const forms = parts.flatMap(part => {
    const bytes = Buffer.from(part)
    const encoded = [
      JSON.stringify(part).slice(1, -1),
      bytes.toString('base64').replace(/=+$/, ''),
      bytes.toString('base64url'),
      bytes.toString('hex'),
      encodeURIComponent(part),
    ]
    return [part, ...encoded]
  })
  return [...new Set(forms.filter(form => form.trim().length >= MIN_LENGTH))]
}
