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

/** Patterns for the words of a field name, such as `file path` for `filePath` and `file_path`. */
const KINDS: readonly (readonly [kind: Subject['kind'], name: RegExp])[] = [
  ['command', /(?:^| )(?:command|cmd)s?$|^(?:command ?line|script|code|shell|arg|argv|argument)s?$/],
  [
    'path',
    /(?:^| )(?:path|file|file ?path|file ?name|director(?:y|ie)|dir|folder)s?$|^(?:cwd|work ?dir|target|source|destination)s?$/,
  ],
  ['address', /(?:^| )(?:url|uri|href)s?$|^address(?:es)?$/],
]

/** Fields whose text a tool writes into files, or gives to a model. */
const FREE_TEXT = /^(?:(?:old|new) ?(?:string|str|text)|content|text|prompt|description)$/

/** The field of the input that a pattern is about, for tools whose other fields are free text. */
const NAMING_FIELDS: ReadonlyMap<string, RegExp> = new Map([
  ['Agent', /^(?:sub ?agent ?type|agent ?type|sub ?agent|agent)s?$/],
  ['Skill', /^(?:skill|skill ?name)s?$/],
])

const MAX_DEPTH = 16

/** Returns the texts of an input that a pattern must match. Returns an empty list if these texts are not clear. */
export function subjectsOf(tool: string, input: unknown): readonly Subject[] {
  if (typeof input === 'string') return [{ kind: 'command', text: input }]
  const naming = NAMING_FIELDS.get(toToolName(tool))
  const texts = [...readTexts(input, { kind: 'unknown', isFree: false, depth: 0, naming })]
  if (texts.some(({ depth }) => depth > MAX_DEPTH)) return []
  if (naming !== undefined) return texts.filter(({ kind }) => kind === 'name')
  // A list or object under an unknown name may contain further paths, commands or addresses.
  if (texts.some(({ kind, isFree, depth }) => kind === 'unknown' && !isFree && depth > 1)) return []
  const known = texts.filter(({ kind }) => kind !== 'unknown')
  if (known.length > 0) return known
  return texts.length === 1 ? texts : []
}

/** Where a value is in an input. */
interface Place {
  readonly kind: Subject['kind']
  readonly isFree: boolean
  /** 1 for the value of a field, and more inside of lists and objects. */
  readonly depth: number
  readonly naming: RegExp | undefined
}

/** Yields every text of a value, with the kind of the innermost field whose name shows a kind. */
function* readTexts(value: unknown, at: Place): Generator<Subject & Place> {
  if (typeof value === 'string') yield { ...at, text: value }
  if (typeof value !== 'object' || value === null) return
  if (at.depth > MAX_DEPTH) {
    yield { ...at, text: '' }
    return
  }
  const depth = at.depth + 1
  for (const [key, item] of Object.entries(value)) {
    const field = Array.isArray(value) ? {} : toField(key, at.naming)
    // An object can have paths, commands or addresses as its keys.
    const isValue = at.kind !== 'unknown' || !/^[\w-]+$/.test(key)
    if (field === undefined && at.depth > 0 && isValue) yield { ...at, depth, text: key }
    yield* readTexts(item, { ...at, ...field, depth })
  }
}

/** Returns what the name of a field shows. Returns `undefined` if the name shows nothing. */
function toField(key: string, naming: RegExp | undefined): Pick<Place, 'kind' | 'isFree'> | undefined {
  const words = key
    .replace(/(?<=[a-z\d])(?=[A-Z])/g, ' ')
    .toLowerCase()
    .replace(/[^a-z\d]+/g, ' ')
    .trim()
  if (naming?.test(words) === true) return { kind: 'name', isFree: false }
  if (FREE_TEXT.test(words)) return { kind: 'unknown', isFree: true }
  const kind = KINDS.find(([, pattern]) => pattern.test(words))?.[0]
  return kind === undefined ? undefined : { kind, isFree: false }
}
