import { withoutControls } from './without-controls.ts'

/**
 * Removes secrets from all output of a script. Callers must redact a text before they truncate it, because redaction does not recognise a truncated secret.
 */
export interface Redaction {
  /** Returns the text without secrets. Finds a secret even if there are invisible characters between its letters. */
  text(text: string): string
  /** Redacts every text in a value, including field names. */
  value(value: unknown): unknown
  /** If a text may end with the beginning of a secret, returns the length of that beginning; otherwise 0. */
  partAtEnd(text: string): number
}

// Shorter values are not redacted, because they occur in ordinary text.
const MIN_LENGTH = 4

/**
 * Returns a redaction for the values of granted variables. The redaction finds a value as plain text, and encoded as
 * JSON, Base64, hexadecimal, URL or form data. It also finds each line of a value, and Base64 and hexadecimal texts
 * that are wrapped into lines. The redaction does not find values in other encodings.
 */
export function createRedaction(secrets: Readonly<Record<string, string>>): Redaction {
  const forms = Object.entries(secrets).flatMap(([name, value]) =>
    formsOf(value).map(form => ({ form, mark: `[redacted ${name}]` })),
  )
  // Sort by length, longest first, because a longer form may contain a shorter form.
  forms.sort((a, b) => b.form.length - a.form.length)
  if (forms.length === 0) return NOTHING
  const replaceWhole = (text: string): string =>
    forms.reduce((rest, { form, mark }) => rest.replaceAll(form, mark), text)
  const replace = (text: string): string => replaceWrapped(replaceWhole(text), forms)
  const redact = (text: string): string => {
    const clean = replace(text)
    const bare = withoutControls(clean)
    const cleaner = bare === clean ? bare : replace(bare)
    return cleaner === bare ? clean : cleaner
  }
  return {
    text: redact,
    value: value => mapTexts(value, redact),
    partAtEnd: text =>
      Math.max(...forms.map(({ form }) => overlap(text, form)), wrappedPartAtEnd(text, forms)),
  }
}

/** Line breaks that an encoder may insert: as plain characters, or escaped as in JSON. */
const LINE_BREAKS = /(?:\s|\\[rn])+/g

/** Replaces secrets that an encoder has wrapped into lines. */
function replaceWrapped(
  text: string,
  forms: readonly { readonly form: string; readonly mark: string }[],
): string {
  const joined = text.replace(LINE_BREAKS, '')
  if (joined.length === text.length) return text
  return forms
    .filter(({ form }) => form.length >= MIN_WRAPPED && joined.includes(form))
    .reduce((rest, { form, mark }) => rest.replace(toWrappedPattern(form), mark), text)
}

// Encoders wrap only texts that are longer than a line. Searching shorter forms across line breaks would cause false matches.
const MIN_WRAPPED = 16

function toWrappedPattern(form: string): RegExp {
  const letters = [...form].map(letter => letter.replace(/[.*+?^${}()|[\]\\]/, '\\$&'))
  return new RegExp(letters.join(LINE_BREAKS.source.replace(/\+$/, '*')), 'g')
}

/** If a text may end with the beginning of a wrapped secret, returns the length of that beginning with its line breaks; otherwise 0. */
function wrappedPartAtEnd(text: string, forms: readonly { readonly form: string }[]): number {
  // The text may end inside an escaped line break of JSON.
  const whole = text.replace(/\\$/, '')
  const joined = whole.replace(LINE_BREAKS, '')
  const wrappable = forms.filter(({ form }) => form.length >= MIN_WRAPPED)
  const length = Math.max(0, ...wrappable.map(({ form }) => overlap(joined, form)))
  if (length === 0) return 0
  let start = whole.length
  let left = length
  for (const gap of [...whole.matchAll(LINE_BREAKS)].reverse()) {
    const after = start - (gap.index + gap[0].length)
    if (after >= left) break
    left -= after
    start = gap.index
  }
  return text.length - (start - left)
}

const NOTHING: Redaction = { text: text => text, value: value => value, partAtEnd: () => 0 }

/** Returns the length of the longest text with which `text` ends and `longer` begins. */
function overlap(text: string, longer: string): number {
  for (let length = Math.min(text.length, longer.length - 1); length > 0; length--)
    if (text.endsWith(longer.slice(0, length))) return length
  return 0
}

/** Returns a copy of a value in which `map` has replaced every text, including field names. */
export function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value)
  if (Array.isArray(value)) return value.map(each => mapTexts(each, map))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    // Use `fromEntries()`, because an assignment to the name `__proto__` would change the prototype.
    Object.entries(value).map(([key, each]) => [map(key), mapTexts(each, map)]),
  )
}

function formsOf(value: string): readonly string[] {
  const lines = value.split(/\r?\n/)
  const parts = lines.length > 1 ? [value, ...lines] : [value]
  const forms = parts.flatMap(part => {
    const bytes = Buffer.from(part)
    const hex = bytes.toString('hex')
    const json = JSON.stringify(part).slice(1, -1)
    return [part, json, hex, hex.toUpperCase(), ...percentFormsOf(part.toWellFormed()), ...base64Of(bytes)]
  })
  return [...new Set(forms.filter(form => form.trim().length >= MIN_LENGTH))]
}

/** Returns the text as encoded in URLs and in form data, each with upper-case and with lower-case hexadecimal digits. */
function percentFormsOf(part: string): readonly string[] {
  const forms = [encodeURIComponent(part), new URLSearchParams({ '': part }).toString().slice(1)]
  return forms.flatMap(form => [form, form.replace(/%[0-9A-F]{2}/g, code => code.toLowerCase())])
}

/**
 * Returns the Base64 letters of the bytes for each possible alignment, without the letters that also depend on neighbouring bytes.
 */
function base64Of(bytes: Buffer): readonly string[] {
  return [0, 1, 2].flatMap(before => {
    const shifted = Buffer.concat([Buffer.alloc(before), bytes])
    // Remove the letters at both ends that also contain bits of neighbouring bytes.
    const [start, end] = [Math.ceil((before * 8) / 6), Math.floor((shifted.length * 8) / 6)]
    return (['base64', 'base64url'] as const).map(kind => shifted.toString(kind).slice(start, end))
  })
}
