import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { defined, toMessage } from '@skillstoke/core/internal'
import type { ReadingPolicy, RemoteSourceOptions, SkillSource } from '@skillstoke/core/source'
import { UsageError } from '../terminal/exit-code.ts'
import {
  type ConfigSource,
  kindOf,
  type RemoteAccess,
  SOURCE_KIND_NAMES,
  SOURCE_KINDS,
} from './source-kinds.ts'

/** A source that is not a root. Changes in a remote source wait for approval. */
export interface RemoteConfig {
  readonly label: string
  /** Origin of the source. The origin is the key under which decisions about the skills of the source are stored. */
  readonly origin: string
  /** The settings of the source, as the user or the configuration file wrote them. */
  readonly source: ConfigSource
  /** Whether the user named this source. False if a configuration file named it. */
  readonly isNamed: boolean
  /** The value of the option `--source` that names this source. */
  readonly flag: string
}

export interface NamedSource {
  readonly source: ConfigSource
  readonly isNamed: boolean
  /** Where a configuration file names the source: file, line and column. */
  readonly place?: string
}

export interface RemoteSetup extends Pick<RemoteSourceOptions, 'polling' | 'trust'> {
  readonly access: RemoteAccess
  readonly stateDirectory: string
  readonly reading: Partial<ReadingPolicy>
}

/**
 * Parses the value of `--source`. Tries each kind of source until one accepts the value. @throws {UsageError} when the
 * value is the path of a folder
 */
export function parseSourceFlag(text: string): ConfigSource {
  const written = text.trim()
  // Tries `git` last, because almost any text can name a repository.
  for (const name of SOURCE_KIND_NAMES.toReversed()) {
    const source = SOURCE_KINDS[name].parse(written)
    if (source !== undefined) return source
  }
  throw new UsageError(`the source ${JSON.stringify(text)} ${describePath(written.replace(/#.*$/, ''))}`)
}

/** Says why a path is no source, as the second half of an error message. */
function describePath(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return `does not exist: there is no ${JSON.stringify(resolve(path))}`
  return stats.isDirectory()
    ? `is a path; use --root for a folder that contains skills, file://${resolve(path)} for a bare repository, or a .zip or .tar.gz`
    : 'is a file that is no archive; name a folder, a .zip or a .tar.gz'
}

/**
 * Resolves the remote sources, and gives each source an unused label.
 * @throws {UsageError} for a duplicate label; {SkillError} for an invalid source
 */
export async function resolveRemotes(
  sources: readonly NamedSource[],
  labels: readonly string[],
  access: RemoteAccess,
): Promise<readonly RemoteConfig[]> {
  const taken = new Set(labels)
  const remotes: RemoteConfig[] = []
  for (const { source, isNamed, place } of sources) {
    const made = await tryRemote({ source, isNamed, ...defined({ place }) }, access)
    if (source.label !== undefined && taken.has(source.label)) {
      const where = place === undefined ? '' : `${place}: `
      throw new UsageError(
        `${where}two sources have the label ${JSON.stringify(source.label)}; give each its own label`,
      )
    }
    const label = source.label ?? findFreeLabel(made.label, taken)
    taken.add(label)
    remotes.push({ label, origin: made.origin, source, isNamed, flag: kindOf(source).toFlag(source) })
  }
  return remotes
}

/** Creates the source only to validate its settings and to read its origin. Does not start the source. */
async function tryRemote(named: NamedSource, access: RemoteAccess): Promise<SkillSource> {
  const { source, place } = named
  try {
    return await createRemote({ ...named, label: source.label }, { access, stateDirectory: '.', reading: {} })
  } catch (thrown) {
    if (place === undefined) throw thrown
    throw new UsageError(`${place}: ${toMessage(thrown)}`, { cause: thrown })
  }
}

/** Creates the source that a configuration names. */
export async function createRemote(
  { source, isNamed, label }: NamedSource & { readonly label: string | undefined },
  { access, stateDirectory, reading, polling, trust }: RemoteSetup,
): Promise<SkillSource> {
  const common = {
    reading,
    ...defined({ label, polling, trust }),
    ...(source.pollSeconds === undefined ? {} : { pollMs: source.pollSeconds * 1000 }),
  }
  const maxBytes = source.maxMegabytes === undefined ? {} : { maxBytes: source.maxMegabytes * 1_000_000 }
  return await kindOf(source).create(source, { common, maxBytes, access, stateDirectory, isNamed })
}

function findFreeLabel(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name
  for (let number = 2; ; number++) if (!taken.has(`${name}-${number}`)) return `${name}-${number}`
}
