/** The arguments with which a skill is invoked. */
export interface SkillArguments {
  /** The whole text. */
  readonly text: string
  /** The single arguments, in order. */
  readonly values: readonly string[]
}

/** One argument in an `argument-hint`. */
export interface ArgumentHint {
  readonly name: string
  /** True for `<file>`, false for `[file]`. */
  readonly isRequired: boolean
  /** The values that the hint lists, as in `[low|high]`; empty without such a list. */
  readonly choices: readonly string[]
  /** The text after the name, as in `[issue: its number]`. */
  readonly description?: string
}

type Extra = Readonly<Record<string, unknown>>

/** Returns the names of the arguments of a skill, in order. */
export function readArgumentNames(extra: Extra): readonly string[] {
  return readArgumentHints(extra).map(({ name }) => name)
}

/**
 * Returns the arguments of a skill, in order. The field `arguments` lists their names. Without this field, the names
 * are those in `argument-hint`.
 */
export function readArgumentHints(extra: Extra): readonly ArgumentHint[] {
  const hints = parseHint(extra['argument-hint'])
  const names = toText(extra['arguments']).match(/[A-Za-z][\w-]*/g) ?? []
  if (names.length === 0) return hints
  return names.map((name, index) => {
    const hint = hints.find(each => each.name === name) ?? hints[index]
    return { isRequired: false, choices: [], ...hint, name }
  })
}

function toText(field: unknown, around: (item: unknown) => string = String): string {
  if (Array.isArray(field)) return field.map(around).join(' ')
  return typeof field === 'string' ? field : ''
}

/** A longer hint is no hint, and takes the pattern too long. */
const MAX_HINT = 2_000

function parseHint(hint: unknown): readonly ArgumentHint[] {
  const text = toText(hint, item => `[${String(item)}]`).slice(0, MAX_HINT)
  return [...text.matchAll(/([[<])([A-Za-z][\w-]*)([^\]>]*)[\]>]/g)].map(([, open, name = '', rest = '']) => {
    const choices = rest.includes('|') ? `${name}${rest}`.split('|').map(choice => choice.trim()) : []
    const description = rest.replace(/^[\s:=-]+/, '').trim()
    return {
      name,
      isRequired: open === '<',
      choices: choices.filter(choice => choice !== ''),
      ...(choices.length > 0 || !/\w/.test(description) ? {} : { description }),
    }
  })
}

// A digit before a decimal point is part of a price.
const NUMBER_ENDS = String.raw`(?!\w|\.\d)`
/** Claude Code documents `$0` and `$ARGUMENTS[0]` for the first argument. Other clients call this argument `$1`. */
const COUNTS_FROM_ZERO = new RegExp(String.raw`(?<!\\)\$(?:0${NUMBER_ENDS}|ARGUMENTS\[\d+\])`)

/**
 * Replaces placeholders in instructions with arguments. A single pass ensures that a `$` in an argument is not
 * expanded. `$ARGUMENTS` stands for the whole text, `$ARGUMENTS[0]` for the first argument, and `$issue` for the
 * argument `issue`. `$1` is the first argument. In a text that contains `$0` or `$ARGUMENTS[0]`, `$0` is the first
 * argument and `$1` the second. A backslash before `$` prevents the replacement. A `$` before an unknown number or name
 * stays unchanged, as in `costs $5`.
 */
export function substituteArguments(
  body: string,
  { text, values }: SkillArguments,
  names: readonly string[],
): string {
  const first = COUNTS_FROM_ZERO.test(body) ? 0 : 1
  const named = [...names].sort((a, b) => b.length - a.length).map(name => `${name}(?![\\w-])`)
  const keys = [
    String.raw`ARGUMENTS\[(\d+)\]`,
    String.raw`ARGUMENTS(?!\w)`,
    `[0-9]${NUMBER_ENDS}`,
    ...named,
  ].join('|')
  return body.replace(
    new RegExp(`(\\\\?)\\$(${keys})`, 'g'),
    (whole: string, backslash: string, key: string, position: string | undefined) => {
      if (backslash !== '') return whole.slice(1)
      if (key === 'ARGUMENTS') return text
      // The only named argument is the whole text, so that a person may type it without quotes.
      if (names.length === 1 && key === names[0]) return values.length === 1 ? (values[0] ?? '') : text
      const index = toIndex(position ?? key, { names, first: position === undefined ? first : 0 })
      return index < 0 || index >= Math.max(values.length, names.length) ? whole : (values[index] ?? '')
    },
  )
}

function toIndex(key: string, { names, first }: { names: readonly string[]; first: number }): number {
  return /^\d+$/.test(key) ? Number(key) - first : names.indexOf(key)
}

/**
 * Splits a typed text into arguments at spaces. Quotes keep words together, also inside a word. A backslash keeps a
 * quotation mark. An apostrophe after a letter, and a quotation mark without its partner, are ordinary characters.
 */
export function toArguments(text: string): SkillArguments {
  const values: string[] = []
  let current: string | undefined
  const parts = text.matchAll(/(\s+)|\\(["'])|"((?:[^"\\]|\\.)*)"|(?<![\p{L}\p{N}])'([^']*)'|(.)/gsu)
  for (const [, space, escaped, double, single, plain] of parts) {
    if (space === undefined)
      current = (current ?? '') + (escaped ?? double?.replace(/\\(["\\])/g, '$1') ?? single ?? plain ?? '')
    else if (current !== undefined) {
      values.push(current)
      current = undefined
    }
  }
  if (current !== undefined) values.push(current)
  return { text, values }
}

const NEEDS_NO_QUOTES = /^(?:[^\s"']|(?<=[\p{L}\p{N}])')+$/u

/** Returns an argument as a person types it, with quotation marks and further backslashes only if needed. */
function toTyped(value: string): string {
  return NEEDS_NO_QUOTES.test(value) ? value : `"${value.replace(/"|\\(?=["\\]|$)/g, '\\$&')}"`
}

/**
 * Puts named arguments into their order, with the text that a person types for the same arguments. If the skill has at
 * most one named argument, its value is the whole text. The argument `ARGUMENTS` belongs to a skill without names.
 */
export function orderArguments(
  names: readonly string[],
  given: Readonly<Record<string, string>>,
): SkillArguments {
  const toValue = (name: string): string => (Object.hasOwn(given, name) ? (given[name] ?? '') : '')
  if (names.length <= 1) return toArguments(toValue(names[0] ?? 'ARGUMENTS').trim())
  const values = names.map(toValue)
  const last = values.findLastIndex(value => value !== '')
  return {
    text: values
      .slice(0, last + 1)
      .map(toTyped)
      .join(' '),
    values,
  }
}
