import { userInfo } from 'node:os'
import { join } from 'node:path'
import { createSkillRuntime, SkillError, type SkillRuntime, type SkillRuntimeOptions } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import { directory, nodeHasher, openDecisions, openState } from '@skillstoke/core/node'
import type {
  PollingMode,
  ScriptCapability,
  SkillSource,
  SkillState,
  WatchingMode,
} from '@skillstoke/core/source'
import type { ChildProcesses } from '@skillstoke/scripts'
import type { Config } from './config/config.ts'
import { CONFIG_FILE_NAME } from './config/config-file.ts'
import { DEFAULT_ROOTS } from './config/defaults.ts'
import { checkNamedRoots } from './config/named-roots.ts'
import { createRemote } from './config/remote-config.ts'
import { settleFreeze } from './frozen-sources.ts'
import { findLinkedFolders } from './named-places.ts'
import { StateWarnings } from './state-warnings.ts'

export interface OpenOptions {
  /** `off` reads once; `auto` follows changes. */
  readonly watching: Exclude<WatchingMode, 'polling'>
  /** Whether other machines are asked now and then, or only for what is not here yet. @default as `watching` */
  readonly polling?: PollingMode
  /** Whether it is about what outlives the process, and makes no sense without. @default false */
  readonly needsState?: boolean
  /** Whether the command reports roots that cannot be read, instead of failing. @default false */
  readonly reportsUnreadable?: boolean
  /**
   * Whether this process serves them until it is ended: it awaits roots that are missing, and says whether they are frozen.
   * @default false
   */
  readonly serves?: boolean
  /** Whether scripts may be run. If it is `required`, the command fails where no script can run. @default false */
  readonly runsScripts?: boolean | 'required'
  readonly runtime?: Pick<SkillRuntimeOptions, 'catalog' | 'logger'>
}

/**
 * The skills of the configured roots and of other machines, with what the state directory knows of them. What is wrong with the
 * state is told on standard error, at the latest when the runtime is closed.
 */
export async function openSkills(config: Config, options: OpenOptions): Promise<SkillRuntime> {
  if (options.serves !== true)
    checkNamedRoots(config, { allowsUnreadable: options.reportsUnreadable === true })
  const state = await openKnownState(config, options.needsState === true)
  const hasLogger = options.runtime?.logger !== undefined
  const warnings = new StateWarnings(state, { hasLogger, serves: options.serves === true })
  const sources = await createSources(config, options)
  const createScripts = options.runsScripts === 'required' ? createRunner : findRunner
  const scripts = options.runsScripts ? await createScripts(config, state.store !== undefined) : undefined
  const { isFrozen } = config
  const skills = await createSkillRuntime({
    sources,
    state,
    onDuplicate: config.onDuplicate,
    review: {
      isFrozen: await settleFreeze(sources, { isFrozen, serves: options.serves === true }, state),
    },
    tuning: { hasher: nodeHasher },
    ...(scripts === undefined ? {} : { scripts }),
    ...options.runtime,
  })
  return warnings.tellRestWhenClosed(skills)
}

async function createSources(
  config: Config,
  { watching, polling }: OpenOptions,
): Promise<readonly SkillSource[]> {
  const targets = config.roots.filter(root => root.isLinkTarget).map(root => root.path)
  const linked = findLinkedFolders(config.stateDirectory)
  const folders = config.roots.map(({ label, path }) =>
    // A link from one root into another is how one skill is shared; links to anywhere else are refused.
    directory(path, {
      label,
      watching,
      reading: config.reading,
      linkRoots: [...targets.filter(other => other !== path), ...config.linkRoots, ...linked],
      // For what is asked for by name: rolling a skill back.
      writable: true,
    }),
  )
  const setup = {
    access: config.access,
    stateDirectory: config.stateDirectory,
    reading: config.reading,
    polling: polling ?? (watching === 'off' ? 'manual' : 'auto'),
  } as const
  const remotes = await Promise.all(config.remotes.map(remote => createRemote(remote, setup)))
  return [...folders, ...remotes]
}

/**
 * Without a state directory everything works, and nothing outlives the process. Where decisions were made, nothing is served
 * without them.
 */
async function openKnownState({ stateDirectory }: Config, isNeeded: boolean): Promise<SkillState> {
  try {
    return await openState(stateDirectory)
  } catch (error) {
    if (isNeeded) throw error
    const decisions = await openDecisions(stateDirectory).catch((thrown: unknown) => {
      if (SkillError.isInstance(thrown) && thrown.data['isThere'] === true) throw thrown
    })
    note(error)
    return decisions === undefined ? {} : { decisions }
  }
}

function note(error: unknown): void {
  process.stderr.write(
    `note: ${toMessage(error)}; last good revisions and approvals will not outlive this process\n`,
  )
}

/** Returns why no script with these grants would be started here, or `undefined`. */
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

/** Returns the runner of scripts. Where the JavaScript runtime cannot contain them, skills are served without scripts. */
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
  // Where state cannot be kept, the folder for temporary files has to do.
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

/** Who decides, for the history. */
export function currentUser(): string {
  try {
    return userInfo().username
  } catch {
    return 'somebody' // a user that the system has no name for, as in some containers
  }
}
