import { homedir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import type { ModelConfig } from '@skillstoke/agent'
import type { Severities } from '@skillstoke/author'
import type { CatalogFormatName, Diagnostic, SkillScope, SourceReport } from '@skillstoke/core'
import { DEFAULT_CATALOG, defined } from '@skillstoke/core/internal'
import type { ReadingPolicy } from '@skillstoke/core/source'
import type { SandboxMode } from '@skillstoke/scripts'
import { UsageError } from '../terminal/exit-code.ts'
import { nearPath } from '../terminal/output.ts'
import { type LoadedConfigFile, loadConfigFile } from './config-file.ts'
import type { ConfigFile } from './config-schema.ts'
import { DEFAULT_HOST, DEFAULT_PORT, DEFAULT_ROOTS } from './defaults.ts'
import { SANDBOX_MODES } from './known-values.ts'
import { parseSourceFlag, type RemoteConfig, resolveRemotes } from './remote-config.ts'
import type { ConfigSource, RemoteAccess } from './source-kinds.ts'
import { findStateDirectory, withoutEmpty } from './state-place.ts'

/** A root directory. The label of a root is the same on every machine. */
export interface RootConfig {
  readonly label: string
  /** Path as a person would write it, for messages. */
  readonly path: string
  /** Whether this root comes from a flag, an environment variable or a configuration file. False for a default root. */
  readonly isNamed: boolean
  /**
   * Whether links in other roots may point into this root. False if this root is outside the project and was named by
   * the project's own configuration file.
   */
  readonly isLinkTarget: boolean
}

/** Address of the dev server, and limits for requests to it. */
export interface ServerConfig {
  readonly host: string
  /** Port number. 0 chooses a free port. */
  readonly port: number
  /** Whether the user named this port. If not, the server may use a free port instead of the default port. */
  readonly isPortNamed: boolean
  /** Maximum number of open MCP sessions over HTTP. @default DEFAULT_MAX_SESSIONS */
  readonly maxSessions?: number
  /** Host names that the header `Host` may contain, in addition to the names of the loopback interface. */
  readonly allowedHosts: readonly string[]
  /** Fixed token. @default the token of the last start with the same sources */
  readonly token?: string
  /** Whether to replace the token of the last start. */
  readonly isTokenNew: boolean
  /** Secret that replicas share, so that each of them continues the MCP sessions. @default a key in the state directory */
  readonly sessionKey?: string
}

/** The resolved configuration. Only files in `src/config` read settings from environment variables. */
export interface Config {
  readonly roots: readonly RootConfig[]
  /** Remote sources. Every root has a higher precedence than any remote source. */
  readonly remotes: readonly RemoteConfig[]
  readonly access: RemoteAccess
  /** Whether changes in all sources wait for approval, even changes in the roots. */
  readonly isFrozen: boolean
  /** Whether the user named the sources. False if the sources come from the default configuration file. */
  readonly areRootsChosen: boolean
  /** Whether the roots come from a configuration file. */
  readonly areRootsOfFile: boolean
  /** Additional folders that links in the roots may point into. */
  readonly linkRoots: readonly string[]
  readonly stateDirectory: string
  /** The configuration file that was read. */
  readonly file?: string
  readonly scope?: SkillScope
  /** Severities of checks that differ from the defaults. */
  readonly checks: Severities
  /** Options that another command must repeat in order to find the same skills as the running command. */
  readonly options: readonly string[]
  /** Format and maximum size of the catalog. */
  readonly catalog: { readonly maxTokens: number; readonly format: CatalogFormatName }
  readonly onDuplicate: NonNullable<ConfigFile['onDuplicate']>
  readonly reading: Partial<ReadingPolicy>
  /** Whether scripts also run in a sandbox of the operating system. */
  readonly sandbox: SandboxMode
  readonly server: ServerConfig
  /** Own tools of the agent. */
  readonly agent?: AgentConfig
  readonly model: ModelConfig
  readonly isInteractive: boolean
}

/** Own tools of the agent, which start programs. */
export interface AgentConfig extends NonNullable<ConfigFile['agent']> {
  /** Folder of the configuration file. */
  readonly folder: string
  /** Whether the user named the configuration file. A file that comes with a project must not start programs. */
  readonly isNamed: boolean
}

export interface ConfigFlags {
  readonly root?: readonly string[]
  readonly source?: readonly string[]
  readonly fleet?: string
  readonly trustedKey?: readonly string[]
  readonly frozen?: boolean
  readonly includeSecrets?: boolean
  readonly gitBaseUrl?: string
  readonly privateHost?: readonly string[]
  readonly linkRoot?: readonly string[]
  readonly sandbox?: SandboxMode
  readonly config?: string
  readonly state?: string
  readonly include?: readonly string[]
  readonly exclude?: readonly string[]
  readonly maxTokens?: number
  readonly format?: CatalogFormatName
  readonly host?: string
  readonly port?: number
  readonly maxSessions?: number
  readonly allowHost?: readonly string[]
  readonly newToken?: boolean
  readonly model?: string
  readonly baseUrl?: string
}

/** Returns the source that `--fleet` names. */
function listFleet(
  { fleet, trustedKey }: ConfigFlags,
  environment: NodeJS.ProcessEnv,
): readonly ConfigSource[] {
  if (fleet === undefined) return []
  const url = fleet.includes('://') ? fleet : `nats://${fleet}`
  const trusted = trustedKey ?? environment['SKILLSTOKE_FLEET_KEYS']?.split(',')
  return [
    { ...parseSourceFlag(`fleet+${url}`), ...defined({ trustedKeys: trusted?.map(key => key.trim()) }) },
  ]
}

const MIN_TOKEN_LENGTH = 16

/**
 * Resolves the configuration. Flags take precedence over environment variables. Environment variables take precedence
 * over the configuration file. A configuration file may come with a repository, so it cannot set the model, the host,
 * the state directory or the sandbox.
 * @throws {UsageError} when a file or a variable is invalid
 */
export async function resolveConfig(
  flags: ConfigFlags,
  variables: NodeJS.ProcessEnv = process.env,
): Promise<Config> {
  const environment = withoutEmpty(variables)
  const namedFile = flags.config ?? environment['SKILLSTOKE_CONFIG']
  const file = await loadConfigFile(namedFile)
  const content: ConfigFile = file?.content ?? {}
  const model = flags.model ?? environment['SKILLSTOKE_MODEL']
  const modelUrl = flags.baseUrl ?? environment['SKILLSTOKE_BASE_URL']
  const keyName = modelUrl === undefined ? nameProviderKey(model) : 'SKILLSTOKE_API_KEY'
  const apiKey = keyName && environment[keyName]
  const isTerminal = process.stdout.isTTY === true
  const given = flags.root?.length ? flags.root : splitPaths(environment['SKILLSTOKE_ROOTS'])
  const scope = resolveScope(flags, content)
  // If the user names roots or sources, these replace the default roots and all roots and sources in the file.
  const isAnyGiven = given.length > 0 || (flags.source ?? []).length > 0 || flags.fleet !== undefined
  const gitBaseUrl = flags.gitBaseUrl ?? environment['SKILLSTOKE_GIT_BASE_URL']
  const privateHosts = flags.privateHost ?? environment['SKILLSTOKE_PRIVATE_HOSTS']?.split(',') ?? []
  const access = { ...defined({ gitBaseUrl }), privateHosts }
  const roots = isAnyGiven && given.length === 0 ? [] : resolveRoots(given, file)
  return {
    roots,
    remotes: await resolveRemotes(
      [
        ...(flags.source ?? []).map(text => ({ source: parseSourceFlag(text), isNamed: true })),
        ...listFleet(flags, environment).map(source => ({ source, isNamed: true })),
        ...(isAnyGiven ? [] : (file?.sources ?? [])).map(each => ({ ...each, isNamed: false })),
      ],
      roots.map(root => root.label),
      access,
    ),
    access,
    isFrozen: flags.frozen === true || parseSwitch('SKILLSTOKE_FROZEN', environment),
    areRootsChosen: isAnyGiven || (namedFile !== undefined && file?.roots !== undefined),
    areRootsOfFile: !isAnyGiven && file?.roots !== undefined,
    linkRoots: [...(flags.linkRoot ?? []), ...(file?.linkRoots ?? [])],
    stateDirectory: findStateDirectory(flags, environment),
    options: repeatOptions(flags),
    ...defined({ file: file?.path, scope }),
    ...(file?.content.agent && {
      agent: { ...file.content.agent, folder: dirname(file.path), isNamed: namedFile !== undefined },
    }),
    catalog: {
      maxTokens: flags.maxTokens ?? content.catalog?.maxTokens ?? DEFAULT_CATALOG.maxTokens,
      format: flags.format ?? content.catalog?.format ?? DEFAULT_CATALOG.format,
    },
    checks: content.checks ?? {},
    onDuplicate: content.onDuplicate ?? 'first-wins',
    reading: { ...defined(content.reading ?? {}), ...readSecretFiles(flags, environment) },
    sandbox: flags.sandbox ?? parseSandbox(environment['SKILLSTOKE_SANDBOX']),
    server: resolveServer(flags, environment, content.server),
    model: defined({ model, baseUrl: modelUrl, apiKey }),
    isInteractive: isTerminal && process.stdin.isTTY === true && !environment['CI'],
  }
}

/** Returns the variable with the key of the provider that serves a model. */
function nameProviderKey(model = ''): string | undefined {
  if (model.startsWith('anthropic/')) return 'ANTHROPIC_API_KEY'
  return model.startsWith('openai/') ? 'OPENAI_API_KEY' : undefined
}

/** Returns the options that name the same skills again. */
function repeatOptions(flags: ConfigFlags): readonly string[] {
  const { root, source, fleet, trustedKey, gitBaseUrl, privateHost, linkRoot } = flags
  const { frozen, includeSecrets, state, config } = flags
  return toOptions({
    ...{ root, source, fleet: fleet?.replace(/\/\/[^@/]*@/, '//…@'), trustedKey, gitBaseUrl, privateHost },
    ...{ linkRoot, frozen, includeSecrets, state, config },
  })
}

type FlagValue = string | number | boolean | readonly string[] | undefined

/** Writes flags as words of a command line, for example `{ linkRoot: ['a'] }` as `--link-root a`. */
export function toOptions(flags: Readonly<Record<string, FlagValue>>): string[] {
  return Object.entries(flags).flatMap(([name, value = false]) => {
    const option = `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`
    if (typeof value === 'boolean') return value ? [option] : []
    return [value].flat().flatMap(each => [option, String(each)])
  })
}

function resolveScope(flags: ConfigFlags, { scope }: ConfigFile): SkillScope | undefined {
  const include = flags.include ?? scope?.include
  const exclude = flags.exclude ?? scope?.exclude
  if (include === undefined && exclude === undefined) return undefined
  return defined({ include, exclude })
}

function resolveServer(
  flags: ConfigFlags,
  environment: NodeJS.ProcessEnv,
  server: ConfigFile['server'],
): ServerConfig {
  const port = flags.port ?? parsePort(environment['SKILLSTOKE_PORT']) ?? server?.port
  const maxSessions =
    flags.maxSessions ?? parseMaxSessions(environment['SKILLSTOKE_MAX_SESSIONS']) ?? server?.maxSessions
  const token = environment['SKILLSTOKE_TOKEN']
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
    throw new UsageError(
      'SKILLSTOKE_TOKEN has characters that are not allowed in a header; use letters and digits',
    )
  checkSecret('SKILLSTOKE_TOKEN', token)
  const sessionKey = environment['SKILLSTOKE_SESSION_KEY']
  checkSecret('SKILLSTOKE_SESSION_KEY', sessionKey)
  return {
    host: flags.host ?? environment['SKILLSTOKE_HOST'] ?? DEFAULT_HOST,
    port: port ?? DEFAULT_PORT,
    isPortNamed: port !== undefined,
    allowedHosts: flags.allowHost ?? [],
    isTokenNew: flags.newToken === true,
    ...defined({ maxSessions, token, sessionKey }),
  }
}

function checkSecret(variable: string, secret: string | undefined): void {
  if (secret !== undefined && secret.length < MIN_TOKEN_LENGTH)
    throw new UsageError(
      `${variable} has ${secret.length} characters; use at least ${MIN_TOKEN_LENGTH}, for example from "openssl rand -hex 16"`,
    )
}

function parsePort(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const port = Number(text)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new UsageError(`SKILLSTOKE_PORT is ${JSON.stringify(text)}; a port is a number from 0 to 65535`)
  return port
}

function parseMaxSessions(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1)
    throw new UsageError(`SKILLSTOKE_MAX_SESSIONS is ${JSON.stringify(text)}; use a whole number above 0`)
  return count
}

