import { toWildcard } from '../skill/wildcard.ts'
import { isToolNamed, parseToolPattern, type Subject, subjectsOf } from './tool-pattern.ts'

/** The values of `AllowedToolsPolicy`. */
export const ALLOWED_TOOLS_POLICIES = ['ignore', 'advise', 'enforce'] as const

/**
 * How the fields `allowed-tools` and `disallowed-tools` of an active skill affect tool calls.
 * - `ignore`: tool calls are not affected.
 * - `advise`: the model sees the list of allowed tools.
 * - `enforce`: the model sees the list. Other tools, and those in `disallowed-tools`, are refused while a skill with
 *   these fields is active.
 */
export type AllowedToolsPolicy = (typeof ALLOWED_TOOLS_POLICIES)[number]

/**
 * True if an entry of `allowed-tools` permits a call. An entry is the name of a tool. A `*` in the name matches any
 * characters. A pattern in parentheses restricts the input. `Bash(git:*)` permits `git` with any arguments.
 * `Read(docs/*)` permits every path in `docs`, and `WebFetch(domain:example.com)` every address of that host. The
 * pattern must match every input field whose name denotes a command, a path or an address, also in lists and objects.
 * If the input has no such field, the input must contain exactly one text, and the pattern must match that text. If a
 * list or object contains a text whose name denotes nothing, the call is not permitted. `Agent(name)` and `Skill(name)`
 * are only about the name of the agent or skill. Only an entry without a pattern, or with the pattern `*`, permits a
 * chain of commands or a path with `..`.
 */
export function isToolAllowed(entries: readonly string[], tool: string, input: unknown): boolean {
  return entries.map(parseToolPattern).some(entry => {
    if (!entry.isComplete || !isToolNamed(entry, tool)) return false
    const { pattern } = entry
    if (pattern === undefined) return true
    const subjects = subjectsOf(tool, input)
    return subjects.length > 0 && subjects.every(subject => !isEvasive(subject) && permits(pattern, subject))
  })
}

function permits(pattern: string, { kind, text }: Subject): boolean {
  const domain = readDomain(pattern)
  if (domain !== undefined) return toWildcard(domain).test(hostOf(text) ?? '')
  if (pattern.endsWith(':*')) {
    const prefix = pattern.slice(0, -2)
    return text === prefix || text.startsWith(`${prefix} `)
  }
  if (kind !== 'path') return toWildcard(pattern).test(text)
  const path = toPlainPath(text)
  return toFolderPatterns(toPlainPath(pattern)).some(each => toWildcard(each).test(path))
}

/**
 * True if an entry of `disallowed-tools` forbids a call. Where a pattern does not show whether it is about the call, the
 * call is forbidden: a chain of commands, a path with `..`, an input without a clear command, path or address. A command
 * is forbidden if the words of the pattern appear anywhere in it, a path if the pattern matches its end.
 */
export function isToolDisallowed(entries: readonly string[], tool: string, input: unknown): boolean {
  return entries.map(parseToolPattern).some(entry => {
    if (!isToolNamed(entry, tool)) return false
    const { pattern } = entry
    if (pattern === undefined) return true
    const subjects = subjectsOf(tool, input)
    return subjects.length === 0 || subjects.some(subject => isEvasive(subject) || forbids(pattern, subject))
  })
}

function forbids(pattern: string, { kind, text }: Subject): boolean {
  const domain = readDomain(pattern)
  if (domain !== undefined) {
    const host = hostOf(text)
    return host === undefined || toWildcard(domain).test(host) || toWildcard(`*.${domain}`).test(host)
  }
  const isForbidden = (wildcard: string, subject: string): boolean =>
    toWildcard(wildcard.toLowerCase()).test(subject.toLowerCase())
  if (kind === 'name') return isForbidden(pattern, text)
  const words = toWords(pattern.replace(/(?::|\s)\*$/, ''))
  if (isForbidden(`* ${words} *`, ` ${toWords(text.replace(/["'\\]/g, ''))} `)) return true
  const end = toPlainPath(pattern).replace(/^(?:~?\/)+/, '')
  return toFolderPatterns(end).some(each => isForbidden(`*/${each}`, `/${toPlainSeparators(text)}`))
}

function toWords(text: string): string {
  return text.replace(/[^\p{L}\p{N}_.*-]+/gu, ' ').trim()
}

/** `./src` is the path `src`, and `//etc` is how Claude Code spells the absolute path `/etc`. */
function toPlainPath(path: string): string {
  return path.replace(/^(?:\.\/)+/, '').replace(/^\/\/+/, '/')
}

/** Some systems read `src\x` and `src/./x` as `src/x`. */
function toPlainSeparators(path: string): string {
  return path.replace(/[\\/]+(?:\.[\\/]+)*/g, '/').replace(/^\.?\//, '')
}

/** The folders that `**` stands for may be missing. */
function toFolderPatterns(pattern: string): readonly string[] {
  return [pattern, pattern.replaceAll('**/', '')]
}

function readDomain(pattern: string): string | undefined {
  return /^domain:(.+)$/.exec(pattern)?.[1]?.toLowerCase()
}

/** Returns the host of an address. Returns `undefined` for an address with a user name, and for other texts. */
function hostOf(address: string): string | undefined {
  return /^https?:\/\/([^/?#\\@\s:]+?)\.?(?::\d+)?(?:[/?#]|$)/i.exec(address)?.[1]?.toLowerCase()
}

/** True if a shell would run more than the permitted command, or if a path contains `..`. */
function isEvasive({ kind, text }: Subject): boolean {
  const isPath = kind === 'path' || kind === 'unknown'
  const isCommand = kind === 'command' || kind === 'unknown'
  return (isPath && text.split(/[\\/]/).includes('..')) || (isCommand && /[;&|`\n\r<>]|\$\(/.test(text))
}
