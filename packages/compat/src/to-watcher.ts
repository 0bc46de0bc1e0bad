import {
  createSkillRuntime,
  diffGenerations,
  type Generation,
  type Logger,
  type SkillChange,
  type SkillRuntime,
} from '@skillstoke/core'
import { checkOptions, defined, FOLDER_OPTIONS, type KnownOptions } from '@skillstoke/core/internal'
import type { FileSourceOptions, SkillSource } from '@skillstoke/core/source'
import { toExoSkill } from './exo-skill.ts'
import { SkillChangeEvent, SkillWatcher } from './skill-watcher.ts'

export interface SourceWatcherOptions {
  /** When a burst of changes counts as finished. @default DEFAULT_SETTLE */
  readonly settle?: NonNullable<FileSourceOptions['settle']>
  /** Receives a message whenever the source cannot be read. The watcher reads the source again later. */
  readonly logger?: Logger
}

const KNOWN: KnownOptions<SourceWatcherOptions> = { settle: FOLDER_OPTIONS.settle, logger: true }

/**
 * Watches any source. The skills that exist at the first call of `watch()` are not reported, and each later change is
 * an event. After `stop()`, `watch()` can be called again. It then first yields the changes since `stop()`.
 */
export class SourceWatcher extends SkillWatcher {
  readonly #source: SkillSource
  readonly #options: SourceWatcherOptions
  readonly #ready = Promise.withResolvers<void>()
  /** The skills at the last report. */
  #known: Generation | undefined
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
      tuning: defined({ settle }),
      ...defined({ logger }),
    })
    for await (const generation of skills.watch(signal)) {
      const known = this.#known
      this.#known = generation
      this.#ready.resolve()
      const changes = known === undefined ? [] : diffGenerations(known, generation).filter(isReported)
      const batch = await Promise.all(changes.map(change => this.#toEvent(change, skills)))
      if (batch.length > 0) yield batch
    }
  }

  async #toEvent(change: SkillChange, skills: SkillRuntime): Promise<SkillChangeEvent> {
    const { kind, name: skillName } = change
    const sourcePath = this.origin
    if (kind === 'removed') return new SkillChangeEvent({ kind, skillName, skill: null, sourcePath })
    const skill = kind === 'added' ? change.skill : change.newSkill
    const files: Record<string, Uint8Array> = {}
    for (const { path } of skill.files) files[path] = await skills.readFile(skill, path)
    const executables = skill.files.filter(({ isExecutable }) => isExecutable).map(({ path }) => path)
    const exo = toExoSkill(skill, await skills.readBody(skill))
    return new SkillChangeEvent({ kind, skillName, skill: { ...exo, files, executables }, sourcePath })
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

/** Whether Exo's fields of a skill changed. They contain none of its other files, and no blank lines around the body. */
function isReported(change: SkillChange): boolean {
  if (change.kind !== 'modified') return true
  const { facets, oldSkill, newSkill } = change
  return (
    facets.includes('frontmatter') ||
    facets.includes('location') ||
    oldSkill.bodyDigest !== newSkill.bodyDigest
  )
}
