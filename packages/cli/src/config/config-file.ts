import { homedir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { defined, findNearest } from '@skillstoke/core/internal'
import { UsageError } from '../terminal/exit-code.ts'
import type { ConfigFile } from './config-schema.ts'
import { readIfThere, readText } from './read-text.ts'
import { isReallyInside } from './real-path.ts'
import type { ConfigSource } from './source-kinds.ts'

export const CONFIG_FILE_NAME = 'skillstoke.json'

const MAX_BYTES = 262_144

/** The content of a configuration file, with absolute paths. */
export interface LoadedConfigFile {
  readonly path: string
  readonly roots: readonly LoadedRoot[] | undefined
  readonly sources: readonly { readonly source: ConfigSource; readonly place: string }[]
  readonly linkRoots: readonly string[]
  /** All other fields. */
  readonly content: ConfigFile
}

interface LoadedRoot {
  readonly path: string
  readonly label?: string
  /** Whether the real path of the root is inside the folder that contains the configuration file. */
  readonly isInside: boolean
}

interface Fault {
  readonly path: readonly PropertyKey[]
  readonly reason: string
  /** Whether the name of the field is wrong. False if the value of the field is wrong. */
  readonly isAboutKey?: boolean
}

/**
 * Reads a configuration file. Returns `undefined` if no file is named and `skillstoke.json` does not exist. @throws
 * {UsageError} with the file, line, column and reason of each fault
 */
export async function loadConfigFile(named: string | undefined): Promise<LoadedConfigFile | undefined> {
  const path = resolve(named ?? CONFIG_FILE_NAME)
  const text = readConfig(path, named !== undefined)
  if (text === undefined) return undefined
  // Imports the parsers only here, because most commands run without a configuration file.
  const [{ parseTree, printParseErrorCode, findNodeAtLocation }, { configSchema, toJsonSchema }] =
    await Promise.all([import('jsonc-parser'), import('./config-schema.ts')])
  const errors: { error: number; offset: number; length: number }[] = []
  const tree = parseTree(text, errors, { allowTrailingComma: true })
  const shown = relative(process.cwd(), path) || path
  const [first] = errors
  if (tree === undefined || first !== undefined) {
    const reason = first === undefined ? 'the file is empty' : toReason(printParseErrorCode(first.error))
    throw new UsageError(`${shown}:${toPlace(text, first?.offset ?? 0)}: not valid JSON: ${reason}`)
  }
  const { getNodeValue } = await import('jsonc-parser')
  const parsed = configSchema.safeParse(getNodeValue(tree))
  const faults: Fault[] = parsed.success
    ? [...findOutsideLinks(parsed.data, dirname(path)), ...findEqualLabels(parsed.data)]
    : parsed.error.issues.flatMap(issue => toFaults(issue, toJsonSchema()))
  if (!parsed.success || faults.length > 0) {
    const lines = faults.map(fault => {
      const node = findNodeAtLocation(tree, fault.path as (string | number)[]) ?? tree
      const { offset } = fault.isAboutKey ? (node.parent ?? node) : node
      return `${shown}:${toPlace(text, offset)}: ${fault.reason}`
    })
    throw new UsageError(lines.join('\n'))
  }
  const sources = (parsed.data.sources ?? []).map((source, index) => {
    const { offset } = findNodeAtLocation(tree, ['sources', index]) ?? tree
    return { source, place: `${shown}:${toPlace(text, offset)}` }
  })
  return { ...toLoaded(path, parsed.data), sources }
}

function readConfig(path: string, isNamed: boolean): string | undefined {
  const read = isNamed ? readText : readIfThere
  const text = read(path, 'the configuration file cannot be read')
  const size = Buffer.byteLength(text ?? '')
  if (size > MAX_BYTES)
    throw new UsageError(`${path} has ${size} bytes; a configuration file may have at most ${MAX_BYTES}`)
  return text?.replace(/^\uFEFF/, '')
}

function toLoaded(path: string, file: ConfigFile): Omit<LoadedConfigFile, 'sources'> {
  const folder = dirname(path)
  return {
    path,
    roots: file.roots?.map(root => {
      const { path: written, label } = typeof root === 'string' ? { path: root } : root
      const absolute = toAbsolute(written, folder)
      return {
        path: absolute,
        isInside: isReallyInside(absolute, folder),
        ...defined({ label }),
      }
    }),
    linkRoots: file.linkRoots?.map(each => toAbsolute(each, folder)) ?? [],
    content: file,
  }
}

/**
 * Finds values of `linkRoots` outside the project. A configuration file must not allow links to folders outside its
 * project.
 */
function findOutsideLinks(file: ConfigFile, folder: string): Fault[] {
  return (file.linkRoots ?? []).flatMap((written, index) => {
    if (isReallyInside(toAbsolute(written, folder), folder)) return []
    const reason = `"linkRoots[${index}]" is ${JSON.stringify(written)}, outside the folder of this file; allow it yourself with --link-root`
    return [{ path: ['linkRoots', index], reason }]
  })
}

function findEqualLabels({ roots = [] }: ConfigFile): Fault[] {
  const labels = roots.map(
    (root, index) => (typeof root === 'string' ? undefined : root.label) ?? `root-${index + 1}`,
  )
  return labels.flatMap((label, index) => {
    const first = labels.indexOf(label)
    if (first === index) return []
    return [
      {
        path: ['roots', index],
        reason: `"roots[${index}]" has the label ${JSON.stringify(label)}, like "roots[${first}]"; give each its own label`,
      },
    ]
  })
}

function toAbsolute(written: string, folder: string): string {
  return /^~(?=\/|$)/.test(written) ? join(homedir(), written.slice(1)) : resolve(folder, written)
}

interface Issue {
  readonly code?: string
  readonly path: readonly PropertyKey[]
  readonly message: string
  readonly keys?: readonly string[]
  readonly errors?: readonly (readonly Issue[])[]
  /** Why the name of a field is invalid. */
  readonly issues?: readonly Issue[]
}

function toFaults(issue: Issue, schema: Schema): Fault[] {
  if (issue.code === 'unrecognized_keys') {
    return (issue.keys ?? []).map(key => ({
      path: [...issue.path, key],
      reason: `there is no field ${JSON.stringify(toName([...issue.path, key]))}${suggest(key, issue.path, schema)}`,
      isAboutKey: true,
    }))
  }
  // If the schema is a union, considers only the alternatives whose required field is present. Reports the most deeply
  // nested fault in these alternatives.
  const meant = issue.errors?.filter(each => !each.some(isMissing)) ?? []
  const isNothing = meant.length === 0 && (issue.errors?.length ?? 0) > 2
  const alternatives = meant.length > 0 || isNothing ? meant : issue.errors
  const deepest = alternatives?.flat().sort((a, b) => b.path.length - a.path.length)[0]
  if (deepest !== undefined && deepest.path.length > 0)
    return toFaults({ ...deepest, path: [...issue.path, ...deepest.path] }, schema)
  const name = toName(issue.path)
  const message = issue.issues?.[0]?.message ?? issue.message
  const reason = `${message.charAt(0).toLowerCase()}${message.slice(1)}`
  return [{ path: issue.path, reason: name === '' ? reason : `"${name}": ${reason}` }]
}

/** The part of a JSON Schema that names the fields of an object. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

/** Returns the field with the most similar name, as a hint. */
function suggest(key: string, path: readonly PropertyKey[], schema: Schema): string {
  let place: Schema | undefined = schema
  for (const part of path) place = typeof part === 'number' ? place?.items : place?.properties?.[String(part)]
  const nearest = findNearest(key, Object.keys(place?.properties ?? {}))
  return nearest === undefined ? '' : `; did you mean ${JSON.stringify(toName([...path, nearest]))}?`
}

function isMissing({ path, message }: Issue): boolean {
  return path.length === 1 && message.endsWith('received undefined')
}

function toName(path: readonly PropertyKey[]): string {
  return path
    .map(part => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '')
}

/** Converts a code such as `UnexpectedEndOfString` to the text `unexpected end of string`. */
function toReason(code: string): string {
  return code.replace(/(?!^)[A-Z]/g, letter => ` ${letter.toLowerCase()}`).toLowerCase()
}

/** Returns `line:column`, both counted from 1. */
function toPlace(text: string, offset: number): string {
  const before = text.slice(0, offset)
  return `${before.split('\n').length}:${offset - before.lastIndexOf('\n')}`
}
