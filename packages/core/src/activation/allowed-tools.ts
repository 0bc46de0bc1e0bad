import { toWildcard } from '../skill/wildcard.ts'

/** The values of `AllowedToolsPolicy`. */
export const ALLOWED_TOOLS_POLICIES = ['ignore', 'advise', 'enforce'] as const

/**
 * How the field `allowed-tools` of an active skill affects tool calls.
 * - `ignore`: tool calls are not affected.
 * - `advise`: the model sees the list of allowed tools.
 * - `enforce`: the model sees the list, and other tools are refused while a skill with this field is active.
 */
export type AllowedToolsPolicy = (typeof ALLOWED_TOOLS_POLICIES)[number]

/**
 * True if an entry of `allowed-tools` permits a call. An entry is the name of a tool. A `*` in the name matches any
 * characters. A pattern in parentheses restricts the input. `Bash(git:*)` permits `git` with any arguments.
 * `Read(docs/*)` permits every path in `docs`. The pattern must match every input field whose name denotes a command, a
 * path or an address. If the input has no such field, the input must contain exactly one text, and the pattern must
 * match that text. Only an entry without a pattern, or with the pattern `*`, permits a chain of commands or a path with
 * `..`.
 */
export function isToolAllowed(entries: readonly string[], tool: string, input: unknown): boolean {
  return entries.some(entry => {
    const [, name, , pattern] = /^([^(]*)(\((.*)\))?$/s.exec(entry.trim()) ?? []
    if (name === undefined || name === '' || !toWildcard(name).test(tool)) return false
    if (pattern === undefined || pattern === '' || pattern === '*') return true
    const subjects = subjectsOf(input)
    return (
      subjects.length > 0 &&
      subjects.every(subject => !isEvasive(subject) && matchesText(pattern, subject.text))
    )
  })
}

function matchesText(pattern: string, text: string): boolean {
  if (!pattern.endsWith(':*')) return toWildcard(pattern).test(text)
  const prefix = pattern.slice(0, -2)
  return text === prefix || text.startsWith(`${prefix} `)
}

/**
 * A text in the input of a call. `unknown` means that the field name does not show whether the text is a command, a
 * path or an address.
 */
interface Subject {
  readonly kind: 'command' | 'path' | 'address' | 'unknown'
  readonly text: string
}

const KINDS: readonly (readonly [kind: Subject['kind'], name: RegExp])[] = [
  ['command', /^(?:command|cmd|commandline|script|code|shell)$/],
  ['path', /^(?:path|file|filepath|filename|directory|dir|folder|cwd|workdir|target|source|destination)$/],
  ['address', /^(?:url|uri|href|address)$/],
]

function subjectsOf(input: unknown): readonly Subject[] {
  if (typeof input === 'string') return [{ kind: 'command', text: input }]
  if (typeof input !== 'object' || input === null) return []
  const texts = Object.entries(input).flatMap(([name, value]) =>
    flatten(value).map((text): Subject => ({ kind: kindOf(name), text })),
  )
  const known = texts.filter(({ kind }) => kind !== 'unknown')
  if (known.length > 0) return known
  return texts.length === 1 ? texts : []
}

function kindOf(name: string): Subject['kind'] {
  const plain = name.replace(/[_-]/g, '').toLowerCase()
  return KINDS.find(([, pattern]) => pattern.test(plain))?.[0] ?? 'unknown'
}

/** Returns the texts of a value: the value itself, or every text in a list. */
function flatten(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.flatMap(flatten) : []
}

/** True if a shell would run more than the permitted command, or if a path contains `..`. */
function isEvasive({ kind, text }: Subject): boolean {
  const isPath = kind === 'path' || kind === 'unknown'
  const isCommand = kind === 'command' || kind === 'unknown'
  return (isPath && text.split(/[\\/]/).includes('..')) || (isCommand && /[;&|`\n\r<>]|\$\(/.test(text))
}
