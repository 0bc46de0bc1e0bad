import { withoutControls } from './without-controls.ts'

/** Takes secrets out of what leaves a script. Whatever is cut is cut afterwards: a part of a secret is not recognised. */
export interface Redaction {
  /** A text without them, also where characters that nobody sees stand in between. */
  text(text: string): string
  /** The same for each text of a value, names of fields included. */
  value(value: unknown): unknown
  /** How many characters at the end of a text may be the beginning of a secret that goes on elsewhere. */
  partAtEnd(text: string): number
}

// Shorter ones would be found everywhere, and say nothing.
const MIN_LENGTH = 4

/**
 * Takes the values of granted variables out of whatever leaves a script: as they are, line by line, and as JSON, Base64 and
 * hexadecimal (in one line or in several of one text), and in URLs and forms. What a script makes of a secret otherwise cannot
 * be known.
 */
export function createRedaction(secrets: Readonly<Record<string, string>>): Redaction {
  const forms = Object.entries(secrets).flatMap(([name, value]) =>
    formsOf(value).map(form => ({ form, mark: `[redacted ${name}]` })),
  )
  // A longer one may contain a shorter one.
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

/** Where an encoder may begin a new line, as it is and as it stands in JSON. */
const LINE_BREAKS = /(?:\s|\\[rn])+/g

/** Replaces what an encoder has wrapped into lines. */
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

// Encoders wrap what is longer than a line; a shorter text would join what never belonged together.
const MIN_WRAPPED = 16

function toWrappedPattern(form: string): RegExp {
  const letters = [...form].map(letter => letter.replace(/[.*+?^${}()|[\]\\]/, '\\$&'))
  return new RegExp(letters.join(LINE_BREAKS.source.replace(/\+$/, '*')), 'g')
}

/** Counts the characters at the end of a text that an encoder may have wrapped, line breaks included. */
function wrappedPartAtEnd(text: string, forms: readonly { readonly form: string }[]): number {
  // The text may end in the middle of a line break as it stands in JSON.
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

/** The most characters that a text ends with and a longer one begins with. */
function overlap(text: string, longer: string): number {
  for (let length = Math.min(text.length, longer.length - 1); length > 0; length--)
    if (text.endsWith(longer.slice(0, length))) return length
  return 0
}

/** Returns a copy of a value in which each text, names of fields included, is what `map` returns for it. */
export function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value)
  if (Array.isArray(value)) return value.map(each => mapTexts(each, map))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    // Not by assignment: `__proto__` is a name like any other here.
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

/** As in a URL and as in a form, with either case of the digits. */
function percentFormsOf(part: string): readonly string[] {
  const forms = [encodeURIComponent(part), new URLSearchParams({ '': part }).toString().slice(1)]
  return forms.flatMap(form => [form, form.replace(/%[0-9A-F]{2}/g, code => code.toLowerCase())])
}

/** What these bytes are in the Base64 of anything that contains them; that depends on how many stand before them. */
function base64Of(bytes: Buffer): readonly string[] {
  return [0, 1, 2].flatMap(before => {
    const shifted = Buffer.concat([Buffer.alloc(before), bytes])
    // Without the letters that have bits of what stands before or behind.
    const [start, end] = [Math.ceil((before * 8) / 6), Math.floor((shifted.length * 8) / 6)]
    return (['base64', 'base64url'] as const).map(kind => shifted.toString(kind).slice(start, end))
  })
}
