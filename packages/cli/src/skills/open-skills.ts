import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import {
  createSkillRuntime,
  SkillError,
  type SkillReport,
  type SkillRuntime,
  type SkillRuntimeOptions,
} from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import { directory, nodeHasher } from '@skillstoke/core/node'
import type { RemoteSourceOptions, ScriptCapability, SkillSource, SkillState } from '@skillstoke/core/source'
import type { FleetSource } from '@skillstoke/fleet'
import type { ChildProcesses } from '@skillstoke/scripts'
import type { Config } from '../config/config.ts'
import { userRoot } from '../config/config.ts'
import { CONFIG_FILE_NAME } from '../config/config-file.ts'
import { DEFAULT_ROOTS } from '../config/defaults.ts'
import { checkNamedRoots } from '../config/named-roots.ts'
import { realPath } from '../config/real-path.ts'
import { createRemote } from '../config/remote-config.ts'
import { settleFreeze, splitSources } from './frozen-sources.ts'
import { keepUsage } from './keep-usage.ts'
import { openKnownState } from './known-state.ts'
import { findLinkedFolders } from './named-places.ts'
import { warnAboutState } from './state-warnings.ts'
import { createCatalogCounter } from './tokens.ts'

export interface OpenOptions {
  /** `auto` watches the sources for changes. `off` reads them on request, `never` only at the start. */
  readonly watching: 'auto' | 'off' | 'never'
  /**
   * Whether remote sources are polled. With `manual`, a source is fetched only if the state directory has no copy of
   * it. @default as `watching`
   */
  readonly polling?: RemoteSourceOptions['polling']
  /** Whether the command fails if the state directory cannot be opened. @default false */
  readonly needsState?: boolean
  /** Whether the command reports an unreadable root. If false, the command fails instead. @default false */
  readonly reportsUnreadable?: boolean
  /** Whether named roots may be missing. @default as `serves` */
  readonly acceptsMissing?: boolean
  /**
   * Whether this process serves the skills until it is stopped. A serving process accepts missing roots and waits for
   * them, and freezes or thaws the sources.
   * @default false
   */
  readonly serves?: boolean
  /** Wraps the stored state, for a command that tries something. @default the state is used as it is */
  readonly wrapState?: (stored: SkillState) => SkillState
  /** Whether scripts may run. `required` makes the command fail if no script can run on this system. @default false */
  readonly runsScripts?: boolean | 'required'
  /** Whether the agents run on this machine, so that they can use the paths of the folders. @default true */
  readonly hasDirectories?: boolean
  /** Who uses the skills if no MCP client does, for the counts of `stoke usage`. @default uses are not counted */
  readonly usedBy?: string
  /** @default the configured catalog, whose tokens are only counted if it may exceed its budget */
  readonly runtime?: Pick<SkillRuntimeOptions, 'catalog' | 'logger'>
}

const NO_TRIGGERS = { onAccess: false, onRequest: false }

/**
 * Opens a runtime with the configured sources and the state directory. Prints problems of the state directory on
 * standard error, at the latest when the runtime closes.
 */
export async function openSkills(config: Config, options: OpenOptions): Promise<SkillRuntime> {
  if (!(options.acceptsMissing ?? options.serves))
    checkNamedRoots(config, { allowsUnreadable: options.reportsUnreadable === true })
  const { state: stored, isStored } = await openKnownState(config.stateDirectory, options.needsState === true)
  const state = options.wrapState?.(stored) ?? stored
  const hasLogger = options.runtime?.logger !== undefined
  const withWarnings = warnAboutState(state, { hasLogger, serves: options.serves === true })
  const sources = await createSources(config, options)
  const createScripts = options.runsScripts === 'required' ? createRunner : findRunner
  const scripts = options.runsScripts ? await createScripts(config, isStored) : undefined
  const review = await settleFreeze(
    splitSources(sources, directory(userRoot()).origin),
    { isFrozen: config.isFrozen, serves: options.serves === true, project: findProject(config) },
    state,
  )
  const skills = await createSkillRuntime({
    sources,
    state,
    onDuplicate: config.onDuplicate,
    review,
    tuning: { hasher: nodeHasher, ...(options.watching === 'never' ? { triggers: NO_TRIGGERS } : {}) },
    ...defined({ scripts }),
    catalog: { countTokens: createCatalogCounter(config.catalog.maxTokens), ...config.catalog },
    ...options.runtime,
  })
  if (review.isFrozen) frozen.add(skills)
  rootLabels.set(skills, new Set(config.roots.map(({ label }) => label)))
  if (options.usedBy !== undefined && isStored) await keepUsage(skills, config, options.usedBy)
  if (options.serves === true) await reportToFleets(skills, sources)
  return withWarnings(skills)
}

/** Returns the folder of the configuration file, or the working directory. */
function findProject({ file }: Config): string {
  const folder = file === undefined ? process.cwd() : dirname(file)
  return realPath(folder) ?? folder
}

const frozen = new WeakSet<SkillRuntime>()

