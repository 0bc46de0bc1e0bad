import { toWildcard } from '../skill/wildcard.ts'

/** The values of `AllowedToolsPolicy`. */
export const ALLOWED_TOOLS_POLICIES = ['ignore', 'advise', 'enforce'] as const

/**
 * What `allowed-tools` of active skills does. `ignore`: nothing. `advise`: the model is told. `enforce`: the model is told,
 * and other tools are refused while such a skill is active.
 */
export type AllowedToolsPolicy = (typeof ALLOWED_TOOLS_POLICIES)[number]

/**
 * Whether one of the entries of `allowed-tools` lets a call through. An entry is a tool's name in which `*` stands for any
 * characters, or such a name with a pattern for what it is called with: `Bash(git:*)` is `git` and everything after it,
 * `Read(docs/*)` a path. The pattern has to fit every field of the input that holds a command, a path or an address (by
 * their usual names), or the only text when there is none of these. Commands that are several, and paths with `..`, fit
 * nothing but `*`.
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

/** What a call is about. `unknown`: a text whose field does not tell. */
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

/** Texts in lists count one by one. */
function flatten(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.flatMap(flatten) : []
}

/** A shell would run more than the command that was allowed, or a path lead elsewhere. */
function isEvasive({ kind, text }: Subject): boolean {
  const isPath = kind === 'path' || kind === 'unknown'
  const isCommand = kind === 'command' || kind === 'unknown'
  return (isPath && text.split(/[\\/]/).includes('..')) || (isCommand && /[;&|`\n\r<>]|\$\(/.test(text))
}
