import { relative, resolve } from 'node:path'
import type { RemoteSourceOptions, SkillSource } from '@skillstoke/core/source'
import type { McpServerOptions } from '@skillstoke/mcp/source'
import type { GitOptions } from '@skillstoke/sources'
import type { z as Zod } from 'zod'
import { UsageError } from '../terminal/exit-code.ts'
import { defined, GIT_UPDATES, RETRIEVAL_MODES } from './known-values.ts'
import { leadsOut } from './real-path.ts'

/** Kinds of remote sources. Each kind is also the name of a field in the configuration. */
export const SOURCE_KIND_NAMES = ['git', 'archive', 'wellKnown', 'npm', 'mcp', 'fleet'] as const

export type SourceKindName = (typeof SOURCE_KIND_NAMES)[number]

/** The settings of a remote source: a field with the name of its kind, and the options for this kind. */
export interface ConfigSource extends Readonly<Partial<Record<SourceKindName, string | undefined>>> {
  readonly ref?: string | undefined
  readonly update?: GitOptions['update']
  readonly digest?: string | undefined
  readonly path?: string | undefined
  readonly retrieval?: McpServerOptions['retrieval']
  readonly packages?: readonly string[] | undefined
  readonly channel?: string | undefined
  readonly trustedKeys?: readonly string[] | undefined
  readonly label?: string | undefined
  readonly pollSeconds?: number | undefined
  readonly maxMegabytes?: number | undefined
}

/** Access to other machines. */
export interface RemoteAccess {
  /** Base URL of `owner/repository`. */
  readonly gitBaseUrl?: string
  /** Hosts that may be in a private network or on this machine. */
  readonly privateHosts: readonly string[]
}

/** Inputs for creating a source of any kind. */
export interface KindSetup {
  readonly common: Pick<RemoteSourceOptions, 'reading' | 'polling' | 'trust' | 'pollMs'> & {
    readonly label?: string
  }
  readonly maxBytes: { readonly maxBytes?: number }
  readonly access: RemoteAccess
  readonly stateDirectory: string
  /** Whether the user named this source. False if a configuration file named it. */
  readonly isNamed: boolean
}

type Fields = { readonly [Name in keyof ConfigSource]: Zod.ZodType<ConfigSource[Name]> }

/**
 * Schemas from which each kind of source builds its own schema. Zod is an argument, so that commands without a
 * configuration file need not load Zod.
 */
export interface FieldParts {
  readonly z: typeof Zod
  readonly path: Zod.ZodString
  /** Fields that every kind of source has. */
  readonly common: Fields
  /** Additional fields of the kinds of sources that fetch data. */
  readonly fetched: Fields
}

/** Definition of one kind of source. */
interface SourceKind {
  /** Syntax of the value of `--source`, for help texts. */
  readonly form: string
  /** Details of the syntax. */
  readonly detail?: string
  /** Parses a value of `--source`. Returns `undefined` if the value names another kind of source. */
  parse(word: string): ConfigSource | undefined
  /** Returns the schemas of the configuration fields that this kind of source has. */
  fields(parts: FieldParts): Fields
  /** Creates the source. Imports the code lazily. */
  create(source: ConfigSource, setup: KindSetup): Promise<SkillSource>
  /** Returns the value of `--source` for the source. */
  toFlag(source: ConfigSource): string
}

