import { defined } from '../defined.ts'
import { escapeControls, quote, showValue } from '../quote.ts'
import { adviseUnknown } from './deciding-fields.ts'
import type { Diagnostic } from './diagnostic.ts'
import type { FrontmatterFields, Outcome } from './frontmatter.ts'
import { readInvocationField } from './invocation.ts'
import type { ReadingPolicy } from './reading-policy.ts'
import { findNameFaults, isLoadableName, normalizeName } from './skill-name.ts'
import { splitTools } from './tool-list.ts'

/**
 * The checked fields of a frontmatter. All strings are copies. In names, descriptions and other text fields, control
 * characters except tab and line feed, and characters that reorder text, are written as escapes such as `\u202e`.
 */
export interface SkillDescription {
  /** Trimmed and NFKC. */
  readonly name: string
  readonly description: string
  readonly license?: string
  readonly compatibility?: string
  /**
   * Text values, as the specification requires. Numbers and booleans are spelled as in the file. Lists and maps were
   * converted to text, with a warning.
   */
  readonly metadata: Readonly<Record<string, string>>
  /** The tools that the author asks to pre-approve, one entry per tool, for example `Bash(git:*)`. */
  readonly allowedTools?: readonly string[]
  /** Fields that are not in the specification, with the types that YAML gives them. */
  readonly extra: Readonly<Record<string, unknown>>
}

/** The parsed content of a SKILL.md. */
export interface ParsedSkill extends SkillDescription {
  /** The raw text between the delimiters. */
  readonly frontmatter: string
  /** The instructions: the text after the frontmatter, without blank lines around it. */
  readonly body: string
  /** Number of the line after the closing delimiter, counted from 1 in the file. */
  readonly bodyLine: number
}

/** The fields of the agentskills.io specification. */
export const SPECIFIED_FIELDS = [
  'allowed-tools',
  'compatibility',
  'description',
  'license',
  'metadata',
  'name',
] as const
/** In code points. */
export const MAX_DESCRIPTION_LENGTH = 1024
/** In code points. */
export const MAX_COMPATIBILITY_LENGTH = 500

const KNOWN: ReadonlySet<string> = new Set(SPECIFIED_FIELDS)
const NO_FIELDS: Readonly<Record<string, never>> = Object.freeze({})
const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype'])

/** Turns the fields of a frontmatter into a skill, and reports each tolerated fault and each error at its line. */
export class SkillFields {
  readonly #fields: FrontmatterFields
  readonly #yaml: string
  readonly #firstLine: number
  readonly #policy: ReadingPolicy
  readonly #diagnostics: Diagnostic[]
  #hasAlias = false
  /** The line on which each key first occurs. This map is created at the first finding. */
  #lines: ReadonlyMap<string, number> | undefined

  constructor(
    fields: FrontmatterFields,
    text: { readonly yaml: string; readonly firstLine: number; readonly policy: ReadingPolicy },
    diagnostics: Diagnostic[],
  ) {
    this.#fields = text.policy.keys === 'exact' ? fields : withLowerKeys(fields)
    this.#yaml = text.yaml
    this.#firstLine = text.firstLine
    this.#policy = text.policy
    this.#diagnostics = diagnostics
  }

