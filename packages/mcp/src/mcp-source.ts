import type { Transport } from '@modelcontextprotocol/client'
import { type Diagnostic, SkillError } from '@skillstoke/core'
import {
  checkOptions,
  decodeText,
  defined,
  type KnownOptions,
  number,
  oneOf,
  quote,
  toMessage,
} from '@skillstoke/core/internal'
import {
  type FetchContext,
  type FetchResult,
  type FileTree,
  type ListedSkill,
  RemoteSource,
  type RemoteSourceOptions,
  refuseTreeEntry,
  restoreTree,
  type SkillSource,
  storeTree,
  type TreeFetcher,
} from '@skillstoke/core/source'
import { checkUrl, createGuardedFetch } from '@skillstoke/sources'
import { ManifestSkills } from './manifest-skills.ts'
import {
  type EntryReader,
  folderOf,
  isRetrieved,
  type McpSkill,
  readFiles,
  sizeOf,
  toListed,
} from './remote-skill.ts'

/**
 * A command that starts an MCP server over standard input and output. The source starts this command again for each
 * fetch, and for each skill whose files it retrieves.
 */
interface McpCommand {
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
   * Maximum size of all skills of the server together, in bytes. If the listed size is larger, the fetch fails. A skill
   * without digests that exceeds the rest of the limit is left out.
   * @default 200 MB
   */
  readonly maxBytes?: number
  /**
   * When the files of a skill are retrieved. `on-load`: when the skill is loaded or reviewed, as the Skills extension
   * requires. `ahead`: at each fetch. Then every skill can be loaded even if the server is unreachable or has changed
   * the skill. Use `ahead` only if the owner of the server agrees.
   * @default 'on-load'
   */
  readonly retrieval?: RetrievalMode
}

/** The values of `retrieval`. */
export const RETRIEVAL_MODES = ['on-load', 'ahead'] as const

type RetrievalMode = (typeof RETRIEVAL_MODES)[number]

