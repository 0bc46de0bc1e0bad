import type { Transport } from '@modelcontextprotocol/client'
import type { Skill as SkillEntry, SkillsClient } from '@modelcontextprotocol/client/ext/skills'
import { type Diagnostic, SkillError } from '@skillstoke/core'
import { checkNumber, checkOptions, type KnownOptions, toMessage } from '@skillstoke/core/internal'
import { checkUrl, createGuardedFetch } from '@skillstoke/core/node'
import {
  type FetchContext,
  type FetchedFile,
  type FetchResult,
  type FileTree,
  listFilesBelow,
  RemoteSource,
  type RemoteSourceOptions,
  refuseTreeEntry,
  restoreTree,
  type SkillSource,
  storeTree,
  type TreeFetcher,
} from '@skillstoke/core/source'

/**
 * A command that starts an MCP server over standard input and output. The source starts this command again for each
 * fetch.
 */
export interface McpCommand {
  readonly command: string
  readonly args?: readonly string[]
  /** @default the few variables that the SDK passes on */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

const KNOWN_COMMAND: KnownOptions<McpCommand> = { command: true, args: true, env: true, cwd: true }

export interface McpServerOptions
  extends Pick<
    RemoteSourceOptions,
    'trust' | 'reading' | 'limits' | 'pollMs' | 'timeoutMs' | 'firstWaitMs' | 'polling' | 'clock'
  > {
  /** Name of the source in digests and messages. @default the host's name, or the command's */
  readonly label?: string
  /** HTTP headers of each request, for example `Authorization`. */
  readonly headers?: Readonly<Record<string, string>>
  /** Hosts that may be in a private network or on this machine, written `name` or `name:port`. @default [] */
  readonly privateHosts?: readonly string[]
  /**
   * Maximum size of all skills of the server together, in bytes. If the total size is larger, the fetch fails.
   * @default 200 MB
   */
  readonly maxBytes?: number
}

const KNOWN: KnownOptions<McpServerOptions> = {
  label: true,
  headers: true,
  privateHosts: true,
  maxBytes: true,
  timeoutMs: true,
  trust: true,
  reading: true,
  limits: true,
  pollMs: true,
  firstWaitMs: true,
  polling: true,
  clock: true,
}

const MAX_SKILLS = 2_000
const MAX_SKILL_BYTES = 16 * 1024 * 1024
const DEFAULT_MAX_SERVER_BYTES = 200_000_000

/**
 * Returns a source that reads the skills of another MCP server through the Skills extension. Verifies the size and
 * digest of each file, and does not read unchanged files again. If a command starts the server, the command runs
 * without any sandbox. So the command must come from the user of the program, never from a file of a project.
 * @throws {SkillError} INVALID_OPTION
 *
 * @example
 * ```ts no-run
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { mcpServer } from '@skillstoke/mcp/source'
 *
 * const headers = { authorization: `Bearer ${process.env['SKILLS_TOKEN']}` }
 * await using skills = await createSkillRuntime({
 *   sources: [
 *     mcpServer('https://skills.example.com/mcp', { headers }),
 *     mcpServer({ command: 'npx', args: ['skillstoke', 'mcp', '--root', './skills'] }, { trust: 'auto' }),
 *   ],
 * })
 * console.log(skills.current.list().map(skill => skill.name))
 * ```
 */
export function mcpServer(target: string | McpCommand, options: McpServerOptions = {}): SkillSource {
  checkOptions('mcpServer()', options, KNOWN)
  checkNumber('maxBytes', options.maxBytes, 1)
  const { label, headers = {}, privateHosts = [], maxBytes = DEFAULT_MAX_SERVER_BYTES, ...remote } = options
  const fetcher = new McpFetcher(target, { headers, privateHosts, maxBytes })
  return new RemoteSource(fetcher, { ...remote, label: label ?? fetcher.name, origin: fetcher.origin })
}

interface ServerAccess {
  readonly headers: Readonly<Record<string, string>>
  readonly privateHosts: readonly string[]
  readonly maxBytes: number
}

class McpFetcher implements TreeFetcher {
  readonly name: string
  readonly origin: string
  readonly #maxBytes: number
  readonly #createTransport: () => Promise<Transport>