  read(body: string, bodyLine: number, directoryName: string | undefined): Outcome<ParsedSkill> {
    const name = this.#name(directoryName)
    const description = this.#description(body)
    const license = this.#text('license')
    const compatibility = this.#compatibility()
    const metadata = this.#metadata()
    const allowedTools = this.#allowedTools()
    const extra = this.#extra()
    const instructions = body.trim()
    if (instructions === '') {
      this.#note(
        'BODY_EMPTY',
        bodyLine,
        'the skill has no instructions',
        'write what to do below the frontmatter',
        'info',
      )
    }
    const diagnostics = this.#diagnostics
    if (name === undefined || description === undefined) return { ok: false, diagnostics }
    const value: ParsedSkill = {
      name,
      description,
      ...defined({ license, compatibility, allowedTools }),
      metadata,
      extra,
      frontmatter: this.#yaml,
      body: instructions,
      bodyLine,
    }
    return { ok: true, value, diagnostics }
  }

  #name(directoryName: string | undefined): string | undefined {
    const given = this.#text('name')
    const name = normalizeName(given ?? '')
    if (name === '') {
      const fallback = normalizeName(directoryName ?? '')
      const usable = isLoadableName(fallback) && this.#policy.missingName === 'folder'
      this.#note(
        'NAME_MISSING',
        'name',
        usable
          ? `the skill has no name; its folder's name ${quote(fallback)} is used`
          : 'the skill has no name',
        `add "name: ${usable ? fallback : 'my-skill'}"`,
        usable ? 'warning' : 'error',
      )
      return usable ? detach(fallback) : undefined
    }
    if (!isLoadableName(name)) {
      this.#note(
        'NAME_UNSAFE',
        'name',
        `skill name ${quote(name)} is not a safe folder name`,
        'use lower-case letters, digits and hyphens',
        'error',
      )
      return undefined
    }
    this.#judgeName(name, directoryName)
    return detach(name)
  }

  #judgeName(name: string, directoryName: string | undefined): void {
    const { names, matchDirectory } = this.#policy
    for (const fault of names === 'any' ? [] : findNameFaults(name)) {
      this.#note(
        'NAME_INVALID',
        'name',
        `skill name ${quote(name)} ${fault}`,
        'rename the skill and its folder',
        names === 'strict' ? 'error' : 'warning',
      )
    }
    if (matchDirectory === 'off' || directoryName === undefined || normalizeName(directoryName) === name)
      return
    this.#note(
      'NAME_DIRECTORY_MISMATCH',
      'name',
      `skill name ${quote(name)} differs from its folder ${quote(directoryName)}`,
      'give both the same name',
      matchDirectory === 'error' ? 'error' : 'warning',
    )
  }

  #description(body: string): string | undefined {
    const description = (this.#text('description') ?? this.#aliasOfDescription())?.trim()
    if (description === undefined || description === '') return this.#withoutDescription(body)
    const length = countUpTo(description, MAX_DESCRIPTION_LENGTH)
    if (length > MAX_DESCRIPTION_LENGTH) {
      this.#note(
        'DESCRIPTION_TOO_LONG',
        'description',
        `the description has ${length} characters; at most ${MAX_DESCRIPTION_LENGTH} are allowed`,
        'shorten it; details belong in the body',
      )
    }
    return description
  }

  /** Reads the field `desc`, in which Exo stores the description. */
  #aliasOfDescription(): string | undefined {
    const description = this.#text('desc')
    if (description === undefined) return undefined
    this.#hasAlias = true
    this.#note('FIELD_ALIAS', 'desc', '"desc" was read as "description"', 'write "description"')
    return description
  }

  #withoutDescription(body: string): string | undefined {
    const policy = this.#policy.description
    if (policy === 'required') {
      this.#note(
        'DESCRIPTION_MISSING',
        'description',
        'the skill has no description, so no model can know when to use it',
        'add "description: what it does and when to use it"',
        'error',
      )
      return undefined
    }
    const description = policy === 'empty' ? '' : firstHeading(body)
    this.#note(
      'DESCRIPTION_MISSING',
      'description',
      description === ''
        ? 'the skill has no description, so no model can know when to use it'
        : `the skill has no description; its first heading ${quote(description)} is used`,
      'add "description: what it does and when to use it"',
    )
    return description
  }

  #compatibility(): string | undefined {
    const compatibility = this.#text('compatibility')
    const length = countUpTo(compatibility ?? '', MAX_COMPATIBILITY_LENGTH)
    if (length > MAX_COMPATIBILITY_LENGTH) {
      this.#note(
        'COMPATIBILITY_TOO_LONG',
        'compatibility',
        `compatibility has ${length} characters; at most ${MAX_COMPATIBILITY_LENGTH} are allowed`,
        'shorten it',
      )
    }
    return compatibility
  }

  #metadata(): Readonly<Record<string, string>> {
    const value = this.#fields.get('metadata')
    if (value === undefined || value === null) return NO_FIELDS
    if (typeof value !== 'object' || Array.isArray(value)) {
      this.#note(
        'FIELD_TYPE',
        'metadata',
        `"metadata" is ${describe(value)}; it must be fields with text values`,
        'indent "key: value" lines below it',
      )
      return Object.freeze({})
    }
    const metadata: Record<string, string> = {}
    for (const [key, item] of Object.entries(value)) {
      if (item === null) continue
      if (FORBIDDEN.has(key)) this.#forbid(`metadata.${key}`)
      else metadata[toPlainText(key)] = this.#metadataText(key, item)
    }
    return Object.freeze(metadata)
  }

  #metadataText(key: string, item: unknown): string {
    if (typeof item === 'string') return toPlainText(item)
    this.#note(
      'FIELD_TYPE',
      'metadata',
      `the value of ${quote(`metadata.${key}`)} is ${describe(item)}; it must be text`,
      Array.isArray(item) && item.every(each => typeof each !== 'object')
        ? `write one text: ${quote(item.map(String).join(' '))}`
        : 'put the value in double quotes',
      'info', // other clients define nested metadata
    )
    return toPlainText(JSON.stringify(item))
  }

  #allowedTools(): readonly string[] | undefined {
    const value = this.#fields.get('allowed-tools')
    if (value === undefined || value === null) return undefined
    if (typeof value === 'string') return Object.freeze(splitTools(value, /[\s,]/).map(detach))
    const items = Array.isArray(value) ? value.filter(item => typeof item === 'string') : []
    this.#note(
      'FIELD_TYPE',
      'allowed-tools',
      `"allowed-tools" is ${describe(value)}; the specification has one text, separated by spaces`,
      adviseTools(items),
    )
    return Object.freeze(items.map(item => detach(item.trim())))
  }

  #extra(): Readonly<Record<string, unknown>> {
    const extra: Record<string, unknown> = {}
    for (const [key, value] of this.#fields) {
      if (KNOWN.has(key) || value === null) continue
      if (FORBIDDEN.has(key)) {
        this.#forbid(key)
        continue
      }
      const invocation = readInvocationField(key, value)
      extra[detach(key)] = invocation === undefined ? copyValue(value) : invocation.value
      if (invocation?.finding !== undefined) {
        const { code, severity, message, fix } = invocation.finding
        this.#note(code, key, message, fix, severity)
      }
      if (key === 'desc' && this.#hasAlias) continue
      this.#note(
        'FIELD_UNKNOWN',
        key,
        `${quote(key)} is not a field of the specification; it is kept unchanged`,
        adviseUnknown(key),
        'info',
      )
    }
    return Object.keys(extra).length === 0 ? NO_FIELDS : Object.freeze(extra)
  }

  /** Reads a field that must be text. */
  #text(key: string): string | undefined {
    const value = this.#fields.get(key)
    if (value === undefined || value === null) return undefined
    if (typeof value === 'string') return toPlainText(value)
    this.#note(
      'FIELD_TYPE',
      key,
      `${quote(key)} is ${describe(value)}; it must be text`,
      `write ${quote(`${key}: some text`)} on one line`,
    )
    return undefined
  }

  #forbid(key: string): void {
    this.#note(
      'FIELD_FORBIDDEN',
      key,
      `the field ${quote(key)} was left out: its name can alter JavaScript objects`,
      'rename the field',
    )
  }

  #note(
    code: Diagnostic['code'],
    /** The name of the faulty field, or a line number in the file. */
    place: string | number,
    message: string,
    fix: string,
    severity: Diagnostic['severity'] = 'warning',
  ): void {
    const line = typeof place === 'number' ? place : this.#lineOf(place)
    this.#diagnostics.push({ code, severity, message, line, column: 1, fix })
  }

  #lineOf(key: string): number {
    this.#lines ??= indexKeys(this.#yaml)
    return this.#firstLine + (this.#lines.get(key) ?? 0)
  }
}

