import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { toMessage } from '@skillstoke/core/internal'
import { applyEdits, modify, type ParseError, parse, printParseErrorCode } from 'jsonc-parser'
import { parse as parseToml, stringify as stringifyToml } from 'smol-toml'
import { isMap, parseDocument, stringify as stringifyYaml } from 'yaml'
import { readIfThere } from '../config/read-text.ts'
import { replaceFile } from '../config/replace-file.ts'
import { UsageError } from '../terminal/exit-code.ts'
import type { McpClient } from './client-table.ts'

type Entry = Readonly<Record<string, unknown>>

const UNREADABLE = 'the configuration cannot be read'

/** What an edit of a configuration file would change. */
export interface ConfigEdit {
  readonly path: string
  readonly before: string | undefined
  readonly after: string
  /** False if the file already has exactly this entry, or if there is nothing to remove. */
  readonly isChanged: boolean
  /** Whether the file has another entry of this name. */
  readonly isReplaced: boolean
  /** Whether the file contains nothing after the edit, so that it can be removed. */
  readonly isEmpty: boolean
}

/**
 * Returns the text of a configuration file with an entry added, replaced or removed. Keeps comments and everything else.
 * @param given the fields to set; other fields of the entry, such as `env`, stay. `undefined` removes the entry
 * @throws {UsageError} when the file is not valid, or cannot be edited without changing something else
 */
export function editConfig(
  client: McpClient,
  path: string,
  name: string,
  given: Entry | undefined,
): ConfigEdit {
  const before = readIfThere(path, UNREADABLE)
  const known = findEntry(client, path, name, before)
  const entry = toMerged(known, given)
  if (entry === undefined ? known === undefined : isDeepStrictEqual(known, toPlain(entry)))
    return { path, before, after: before ?? '', isChanged: false, isReplaced: false, isEmpty: false }
  const after = toEdited(client, path, name, { before, entry })
  if (after !== undefined) {
    const isEmpty = entry === undefined && hasNothing(client, path, name, after)
    return { path, before, after, isChanged: true, isReplaced: known !== undefined, isEmpty }
  }
  const advice =
    entry === undefined
      ? `remove "${name}" by hand`
      : `add this by hand:\n${renderEntry(client, name, entry)}`
  throw new UsageError(`${path} cannot be edited without changing something else; ${advice}`)
}

/** Fields that say how a client reaches a server. An entry has only one of them. */
const KINDS = ['command', 'cmd', 'url', 'httpUrl', 'serverUrl', 'uri'] as const

/** Keeps the fields that a person added to an entry, if the entry still reaches the server in the same way. */
function toMerged(known: Entry | undefined, given: Entry | undefined): Entry | undefined {
  if (known === undefined || given === undefined) return given
  const isSameKind = KINDS.every(kind => (known[kind] === undefined) === (given[kind] === undefined))
  return isSameKind ? { ...known, ...given } : given
}

/** Returns the entry of a server in a configuration file; `undefined` if the file or the entry is missing. */
export function findEntry(
  client: McpClient,
  path: string,
  name: string,
  text: string | undefined = readIfThere(path, UNREADABLE),
): Entry | undefined {
  let value: unknown = text === undefined ? undefined : parseConfig(client, path, text)
  for (const key of [...client.keys, name])
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? Reflect.get(value, key)
        : undefined
  // A TOML parser returns objects without a prototype, which equal no other object.
  return value === undefined ? undefined : (toPlain(value) as Entry)
}

/**
 * Writes an edit. Keeps the file mode and follows a link. A copy of the file stays beside it until the written file was
 * read back.
 */
export function writeEdit({ path, before, after, isEmpty }: ConfigEdit): void {
  const target = toTarget(path)
  const backup = before === undefined ? undefined : `${target}.backup`
  try {
    mkdirSync(dirname(target), { recursive: true })
    if (backup !== undefined) copyFileSync(target, backup)
    // Another program manages the target of a link, so only its content changes.
    if (isEmpty && target === path) rmSync(target)
    else {
      // Configuration files of clients may contain tokens, so a new file is private.
      replaceFile(target, after, before === undefined ? 0o600 : statSync(target).mode & 0o777)
      if (readFileSync(target, 'utf8') !== after)
        throw new Error(`${target} has another content than was written`)
    }
  } catch (thrown) {
    const kept = backup !== undefined && existsSync(backup) ? `; a copy of the file before is ${backup}` : ''
    throw new UsageError(`the configuration cannot be written: ${toMessage(thrown)}${kept}`, {
      cause: thrown,
    })
  }
  if (backup !== undefined) rmSync(backup, { force: true })
  if (isEmpty && target === path) removeIfEmpty(dirname(target))
}

/** Removes the hidden folder of a client, such as `.cursor`, if it has no other file. */
function removeIfEmpty(folder: string): void {
  if (!basename(folder).startsWith('.') || folder === process.cwd()) return
  if (readdirSync(folder).length === 0) rmdirSync(folder)
}

/** Returns the file that a path names. If the path is a link, returns its target, even if the target does not exist yet. */
function toTarget(path: string): string {
  if (existsSync(path)) return realpathSync(path)
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
  return isLink ? resolve(dirname(path), readlinkSync(path)) : path
}

/** Renders an entry as the part of a configuration file that a person could paste. */
export function renderEntry(
  { format, keys }: Pick<McpClient, 'format' | 'keys'>,
  name: string,
  entry: Entry,
): string {
  if (format === 'toml') return stringifyToml({ [keys[0] ?? '']: { [name]: entry } })
  let value: unknown = { [name]: entry }
  for (const key of keys.toReversed()) value = { [key]: value }
  if (format === 'yaml') return stringifyYaml(value, { lineWidth: 0 })
  return `${JSON.stringify(value, undefined, 2)}\n`
}

