import { isAbsolute, relative, resolve } from 'node:path'
import { toMessage } from '@skillstoke/core/internal'
import { archive, git, npmPackages, wellKnown } from '@skillstoke/core/node'
import type { ReadingPolicy, RemoteSourceOptions, SkillSource } from '@skillstoke/core/source'
import { UsageError } from '../exit-code.ts'
import type { ConfigSource } from './config-schema.ts'

/** A place besides the roots whose skills are followed; their changes wait for approval. */
export interface RemoteConfig {
  readonly label: string
  /** What it goes by: the key of lasting decisions. */
  readonly origin: string
  /** As it was written. */
  readonly source: ConfigSource
  /** Whether the user of this process named it, instead of a file that was found. */
  readonly isNamed: boolean
  /** As a flag of the command line. */
  readonly flag: string
}

/** How other machines are reached. */
export interface RemoteAccess {
  /** Where `owner/repository` is. */
  readonly gitBaseUrl?: string
  /** Hosts that may be in a private network or on this machine. */
  readonly privateHosts: readonly string[]
}

export interface NamedSource {
  readonly source: ConfigSource
  readonly isNamed: boolean
  /** Where it is written, as file, line and column. */
  readonly place?: string
}

export interface RemoteSetup extends Pick<RemoteSourceOptions, 'polling' | 'trust'> {
  readonly access: RemoteAccess
  readonly stateDirectory: string
  readonly reading: Partial<ReadingPolicy>
}

/**
 * Understands `--source`: a repository (`url#branch:folder`), an archive (`x.zip#folder`), `npm:folder`,
 * `well-known+https://host` or `mcp+https://host/mcp`.
 * @throws {UsageError} for a folder
 */
export function parseSourceFlag(text: string): ConfigSource {
  const written = text.trim()
  if (written === 'npm' || written.startsWith('npm:')) return { npm: written.slice('npm:'.length) || '.' }
  if (/^mcp\+https?:/i.test(written)) return { mcp: written.slice('mcp+'.length) }
  if (/^well-known\+https?:/i.test(written)) return { wellKnown: written.slice('well-known+'.length) }
  const [, place = '', ref, path] = /^([^#]*)(?:#([^:]*)(?::(.*))?)?$/.exec(written) ?? []
  if (/\.(zip|tgz|tar\.gz|tar)$/i.test(place)) return { archive: place, path: ref || undefined }
  if (/^[./~]/.test(place))
    throw new UsageError(
      `the source ${JSON.stringify(text)} is a path; use --root for a folder of skills, file://${resolve(place)} for a bare repository, or a .zip or .tar.gz`,
    )
  return { git: place, ref: ref || undefined, path: path || undefined }
}

/** @throws {UsageError} for labels that are taken; {SkillError} for places that cannot be meant */
export async function resolveRemotes(
  sources: readonly NamedSource[],
  labels: readonly string[],
  access: RemoteAccess,
): Promise<readonly RemoteConfig[]> {
  const taken = new Set(labels)
  const remotes: RemoteConfig[] = []
  for (const { source, isNamed, place } of sources) {
    const made = await tryRemote({ source, isNamed, ...(place === undefined ? {} : { place }) }, access)
    if (source.label !== undefined && taken.has(source.label)) {
      const where = place === undefined ? '' : `${place}: `
      throw new UsageError(
        `${where}two sources have the label ${JSON.stringify(source.label)}; give each its own`,
      )
    }
    const label = source.label ?? findFreeLabel(made.label, taken)
    taken.add(label)
    remotes.push({ label, origin: made.origin, source, isNamed, flag: toFlag(source) })
  }
  return remotes
}

/** Made once to hear what is wrong with it, and by what it goes; nothing is started by that. */
async function tryRemote(named: NamedSource, access: RemoteAccess): Promise<SkillSource> {
  const { source, place } = named
  try {
    return await createRemote({ ...named, label: source.label }, { access, stateDirectory: '.', reading: {} })
  } catch (thrown) {
    if (place === undefined) throw thrown
    throw new UsageError(`${place}: ${toMessage(thrown)}`, { cause: thrown })
  }
}

/** The source that a configuration names. */
export async function createRemote(
  { source, isNamed, label }: NamedSource & { readonly label: string | undefined },
  { access, stateDirectory, reading, polling, trust }: RemoteSetup,
): Promise<SkillSource> {
  const { privateHosts, gitBaseUrl } = access
  const common = {
    reading,
    ...(label === undefined ? {} : { label }),
    ...(polling === undefined ? {} : { polling }),
    ...(trust === undefined ? {} : { trust }),
    ...(source.pollSeconds === undefined ? {} : { pollMs: source.pollSeconds * 1000 }),
  }
  const path = source.path === undefined ? {} : { path: source.path }
  const maxBytes = source.maxMegabytes === undefined ? {} : { maxBytes: source.maxMegabytes * 1_000_000 }
  if (source.git !== undefined) {
    return git(source.git, {
      ...common,
      ...path,
      ...maxBytes,
      stateDirectory,
      privateHosts,
      // A file that came with a project may not name what is on this machine.
      allowFile: isNamed,
      ...(gitBaseUrl === undefined ? {} : { baseUrl: gitBaseUrl }),
      ...(source.ref === undefined ? {} : { ref: source.ref }),
      ...(source.update === undefined ? {} : { update: source.update }),
    })
  }
  if (source.archive !== undefined) {
    assertInside(source.archive, isNamed)
    const digest = source.digest === undefined ? {} : { digest: source.digest }
    return archive(source.archive, { ...common, ...path, ...digest, ...maxBytes, privateHosts })
  }
  if (source.npm !== undefined) {
    assertInside(source.npm, isNamed)
    const packages = source.packages === undefined ? {} : { packages: source.packages }
    return npmPackages(source.npm, { ...common, ...packages })
  }
  if (source.mcp !== undefined) {
    // Only who follows a server needs the client for it.
    const { mcpServer } = await import('@skillstoke/mcp')
    return mcpServer(source.mcp, { ...common, ...maxBytes, privateHosts })
  }
  return wellKnown(source.wellKnown ?? '', { ...common, ...maxBytes, privateHosts })
}

/** Of a file that came with a project, paths stay in the folder in which it is read. @throws {UsageError} */
export function assertInside(path: string, isNamed: boolean): void {
  const fromHere = relative(process.cwd(), resolve(path))
  if (isNamed || /^https?:/i.test(path) || !(fromHere.startsWith('..') || isAbsolute(fromHere))) return
  throw new UsageError(
    `the source ${JSON.stringify(path)} of the configuration is outside this folder; name it yourself with --source`,
  )
}

function toFlag({ git: url, archive: file, npm, mcp, wellKnown: site, ref, path }: ConfigSource): string {
  if (file !== undefined) {
    const place = /^https?:/i.test(file) ? file : resolve(file)
    return `${place}${path === undefined ? '' : `#${path}`}`
  }
  if (npm !== undefined) return `npm:${resolve(npm)}`
  if (mcp !== undefined) return `mcp+${mcp}`
  if (site !== undefined) return `well-known+${site}`
  return `${url}${ref === undefined && path === undefined ? '' : `#${ref ?? ''}`}${path === undefined ? '' : `:${path}`}`
}

function findFreeLabel(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name
  for (let number = 2; ; number++) if (!taken.has(`${name}-${number}`)) return `${name}-${number}`
}
