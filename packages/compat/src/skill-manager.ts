import type { ScriptReload, UnloadStatus } from '@skillstoke/core'
import {
  type CommandResult,
  createSkillRuntime,
  type Logger,
  type SkillCommand,
  SkillError,
  type SkillRuntime,
} from '@skillstoke/core'
import { checkChoice, checkOptions, type KnownOptions, Listeners } from '@skillstoke/core/internal'
import { directory, NodeFileSystem } from '@skillstoke/core/node'
import type { ScriptRunner, ScriptRunOptions } from '@skillstoke/core/source'
import { childProcesses } from '@skillstoke/scripts'
import { PRESETS } from './presets.ts'

/** The values of `ChangeDetection`. */
const CHANGE_DETECTIONS = ['signature', 'mtime'] as const

/** How changed skills are detected: by size, times and inode of all files, or by the newest modification time of a script. */
export type ChangeDetection = (typeof CHANGE_DETECTIONS)[number]

export interface SkillManagerOptions {
  /**
   * How changes are detected when a skill is requested. With `signature`, a skill has changed if the size, times or
   * inode of any file differ. With `mtime`, a skill has changed if its newest script is strictly newer than at the last
   * load, as in omni. @default 'signature'
   */
  readonly detect?: ChangeDetection
  /** Folders outside the folder of skills that links may point to. @default [] */
  readonly linkRoots?: readonly string[]
  /** @default childProcesses() */
  readonly scripts?: ScriptRunner
  readonly logger?: Logger
}

const KNOWN: KnownOptions<SkillManagerOptions> = {
  detect: true,
  linkRoots: true,
  scripts: true,
  logger: true,
}

/** What happened to the code of a skill. */
export type SkillTransition = 'load' | 'unload' | 'reload'

/**
 * omni's manager for the skills of one folder. The scripts of these skills contain commands. `getSkill()` reloads the
 * commands of a skill if the skill has changed.
 *
 * @example
 * ```ts
 * import { mkdir, writeFile } from 'node:fs/promises'
 * import { SkillManager } from '@skillstoke/compat'
 *
 * await mkdir('skills/support-pdf/scripts')
 * const script = `import { defineCommand } from 'skillstoke/command'
 * export const count = defineCommand({ name: 'count', description: 'Counts forms.', run: () => 12 })`
 * await writeFile('skills/support-pdf/scripts/count.ts', script)
 * await using manager = await SkillManager.open('./skills')
 * console.log(await (await manager.getSkill('support-pdf'))?.execute('count')) // prints 12
 * console.log(manager.listCommands()) // prints [ 'support-pdf.count' ]
 * ```
 */