function parseSwitch(name: string, environment: NodeJS.ProcessEnv): boolean {
  const text = environment[name]?.toLowerCase() ?? '0'
  if (!/^(1|true|yes|on|0|false|no|off)$/.test(text))
    throw new UsageError(`${name} is ${JSON.stringify(environment[name])}; use 1 or 0`)
  return /^(1|true|yes|on)$/.test(text)
}

/** Returns the reading rule for secret files. A file of a project cannot set it. */
export function readSecretFiles(
  { includeSecrets }: Pick<ConfigFlags, 'includeSecrets'>,
  environment: NodeJS.ProcessEnv = withoutEmpty(process.env),
): Pick<Partial<ReadingPolicy>, 'secretFiles'> {
  const isIncluded = includeSecrets === true || parseSwitch('SKILLSTOKE_INCLUDE_SECRETS', environment)
  return isIncluded ? { secretFiles: 'include' } : {}
}

function parseSandbox(text: string | undefined): SandboxMode {
  if (text === undefined) return 'auto'
  const mode = SANDBOX_MODES.find(each => each === text.toLowerCase())
  if (mode !== undefined) return mode
  throw new UsageError(
    `SKILLSTOKE_SANDBOX is ${JSON.stringify(text)}; use one of ${SANDBOX_MODES.join(', ')}`,
  )
}

