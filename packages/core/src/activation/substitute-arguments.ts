/** Returns the names of the arguments in an `argument-hint` such as `[issue] [priority]` or `<file>`, in order. */
export function readArgumentNames(hint: unknown): readonly string[] {
  const text = Array.isArray(hint)
    ? hint.map(item => `[${item}]`).join(' ')
    : typeof hint === 'string'
      ? hint
      : ''
  return [...text.matchAll(/[[<]([A-Za-z][\w-]*)[^\]>]*[\]>]/g)].map(match => match[1] as string)
}

/**
 * Replaces placeholders in instructions with arguments. A single pass ensures that a `$` in an argument is not
 * expanded. `$ARGUMENTS` stands for the whole text, and `$1` for the first argument. `$issue` stands for the argument
 * that the hint calls `issue`. Quotes keep words together. A backslash before `$` prevents the replacement. A `$`
 * before an unknown number or name stays unchanged, as in `costs $5`.
 */
export function substituteArguments(body: string, typed: string, names: readonly string[]): string {
  const given = splitArguments(typed)
  const named = [...names].sort((a, b) => b.length - a.length).map(name => `${name}(?![\\w-])`)
  const pattern = new RegExp(`(\\\\?)\\$(${['(?:ARGUMENTS|[1-9])(?!\\w)', ...named].join('|')})`, 'g')
  return body.replace(pattern, (whole: string, backslash: string, key: string) => {
    if (backslash !== '') return whole.slice(1)
    if (key === 'ARGUMENTS') return typed
    const index = /^[1-9]$/.test(key) ? Number(key) - 1 : names.indexOf(key)
    if (index >= Math.max(given.length, names.length)) return whole
    return given[index] ?? ''
  })
}

function splitArguments(typed: string): string[] {
  return [...typed.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? '',
  )
}
