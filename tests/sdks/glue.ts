import { readFileSync } from 'node:fs'

/** The lines of a program that name Skillstoke, or a value that comes from it. */
export interface Glue {
  readonly imports: number
  readonly lines: readonly string[]
}

/** Counts the lines that an example adds to a program of the SDK. */
export function countGlue(file: string): Glue {
  const code = readFileSync(file, 'utf8').split('\n')
  const imports = code.filter(line => /^import .* from '@skillstoke\//.test(line))
  const names = new Set(imports.flatMap(line => /\{(.*)\}/.exec(line)?.[1]?.match(/\w+/g) ?? []))
  const lines: string[] = []
  for (const line of code) {
    const isCode = !/^(?:import|export|\s*\/[/*]|\s*$)/.test(line)
    // Neither a property such as `.chat`, nor a text such as 'chat-1', is the value `chat`.
    const uses = (text: string): boolean =>
      [...names].some(name => new RegExp(`(?<![\\w'-]|(?<!\\.\\.)\\.)${name}(?![\\w'-])`).test(text))
    if (!isCode || !uses(line.replace(/\/\/.*/, ''))) continue
    lines.push(line.trim())
    const declared = /^\s*(?:await using|using|const|let) (\w+) = (?:await )?(\w+)/.exec(line)
    if (declared?.[1] !== undefined && uses(declared[2] ?? '')) names.add(declared[1])
  }
  return { imports: imports.length, lines }
}
