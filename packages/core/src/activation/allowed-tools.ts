import { toWildcard } from '../skill/wildcard.ts'

/**
 * What `allowed-tools` of active skills does. `ignore`: nothing. `advise`: the model is told. `enforce`: the model is told,
 * and other tools are refused while such a skill is active.
 */
export type AllowedToolsPolicy = 'ignore' | 'advise' | 'enforce'

/**
 * Whether one of the entries of `allowed-tools` lets a call through. An entry is a tool's name in which `*` stands for any
 * characters, or such a name with a pattern for what it is called with: `Bash(git:*)` is `git` and everything after it,
 * `Read(docs/*)` a path. The pattern is compared with the command, the path or the only text of the input; commands that
 * are several, and paths with `..`, match nothing but `*`.
 */
export function isToolAllowed(entries: readonly string[], tool: string, input: unknown): boolean {
  return entries.some(entry => {
    const [, name, , pattern] = /^([^(]*)(\((.*)\))?$/s.exec(entry.trim()) ?? []
    if (name === undefined || name === '' || !toWildcard(name).test(tool)) return false
    if (pattern === undefined || pattern === '' || pattern === '*') return true
    const subject = subjectOf(input)
    return subject !== undefined && !isEvasive(subject) && matchesText(pattern, subject.text)
  })
}

function matchesText(pattern: string, text: string): boolean {
  if (!pattern.endsWith(':*')) return toWildcard(pattern).test(text)
  const prefix = pattern.slice(0, -2)
  return text === prefix || text.startsWith(`${prefix} `)
}

/** What a call is about. */
interface Subject {
  readonly kind: 'command' | 'path' | 'text'
  readonly text: string
}

const KINDS: readonly (readonly [key: string, kind: Subject['kind']])[] = [
  ['command', 'command'],
  ['path', 'path'],
  ['file_path', 'path'],
  ['url', 'text'],
]

function subjectOf(input: unknown): Subject | undefined {
  if (typeof input === 'string') return { kind: 'command', text: input }
  if (typeof input !== 'object' || input === null) return undefined
  const texts = Object.entries(input).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  for (const [key, kind] of KINDS) {
    const found = texts.find(([name]) => name === key)
    if (found !== undefined) return { kind, text: found[1] }
  }
  const [only] = texts
  return only !== undefined && texts.length === 1 ? { kind: 'text', text: only[1] } : undefined
}

/** A shell would run more than the command that was allowed, or a path lead elsewhere. */
function isEvasive({ kind, text }: Subject): boolean {
  if (kind === 'path') return text.split(/[\\/]/).includes('..')
  return kind === 'command' && /[;&|`\n<>]|\$\(/.test(text)
}
