import { type Skill as CoreSkill, createSkillRuntime, type Logger, type SkillRuntime } from '@skillstoke/core'
import { checkOptions, type KnownOptions, SETTLE_OPTIONS } from '@skillstoke/core/internal'
import type { FileContents, SettlePolicy, SkillSource } from '@skillstoke/core/source'
import { toExoSkill } from './exo-skill.ts'
import type { Skill } from './skill.ts'
import { compareStates, type NameChanges, stateOf } from './skill-state.ts'
import { SkillChangeEvent, SkillWatcher } from './skill-watcher.ts'

export interface SourceWatcherOptions {
  /** When a burst of changes counts as finished. @default DEFAULT_SETTLE */
  readonly settle?: Partial<SettlePolicy>
  /** Receives a message whenever the source cannot be read. The watcher reads the source again later. */
  readonly logger?: Logger
}

const KNOWN: KnownOptions<SourceWatcherOptions> = { settle: SETTLE_OPTIONS, logger: true }

/**
 * Watches any source. The skills that exist at the first call of `watch()` are not reported, and each later change is
 * an event. After `stop()`, `watch()` can be called again. It then first yields the changes since `stop()`.
 */
export class SourceWatcher extends SkillWatcher {
  readonly #source: SkillSource
  readonly #options: SourceWatcherOptions
  readonly #ready = Promise.withResolvers<void>()
  /** Digest of each skill at the last report, by name. */
  #known: ReadonlyMap<string, string> | undefined
  #stop: AbortController | undefined

  constructor(source: SkillSource, options: SourceWatcherOptions = {}) {
    super()
    checkOptions('toWatcher()', options, KNOWN)
    this.#source = source
    this.#options = options
  }

  /** Resolves when `watch()` was called and has read the existing skills. */
  get ready(): Promise<void> {
    return this.#ready.promise
  }

  /** The folder or URL that is watched. This value is the `sourcePath` of all events. */
  get origin(): string {
    return this.#source.origin
  }

  override watch(): AsyncGenerator<readonly SkillChangeEvent[], void, undefined> {
    const stop = new AbortController()
    this.#stop?.abort()
    this.#stop = stop // set before the first step, so that an early stop() has an effect
    return this.#follow(stop.signal)
  }

  override stop(): void {
    this.#stop?.abort()
  }

  async *#follow(signal: AbortSignal): AsyncGenerator<readonly SkillChangeEvent[], void, undefined> {
    if (signal.aborted) return
    const { settle, logger } = this.#options
    await using skills = await createSkillRuntime({
      sources: [this.#source],
      ...(settle === undefined ? {} : { tuning: { settle } }),
      ...(logger === undefined ? {} : { logger }),
    })
    for await (const generation of skills.watch(signal)) {
      const known = this.#known
      const loaded = await load(skills, generation.list())
      const now = new Map([...loaded].map(([name, { exo }]) => [name, stateOf(exo)]))
      this.#known = now
      this.#ready.resolve()
      if (known === undefined) continue
      const batch = await this.#toBatch(compareStates(known, now), loaded, skills)
      if (batch.length > 0) yield batch
    }
  }

  /** Returns the events of added skills, then of removed skills, then of modified skills. Each group is sorted by name. */
  async #toBatch(
    { added, removed, modified }: NameChanges,
    loaded: ReadonlyMap<string, LoadedPair>,
    skills: SkillRuntime,
  ): Promise<SkillChangeEvent[]> {
    const sourcePath = this.origin
    const toEvent = async (kind: 'added' | 'modified', skillName: string): Promise<SkillChangeEvent> => {
      const { skill, exo } = loaded.get(skillName) as LoadedPair
      const files = await readFiles(skills, skill)
      const executables = skill.files.filter(({ isExecutable }) => isExecutable).map(({ path }) => path)
      return new SkillChangeEvent({ kind, skillName, skill: { ...exo, files, executables }, sourcePath })
    }
    const events: SkillChangeEvent[] = []
    for (const name of added) events.push(await toEvent('added', name))
    for (const skillName of removed)
      events.push(new SkillChangeEvent({ kind: 'removed', skillName, skill: null, sourcePath }))
    for (const name of modified) events.push(await toEvent('modified', name))
    return events
  }
}

/**
 * Returns a watcher for Exo that reports the changes of a source.
 *
 * @example
 * ```ts
 * import { toWatcher } from '@skillstoke/compat'
 * import { MemorySource } from '@skillstoke/core'
 *
 * const source = new MemorySource({ label: 'mine' })
 * const watcher = toWatcher(source)
 * watcher.ready.then(() => source.put({ name: 'maps', description: 'Finds routes.' }))
 * for await (const batch of watcher.watch()) {
 *   console.log(batch.map(({ kind, skillName }) => `${kind} ${skillName}`)) // prints [ 'added maps' ]
 *   watcher.stop()
 * }
 * ```
 */
export function toWatcher(source: SkillSource, options?: SourceWatcherOptions): SourceWatcher {
  return new SourceWatcher(source, options)
}

/** One skill twice: as an object of the core and with Exo's fields. */
interface LoadedPair {
  readonly skill: CoreSkill
  readonly exo: Skill
}

async function load(
  skills: SkillRuntime,
  list: readonly CoreSkill[],
): Promise<ReadonlyMap<string, LoadedPair>> {
  const loaded = new Map<string, LoadedPair>()
  for (const skill of list)
    loaded.set(skill.name, { skill, exo: toExoSkill(skill, await skills.readBody(skill)) })
  return loaded
}

async function readFiles(skills: SkillRuntime, skill: CoreSkill): Promise<FileContents> {
  const files: Record<string, Uint8Array> = {}
  for (const { path } of skill.files) files[path] = await skills.readFile(skill, path)
  return files
}
