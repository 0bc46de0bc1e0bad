import { SkillError } from '../errors.ts'
import { type Clock, type Hasher, type Logger, portableHasher, silentLogger, systemClock } from '../host.ts'
import { applySorted, compareText } from '../skill/compare.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import { parseSkill } from '../skill/parse-skill.ts'
import { createSkill, type Skill } from '../skill/skill.ts'
import { EMPTY_CONTENTS, type SourceContents, type SourceEntry } from '../skill/source-contents.ts'
import type { SkillStore } from '../store/skill-store.ts'
import { type AdmissionPolicy, trustAdmission } from './admission.ts'
import { type Candidate, nameOf, toProblemReport, toReport } from './candidate.ts'
import { createGeneration, type Generation, type SkillReport, type SourceReport } from './generation.ts'
import { GenerationDigest } from './generation-digest.ts'
import { type SkillChange, sortChanges, toChange } from './registry-update.ts'
import { type Phase, type Subscriber, Subscriptions } from './subscriptions.ts'

/** Which of several skills with one name is served, by the order in which the sources were declared. */
export type DuplicatePolicy = 'first-wins' | 'last-wins'

export interface SkillRegistryOptions {
  readonly store: SkillStore
  readonly hasher?: Hasher
  /** @default 'first-wins' */
  readonly onDuplicate?: DuplicatePolicy
  /** @default trustAdmission */
  readonly admission?: AdmissionPolicy
  /** How long later phases wait for a subscriber, in milliseconds. @default 5,000 */
  readonly subscriberDeadlineMs?: number
  readonly clock?: Clock
  readonly logger?: Logger
}

export const DEFAULT_SUBSCRIBER_DEADLINE_MS = 5_000

const LONGEST_TIMER_MS = 2 ** 31 - 1

/** What the registry has to know of a source. */
export interface RegisteredSource {
  readonly label: string
  /** What it is on this machine: the key under which its last good revisions outlive the process. */
  readonly origin: string
  readonly trust: 'auto' | 'review'
}

interface SourceSlot extends RegisteredSource {
  readonly index: number
  contents: SourceContents
  /** In the order of `contents.entries`; replaced as a whole, so generations can keep it. */
  candidates: readonly Candidate[]
  /** Why the last reading failed. */
  fault: Diagnostic | undefined
}

/**
 * The single writer: takes complete contents from sources, decides what is visible, and swaps one immutable
 * generation for the next. Readers take `current` and never wait.
 */
