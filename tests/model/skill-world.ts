import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createSkillRuntime,
  type Generation,
  type RegistryUpdate,
  type SkillReport,
  type SkillRuntime,
  type SkillSession,
} from '@skillstoke/core'
import { directory, NodeFileSystem } from '@skillstoke/core/node'
import { FileSource, type SkillSource } from '@skillstoke/core/source'
import { expect } from 'vitest'

/** The roots of a world, in order of precedence. */
export const ROOTS = ['a', 'b'] as const
export type Root = (typeof ROOTS)[number]

/**
 * Two skills that are always written together, with the same number. A reader that sees two different numbers has seen
 * half of a change.
 */
export const PAIR = ['pair-one', 'pair-two'] as const

/** A disk whose events can be lost. */
class ForgetfulFileSystem extends NodeFileSystem {
  losesEvents = false

  override watch(path: string, onEvent: () => void, onError: (error: Error) => void): () => void {
    const onKept = (): void => {
      if (!this.losesEvents) onEvent()
    }
    return super.watch(path, onKept, onError)
  }
}

const LATEST_EVENT_MS = 30

/** A disk that delivers its events with a delay, in any order. */
class LateFileSystem extends ForgetfulFileSystem {
  constructor() {
    super()
    Reflect.deleteProperty(this, 'drain')
  }

  override watch(path: string, onEvent: () => void, onError: (error: Error) => void): () => void {
    return super.watch(path, () => setTimeout(onEvent, Math.random() * LATEST_EVENT_MS).unref(), onError)
  }
}

/** The revision that a folder served last. */
interface LastGood {
  readonly name: string
  readonly revision: string
}

/**
 * A running system on real folders, and the conditions that must always be true. Expected values come from a scan
 * without history, and from the rule that a broken folder serves its last good revision.
 */
export class SkillWorld implements AsyncDisposable {
  readonly base: string
  readonly skills: SkillRuntime
  readonly session: SkillSession
  readonly #files: readonly ForgetfulFileSystem[]
  readonly #lastGood = new Map<string, LastGood>()
  /** Two subscribers, one fast and one slow, derive these states from the changes that are reported to them. */
  readonly #told: readonly Map<string, string>[] = [new Map(), new Map()]
  /** The state that the model derives from the system prompt and the appended messages. */
  readonly #announced = new Map<string, string>()
  #step: Generation | undefined
  #number = 0

  static async open(): Promise<SkillWorld> {
    const base = mkdtempSync(join(tmpdir(), 'skill-world-'))
    // Only the second root has late events.
    const files = [new ForgetfulFileSystem(), new LateFileSystem()]
    const sources = ROOTS.map((label, index): SkillSource => {
      const fileSystem = files[index] as ForgetfulFileSystem
      const root = join(base, label)
      mkdirSync(root)
      return new FileSource({ fileSystem, writable: fileSystem, root, label, hasDirectories: true })
    })
    const skills = await createSkillRuntime({ sources, tuning: { settle: { settleMs: 2, burstMs: 4 } } })
    const world = new SkillWorld(base, files, skills)
    await world.settle()
    return world
  }