/**
 * Returns the number of code points of a text. If a text has at most `limit` UTF-16 units, returns the number of these
 * units, because an exact count is not needed.
 */
function countUpTo(text: string, limit: number): number {
  return text.length <= limit ? text.length : [...text].length
}

/** Returns the line on which each key first occurs, counted from 0. */
function indexKeys(yaml: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>()
  for (const [index, line] of yaml.split('\n').entries()) {
    const key = /^[^:]+(?=:)/.exec(line)?.[0].trimEnd()
    if (key !== undefined && !lines.has(key)) lines.set(key, index)
  }
  return lines
}

/** Lower-cases the keys. If a key occurs in two spellings, the first of the two fields is used. */
function withLowerKeys(fields: FrontmatterFields): FrontmatterFields {
  const lower = new Map<string, unknown>()
  for (const [key, value] of fields) if (!lower.has(key.toLowerCase())) lower.set(key.toLowerCase(), value)
  return lower
}

/** Returns the first heading of the instructions. If there is no heading, returns the first line, or an empty text. */
function firstHeading(body: string): string {
  const lines = body.split(/\r?\n/).map(line => line.trim())
  const heading = lines.map(line => /^#{1,6}\s+(\S.*)$/.exec(line)?.[1]).find(text => text !== undefined)
  const text = (heading ?? lines.find(line => line !== '') ?? '').slice(0, MAX_DESCRIPTION_LENGTH)
  return toPlainText(heading === undefined ? text : text.replace(/\s*#*$/, ''))
}

/** Returns the advice to write a list of tools as one text, if the text allows the same tools. */
function adviseTools(items: readonly string[]): string {
  const text = items.map(item => item.trim()).join(' ')
  const isSame = JSON.stringify(splitTools(text, /[\s,]/)) === JSON.stringify(items.map(item => item.trim()))
  return text !== '' && isSame
    ? `write "allowed-tools: ${text}"`
    : 'write the tools that the skill needs as one text, separated by spaces'
}

function describe(value: unknown): string {
  if (value === null) return 'empty'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a group of fields'
  return `the ${typeof value} ${showValue(value)}`
}

function copyValue(value: unknown): unknown {
  if (typeof value === 'string') return detach(value.toWellFormed())
  if (Array.isArray(value)) return Object.freeze(value.map(copyValue))
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value))
    if (!FORBIDDEN.has(key)) copy[detach(key)] = copyValue(item)
  return Object.freeze(copy)
}

/** Returns a text for programs and models: well-formed, with control characters and bidi controls written as escapes. */
function toPlainText(text: string): string {
  return detach(escapeControls(text.toWellFormed()))
}

/**
 * Copies a substring, so that the original text can be freed. In V8, a long substring refers to its original text, so
 * each name would keep a whole SKILL.md in memory.
 */
function detach(text: string): string {
  return text.length < 13 ? text : ` ${text}`.slice(1)
}
