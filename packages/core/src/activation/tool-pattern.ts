import { toWildcard } from '../skill/wildcard.ts'

/** An entry of `allowed-tools` or `disallowed-tools`, such as `Bash(git:*)`. */
export interface ToolPattern {
  /** The name of a tool, in which `*` stands for any characters. */
  readonly name: string
  /** The text in the parentheses. Absent if the entry is about every input. */
  readonly pattern?: string
  /** False if the parentheses are not closed, or if text follows them. */
  readonly isComplete: boolean
}

export function parseToolPattern(entry: string): ToolPattern {
  const text = entry.trim()
  const [, name, , pattern] = /^([^(]*)(\((.*)\))?$/s.exec(text) ?? []
  if (name === undefined) return { name: text.replace(/\(.*$/s, ''), isComplete: false }
  const isOpen = pattern === undefined || pattern === '' || pattern === '*'
  return { name, ...(isOpen ? {} : { pattern }), isComplete: true }
}

/** Whether a pattern names a tool. `mcp__server` names all tools of an MCP server, and `Task` is another name of `Agent`. */
export function isToolNamed({ name }: ToolPattern, tool: string): boolean {
  if (name === '') return false
  const wanted = toToolName(name)
  const asked = toToolName(tool)
  if (toWildcard(wanted).test(asked)) return true
  return wanted.startsWith('mcp__') && toWildcard(`${wanted}__*`).test(asked)
}

function toToolName(name: string): string {
  return name === 'Task' ? 'Agent' : name
}

/**
 * A text in the input of a call. `unknown` means that the field name does not show whether the text is a command, a
 * path or an address. `name` is the name of an agent or a skill.
 */
export interface Subject {
  readonly kind: 'command' | 'path' | 'address' | 'name' | 'unknown'
  readonly text: string
}

const KINDS: readonly (readonly [kind: Subject['kind'], name: RegExp])[] = [
  ['command', /^(?:command|cmd|commandline|script|code|shell)$/],
  ['path', /^(?:path|file|filepath|filename|directory|dir|folder|cwd|workdir|target|source|destination)$/],
  ['address', /^(?:url|uri|href|address)$/],
]

/** The field of the input that a pattern is about, for tools whose other fields are free text. */
const NAMING_FIELDS: Readonly<Record<string, RegExp>> = {
  Agent: /^(?:subagenttype|agenttype|agent)$/,
  Skill: /^(?:skill|skillname)$/,
}

/** Returns the texts of an input that a pattern must match. Returns an empty list if these texts are not clear. */
export function subjectsOf(tool: string, input: unknown): readonly Subject[] {
  if (typeof input === 'string') return [{ kind: 'command', text: input }]
  if (typeof input !== 'object' || input === null) return []
  const naming = NAMING_FIELDS[toToolName(tool)]
  const texts = Object.entries(input).flatMap(([name, value]) =>
    flatten(value).map((text): Subject => ({ kind: kindOf(name, naming), text })),
  )
  if (naming !== undefined) return texts.filter(({ kind }) => kind === 'name')
  const known = texts.filter(({ kind }) => kind !== 'unknown')
  if (known.length > 0) return known
  return texts.length === 1 ? texts : []
}

function kindOf(name: string, naming: RegExp | undefined): Subject['kind'] {
  const plain = name.replace(/[_-]/g, '').toLowerCase()
  if (naming?.test(plain) === true) return 'name'
  return KINDS.find(([, pattern]) => pattern.test(plain))?.[0] ?? 'unknown'
}

/** Returns the texts of a value: the value itself, or every text in a list. */
function flatten(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.flatMap(flatten) : []
}