const KNOWN: KnownOptions<McpServerOptions> = {
  label: true,
  headers: true,
  privateHosts: true,
  maxBytes: number(1),
  retrieval: oneOf(RETRIEVAL_MODES),
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
const DEFAULT_MAX_SERVER_BYTES = 200_000_000

/**
 * Returns a source that reads the skills of another MCP server, through the Skills extension or as resources with a list
 * of files (`_manifest`, FastMCP). Each fetch reads the list of the server, and in the second form each `_manifest` and
 * SKILL.md. The files of a skill are retrieved when the skill is first loaded. Verifies the size and digest of each file
 * and the frontmatter, and does not read other unchanged files again. Without a server, skills that were loaded before
 * stay available. If a command starts the server, the command runs without any sandbox. So the command must come from
 * the user of the program, never from a file of a project.
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
  const { label, headers, privateHosts, maxBytes, retrieval = 'on-load', ...remote } = options
  const place =
    typeof target === 'string' ? toUrlPlace(target, headers, privateHosts) : toCommandPlace(target)
  const fetcher = new McpFetcher(place, maxBytes ?? DEFAULT_MAX_SERVER_BYTES, retrieval)
  return new RemoteSource(fetcher, { ...remote, label: label ?? place.name, origin: place.origin })
}

/** Where a server is, and how to reach it. */
interface ServerPlace {
  readonly name: string
  readonly origin: string
  readonly createTransport: () => Promise<Transport>
}

function toUrlPlace(
  target: string,
  headers: McpServerOptions['headers'],
  privateHosts: readonly string[] = [],
): ServerPlace {
  if (!URL.canParse(target) || !/^https?:$/.test(new URL(target).protocol))
    throw new SkillError(
      'INVALID_OPTION',
      `${quote(target)} is no URL of an MCP server; use https://host/mcp`,
    )
  const url = new URL(target)
  checkUrl(url, { privateHosts })
  const fetch = createGuardedFetch({ privateHosts })
  return {
    name: url.hostname,
    origin: `mcp+${url.href}`,
    createTransport: async () => {
      const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
      return new StreamableHTTPClientTransport(url, { fetch, requestInit: { headers: { ...headers } } })
    },
  }
}

function toCommandPlace(target: McpCommand): ServerPlace {
  checkOptions('mcpServer()', target, KNOWN_COMMAND)
  const { command, args = [], env, cwd } = target
  if (command.trim() === '') throw new SkillError('INVALID_OPTION', 'the command of the MCP server is empty')
  return {
    name: command.split(/[\\/]/).at(-1) ?? command,
    origin: `mcp+command:${JSON.stringify([command, ...args])}`,
    createTransport: async () => {
      const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
      const given = defined({ env: env && { ...env }, cwd })
      return new StdioClientTransport({ command, args: [...args], stderr: 'ignore', ...given })
    },
  }
}

/** Name of the stored file with the list of the server. */
const LIST_FILE = 'skills.json'

class McpFetcher implements TreeFetcher {
  readonly #place: ServerPlace
  readonly #maxBytes: number
  readonly #retrieval: RetrievalMode
  /** The list that is stored. */
  #list: readonly ListedSkill[] = []

  constructor(place: ServerPlace, maxBytes: number, retrieval: RetrievalMode) {
    this.#place = place
    this.#maxBytes = maxBytes
    this.#retrieval = retrieval
  }

  async restore(context: FetchContext): Promise<FileTree | undefined> {
    const stored = await restoreTree(this.#place.origin, context)
    const list = stored?.files.find(({ path }) => path === LIST_FILE)
    if (stored === undefined || list === undefined) return undefined
    const text = decodeText(await list.read(context.signal)) ?? '[]'
    this.#list = JSON.parse(text) as McpSkill[]
    return { version: stored.version, files: [], listed: this.#list }
  }

  async fetch(context: FetchContext): Promise<FetchResult> {
    return await this.#withServer(context.signal, async skills => await this.#read(skills, context))
  }

  async retrieve(skill: ListedSkill, context: Omit<FetchContext, 'known'>): Promise<ListedSkill> {
    const retrieved = await this.#withServer(
      context.signal,
      async skills => await readFiles(skills, skill as McpSkill, context, { left: this.#maxBytes }),
    )
    // Stores the files of a skill without digests, so that the skill can be loaded after a restart without the server.
    if (retrieved !== skill) {
      this.#list = this.#list.map(each => (each.location === skill.location ? retrieved : each))
      this.#storeList(context)
    }
    return retrieved
  }

  /** Stores the list, and returns its version. */
  #storeList(context: Omit<FetchContext, 'known'>): string {
    const bytes = new TextEncoder().encode(JSON.stringify(this.#list))
    const file = { path: LIST_FILE, kind: 'file', bytes, isExecutable: false } as const
    return storeTree(this.#place.origin, [file], context).version
  }

  /** Connects to the server for one piece of work. */
  async #withServer<T>(signal: AbortSignal, work: (skills: EntryReader) => Promise<T>): Promise<T> {
    // Loads the MCP client only here, because loading it is slow and a program without MCP sources never needs it.
    const [{ Client }, { SKILLS_EXTENSION_ID, SkillsClient }] = await Promise.all([
      import('@modelcontextprotocol/client'),
      import('@modelcontextprotocol/client/ext/skills'),
    ])
    signal.throwIfAborted()
    // FastMCP refuses clients that do not declare the extension.
    const capabilities = { extensions: { [SKILLS_EXTENSION_ID]: {} } }
    const info = { name: 'skillstoke', version: '1' }
    const client = new Client(info, { capabilities, versionNegotiation: { mode: 'auto' } })
    // Closes the client on abort, so that no process and no connection stays open.
    const onAbort = (): void => void client.close()
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await client.connect(await this.#place.createTransport(), { signal })
      const skills = new SkillsClient(client, { skipInvalid: true })
      return await work(skills.supported ? skills : new ManifestSkills(client, MAX_SKILLS))
    } catch (thrown) {
      if (SkillError.isInstance(thrown) || signal.aborted) throw thrown
      const refusal = findRefusal(thrown)
      throw (
        refusal ??
        new SkillError('IO_FAILED', `${this.#place.origin}: ${toMessage(thrown)}`, { cause: thrown })
      )
    } finally {
      signal.removeEventListener('abort', onAbort)
      await client.close()
    }
  }

  /** Reads the list, and the files of all skills that are in use. */
  async #read(skills: EntryReader, context: FetchContext): Promise<FetchResult> {
    const { signal, known, store } = context
    const { skills: entries, invalid } = await skills.list(undefined, { signal })
    if (entries.length > MAX_SKILLS)
      throw new SkillError(
        'TOO_LARGE',
        `${this.#place.origin} has ${entries.length} skills; at most ${MAX_SKILLS} are read`,
      )
    const total = entries.reduce((sum, entry) => sum + sizeOf(entry), 0)
    if (total > this.#maxBytes)
      throw new SkillError(
        'TOO_LARGE',
        `the skills of ${this.#place.origin} have ${total} bytes together; at most ${this.#maxBytes} are read; raise maxBytes (maxMegabytes in skillstoke.json) to allow more`,
      )
    const notices: Diagnostic[] = []
    const listed = new Map<string, ListedSkill>()
    const earlier = new Map(known?.listed?.map(skill => [skill.location, skill]))
    /** If a skill cannot be verified, keeps its last verified state, so that the other skills continue. */
    const refuse = (uri: string, reason: string): void => {
      const before = earlier.get(folderOf(uri) ?? '')
      if (before !== undefined && !listed.has(before.location)) listed.set(before.location, before)
      notices.push(this.#notice(uri, reason, before !== undefined))
    }
    for (const { uri, index, reason } of invalid) refuse(uri ?? `skill ${index}`, reason)
    const budget = { left: this.#maxBytes - total }
    for (const entry of entries) {
      const before = earlier.get(folderOf(entry.uri) ?? '')
      try {
        const skill = toListed(entry)
        if (listed.has(skill.location))
          throw new SkillError('INVALID_PATH', `another skill has the folder ${skill.location}`)
        // A skill that was loaded before is in use, so that conversations follow its changes without waiting.
        const isInUse = isRetrieved(before, store)
        const isDue = this.#retrieval === 'ahead' || isInUse
        listed.set(skill.location, isDue ? await readFiles(skills, skill, context, budget) : skill)
      } catch (thrown) {
        signal.throwIfAborted()
        refuse(entry.uri, toMessage(thrown))
      }
    }
    this.#list = [...listed.values()].sort((a, b) => (a.location < b.location ? -1 : 1))
    const version = this.#storeList(context)
    const tree = { version, files: [], listed: this.#list }
    return version === known?.version ? { notices } : { tree, notices }
  }

  #notice(uri: string, reason: string, isKept: boolean): Diagnostic {
    return refuseTreeEntry(this.#place.origin, `${uri}: ${reason}`, isKept)
  }
}

/** Returns the error that the fetch guard threw, even if the MCP client wrapped this error in other errors. */
function findRefusal(thrown: unknown): SkillError | undefined {
  for (let at: unknown = thrown, i = 0; at instanceof Error && i < 5; at = at.cause, i++)
    if (SkillError.isInstance(at)) return at
  return undefined
}