/** The definitions of all kinds of sources. */
export const SOURCE_KINDS: Readonly<Record<SourceKindName, SourceKind>> = {
  git: {
    form: 'a repository',
    detail: '(URL, owner/repo or file:///folder, with #branch:folder)',
    parse: word => {
      const [place, ref, path] = splitPlace(word)
      return /^[./~]/.test(place) ? undefined : { git: place, ref: ref || undefined, path: path || undefined }
    },
    fields: ({ z, path, fetched }) => ({
      git: path.describe('Repository: an https or ssh URL, owner/repository, or a GitHub tree URL.'),
      ref: path
        .optional()
        .describe('Branch, tag or whole commit; the default is the default branch of the repository.'),
      path: path.optional().describe('Folder of the repository that contains the skills.'),
      update: z
        .enum(GIT_UPDATES)
        .optional()
        .describe(
          'If the history is rewritten, "ff-only" keeps the old skills and reports the rewrite, and "reset" accepts the new history.',
        ),
      ...fetched,
    }),
    create: async (
      { git: url = '', path, ref, update },
      { common, maxBytes, access, stateDirectory, isNamed },
    ) => {
      const { git } = await import('@skillstoke/sources')
      return git(url, {
        ...common,
        ...maxBytes,
        ...defined({ path, ref, update, baseUrl: access.gitBaseUrl }),
        stateDirectory,
        privateHosts: access.privateHosts,
        // A configuration file of a project must not name repositories on this machine.
        allowFile: isNamed,
      })
    },
    toFlag: ({ git: url = '', ref, path }) =>
      `${url}${ref === undefined && path === undefined ? '' : `#${ref ?? ''}`}${path === undefined ? '' : `:${path}`}`,
  },
  archive: {
    form: 'x.zip, x.tar.gz',
    parse: word => {
      const [place, path] = splitPlace(word)
      return /\.(zip|tgz|tar\.gz|tar)$/i.test(place) ? { archive: place, path: path || undefined } : undefined
    },
    fields: ({ z, path, fetched }) => ({
      archive: path.describe('Zip or tar.gz archive: an https URL, or a file of the project.'),
      path: path.optional().describe('Folder of the archive that contains the skills.'),
      digest: z.string().optional().describe('SHA-256 of the archive: "sha256:" and 64 hexadecimal digits.'),
      ...fetched,
    }),
    create: async ({ archive: file = '', path, digest }, { common, maxBytes, access, isNamed }) => {
      assertInside(file, isNamed)
      const { archive } = await import('@skillstoke/sources')
      return archive(file, {
        ...common,
        ...maxBytes,
        ...defined({ path, digest }),
        privateHosts: access.privateHosts,
      })
    },
    toFlag: ({ archive: file = '', path }) =>
      `${/^https?:/i.test(file) ? file : resolve(file)}${path === undefined ? '' : `#${path}`}`,
  },
  wellKnown: {
    form: 'well-known+https://host',
    parse: word =>
      /^well-known\+https?:/i.test(word) ? { wellKnown: word.slice('well-known+'.length) } : undefined,
    fields: ({ path, fetched }) => ({
      wellKnown: path.describe('URL of a site with /.well-known/agent-skills/index.json.'),
      ...fetched,
    }),
    create: async ({ wellKnown: url = '' }, { common, maxBytes, access }) => {
      const { wellKnown } = await import('@skillstoke/sources')
      return wellKnown(url, { ...common, ...maxBytes, privateHosts: access.privateHosts })
    },
    toFlag: ({ wellKnown: url = '' }) => `well-known+${url}`,
  },
  npm: {
    form: 'npm:folder',
    parse: word =>
      word === 'npm' || word.startsWith('npm:') ? { npm: word.slice('npm:'.length) || '.' } : undefined,
    fields: ({ z, path, common }) => ({
      npm: path.describe('Folder that contains node_modules. Packages in node_modules contain the skills.'),
      packages: z.array(path).optional().describe('Names of the packages to read; all others are ignored.'),
      ...common,
    }),
    create: async ({ npm = '', packages }, { common, isNamed }) => {
      assertInside(npm, isNamed)
      const { npmPackages } = await import('@skillstoke/sources')
      return npmPackages(npm, { ...common, ...defined({ packages }) })
    },
    toFlag: ({ npm = '' }) => `npm:${resolve(npm)}`,
  },
  mcp: {
    form: 'mcp+https://host/mcp',
    parse: word => (/^mcp\+https?:/i.test(word) ? { mcp: word.slice('mcp+'.length) } : undefined),
    fields: ({ z, path, fetched }) => ({
      mcp: path.describe('https URL of an MCP server that offers the Skills extension.'),
      retrieval: z
        .enum(RETRIEVAL_MODES)
        .optional()
        .describe(
          'When the files of a skill are retrieved: "on-load", when the skill is loaded or reviewed, or "ahead", at each fetch.',
        ),
      ...fetched,
    }),
    create: async ({ mcp = '', retrieval }, { common, maxBytes, access, isNamed }) => {
      const { mcpServer } = await import('@skillstoke/mcp/source')
      // A configuration file of a project must not name a server that gets the token.
      const token = isNamed ? process.env['SKILLSTOKE_MCP_TOKEN'] : undefined
      return mcpServer(mcp, {
        ...common,
        ...maxBytes,
        privateHosts: access.privateHosts,
        ...defined({
          retrieval,
          headers: token === undefined ? undefined : { authorization: `Bearer ${token}` },
        }),
      })
    },
    toFlag: ({ mcp = '' }) => `mcp+${mcp}`,
  },
  fleet: {
    form: 'fleet+nats://host:4222',
    detail: '(with #channel)',
    parse: word => {
      if (!/^fleet\+(?:nats|tls):/i.test(word)) return undefined
      const [place, channel] = splitPlace(word.slice('fleet+'.length))
      return { fleet: place, channel: channel || undefined }
    },
    fields: ({ z, path, common: { label } }) => ({
      fleet: path.describe(
        'URL of a server of a fleet, nats://host:4222 or tls://host; several with commas.',
      ),
      channel: path.optional().describe('Channel to follow; the default is "stable".'),
      trustedKeys: z
        .array(path)
        .optional()
        .describe(
          'Public keys "ed25519:…". Only versions that one of them signed are accepted, and they need no approval.',
        ),
      ...(label === undefined ? {} : { label }),
    }),
    create: async ({ fleet = '', channel, trustedKeys }, { common, isNamed }) => {
      const [{ fleetSource }, { resolveFleet }] = await Promise.all([
        import('@skillstoke/fleet'),
        import('./fleet-config.ts'),
      ])
      const { pollMs: _pollMs, ...rest } = common
      // A configuration file of a project must not name a server that gets the credentials.
      const target = isNamed
        ? resolveFleet({ fleet, ...defined({ trustedKey: trustedKeys }) }).connection
        : { servers: fleet, ...defined({ trustedKeys }) }
      return fleetSource(target, { ...rest, ...defined({ channel }) })
    },
    toFlag: ({ fleet = '', channel }) => `fleet+${fleet}${channel === undefined ? '' : `#${channel}`}`,
  },
}

