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

/** Returns the names of the arguments in an `argument-hint` such as `[issue] [priority]` or `<file>`, in order. */
export function readArgumentNames(hint: unknown): readonly string[] {
  return readArgumentHints(hint).map(({ name }) => name)
}

/** Returns the arguments in an `argument-hint`, in order. */
export function readArgumentHints(hint: unknown): readonly ArgumentHint[] {
  const text = Array.isArray(hint)
    ? hint.map(item => `[${item}]`).join(' ')
    : typeof hint === 'string'
      ? hint
      : ''
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

/**
 * Replaces placeholders in instructions with arguments. A single pass ensures that a `$` in an argument is not
 * expanded. `$ARGUMENTS` stands for the whole text, and `$1` for the first argument. `$issue` stands for the argument
 * that the hint calls `issue`. Quotes keep words together. A backslash before `$` prevents the replacement. A `$`
 * before an unknown number or name stays unchanged, as in `costs $5`.
 */
export function substituteArguments(
  body: string,
  { text, values }: SkillArguments,
  names: readonly string[],
): string {
  const named = [...names].sort((a, b) => b.length - a.length).map(name => `${name}(?![\\w-])`)
  const pattern = new RegExp(`(\\\\?)\\$(${['(?:ARGUMENTS|[1-9])(?!\\w)', ...named].join('|')})`, 'g')
  return body.replace(pattern, (whole: string, backslash: string, key: string) => {
    if (backslash !== '') return whole.slice(1)
    if (key === 'ARGUMENTS') return text
    const index = /^[1-9]$/.test(key) ? Number(key) - 1 : names.indexOf(key)
    if (index >= Math.max(values.length, names.length)) return whole
    return values[index] ?? ''
  })
}

/** Splits a typed text into arguments. Quotes keep words together. */
export function toArguments(text: string): SkillArguments {
  const values = [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? '',
  )
  return { text, values }
}

/**
 * Puts named arguments into the order of the hint. If the hint has no names, the argument `ARGUMENTS` is the whole text.
 */
export function orderArguments(
  names: readonly string[],
  given: Readonly<Record<string, string>>,
): SkillArguments {
  const toValue = (name: string): string => (Object.hasOwn(given, name) ? (given[name] ?? '') : '')
  if (names.length === 0) return toArguments(toValue('ARGUMENTS').trim())
  const values = names.map(toValue)
  return { text: values.filter(value => value !== '').join(' '), values }
}
