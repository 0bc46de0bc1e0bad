import {
  createSkillRuntime,
  type FileContents,
  type LoadedSkill,
  type Logger,
  type SettlePolicy,
  type Skill,
  type SkillRuntime,
  type SkillSource,
} from '../index.ts'
import { toExoSkill } from './exo-skill.ts'
import { SkillChangeEvent, SkillWatcher } from './skill-watcher.ts'

/** What a watcher knew of a skill. */
interface Known {
  /** Everything of its text that counts as a change, and where it is. */
  readonly fingerprint: string
  readonly path: string
}

export interface SourceWatcherOptions {
  /** When a burst of changes counts as finished. @default DEFAULT_SETTLE */
  readonly settle?: Partial<SettlePolicy>
  /** Told when the source cannot be read; it is asked again. */
  readonly logger?: Logger
}

/**
 * Any source as a watcher: what exists when `watch` is first called is taken as known, each later change is told. It can
 * be stopped and watched again; what changed in between comes first.
 */
export class SourceWatcher extends SkillWatcher {
  readonly #source: SkillSource
  readonly #options: SourceWatcherOptions
  readonly #ready = Promise.withResolvers<void>()
  #known: Map<string, Known> | undefined
  #stop: AbortController | undefined

  constructor(source: SkillSource, options: SourceWatcherOptions = {}) {
    super()
    this.#source = source
    this.#options = options
  }

  /** Resolves when `watch` has been called and what exists is known. */
  get ready(): Promise<void> {
    return this.#ready.promise
  }

  override async *watch(): AsyncGenerator<readonly SkillChangeEvent[], void, undefined> {
    const stop = new AbortController()
    this.#stop?.abort()
    this.#stop = stop
    await using skills = await createSkillRuntime({ sources: [this.#source], ...this.#options })
    for await (const generation of skills.watch(stop.signal)) {
      const known = this.#known
      const [now, loaded] = await look(skills, generation.list())
      this.#known = now
      this.#ready.resolve()
      if (known === undefined) continue
      const batch = await diff(known, now, loaded, skills)
      if (batch.length > 0) yield batch
    }
  }

  override stop(): void {
    this.#stop?.abort()
  }
}

/** Reads a source as Exo's watchers are read. */
export function toWatcher(source: SkillSource, options?: SourceWatcherOptions): SourceWatcher {
  return new SourceWatcher(source, options)
}

async function look(
  skills: SkillRuntime,
  list: readonly Skill[],
): Promise<[Map<string, Known>, Map<string, LoadedSkill>]> {
  const known = new Map<string, Known>()
  const loaded = new Map<string, LoadedSkill>()
  for (const skill of list) {
    const whole = { ...skill, body: await skills.readBody(skill) }
    const { path, ...text } = toExoSkill(skill, whole.body)
    known.set(skill.name, { fingerprint: JSON.stringify([text, path]), path })
    loaded.set(skill.name, whole)
  }
  return [known, loaded]
}

/** Added, then removed, then modified, each sorted by name. */
async function diff(
  before: ReadonlyMap<string, Known>,
  after: ReadonlyMap<string, Known>,
  loaded: ReadonlyMap<string, LoadedSkill>,
  skills: SkillRuntime,
): Promise<SkillChangeEvent[]> {
  const toEvent = async (kind: 'added' | 'modified', name: string): Promise<SkillChangeEvent> => {
    const skill = loaded.get(name) as LoadedSkill
    const files = await readFiles(skills, skill)
    const sourcePath = after.get(name)?.path ?? ''
    return new SkillChangeEvent({
      kind,
      skillName: name,
      skill: { ...toExoSkill(skill, skill.body), files },
      sourcePath,
    })
  }
  const added = [...after.keys()].filter(name => !before.has(name)).sort()
  const removed = [...before.keys()].filter(name => !after.has(name)).sort()
  const modified = [...after]
    .filter(([name, { fingerprint }]) => before.has(name) && before.get(name)?.fingerprint !== fingerprint)
    .map(([name]) => name)
    .sort()
  const events: SkillChangeEvent[] = []
  for (const name of added) events.push(await toEvent('added', name))
  for (const name of removed) {
    const sourcePath = before.get(name)?.path ?? ''
    events.push(new SkillChangeEvent({ kind: 'removed', skillName: name, skill: null, sourcePath }))
  }
  for (const name of modified) events.push(await toEvent('modified', name))
  return events
}

async function readFiles(skills: SkillRuntime, skill: Skill): Promise<FileContents> {
  const files: Record<string, Uint8Array> = {}
  for (const { path } of skill.files) files[path] = await skills.readFile(skill, path)
  return files
}
