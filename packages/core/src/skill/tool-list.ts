/** Splits a text at separators outside parentheses: `Bash(git add:*) Read` contains two tools. */
export function splitTools(text: string, separator: RegExp): string[] {
  const tools: string[] = []
  let depth = 0
  let current = ''
  for (const character of text) {
    if (character === '(') depth++
    else if (character === ')') depth = Math.max(0, depth - 1)
    if (depth === 0 && separator.test(character)) {
      tools.push(current)
      current = ''
    } else current += character
  }
  return [...tools, current].map(tool => tool.trim()).filter(tool => tool !== '')
}

/**
 * Returns the entries of the field `disallowed-tools`. Returns `*`, which stands for every tool, if the field is neither
 * a text nor a list of texts.
 */
export function disallowedToolsOf(extra: Readonly<Record<string, unknown>>): readonly string[] {
  const value = extra['disallowed-tools']
  if (value === undefined || value === null) return []
  if (typeof value === 'string') return splitTools(value, /[\s,]/)
  const isList = Array.isArray(value) && value.every(item => typeof item === 'string')
  return isList ? value.map(item => item.trim()).filter(item => item !== '') : ['*']
}