export class SkillRegistry {
  readonly #options: Required<Omit<SkillRegistryOptions, 'subscriberDeadlineMs'>>
  readonly #slots: SourceSlot[] = []
  /** Candidates by name, in the order of precedence. Only the writer looks at it. */
  readonly #byName = new Map<string, Candidate[]>()
  readonly #digest: GenerationDigest
  readonly #subscriptions: Subscriptions
  readonly #watchers = new Set<() => void>()
  #current: Generation
  #queue: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(options: SkillRegistryOptions) {
    const clock = options.clock ?? systemClock
    const logger = options.logger ?? silentLogger
    this.#options = {
      store: options.store,
      hasher: options.hasher ?? portableHasher,
      onDuplicate: options.onDuplicate ?? 'first-wins',
      admission: options.admission ?? trustAdmission,
      clock,
      logger,
    }
    this.#digest = new GenerationDigest(this.#options.hasher)
    this.#subscriptions = new Subscriptions({
      clock,
      deadlineMs: options.subscriberDeadlineMs ?? DEFAULT_SUBSCRIBER_DEADLINE_MS,
      onError: (error, phase) => logger.error('a subscriber failed', { phase, error }),
    })
    this.#current = createGeneration({
      number: 0,
      digest: this.#digest.update([]),
      skills: Object.freeze([]),
      createReports: () => [],
      sources: [],
    })
  }

  /** The newest generation. Take it once and use it for everything that belongs together. */
  get current(): Generation {
    return this.#current
  }

  /**
   * Declares a source; its place in the order of declarations is its precedence.
   * @throws {SkillError} DUPLICATE_SOURCE when another source has the label
   */
  addSource(source: RegisteredSource): void {
    if (this.#slots.some(slot => slot.label === source.label)) {
      throw new SkillError(
        'DUPLICATE_SOURCE',
        `two sources have the label ${JSON.stringify(source.label)}; give each its own`,
      )
    }
    const { label, origin, trust } = source
    this.#slots.push({
      label,
      origin,
      trust,
      index: this.#slots.length,
      contents: EMPTY_CONTENTS,
      candidates: [],
      fault: undefined,
    })
  }

  /**
   * Takes the complete contents of a source. Commits happen one after the other; the returned generation is the one
   * that shows these contents.
   * @throws {SkillError} CLOSED
   */
  async replace(label: string, contents: SourceContents): Promise<Generation> {
    const slot = this.#slots.find(each => each.label === label)
    if (slot === undefined)
      throw new SkillError('INVALID_OPTION', `there is no source ${JSON.stringify(label)}`)
    const turn = this.#queue.then(async () => {
      if (this.#isClosed) throw new SkillError('CLOSED', 'the registry is closed')
      await this.#commit(slot, contents)
    })
    this.#queue = turn.catch(() => undefined)
    await turn
    return this.#current
  }

  /** Shows that a source as a whole could not be read; its last contents stay until `replace` succeeds. */
  reportSource(label: string, diagnostic: Diagnostic): void {
    const slot = this.#slots.find(each => each.label === label)
    if (slot === undefined || this.#isClosed) return
    slot.fault = diagnostic
    this.#publish(slot, new Set(), new Map(), [], [], new Map())
  }

  /**
   * Calls back after each visible change, when the new generation is already `current`.
   * Returns a function that unsubscribes.
   */
  subscribe(subscriber: Subscriber, options: { readonly phase?: Phase } = {}): () => void {
    return this.#subscriptions.add(subscriber, options.phase ?? 'events')
  }

  /**
   * The present generation, then each newer one; a slow reader skips what was replaced meanwhile. Waiting for the
   * next one keeps the process alive.
   */
  async *watch(signal?: AbortSignal): AsyncGenerator<Generation, void, undefined> {
    let wake = (): void => undefined
    const onChange = (): void => wake()
    this.#watchers.add(onChange)
    signal?.addEventListener('abort', onChange, { once: true })
    try {
      let shown: Generation | undefined
      while (!this.#isClosed && signal?.aborted !== true) {
        if (shown !== this.#current) {
          shown = this.#current
          yield shown
          continue
        }
        // Watches of the disk do not keep a process alive; somebody who waits for the next generation does.
        const release = this.#options.clock.after(LONGEST_TIMER_MS, () => undefined)
        await new Promise<void>(resolve => {
          wake = resolve
        })
        release()
      }
    } finally {
      this.#watchers.delete(onChange)
      signal?.removeEventListener('abort', onChange)
    }
  }

  /** Resolves when subscribers have been told of everything committed so far. */
  async delivered(): Promise<void> {
    await this.#queue
    await this.#subscriptions.delivered()
  }

  /** Stops taking contents, ends watchers, and waits for deliveries under way. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const wake of this.#watchers) wake()
    await this.delivered()
  }

  async #commit(slot: SourceSlot, contents: SourceContents): Promise<void> {
    if (contents === slot.contents && slot.fault === undefined) return
    slot.fault = undefined
    const { fresh, removed } = pairWithCandidates(slot.candidates, contents.entries)
    const restored = await this.#restoreLastGood(slot, fresh)
    const decided = new Map(fresh.map(pair => [pair.entry.location, this.#decide(slot, pair, restored)]))
    for (const candidate of removed) this.#forget(slot, candidate)
    const before = [...removed, ...fresh.flatMap(({ old }) => old ?? [])]
    const after = [...decided.values()]
    const names = new Set([...before, ...after].map(nameOf))
    const winnersBefore = new Map([...names].map(name => [name, this.#winner(name)]))
    const problemsBefore = new Map<string, SkillReport>()
    for (const candidate of before) {
      const report = toProblemReport(candidate, this.#winner(nameOf(candidate)))
      if (report !== undefined) problemsBefore.set(candidate.entry.location, report)
    }
    this.#index(before, after)
    slot.contents = contents
    slot.candidates = applySorted(
      slot.candidates,
      [
        ...removed.map(({ entry }) => ({ key: entry.location, item: undefined })),
        ...after.map(item => ({ key: item.entry.location, item })),
      ],
      candidate => candidate.entry.location,
    )
    this.#publish(slot, names, winnersBefore, before, after, problemsBefore)
  }

  /** Looks up what served a broken or held folder before this process knew it. */
  async #restoreLastGood(
    slot: SourceSlot,
    fresh: readonly FreshEntry[],
  ): Promise<ReadonlyMap<string, Skill>> {
    const restored = new Map<string, Skill>()
    for (const { entry, old } of fresh) {
      if (old?.live !== undefined || this.#isAdmitted(slot, entry.skill, undefined)) continue
      const skill = await this.#readLastGood(slot, entry)
      if (skill !== undefined && this.#isAdmitted(slot, skill, undefined)) restored.set(entry.location, skill)
    }
    return restored
  }

  async #readLastGood(slot: SourceSlot, entry: SourceEntry): Promise<Skill | undefined> {
    const { store, hasher } = this.#options
    const revision = store.getRef(refOf(slot, entry.location))
    const files = revision === undefined ? undefined : await store.getTree(revision)
    const file =
      files?.find(each => each.path === 'SKILL.md') ?? files?.find(each => each.path === 'skill.md')
    const bytes = file === undefined ? undefined : await store.get(file.digest)
    if (files === undefined || file === undefined || bytes === undefined) return undefined
    const directoryName = entry.location.split('/').at(-1)
    const parsed = parseSkill(bytes, directoryName ? { directoryName } : {})
    if (!parsed.ok) return undefined
    const place = {
      source: slot.label,
      location: entry.location,
      skillFile: file.path,
      ...(entry.directory === undefined ? {} : { directory: entry.directory }),
    }
    return createSkill(parsed.value, files, place, parsed.diagnostics, hasher)
  }

  #isAdmitted(slot: SourceSlot, skill: Skill | undefined, live: Skill | undefined): boolean {
    if (skill === undefined) return false
    return (
      this.#options.admission.admit({ skill, live, origin: slot.origin, trust: slot.trust }).kind === 'admit'
    )
  }

  #decide(slot: SourceSlot, { entry, old }: FreshEntry, restored: ReadonlyMap<string, Skill>): Candidate {
    const lastGood = old?.live ?? restored.get(entry.location)
    const { store, admission } = this.#options
    let live = lastGood
    let heldReason: string | undefined
    if (entry.skill !== undefined) {
      const verdict = admission.admit({
        skill: entry.skill,
        live: lastGood,
        origin: slot.origin,
        trust: slot.trust,
      })
      if (verdict.kind === 'hold') heldReason = verdict.reason
      else live = isSameForReaders(lastGood, entry.skill) ? lastGood : entry.skill
    }
    if (live !== old?.live) {
      if (live !== undefined) {
        store.retain(live.revision)
        store.setRef(refOf(slot, entry.location), live.revision)
      }
      if (old?.live !== undefined) store.release(old.live.revision)
    }
    return { entry, live, heldReason, sourceIndex: slot.index, source: slot.label }
  }

  #forget(slot: SourceSlot, candidate: Candidate): void {
    const { store } = this.#options
    if (candidate.live !== undefined) store.release(candidate.live.revision)
    store.setRef(refOf(slot, candidate.entry.location), undefined)
  }

  #index(before: readonly Candidate[], after: readonly Candidate[]): void {
    for (const candidate of before) {
      const name = nameOf(candidate)
      const rest = this.#byName.get(name)?.filter(each => each !== candidate) ?? []
      if (rest.length === 0) this.#byName.delete(name)
      else this.#byName.set(name, rest)
    }
    for (const candidate of after) {
      const name = nameOf(candidate)
      const all = [...(this.#byName.get(name) ?? []), candidate]
      this.#byName.set(name, all.length === 1 ? all : all.sort(byPrecedence))
    }
  }

  /** The candidate whose skill is served under a name. */
  #winner(name: string): Candidate | undefined {
    const competing = this.#byName.get(name)
    if (competing === undefined) return undefined
    const isServable = (candidate: Candidate): boolean => candidate.live !== undefined
    if (this.#options.onDuplicate === 'first-wins') return competing.find(isServable)
    // Later sources win; within one source the first path still does.
    const last = competing.findLast(isServable)
    return competing.find(each => isServable(each) && each.sourceIndex === last?.sourceIndex)
  }

  #publish(
    slot: SourceSlot,
    names: ReadonlySet<string>,
    winnersBefore: ReadonlyMap<string, Candidate | undefined>,
    before: readonly Candidate[],
    after: readonly Candidate[],
    problemsBefore: ReadonlyMap<string, SkillReport>,
  ): void {
    const changes: SkillChange[] = []
    const served: [string, Skill | undefined][] = []
    for (const name of names) {
      const old = winnersBefore.get(name)?.live
      const now = this.#winner(name)?.live
      if (old !== now) served.push([name, now])
      const change = toChange(name, old, now)
      if (change !== undefined) changes.push(change)
    }
    const reports = this.#changedReports(names, winnersBefore, before, after, problemsBefore)
    const sources = this.#slots.map(({ label, contents, fault }) => ({
      label,
      diagnostics: fault === undefined ? contents.diagnostics : [...contents.diagnostics, fault],
    }))
    const isSourceSame = JSON.stringify(sources) === JSON.stringify(this.#current.sources())
    if (served.length === 0 && reports.length === 0 && isSourceSame) return
    const previous = this.#current
    this.#current = this.#createGeneration(previous, served, sources)
    for (const wake of this.#watchers) wake()
    const { logger } = this.#options
    logger.debug('generation', { number: this.#current.number, source: slot.label, changes: changes.length })
    this.#subscriptions.publish({
      previous,
      generation: this.#current,
      changes: sortChanges(changes),
      reports,
    })
  }

  /** Reports of the folders whose problems changed: decided anew, or their cover came or went. */
  #changedReports(
    names: ReadonlySet<string>,
    winnersBefore: ReadonlyMap<string, Candidate | undefined>,
    before: readonly Candidate[],
    after: readonly Candidate[],
    problemsBefore: ReadonlyMap<string, SkillReport>,
  ): SkillReport[] {
    const reports: SkillReport[] = []
    const decided = new Set(after)
    for (const candidate of after) {
      const winner = this.#winner(nameOf(candidate))
      const old = problemsBefore.get(candidate.entry.location)
      const report = toProblemReport(candidate, winner)
      if (JSON.stringify(old) !== JSON.stringify(report)) reports.push(report ?? toReport(candidate, winner))
    }
    if (before.length === 0 && names.size === decided.size && this.#byName.size === decided.size)
      return reports
    for (const name of names) {
      const winner = this.#winner(name)
      if (winner === winnersBefore.get(name)) continue
      for (const candidate of this.#byName.get(name) ?? []) {
        if (!decided.has(candidate)) reports.push(toReport(candidate, winner))
      }
    }
    return reports
  }

  #createGeneration(
    previous: Generation,
    served: readonly [string, Skill | undefined][],
    sources: readonly SourceReport[],
  ): Generation {
    const slots = this.#slots.map(slot => slot.candidates)
    const changes = served.map(([key, item]) => ({ key, item }))
    const skills = applySorted(previous.list(), changes, skill => skill.name)
    const policy = this.#options.onDuplicate
    return createGeneration({
      number: previous.number + 1,
      digest: this.#digest.update(served),
      skills,
      createReports: () => createReports(slots, skills, policy),
      sources: Object.freeze(sources),
    })
  }
}