  private constructor(base: string, files: readonly ForgetfulFileSystem[], skills: SkillRuntime) {
    this.base = base
    this.#files = files
    this.skills = skills
    this.session = this.skills.session({ id: 'model' })
    this.skills.subscribe(update => this.#note(0, update))
    this.skills.subscribe(() => {
      throw new Error('thrown by the test')
    })
    this.skills.subscribe(async update => {
      await new Promise(resolve => setImmediate(resolve))
      this.#note(1, update)
    })
    this.skills.subscribe(({ generation }) => this.#expectWhole(generation), { phase: 'tools' })
  }

  pathOf(root: Root, ...rest: readonly string[]): string {
    return join(this.base, root, ...rest)
  }

  /** Returns a number that no earlier text contains. */
  next(): number {
    return ++this.#number
  }

  /** Moves the last good revision of a renamed folder to its new path. */
  noteRenamed(root: Root, from: string, to: string): void {
    const good = this.#lastGood.get(`${root}/${from}`)
    this.#lastGood.delete(`${root}/${from}`)
    if (good !== undefined) this.#lastGood.set(`${root}/${to}`, good)
  }

  loseEvents(loses: boolean): void {
    for (const files of this.#files) files.losesEvents = loses
  }

  get losesEvents(): boolean {
    return this.#files.some(({ losesEvents }) => losesEvents)
  }

  /** True if the text of a skill on the disk is broken now. */
  async hasBroken(): Promise<boolean> {
    return (await this.#scan()).some(({ status }) => status === 'broken')
  }

  /** Waits until the files on disk are visible, and compares every view. */
  async settle(): Promise<void> {
    if (this.losesEvents) await this.skills.reload()
    else await this.skills.fresh()
    await this.skills.delivered()
    const generation = this.skills.current
    this.#expectWhole(generation)
    const expected = this.#expect(await this.#scan())
    const served = new Map(
      generation.list().map(({ name, source, revision }) => [name, `${source} ${revision}`]),
    )
    expect(Object.fromEntries(served)).toEqual(Object.fromEntries(expected))
    const revisions = new Map(generation.list().map(({ name, revision }) => [name, revision as string]))
    for (const told of this.#told) expect(Object.fromEntries(told)).toEqual(Object.fromEntries(revisions))
    for (const skill of generation.list()) {
      const bytes = await this.skills.readFile(skill, skill.skillFile)
      expect(new TextDecoder().decode(bytes)).toContain(skill.description)
    }
  }

  /** Starts a model call. Updates the conversation, whose messages must then describe exactly the served skills. */
  async beginStep(): Promise<void> {
    if (this.losesEvents) await this.skills.reload()
    const update = await this.session.update()
    this.#step = this.session.generation
    for (const line of update?.text.split('\n') ?? []) {
      const [, gone] = /^- removed: (.*)$/.exec(line) ?? []
      const [, name, description] = /^- (?:added|description changed): (\S+): (.*)$/.exec(line) ?? []
      if (gone !== undefined) this.#announced.delete(gone)
      if (name !== undefined && description !== undefined) this.#announced.set(name, description)
    }
    const listed = this.#step.list().map(({ name, description }) => [name, description])
    expect(Object.fromEntries(this.#announced)).toEqual(Object.fromEntries(listed))
  }

  /** Calls the tool `skill` as the model would. The answer must be complete and current. */
  async endStep(): Promise<void> {
    const [skill] = this.#step?.list() ?? []
    this.#step = undefined
    if (skill === undefined) return
    const result = await this.session.tools[0]?.execute({ name: skill.name })
    const now = this.skills.current.find(skill.name)
    if (now === undefined) return
    expect(result?.revision).toBe(now.revision)
    expect(result?.text).toContain((await this.skills.readBody(now)).trim())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.skills.close()
    rmSync(this.base, { recursive: true, force: true })
  }

  #note(index: number, { changes }: RegistryUpdate): void {
    const told = this.#told[index] as Map<string, string>
    for (const change of changes) {
      if (change.kind === 'removed') told.delete(change.name)
      else told.set(change.name, change.kind === 'added' ? change.skill.revision : change.newSkill.revision)
    }
  }

  #expectWhole(generation: Generation): void {
    const [one, two] = PAIR.map(name => generation.find(name))
    expect(one?.description).toBe(two?.description)
    expect(generation.list().length).toBe(new Set(generation.list().map(({ name }) => name)).size)
  }

  async #scan(): Promise<readonly SkillReport[]> {
    const sources = ROOTS.map(root => directory(this.pathOf(root), { label: root, watching: 'off' }))
    await using scan = await createSkillRuntime({ sources, tuning: { settle: { settleMs: 0, burstMs: 0 } } })
    return scan.current.reports()
  }

  /** Returns the expected skills by name, each with source and revision. */
  #expect(reports: readonly SkillReport[]): Map<string, string> {
    const found = new Set<string>()
    const candidates: (LastGood & { readonly source: string; readonly location: string })[] = []
    for (const { name, source, location, revision, status } of reports) {
      const key = `${source}/${location}`
      found.add(key)
      if (status !== 'broken' && revision !== undefined) this.#lastGood.set(key, { name, revision })
      const good = this.#lastGood.get(key)
      if (good !== undefined) candidates.push({ ...good, source, location })
    }
    for (const key of this.#lastGood.keys()) if (!found.has(key)) this.#lastGood.delete(key)
    // Within one source, the folder that is called like its skill comes first. All folders have the same depth.
    const rankOf = ({ source, name, location }: (typeof candidates)[number]): string =>
      [source, location === name ? 0 : 1, location].join(' ')
    candidates.sort((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1))
    const served = new Map<string, string>()
    for (const { name, source, revision } of candidates)
      if (!served.has(name)) served.set(name, `${source} ${revision}`)
    return served
  }
}