function parseConfig({ format }: McpClient, path: string, text: string): unknown {
  if (text.trim() === '') return {}
  if (format === 'toml') {
    try {
      return parseToml(text)
    } catch (thrown) {
      const [reason] = toMessage(thrown).split('\n')
      throw new UsageError(`${path}: ${reason}; fix the file first, nothing was changed`, { cause: thrown })
    }
  }
  if (format === 'yaml') {
    const document = parseDocument(text)
    const [error] = document.errors
    const reason = error?.message.split('\n')[0] ?? 'it is no mapping'
    if (error !== undefined || !(document.contents === null || isMap(document.contents)))
      throw new UsageError(`${path}: not valid YAML: ${reason}; fix the file first, nothing was changed`)
    return document.toJS() ?? {}
  }
  const errors: ParseError[] = []
  const value: unknown = parse(text.replace(/^\uFEFF/, ''), errors, { allowTrailingComma: true })
  const [error] = errors
  if (error !== undefined || typeof value !== 'object' || value === null || Array.isArray(value)) {
    const reason = error === undefined ? 'it is no object' : printParseErrorCode(error.error)
    throw new UsageError(`${path}: not valid JSON: ${reason}; fix the file first, nothing was changed`)
  }
  return value
}

function editJson(text: string, path: string[], entry: Entry | undefined): string {
  const start = text.trim() === '' ? '{}' : text
  const indent = /^([ \t]+)\S/m.exec(start)?.[1] ?? '  '
  const formattingOptions = {
    insertSpaces: !indent.startsWith('\t'),
    tabSize: indent.length,
    eol: start.includes('\r\n') ? '\r\n' : '\n',
  }
  const edited = applyEdits(start, modify(start, path, entry, { formattingOptions }))
  return edited.endsWith('\n') ? edited : `${edited}\n`
}

function editYaml(text: string, path: string[], entry: Entry | undefined): string {
  const document = parseDocument(text)
  if (entry === undefined) document.deleteIn(path)
  else document.setIn(path, document.createNode(entry))
  // Keeps the lists of other entries as they are: programs write them with or without an indent.
  const indentSeq = !/^( *)[^\s#-][^\n]*:\s*\n\1- /m.test(text)
  const edited = document.toString({ lineWidth: 0, indentSeq })
  return text.includes('\r\n') ? edited.replaceAll(/\r?\n/g, '\r\n') : edited
}

/** Replaces, appends or removes the table `[key.name]` and its sub-tables, line by line. */
function editToml(text: string, key: string, name: string, entry: Entry | undefined): string {
  const own = new RegExp(
    String.raw`^\s*\[\s*${key}\s*\.\s*(?:${toPattern(name)}|${toPattern(JSON.stringify(name))}|'${toPattern(name)}')\s*[.\]]`,
  )
  const lines = text.split(/\r?\n/)
  const start = lines.findIndex(line => own.test(line))
  const rest = [...lines]
  if (start >= 0) {
    let end = start + 1
    while (end < lines.length && (own.test(lines[end] ?? '') || !/^\s*\[/.test(lines[end] ?? ''))) end++
    // Comments right above the next table belong to that table.
    while (end < lines.length && /^\s*#/.test(lines[end - 1] ?? '')) end--
    rest.splice(start, end - start)
  }
  const kept = rest.join('\n').replace(/\n*$/, '')
  const table = entry === undefined ? '' : stringifyToml({ [key]: { [name]: entry } }).trim()
  const edited = `${[kept, table].filter(part => part !== '').join('\n\n')}\n`
  return text.includes('\r\n') ? edited.replaceAll('\n', '\r\n') : edited
}

function toPattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}

/** Returns the edited text; `undefined` if the edit would change something else than the entry. */
function toEdited(
  client: McpClient,
  path: string,
  name: string,
  { before, entry }: { readonly before: string | undefined; readonly entry: Entry | undefined },
): string | undefined {
  try {
    const keys = [...client.keys, name]
    const after =
      client.format === 'toml'
        ? editToml(before ?? '', client.keys[0] ?? '', name, entry)
        : client.format === 'yaml'
          ? editYaml(before ?? '', keys, entry)
          : editJson(before ?? '{}', keys, entry)
    const wanted = entry === undefined ? undefined : toPlain(entry)
    const [old, edited] = [before ?? '', after].map(text =>
      withoutEntry(client, parseConfig(client, path, text), name),
    )
    const isWanted = isDeepStrictEqual(findEntry(client, path, name, after), wanted)
    return isWanted && isDeepStrictEqual(old, edited) ? after : undefined
  } catch {
    return undefined // the file has a form that cannot be edited, or the edited text would not be valid
  }
}

/** Whether a configuration file has neither values nor comments. */
function hasNothing(client: McpClient, path: string, name: string, text: string): boolean {
  const values = withoutEntry(client, parseConfig(client, path, text), name)
  return Object.keys(values as object).length === 0 && !/[/#]/.test(text)
}

/** Returns a parsed file without one entry, and without objects that are empty then. */
function withoutEntry({ keys }: McpClient, file: unknown, name: string): unknown {
  const [key, ...rest] = [...keys, name]
  const remove = (value: unknown, first: string | undefined, others: readonly string[]): unknown => {
    if (typeof value !== 'object' || value === null || first === undefined) return value
    const { [first]: inner, ...kept } = value as Record<string, unknown>
    const [next, ...deeper] = others
    const left = next === undefined || inner === undefined ? undefined : remove(inner, next, deeper)
    const isEmpty =
      left === undefined || (typeof left === 'object' && Object.keys(left as object).length === 0)
    return isEmpty ? kept : { ...kept, [first]: left }
  }
  return remove(toPlain(file), key, rest)
}

function toPlain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown
}
