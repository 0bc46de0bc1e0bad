import { checkOptions, compareText, type KnownOptions } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import type { ScannedCommand } from '@skillstoke/core/source'
import { scanScripts } from '@skillstoke/scripts'

/** A command as omni's scanner records it. */
export interface ToolRecord {
  /** `skill.command` */
  readonly toolName: string
  readonly description: string
  readonly skillName: string
  readonly filePath: string
  /** The name under which the file exports the command. */
  readonly functionName: string
  readonly executionMode: 'script'
  /** The name of the skill, the name of the command, and the keywords of the skill, without duplicates. */
  readonly keywords: readonly string[]
  readonly intents: readonly string[]
  /** SHA-256 digest of the file content, 64 hexadecimal digits. */
  readonly fileHash: string
  /** The subfolder of `scripts/` that contains the file, or the name of the skill if there is no subfolder. */
  readonly category: string
  readonly annotations: {
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly openWorldHint: boolean
  }
  /** Absent if the schema is known only after the script has run. */
  readonly inputSchema?: Readonly<Record<string, unknown>>
}

export interface ScanPathsOptions {
  /** @default [] */
  readonly keywords?: readonly string[]
  /** @default [] */
  readonly intents?: readonly string[]
}

const KNOWN: KnownOptions<ScanPathsOptions> = { keywords: true, intents: true }

/**
 * Finds the commands in files that are passed as pairs of path and content. Uses no file system and runs no code.
 *
 * @example
 * ```ts
 * import { scanPaths } from '@skillstoke/compat'
 *
 * const script = `import { defineCommand } from 'skillstoke/command'
 * export const day = defineCommand({ name: 'day', description: 'Names the day.', run: () => 'Monday' })`
 * const tools = await scanPaths([['scripts/day.ts', script]], 'calendar', { keywords: ['date'] })
 * console.log(tools.map(({ toolName, functionName }) => `${toolName} is ${functionName}`))
 * // prints [ 'calendar.day is day' ]
 * ```
 */
export async function scanPaths(
  files: readonly (readonly [path: string, content: string])[],
  skillName: string,
  options: ScanPathsOptions = {},
): Promise<readonly ToolRecord[]> {
  checkOptions('scanPaths()', options, KNOWN)
  const texts = files.map(([filePath, text]) => ({
    ...splitPath(filePath, skillName),
    filePath,
    text,
    digest: `sha256:${nodeHasher.sha256(text)}` as const,
  }))
  const records: ToolRecord[] = []
  // Scans each folder separately, because files of two folders may have equal paths within their folders.
  for (const own of Map.groupBy(texts, each => each.folder).values()) {
    const paths = new Map(own.map(({ path, filePath }) => [path, filePath]))
    const { commands } = await scanScripts(skillName, own)
    records.push(
      ...commands.map(command => toRecord(command, paths.get(command.path) ?? command.path, options)),
    )
  }
  return records.sort((a, b) => compareText(a.toolName, b.toolName) || compareText(a.filePath, b.filePath))
}

/**
 * Finds the commands in one file.
 *
 * @example
 * ```ts
 * import { parseScriptContent } from '@skillstoke/compat'
 *
 * const script = `import { defineCommand } from 'skillstoke/command'
 * export const day = defineCommand({ name: 'day', description: 'Names the day.', run: () => 'Monday' })`
 * const [tool] = await parseScriptContent('scripts/day.ts', script, 'calendar')
 * console.log(tool?.toolName, tool?.keywords) // prints calendar.day [ 'calendar', 'day' ]
 * ```
 */
export async function parseScriptContent(
  path: string,
  content: string,
  skillName: string,
  options: ScanPathsOptions = {},
): Promise<readonly ToolRecord[]> {
  return await scanPaths([[path, content]], skillName, options)
}

/**
 * Returns the folder of the skill that contains a file, and the path of the file within this folder. The path begins at
 * `<skill>/scripts` if the file is in that folder, otherwise at the last folder named `scripts`.
 */
function splitPath(filePath: string, skillName: string): { readonly folder: string; readonly path: string } {
  const segments = filePath.split('/')
  const folders = segments.slice(0, -1)
  const own = folders.findIndex((name, index) => name === 'scripts' && folders[index - 1] === skillName)
  const start = own < 0 ? folders.lastIndexOf('scripts') : own
  if (start < 0) return { folder: folders.join('/'), path: `scripts/${segments.at(-1)}` }
  return { folder: segments.slice(0, start).join('/'), path: segments.slice(start).join('/') }
}

function toRecord(
  { id, name, skill, description, path, exportName, digest, hints, inputSchema }: ScannedCommand,
  filePath: string,
  { keywords = [], intents = [] }: ScanPathsOptions,
): ToolRecord {
  const folders = path.split('/').slice(1, -1)
  return {
    toolName: id,
    description,
    skillName: skill,
    filePath,
    functionName: exportName,
    executionMode: 'script',
    keywords: [...new Set([skill, name, ...keywords])],
    intents,
    fileHash: digest.slice('sha256:'.length),
    category: folders[0] ?? skill,
    annotations: {
      readOnlyHint: hints.readOnly ?? READING.test(name),
      destructiveHint: hints.destructive ?? DESTROYING.test(name),
      openWorldHint: hints.openWorld ?? REACHING.test(name),
    },
    ...(inputSchema === undefined ? {} : { inputSchema }),
  }
}

// If a script declares no annotations, they are derived from the name of the command.
const READING = /^(?:get|list|show|find|search|read|status|log|diff|check|count|describe)(?:$|[_-])/
const DESTROYING = /^(?:delete|remove|drop|purge|reset|clean|destroy|kill)(?:$|[_-])/
const REACHING = /^(?:fetch|download|upload|send|post|publish|push|pull|crawl|request)(?:$|[_-])/