function splitPaths(text: string | undefined): readonly string[] {
  return text?.split(delimiter).filter(path => path.trim() !== '') ?? []
}

function resolveRoots(given: readonly string[], file: LoadedConfigFile | undefined): RootConfig[] {
  const named: readonly { path: string; label?: string; isInside?: boolean }[] | undefined =
    given.length > 0
      ? given.map(path => ({ path }))
      : file?.roots?.map(root => ({ ...root, path: nearPath(root.path) }))
  if (named !== undefined) {
    // Drops duplicate roots, because the skills of a root that is listed twice would shadow themselves.
    const distinct = named.filter(
      ({ path }, index) => named.findIndex(other => resolve(other.path) === resolve(path)) === index,
    )
    return distinct.map(({ path, label, isInside }, index) => ({
      label: label ?? `root-${index + 1}`,
      path: path.replace(/(?!^)\/+$/, ''),
      isNamed: true,
      isLinkTarget: isInside ?? true,
    }))
  }
  return [
    ...DEFAULT_ROOTS.map(path => ({ label: path, path })),
    { label: '~/.agents/skills', path: nearPath(userRoot()) },
  ].map(root => ({ ...root, isNamed: false, isLinkTarget: true }))
}

/** Returns the default root that all projects of the user share. */
export function userRoot(): string {
  return join(homedir(), '.agents', 'skills')
}

/** Returns the paths and URLs of all sources as a person would write them, in the order of the sources. */
export function pathsOf({ roots, remotes }: Config): readonly string[] {
  return [...roots.map(root => root.path), ...remotes.map(remote => remote.origin)]
}

/**
 * Returns the diagnostics of the sources. Omits the diagnostic ROOT_MISSING for default roots, but keeps this
 * diagnostic for named roots.
 */
export function findingsOf(sources: readonly SourceReport[], config: Config): Diagnostic[] {
  return sources.flatMap(({ diagnostics }, index) =>
    diagnostics.filter(each => each.code !== 'ROOT_MISSING' || config.roots[index]?.isNamed !== false),
  )
}

/**
 * Whether the diagnostic is about the store. Commands that open the store omit these diagnostics, because the commands
 * print their own warning.
 */
export function isAboutStore({ code }: Diagnostic): boolean {
  return code === 'STORE_FAILED'
}

/** Whether the diagnostic says that a source could not be read at all. */
export function isFailure({ code }: Diagnostic): boolean {
  return code === 'SOURCE_FAILED'
}