  constructor(target: string | McpCommand, access: ServerAccess) {
    if (typeof target !== 'string') checkOptions('mcpServer()', target, KNOWN_COMMAND)
    this.#maxBytes = access.maxBytes
    if (typeof target === 'string') {
      if (!URL.canParse(target) || !/^https?:$/.test(new URL(target).protocol))
        throw new SkillError(
          'INVALID_OPTION',
          `${JSON.stringify(target)} is no URL of an MCP server; use https://host/mcp`,
        )
      const url = new URL(target)
      checkUrl(url, { privateHosts: access.privateHosts })
      const fetch = createGuardedFetch({ privateHosts: access.privateHosts })
      this.name = url.hostname
      this.origin = `mcp+${url.href}`
      this.#createTransport = async () => {
        const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
        return new StreamableHTTPClientTransport(url, {
          fetch,
          requestInit: { headers: { ...access.headers } },
        })
      }
      return
    }
    const { command, args = [], env, cwd } = target
    if (command.trim() === '')
      throw new SkillError('INVALID_OPTION', 'the command of the MCP server is empty')
    this.name = command.split(/[\\/]/).at(-1) ?? command
    this.origin = `mcp+command:${JSON.stringify([command, ...args])}`
    this.#createTransport = async () => {
      const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
      return new StdioClientTransport({
        command,
        args: [...args],
        stderr: 'ignore',
        ...(env === undefined ? {} : { env: { ...env } }),
        ...(cwd === undefined ? {} : { cwd }),
      })
    }
  }

  async restore(context: FetchContext): Promise<FileTree | undefined> {
    return await restoreTree(this.origin, context)
  }

  async fetch(context: FetchContext): Promise<FetchResult> {
    const { signal } = context
    // Loads the MCP client only here, because loading it is slow and a program without MCP sources never needs it.
    const [{ Client }, { SkillsClient }] = await Promise.all([
      import('@modelcontextprotocol/client'),
      import('@modelcontextprotocol/client/ext/skills'),
    ])
    signal.throwIfAborted()
    const client = new Client({ name: 'skillstoke', version: '1' }, { versionNegotiation: { mode: 'auto' } })
    // Closes the client on abort, so that no process and no connection stays open.
    const onAbort = (): void => void client.close()
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await client.connect(await this.#createTransport(), { signal })
      const skills = new SkillsClient(client, { skipInvalid: true })
      if (!skills.supported) {
        const message = `${this.origin} does not offer the Skills extension (io.modelcontextprotocol/skills)`
        throw new SkillError('IO_FAILED', message)
      }
      return await this.#read(skills, context)
    } catch (thrown) {
      if (SkillError.isInstance(thrown) || signal.aborted) throw thrown
      const refusal = findRefusal(thrown)
      throw refusal ?? new SkillError('IO_FAILED', `${this.origin}: ${toMessage(thrown)}`, { cause: thrown })
    } finally {
      signal.removeEventListener('abort', onAbort)
      await client.close()
    }
  }

  async #read(skills: SkillsClient, context: FetchContext): Promise<FetchResult> {
    const { signal, known } = context
    const { skills: entries, invalid } = await skills.list(undefined, { signal })
    if (entries.length > MAX_SKILLS)
      throw new SkillError(
        'TOO_LARGE',
        `${this.origin} has ${entries.length} skills; at most ${MAX_SKILLS} are read`,
      )
    const total = entries.reduce((sum, entry) => sum + sizeOf(entry), 0)
    if (total > this.#maxBytes)
      throw new SkillError(
        'TOO_LARGE',
        `the skills of ${this.origin} have ${total} bytes together; at most ${this.#maxBytes} are read; raise maxBytes (maxMegabytes in skillstoke.json) to allow more`,
      )
    const notices = invalid.map(({ uri, index, reason }) => this.#notice(uri ?? `skill ${index}`, reason))
    const files: FetchedFile[] = []
    for (const entry of entries) {
      try {
        files.push(...(await this.#readSkill(skills, entry, context)))
      } catch (thrown) {
        signal.throwIfAborted()
        // If a skill cannot be verified, keeps the last files of this skill and continues with the other skills.
        const folder = folderOf(entry.uri)
        const kept = folder === undefined ? [] : await listFilesBelow(known, folder, signal)
        files.push(...kept.map(file => ({ ...file, path: `${folder}/${file.path}` })))
        notices.push(this.#notice(entry.uri, toMessage(thrown), kept.length > 0))
      }
    }
    const tree = storeTree(this.origin, files, context)
    return tree.version === known?.version ? { notices } : { tree, notices }
  }

  async #readSkill(
    skills: SkillsClient,
    entry: SkillEntry,
    { store, signal }: FetchContext,
  ): Promise<readonly FetchedFile[]> {
    if (entry.resources === 'dynamic')
      throw new SkillError('IO_FAILED', 'its files have no digests, so they cannot be verified')
    const total = sizeOf(entry)
    if (total > MAX_SKILL_BYTES)
      throw new SkillError('TOO_LARGE', `it has ${total} bytes; at most ${MAX_SKILL_BYTES} are read`)
    const root = entry.uri.replace(/[^/]*$/, '')
    const folder = folderOf(entry.uri)
    if (folder === undefined) throw new SkillError('INVALID_PATH', 'its URI cannot be decoded')
    const files: FetchedFile[] = []
    for (const { uri, digest } of entry.resources) {
      if (!uri.startsWith(root))
        throw new SkillError('INVALID_PATH', `its file ${JSON.stringify(uri)} is outside its folder`)
      const stored = await store.get(digest as `sha256:${string}`)
      const bytes = stored ?? (await skills.read(entry, uri, { signal })).bytes
      const path = `${folder}/${decodeURIComponent(uri.slice(root.length))}`
      files.push({ path, kind: 'file', bytes, isExecutable: false })
    }
    return files
  }

  #notice(uri: string, reason: string, isKept: boolean = false): Diagnostic {
    return refuseTreeEntry(this.origin, `${uri}: ${reason}`, isKept)
  }
}

/**
 * Returns the total size that the entry of a skill declares, in bytes. If a file is larger than declared, reading that
 * file fails.
 */
function sizeOf({ resources }: SkillEntry): number {
  return resources === 'dynamic' ? 0 : resources.reduce((sum, { size }) => sum + size, 0)
}

/**
 * Returns the folder of a skill, for example `a/b` for `skill://a/b/SKILL.md`. Returns `undefined` if the URI cannot be
 * decoded.
 */
function folderOf(uri: string): string | undefined {
  const path = uri.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/\/[^/]*$/, '')
  try {
    return path.split('/').map(decodeURIComponent).join('/')
  } catch {
    return undefined
  }
}

/** Returns the error that the fetch guard threw, even if the MCP client wrapped this error in other errors. */
function findRefusal(thrown: unknown): SkillError | undefined {
  for (let at: unknown = thrown, i = 0; at instanceof Error && i < 5; at = at.cause, i++)
    if (SkillError.isInstance(at)) return at
  return undefined
}