export class SkillManager implements AsyncDisposable {
  /** The underlying runtime, for features that omni does not have. */
  readonly runtime: SkillRuntime
  readonly #detect: ChangeDetection
  /** Newest modification time of the loaded scripts, in milliseconds, by skill. */
  readonly #mtimes = new Map<string, number>()
  /** For each skill, the newest revision that observers were notified of. */
  readonly #known = new Map<string, string | undefined>()
  readonly #reloading = new Set<string>()
  readonly #logger: Logger | undefined
  readonly #observers = new Listeners<[skill: string, transition: SkillTransition]>(error =>
    this.#logger?.error('an observer of skills failed', { error }),
  )

  private constructor(runtime: SkillRuntime, options: SkillManagerOptions) {
    this.runtime = runtime
    for (const { skill, revision } of runtime.scripts.status()) this.#known.set(skill, revision)
    // Notifies observers whenever new code replaces old code, even if the runtime replaced the code on its own.
    runtime.subscribe(() => this.#noteSwaps(), { phase: 'events' })
    this.#detect = options.detect ?? 'signature'
    this.#logger = options.logger
  }

  /** Opens a manager for the skills of a folder. The folder need not exist yet. */
  static async open(path: string, options: SkillManagerOptions = {}): Promise<SkillManager> {
    checkOptions('SkillManager.open()', options, KNOWN)
    checkChoice('detect', options.detect, CHANGE_DETECTIONS)
    const { omni } = PRESETS
    // If `detect` is `mtime`, a skill is read again only if a script is newer than at the last load.
    const byTime = {
      tuning: { ...omni.runtime.tuning, triggers: { onAccess: false, onRequest: false } },
    }
    const runtime = await createSkillRuntime({
      ...omni.runtime,
      ...(options.detect === 'mtime' ? byTime : {}),
      sources: [
        directory(path, {
          ...omni.source,
          linkRoots: options.linkRoots ?? [],
          ...(options.detect === 'mtime' ? { watching: 'off' } : {}),
        }),
      ],
      scripts: options.scripts ?? childProcesses(),
      ...(options.logger === undefined ? {} : { logger: options.logger }),
    })
    return new SkillManager(runtime, options)
  }

  /** Returns a skill with its current scripts, or `null` if no skill has this name. */
  async getSkill(name: string): Promise<ScriptSkill | null> {
    if (this.#detect === 'mtime') await this.#reloadIfNewer(name)
    else await this.runtime.reloadSkill(name)
    this.#noteSwaps()
    if (this.runtime.current.find(name) === undefined) return null
    return new ScriptSkill(name, this.runtime, await this.maxMtime(name))
  }

  /** Reads a skill again and reloads its code. */
  async reloadSkill(name: string): Promise<ScriptReload> {
    this.#reloading.add(name)
    const reload = await this.runtime.reloadScripts(name).finally(() => this.#reloading.delete(name))
    this.#mtimes.set(name, await this.maxMtime(name))
    if (reload.status === 'reloaded' || reload.status === 'loaded') {
      this.#known.set(name, this.#revisions().get(name))
      this.#observers.tell(name, reload.status === 'reloaded' ? 'reload' : 'load')
    }
    return reload
  }

  /** Ends the processes of a skill, and removes its commands until the skill is reloaded. */
  async unloadSkill(name: string): Promise<UnloadStatus> {
    const status = await this.runtime.scripts.unload(name)
    if (status === 'unloaded') {
      this.#known.delete(name)
      this.#observers.tell(name, 'unload')
    }
    return status
  }

  /**
   * Clears the cached commands, functions and modules of one skill. Call this method, for example, if an edit has no
   * effect. @throws {SkillError} SKILL_NOT_FOUND
   */
  async clearCaches(name: string): Promise<void> {
    await this.runtime.scripts.clear(name)
    this.#mtimes.delete(name)
  }

  /** Returns the id of every command, as `skill.command`. */
  listCommands(): readonly string[] {
    return this.runtime.scripts.list().map(({ id }) => id)
  }

  /** Returns the newest modification time of a skill's scripts, in milliseconds, or 0 if the skill has no scripts. */
  async maxMtime(name: string): Promise<number> {
    const folder = this.runtime.current.find(name)?.directory
    return folder === undefined ? 0 : await newestBelow(`${folder}/scripts`)
  }

  /** Calls the observer after a skill was loaded, unloaded or reloaded. Returns a function that removes the observer. */
  onChange(observer: (skill: string, transition: SkillTransition) => void): () => void {
    return this.#observers.subscribe(observer)
  }

  async close(): Promise<void> {
    await this.runtime.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #reloadIfNewer(name: string): Promise<void> {
    const newest = await this.maxMtime(name)
    const known = this.#mtimes.get(name) ?? 0
    if (newest > known) await this.reloadSkill(name)
    else if (this.runtime.current.find(name) === undefined) await this.runtime.reloadSkill(name)
  }

  /** Returns the revision of the code that answers calls, by skill. */
  #revisions(): ReadonlyMap<string, string | undefined> {
    return new Map(this.runtime.scripts.status().map(({ skill, revision }) => [skill, revision]))
  }

  #noteSwaps(): void {
    const now = this.#revisions()
    for (const name of new Set([...this.#known.keys(), ...now.keys()])) {
      const [before, after] = [this.#known.get(name), now.get(name)]
      // reloadSkill() notifies the observers of its own result.
      if (before === after || this.#reloading.has(name)) continue
      if (after === undefined) this.#known.delete(name)
      else this.#known.set(name, after)
      this.#observers.tell(name, before === undefined ? 'load' : after === undefined ? 'unload' : 'reload')
    }
  }
}

/**
 * A skill with its commands. Execution always uses the newest code.
 *
 * @example
 * ```ts
 * import { SkillManager } from '@skillstoke/compat'
 *
 * await using manager = await SkillManager.open('./skills')
 * const skill = await manager.getSkill('support-pdf')
 * console.log(skill?.name, skill?.commands) // prints support-pdf []
 * console.log(await manager.getSkill('maps')) // prints null
 * ```
 */
export class ScriptSkill {
  readonly name: string
  /** The newest modification time of the scripts when `getSkill()` returned this object, in milliseconds. */
  readonly mtime: number
  readonly #runtime: SkillRuntime

  constructor(name: string, runtime: SkillRuntime, mtime: number) {
    this.name = name
    this.mtime = mtime
    this.#runtime = runtime
  }

  get commands(): readonly SkillCommand[] {
    return this.#runtime.scripts.list(this.name)
  }

  /**
   * Runs a command by its full name, `git.status`, or its simple name, `status`.
   * @throws {SkillError} COMMAND_NOT_FOUND, which lists the existing commands; INPUT_INVALID, SCRIPT_FAILED, TIMED_OUT
   */
  async execute(
    command: string,
    args: Readonly<Record<string, unknown>> = {},
    options: ScriptRunOptions = {},
  ): Promise<CommandResult['value']> {
    const id = command.startsWith(`${this.name}.`) ? command : `${this.name}.${command}`
    return (await this.#runtime.scripts.execute(id, args, options)).value
  }
}

const MAX_DEPTH = 8

/** Returns the newest modification time below a folder, or 0 if the folder cannot be read. */
async function newestBelow(folder: string, depth = 0): Promise<number> {
  if (depth > MAX_DEPTH) return 0
  const fileSystem = new NodeFileSystem()
  const times = await (async () => await fileSystem.list(folder))()
    .then(entries =>
      Promise.all(
        entries.map(async ({ name, kind }) => {
          if (kind === 'directory') return await newestBelow(`${folder}/${name}`, depth + 1)
          return kind === 'file' ? (await fileSystem.stat(`${folder}/${name}`)).mtimeMs : 0
        }),
      ),
    )
    .catch((error: unknown) => {
      if (SkillError.isInstance(error)) return []
      throw error
    })
  return Math.max(0, ...times)
}
