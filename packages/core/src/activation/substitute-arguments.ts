/** Names of the arguments in an `argument-hint` such as `[issue] [priority]` or `<file>`, in their order. */
export function readArgumentNames(hint: unknown): readonly string[] {
  const text = Array.isArray(hint)
    ? hint.map(item => `[${item}]`).join(' ')
    : typeof hint === 'string'
      ? hint
      : ''
  return [...text.matchAll(/[[<]([A-Za-z][\w-]*)[^\]>]*[\]>]/g)].map(match => match[1] as string)
}

/**
 * Fills arguments into instructions, in one pass, so that what a user typed is never itself filled in: `$ARGUMENTS` is
 * everything, `$1` the first argument, `$issue` the one of that name in the hint. Quotes keep words together. `$` before a
 * number stays as it is when there is neither such an argument nor a name for it (`costs $5`), and after a backslash.
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