interface FreshEntry {
  readonly entry: SourceEntry
  /** The candidate that the folder had so far. */
  readonly old: Candidate | undefined
}

/** What differs between the candidates so far and new contents; both are sorted by location. */
function pairWithCandidates(
  candidates: readonly Candidate[],
  entries: readonly SourceEntry[],
): { fresh: FreshEntry[]; removed: Candidate[] } {
  const fresh: FreshEntry[] = []
  const removed: Candidate[] = []
  let i = 0
  for (const entry of entries) {
    let old = candidates[i]
    while (old !== undefined && old.entry !== entry && compareText(old.entry.location, entry.location) < 0) {
      removed.push(old)
      old = candidates[++i]
    }
    const isSameFolder = old?.entry.location === entry.location
    if (isSameFolder) i++
    if (old?.entry !== entry) fresh.push({ entry, old: isSameFolder ? old : undefined })
  }
  removed.push(...candidates.slice(i))
  return { fresh, removed }
}

function refOf(slot: SourceSlot, location: string): string {
  return JSON.stringify(['last-good', slot.origin, location])
}

function byPrecedence(a: Candidate, b: Candidate): number {
  return a.sourceIndex - b.sourceIndex || compareText(a.entry.location, b.entry.location)
}

/** A skill that was read again and is the same keeps its object, and with it everybody's caches. */
function isSameForReaders(a: Skill | undefined, b: Skill): boolean {
  return (
    a !== undefined &&
    a.revision === b.revision &&
    a.name === b.name &&
    a.directory === b.directory &&
    a.skillFile === b.skillFile &&
    JSON.stringify(a.diagnostics) === JSON.stringify(b.diagnostics)
  )
}

function createReports(
  slots: readonly (readonly Candidate[])[],
  skills: readonly Skill[],
  policy: DuplicatePolicy,
): SkillReport[] {
  const servedSkills = new Set(skills)
  const all = slots.flat()
  const winners = new Map<string, Candidate>()
  for (const candidate of all) {
    if (candidate.live !== undefined && servedSkills.has(candidate.live))
      winners.set(nameOf(candidate), candidate)
  }
  const direction = policy === 'first-wins' ? 1 : -1
  return all
    .toSorted(
      (a, b) =>
        compareText(nameOf(a), nameOf(b)) ||
        direction * (a.sourceIndex - b.sourceIndex) ||
        compareText(a.entry.location, b.entry.location),
    )
    .map(candidate => toReport(candidate, winners.get(nameOf(candidate))))
}