/** Returns the kind of a source. @throws {UsageError} when no field names one */
export function kindOf(source: ConfigSource): SourceKind {
  const name = SOURCE_KIND_NAMES.find(each => source[each] !== undefined)
  if (name === undefined)
    throw new UsageError(`a source needs one of the fields ${SOURCE_KIND_NAMES.join(', ')}`)
  return SOURCE_KINDS[name]
}

/** Lists the syntax of `--source` for all kinds of sources, for help texts. */
export function describeSourceForms({ isDetailed = false }: { readonly isDetailed?: boolean } = {}): string {
  return SOURCE_KIND_NAMES.map(name => {
    const { form, detail } = SOURCE_KINDS[name]
    return isDetailed && detail !== undefined ? `${form} ${detail}` : form
  }).join(', ')
}

/** Splits `place#first:second` into its three parts. */
function splitPlace(
  word: string,
): readonly [place: string, first: string | undefined, second: string | undefined] {
  const [, place = '', first, second] = /^([^#]*)(?:#([^:]*)(?::(.*))?)?$/.exec(word) ?? []
  return [place, first, second]
}

/** Checks that a path from a configuration file is inside the working directory. @throws {UsageError} */
export function assertInside(path: string, isNamed: boolean): void {
  if (isNamed || /^https?:/i.test(path) || !leadsOut(relative(process.cwd(), resolve(path)))) return
  throw new UsageError(
    `the source ${JSON.stringify(path)} of the configuration is outside the working directory; name it with --source to allow it`,
  )
}
