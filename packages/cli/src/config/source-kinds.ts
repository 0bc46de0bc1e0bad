import { isAbsolute, relative, resolve } from 'node:path'
import type { GitUpdate } from '@skillstoke/core/node'
import type { RemoteSourceOptions, SkillSource } from '@skillstoke/core/source'
import type { z as Zod } from 'zod'
import { UsageError } from '../exit-code.ts'
import { GIT_UPDATES } from '../known-values.ts'

/** The kinds of places besides the roots, each by the field that names the place in a configuration. */
export const SOURCE_KIND_NAMES = ['git', 'archive', 'wellKnown', 'npm', 'mcp'] as const

export type SourceKindName = (typeof SOURCE_KIND_NAMES)[number]

/** A place besides the roots, as it is written: the field of its kind, and what belongs to that kind. */
export interface ConfigSource extends Readonly<Partial<Record<SourceKindName, string | undefined>>> {
  readonly ref?: string | undefined
  readonly update?: GitUpdate | undefined
  readonly digest?: string | undefined
  readonly path?: string | undefined
  readonly packages?: readonly string[] | undefined
  readonly label?: string | undefined
  readonly pollSeconds?: number | undefined
  readonly maxMegabytes?: number | undefined
}

/** How other machines are reached. */
export interface RemoteAccess {
  /** Where `owner/repository` is. */
  readonly gitBaseUrl?: string
  /** Hosts that may be in a private network or on this machine. */
  readonly privateHosts: readonly string[]
}

/** What every kind of source is made with. */
export interface KindSetup {
  readonly common: Pick<RemoteSourceOptions, 'reading' | 'polling' | 'trust' | 'pollMs'> & {
    readonly label?: string
  }
  readonly maxBytes: { readonly maxBytes?: number }
  readonly access: RemoteAccess
  readonly stateDirectory: string
  /** Whether the user of this process named it, instead of a file that was found. */
  readonly isNamed: boolean
}

type Fields = { readonly [Name in keyof ConfigSource]: Zod.ZodType<ConfigSource[Name]> }

/** What the fields of a kind are made of. The library comes as an argument: most commands run without a file and never load it. */
export interface FieldParts {
  readonly z: typeof Zod
  readonly path: Zod.ZodString
  /** The fields of all kinds. */
  readonly common: Fields
  /** The same, for what is transferred. */
  readonly fetched: Fields
}

/** Everything that the command line knows of one kind of source. */
interface SourceKind {
  /** How it is written on the command line, for help. */
  readonly form: string
  /** More about that. */
  readonly detail?: string
  /** Returns the place that a word of the command line names, or `undefined` if it is none of this kind. */
  parse(word: string): ConfigSource | undefined
  /** Its fields in a configuration. */
  fields(parts: FieldParts): Fields
  /** Loads what makes sources only when there is one to make. */
  create(source: ConfigSource, setup: KindSetup): Promise<SkillSource>
  /** Writes it as a word of the command line. */
  toFlag(source: ConfigSource): string
}

