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
 * Fills arguments into instructions, in one pass, so that typed text is never expanded.
 * `$ARGUMENTS` is the whole text, `$1` the first argument, `$issue` the argument with that name in the hint. Quotes
 * keep words together. A `$` after a backslash stays, and so does a number without an argument or a name, as in `costs
 * $5`.
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