/** Returns true if changes of the roots wait for approval. */
export function isFrozen(skills: SkillRuntime): boolean {
  return frozen.has(skills)
}

const rootLabels = new WeakMap<SkillRuntime, ReadonlySet<string>>()

/** Whether the folder of a skill is below a root of the user. Other folders belong to somebody else, or to this package. */
export function isInRoot({ source }: Pick<SkillReport, 'source'>, skills: SkillRuntime): boolean {
  return rootLabels.get(skills)?.has(source) === true
}

const fleets = new WeakMap<SkillRuntime, readonly FleetSource[]>()

/** Returns the sources of a serving runtime that follow a fleet. */
export function fleetsOf(skills: SkillRuntime): readonly FleetSource[] {
  return fleets.get(skills) ?? []
}

/** Returns how scripts are contained; `undefined` if no script runs here. */
async function findContainment(skills: SkillRuntime): Promise<string | undefined> {
  try {
    return (await skills.scripts.containment()).kind
  } catch (thrown) {
    if (SkillError.isInstance(thrown)) return undefined
    throw thrown
  }
}

/** Reports to each followed fleet what this process serves, until the runtime is closed. */
async function reportToFleets(skills: SkillRuntime, sources: readonly SkillSource[]): Promise<void> {
  if (!sources.some(({ origin }) => origin.startsWith('fleet:'))) return
  const { FleetReporter, isFleetSource } = await import('@skillstoke/fleet')
  const followed = sources.filter(isFleetSource)
  fleets.set(skills, followed)
  const sandbox = await findContainment(skills)
  const reporters = followed.map(
    source =>
      new FleetReporter(source, {
        runtime: skills,
        agent: `stoke-${process.pid}`,
        ...defined({ sandbox }),
      }),
  )
  const close = skills.close.bind(skills)
  skills.close = async () => {
    await Promise.all(reporters.map(async reporter => await reporter.close()))
    await close()
  }
}

async function createSources(
  config: Config,
  { watching, polling, hasDirectories = true }: OpenOptions,
): Promise<readonly SkillSource[]> {
  const targets = config.roots.filter(root => root.isLinkTarget).map(root => root.path)
  const linked = findLinkedFolders(config.stateDirectory)
  const folders = config.roots.map(({ label, path }) =>
    // Allows links from one root into another root, so that several roots can share a skill.
    directory(path, {
      label,
      watching: watching === 'auto' ? watching : 'off',
      reading: config.reading,
      hasDirectories,
      linkRoots: [...targets.filter(other => other !== path), ...config.linkRoots, ...linked],
      // Each verb reports missing roots in its own words, and default roots are often missing.
      onMissingRoot: () => undefined,
      // Needed by `stoke rollback`.
      writable: true,
    }),
  )
  const setup = {
    access: config.access,
    stateDirectory: config.stateDirectory,
    reading: config.reading,
    polling: polling ?? (watching === 'auto' ? 'auto' : 'manual'),
  } as const
  const remotes = await Promise.all(config.remotes.map(remote => createRemote(remote, setup)))
  return [...folders, ...remotes]
}

/** Returns why a script with these grants cannot start on this system, or `undefined` if it can start. */
export async function findGrantRefusal(
  grants: readonly ScriptCapability[],
  config: Config,
): Promise<string | undefined> {
  if (grants.length === 0) return undefined
  const runner = await createRunner(config, true)
  try {
    return await runner.findRefusal(grants)
  } finally {
    await runner.close()
  }
}

/**
 * Returns the runner of scripts. Returns `undefined` on Bun and Deno, which cannot confine scripts. Without a runner,
 * skills are served but their scripts cannot run.
 */
async function findRunner(config: Config, hasState: boolean): Promise<ChildProcesses | undefined> {
  try {
    return await createRunner(config, hasState)
  } catch (thrown) {
    if (!SkillError.isInstance(thrown, 'UNSUPPORTED_RUNTIME')) throw thrown
    process.stderr.write(`note: ${thrown.message}; skills are served without their scripts\n`)
    return undefined
  }
}

async function createRunner(config: Config, hasState: boolean): Promise<ChildProcesses> {
  const { childProcesses } = await import('@skillstoke/scripts')
  const { sandbox, stateDirectory, roots, linkRoots, file } = config
  // If the state directory is not writable, the runner uses the system's folder for temporary files.
  return childProcesses({
    sandbox,
    protectedPaths: [
      ...roots.map(({ path }) => path),
      ...DEFAULT_ROOTS,
      ...linkRoots,
      ...findLinkedFolders(stateDirectory),
    ],
    hiddenPaths: [stateDirectory, CONFIG_FILE_NAME, ...(file === undefined ? [] : [file])],
    ...(hasState ? { directory: join(stateDirectory, 'scripts') } : {}),
  })
}

/** Returns the user name for the history. */
export function currentUser(): string {
  try {
    return userInfo().username
  } catch {
    return 'somebody' // the user has no name, as in some containers
  }
}