/** An entry for each kind: how a word of the command line is recognised, its fields, how the source is made, and help. */
export const SOURCE_KINDS: Readonly<Record<SourceKindName, SourceKind>> = {
  git: {
    form: 'a repository',
    detail: '(URL, owner/repo or file:///folder, with #branch:folder)',
    parse: word => {
      const [place, ref, path] = splitPlace(word)
      return /^[./~]/.test(place) ? undefined : { git: place, ref: ref || undefined, path: path || undefined }
    },
    fields: ({ z, path, fetched }) => ({
      git: path.describe('A repository: an https or ssh URL, owner/repository, or a tree URL of GitHub.'),
      ref: path.optional().describe('A branch, a tag or a whole commit; the default branch without it.'),
      path: path.optional().describe('The folder of the repository that holds the skills.'),
      update: z
        .enum(GIT_UPDATES)
        .optional()
        .describe(
          'ff-only keeps the skills when the history is rewritten, and says so; reset takes what is there.',
        ),
      ...fetched,
    }),
    create: async (
      { git: url = '', path, ref, update },
      { common, maxBytes, access, stateDirectory, isNamed },
    ) => {
      const { git } = await import('@skillstoke/core/node')
      return git(url, {
        ...common,
        ...maxBytes,
        ...(path === undefined ? {} : { path }),
        stateDirectory,
        privateHosts: access.privateHosts,
        // A file that came with a project may not name what is on this machine.
        allowFile: isNamed,
        ...(access.gitBaseUrl === undefined ? {} : { baseUrl: access.gitBaseUrl }),
        ...(ref === undefined ? {} : { ref }),
        ...(update === undefined ? {} : { update }),
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
      archive: path.describe('A zip or tar.gz archive: an https URL, or a file of the project.'),
      path: path.optional().describe('The folder of the archive that holds the skills.'),
      digest: z.string().optional().describe('SHA-256 of the archive, as sha256: and 64 digits.'),
      ...fetched,
    }),
    create: async ({ archive: file = '', path, digest }, { common, maxBytes, access, isNamed }) => {
      assertInside(file, isNamed)
      const { archive } = await import('@skillstoke/core/node')
      return archive(file, {
        ...common,
        ...maxBytes,
        ...(path === undefined ? {} : { path }),
        ...(digest === undefined ? {} : { digest }),
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
      wellKnown: path.describe('A site with /.well-known/agent-skills/index.json.'),
      ...fetched,
    }),
    create: async ({ wellKnown: url = '' }, { common, maxBytes, access }) => {
      const { wellKnown } = await import('@skillstoke/core/node')
      return wellKnown(url, { ...common, ...maxBytes, privateHosts: access.privateHosts })
    },
    toFlag: ({ wellKnown: url = '' }) => `well-known+${url}`,
  },
  npm: {
    form: 'npm:folder',
    parse: word =>
      word === 'npm' || word.startsWith('npm:') ? { npm: word.slice('npm:'.length) || '.' } : undefined,
    fields: ({ z, path, common }) => ({
      npm: path.describe('A folder with node_modules, whose packages bring skills along.'),
      packages: z.array(path).optional().describe('Only packages of these names.'),
      ...common,
    }),
    create: async ({ npm = '', packages }, { common, isNamed }) => {
      assertInside(npm, isNamed)
      const { npmPackages } = await import('@skillstoke/core/node')
      return npmPackages(npm, { ...common, ...(packages === undefined ? {} : { packages }) })
    },
    toFlag: ({ npm = '' }) => `npm:${resolve(npm)}`,
  },
  mcp: {
    form: 'mcp+https://host/mcp',
    parse: word => (/^mcp\+https?:/i.test(word) ? { mcp: word.slice('mcp+'.length) } : undefined),
    fields: ({ path, fetched }) => ({
      mcp: path.describe('The https URL of an MCP server that offers the Skills extension.'),
      ...fetched,
    }),
    create: async ({ mcp = '' }, { common, maxBytes, access }) => {
      const { mcpServer } = await import('@skillstoke/mcp')
      return mcpServer(mcp, { ...common, ...maxBytes, privateHosts: access.privateHosts })
    },
    toFlag: ({ mcp = '' }) => `mcp+${mcp}`,
  },
}

/** The kind of a place. */
export function kindOf(source: ConfigSource): SourceKind {
  const name = SOURCE_KIND_NAMES.find(each => source[each] !== undefined)
  if (name === undefined)
    throw new UsageError(`a source names no place; use one of ${SOURCE_KIND_NAMES.join(', ')}`)
  return SOURCE_KINDS[name]
}

/** Lists how places of all kinds are written, for help. */
export function describeSourceForms({ isDetailed = false }: { readonly isDetailed?: boolean } = {}): string {
  return SOURCE_KIND_NAMES.map(name => {
    const { form, detail } = SOURCE_KINDS[name]
    return isDetailed && detail !== undefined ? `${form} ${detail}` : form
  }).join(', ')
}

/** `place#first:second`, as its three parts. */
function splitPlace(
  word: string,
): readonly [place: string, first: string | undefined, second: string | undefined] {
  const [, place = '', first, second] = /^([^#]*)(?:#([^:]*)(?::(.*))?)?$/.exec(word) ?? []
  return [place, first, second]
}

/** Of a file that came with a project, paths stay in the folder in which it is read. @throws {UsageError} */
export function assertInside(path: string, isNamed: boolean): void {
  const fromHere = relative(process.cwd(), resolve(path))
  if (isNamed || /^https?:/i.test(path) || !(fromHere.startsWith('..') || isAbsolute(fromHere))) return
  throw new UsageError(
    `the source ${JSON.stringify(path)} of the configuration is outside this folder; name it yourself with --source`,
  )
}
