import { SkillError } from '../errors.ts'
import { type Clock, type Hasher, type Logger, portableHasher, silentLogger, systemClock } from '../host.ts'
import { checkOptions, type KnownOptions, oneOf } from '../options.ts'
import { quote } from '../quote.ts'
import { applySorted } from '../skill/compare.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import type { SourceContents } from '../skill/source-contents.ts'
import type { SkillStore } from '../store/skill-store.ts'
import { Turns } from '../turns.ts'
import { type AdmissionPolicy, type FolderPlace, placeOf, trustAdmission } from './admission.ts'
import { type Candidate, type FolderSeat, nameOf } from './candidate.ts'
import {
  CandidateBuilder,
  type EarlierReading,
  type InvalidPolicy,
  type RestoredSkills,
} from './candidate-builder.ts'
import { DecisionMemory } from './decision-memory.ts'
import type { DuplicatePolicy } from './duplicate-policy.ts'
import { type FolderOnDisk, folderOf } from './folder-path.ts'
import { createGeneration, type Generation, type SourceReport } from './generation.ts'
import { GenerationDigest } from './generation-digest.ts'
import { LastGood, type SharedSources } from './last-good.ts'
import { findChangedReports, findServedChanges, NameGroups, type ServedChanges } from './name-groups.ts'
import { type FreshEntry, type PairedEntries, pairWithCandidates } from './pair-candidates.ts'
import type { SkillReport } from './skill-report.ts'
import { Slices } from './slices.ts'
import {
  createSlot,
  indexOfLocation,
  type RegisteredSource,
  type SourceSlot,
  toSourceReport,
} from './source-slot.ts'
import { PHASES, type SubscribeOptions, Subscriptions, type UpdateSubscriber } from './subscriptions.ts'

export interface SkillRegistryOptions {
  readonly store: SkillStore
  readonly hasher?: Hasher
  /** @default 'first-wins' */
  readonly onDuplicate?: DuplicatePolicy
  /** @default 'keep-last-good' */
  readonly onInvalid?: InvalidPolicy
  /** @default trustAdmission */
  readonly admission?: AdmissionPolicy
  /** Sources about which this project has its own last good revisions. @default none */
  readonly shared?: SharedSources | undefined
  readonly clock?: Clock
  readonly logger?: Logger
}

const KNOWN_SUBSCRIBE: KnownOptions<SubscribeOptions> = { phase: oneOf(PHASES) }

const RESTORE_SLICE = 200
/** The folder of a skill, even of a skill that is not served. */
export interface KnownFolder extends FolderPlace, FolderOnDisk {
  readonly name: string
}

/**
 * Accepts complete contents from sources, decides which skills are served, and publishes each state as an immutable
 * generation. Only this class creates generations. Readers use `current` and never wait.
 */
export class SkillRegistry {
  readonly #onDuplicate: DuplicatePolicy
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #slots: SourceSlot[] = []
  readonly #names: NameGroups
  readonly #lastGood: LastGood
  readonly #builder: CandidateBuilder
  readonly #digest: GenerationDigest
  readonly #remarks = new WeakMap<Skill, readonly Diagnostic[]>()
  readonly #folders = new WeakMap<Skill, FolderSeat>()
  readonly #subscriptions: Subscriptions
  readonly #turns = new Turns(1)
  #slices: Slices

  constructor(options: SkillRegistryOptions) {
    const clock = options.clock ?? systemClock
    const logger = options.logger ?? silentLogger
    const hasher = options.hasher ?? portableHasher
    this.#onDuplicate = options.onDuplicate ?? 'first-wins'
    this.#clock = clock
    this.#logger = logger
    this.#names = new NameGroups(this.#onDuplicate, error =>
      logger.error('onDuplicate failed; the first skill is served', { error }),
    )
    this.#lastGood = new LastGood(options.store, hasher, options.shared)
    this.#builder = new CandidateBuilder({
      store: options.store,
      lastGood: this.#lastGood,
      memory: new DecisionMemory(options.store, hasher, logger),
      admission: options.admission ?? trustAdmission,
      onInvalid: options.onInvalid ?? 'keep-last-good',
      findFolder: place => this.findFolder(place),
      remarks: this.#remarks,
      logger,
    })
    this.#digest = new GenerationDigest(hasher)
    this.#slices = new Slices(clock)
    const first = this.#createGeneration(0, Object.freeze([]), [])
    this.#subscriptions = new Subscriptions(first, clock, logger)
  }

  /** The newest generation. Read `current` once, and use the same generation for all related questions. */
  get current(): Generation {
    return this.#subscriptions.current
  }

  /**
   * Declares a source. Sources declared earlier have precedence.
   * @throws {SkillError} DUPLICATE_SOURCE when another source has the same label
   */
  addSource(source: RegisteredSource): void {
    if (this.#slots.some(slot => slot.label === source.label)) {
      throw new SkillError(
        'DUPLICATE_SOURCE',
        `two sources have the label ${quote(source.label)}; give each its own, for example directory(path, { label: "team" })`,
      )
    }
    this.#slots.push(createSlot(source, this.#slots.length))
  }

  /**
   * Replaces the complete contents of a source. Commits happen one after the other. Resolves to the generation
   * that shows these contents.
   * @throws {SkillError} CLOSED
   */
  async replace(label: string, contents: SourceContents): Promise<Generation> {
    return await this.#enqueue(label, slot => this.#commit(slot, contents))
  }

  /** Reports that a whole source could not be read. The last contents of the source stay visible until `replace` succeeds. */
  async reportSource(label: string, diagnostic: Diagnostic): Promise<void> {
    await this.#enqueue(label, async slot => {
      slot.fault = diagnostic
      this.#publish(slot, { served: [], changes: [] }, [], false)
    })
  }

  /** Reports why the contents of a source cannot be stored. `undefined` means that the contents can be stored again. */
  async reportStore(label: string, diagnostic: Diagnostic | undefined): Promise<void> {
    const reported = this.#slots.find(slot => slot.label === label)
    if (reported !== undefined && reported.storeFault?.message === diagnostic?.message) return
    // Store the diagnostics before the task is queued, so that the next call can compare its diagnostics with the
    // stored ones.
    if (reported !== undefined) reported.storeFault = diagnostic
    await this.#enqueue(label, async slot => {
      this.#publish(slot, { served: [], changes: [] }, [], false)
    })
  }

  /**
   * Replaces the diagnostics that were reported about a live skill. The call is ignored when the skill is no longer
   * served. The served skills do not change.
   * @throws {SkillError} CLOSED
   */
  async remark(skill: Skill, diagnostics: readonly Diagnostic[]): Promise<void> {
    // Return early, because most skills never get diagnostics, and the search for the skill scans all candidates.
    if (diagnostics.length === 0 && !this.#remarks.has(skill)) return
    // Store the diagnostics before the task is queued, so that the next call can compare its diagnostics with the
    // stored ones.
    this.#remarks.set(skill, diagnostics)
    await this.#enqueue(skill.source, async slot => {
      const old = slot.candidates.find(({ live }) => live === skill)
      if (old === undefined || JSON.stringify(old.remarks) === JSON.stringify(diagnostics)) return
      await this.#apply(slot, slot.contents, {
        fresh: [{ entry: old.entry, old, former: old }],
        removed: [],
        moves: [],
      })
    })
  }

  /** Returns a declared source by its label, or `undefined`. */
  findSource(label: string): RegisteredSource | undefined {
    return this.#slots.find(slot => slot.label === label)
  }

  /** Returns true if a source of this registry has the given origin. */
  isKnown(origin: string): boolean {
    return this.#slotOf(origin) !== undefined
  }

  /**
   * Returns the current place of a served skill's folder, or the last place of a removed folder; `undefined` when the
   * skill's source is unknown.
   */
  placeOf(skill: Skill): FolderPlace | undefined {
    const folder = { source: skill.source, location: this.locationOf(skill) }
    return placeOf(folder, label => this.findSource(label))
  }

  /**
   * Returns the newest text of a folder as a skill, even if the text is not live; `undefined` when the text is broken or
   * removed.
   */
  findNewest({ origin, location }: FolderPlace): Skill | undefined {
    const contents = this.#slotOf(origin)?.contents
    return contents?.entries[indexOfLocation(contents, location)]?.skill
  }

  /** Returns the folder of a skill, even if the skill is not served; `undefined` if no source has this folder. */
  findFolder(place: FolderPlace): FolderOnDisk | undefined {
    const slot = this.#slotOf(place.origin)
    const index = slot === undefined ? -1 : indexOfLocation(slot.next, place.location)
    return index < 0 ? undefined : folderOf(place, slot?.next.entries[index])
  }

  /** Lists the folders of all skills, even of skills that are not served. */
  listFolders(): readonly KnownFolder[] {
    return this.#slots.flatMap(({ origin, candidates }) =>
      candidates.map(candidate => {
        const place = { origin, location: candidate.entry.location }
        return { ...place, ...folderOf(place, candidate.entry), name: nameOf(candidate) }
      }),
    )
  }

  /** Lists the served and the newest revision of every folder, even of folders that another source shadows. */
  listKnown(): readonly Skill[] {
    return this.#slots.flatMap(({ candidates }) =>
      candidates.flatMap(({ entry: { skill }, live }) => [
        ...(live === undefined ? [] : [live]),
        ...(skill === undefined || skill === live ? [] : [skill]),
      ]),
    )
  }

  /** Returns true if two served skills come from the same folder, even if the folder was moved or changed in between. */
  isSameFolder(a: Skill, b: Skill): boolean {
    const folder = this.#folders.get(a)
    return folder !== undefined && folder === this.#folders.get(b)
  }

  /** Returns the current location of a served skill's folder, or the last location of a removed folder. */
  locationOf(skill: Skill): string {
    return this.#folders.get(skill)?.location ?? skill.location
  }

  /** Returns true if the folder has served a skill, in this process or an earlier one, or if a revision is approved. */
  wasServed(place: FolderPlace): boolean {
    const { origin, location } = place
    return this.#lastGood.find(origin, location).last !== undefined || this.#builder.isApproved(place)
  }

  /**
   * Returns a stored revision of a folder as a skill; `undefined` when the store does not have the revision or cannot
   * read it.
   */
  async readRevision(place: FolderPlace, revision: Digest): Promise<Skill | undefined> {
    const slot = this.#slotOf(place.origin)
    if (slot === undefined) return undefined
    const candidate = slot.candidates.find(({ entry }) => entry.location === place.location)
    const known = [candidate?.entry.skill, candidate?.live].find(skill => skill?.revision === revision)
    // The revisions of a removed folder can still be read.
    const entry = candidate?.entry ?? { location: place.location }
    return known ?? (await this.#lastGood.readRevision(slot, entry, revision))
  }

  /**
   * Returns a stored revision of a served skill, if the admission policy lets the conversation read it now. Otherwise
   * returns `undefined`.
   */
  async readAdmitted(served: Skill, revision: Digest, reading: EarlierReading): Promise<Skill | undefined> {
    const place = this.placeOf(served)
    const skill = place === undefined ? undefined : await this.readRevision(place, revision)
    // Find the candidate after the wait, because a decision may have replaced it.
    const slot = this.#slotOf(place?.origin)
    const candidate = slot?.candidates.find(({ entry }) => entry.location === place?.location)
    if (skill === undefined || slot === undefined || candidate === undefined) return undefined
    return this.#builder.isReadable(slot, candidate, skill, reading) ? skill : undefined
  }

  /**
   * Asks the admission policy again about one folder or about all folders. Resolves when the verdicts are visible.
   * @param approved the approved revision of the folder; the folder may have a newer revision by now
   * @throws {SkillError} CLOSED
   */
  async reconsider(place?: FolderPlace, approved?: Digest): Promise<Generation> {
    for (const slot of this.#slots) {
      if (place !== undefined && slot.origin !== place.origin) continue
      await this.#enqueue(slot.label, async () => {
        const fresh = slot.candidates
          .filter(({ entry }) => place === undefined || entry.location === place.location)
          .map(old => ({
            entry: old.entry,
            old,
            former: old,
            ...(approved === undefined ? {} : { approved }),
          }))
        if (fresh.length > 0) await this.#apply(slot, slot.contents, { fresh, removed: [], moves: [] })
      })
    }
    return this.current
  }

  /**
   * Calls the subscriber after each visible change, when the new generation is already `current`.
   * Returns a function that unsubscribes.
   * @throws {SkillError} INVALID_OPTION
   */
  subscribe(subscriber: UpdateSubscriber, options?: SubscribeOptions): () => void {
    checkOptions('subscribe()', options, KNOWN_SUBSCRIBE)
    return this.#subscriptions.add(subscriber, options?.phase ?? 'events')
  }

  /**
   * Yields the current generation, then each newer one. A slow reader skips intermediate generations. Waiting for the
   * next generation keeps the process alive.
   */
  watch(signal?: AbortSignal): AsyncGenerator<Generation, void, undefined> {
    return this.#subscriptions.watch(signal)
  }

  /** Resolves when every update that was committed before this call has reached all subscribers. */
  async delivered(): Promise<void> {
    await this.#turns.run(async () => undefined)
    await this.#subscriptions.delivered()
  }

  /**
   * Refuses further contents, ends the `watch` iterators, and waits until all running deliveries have ended.
   * Idempotent.
   */
  async close(): Promise<void> {
    this.#subscriptions.close()
    await this.delivered()
  }

  #slotOf(origin: string | undefined): SourceSlot | undefined {
    return this.#slots.find(slot => slot.origin === origin)
  }

  /** Runs tasks one after the other. A failed task does not stop the next one. */
  async #enqueue(label: string, work: (slot: SourceSlot) => Promise<void>): Promise<Generation> {
    const slot = this.#slots.find(each => each.label === label)
    if (slot === undefined) throw new SkillError('INVALID_OPTION', `there is no source ${quote(label)}`)
    return await this.#turns.run(async () => {
      if (this.#subscriptions.isClosed) throw new SkillError('CLOSED', 'the registry is closed')
      this.#slices = new Slices(this.#clock)
      await work(slot)
      return this.current
    })
  }

  async #commit(slot: SourceSlot, contents: SourceContents): Promise<void> {
    if (contents === slot.contents && slot.fault === undefined) return
    // Read the decisions first, because an agent in another process records each write before it writes the file.
    this.#builder.refresh()
    const paired = pairWithCandidates(slot.candidates, contents.entries)
    const moves = [...paired.moves, ...this.#builder.findMissedMoves(slot, contents, paired.fresh)]
    slot.fault = undefined
    slot.isFirst ??= !this.#lastGood.isKnown(slot.origin)
    await this.#slices.pauseIfDue()
    await this.#apply(slot, contents, { ...paired, moves })
    slot.isFirst = false
    this.#lastGood.markKnown(slot.origin)
    this.#builder.noteShown(slot.origin)
  }

  /** Decides about folders and publishes the result in one step. */
  async #apply(
    slot: SourceSlot,
    contents: SourceContents,
    { fresh, removed, moves }: PairedEntries,
  ): Promise<void> {
    slot.next = contents
    if (moves.length > 0) await this.#builder.move(slot, moves)
    const after: Candidate[] = []
    for (let undecided: readonly FreshEntry[] = fresh; undecided.length > 0; ) {
      const restored = await this.#restore(slot, undecided)
      const overtaken: FreshEntry[] = []
      await this.#slices.each(undecided, pair => {
        const candidate = this.#builder.build(slot, pair, restored)
        if (candidate === undefined) overtaken.push(pair)
        else after.push(candidate)
        if (candidate?.live !== undefined) this.#folders.set(candidate.live, candidate.folder)
      })
      undecided = overtaken
    }
    for (const candidate of removed) this.#builder.forget(slot, candidate)
    const before = [...removed, ...fresh.flatMap(({ old }) => old ?? [])]
    const changed = await this.#names.replace(before, after, this.#slices)
    const changes = await findServedChanges(changed, this.#slices, this.#digest)
    const reports = await findChangedReports([...changed.values()], this.#slices)
    const candidates = applySorted(
      slot.candidates,
      [
        ...removed.map(({ entry }) => ({ key: entry.location, item: undefined })),
        ...after.map(item => ({ key: item.entry.location, item })),
      ],
      candidate => candidate.entry.location,
    )
    await this.#slices.pauseIfDue()
    slot.contents = contents
    slot.candidates = candidates
    // If a copy was added or removed, publish a new generation even if no served skill changed.
    const hasMoved = removed.length > 0 || fresh.some(({ old }) => old === undefined)
    this.#publish(slot, changes, reports, hasMoved)
  }

  async #restore(slot: SourceSlot, fresh: readonly FreshEntry[]): Promise<RestoredSkills> {
    const restored: RestoredSkills = { skills: new Map(), served: new Map() }
    for (let i = 0; i < fresh.length; i += RESTORE_SLICE) {
      if (i > 0) await this.#slices.pauseIfDue()
      await this.#builder.restore(slot, fresh.slice(i, i + RESTORE_SLICE), restored)
    }
    return restored
  }

  /** Replaces the current generation and notifies watchers and subscribers. */
  #publish(
    slot: SourceSlot,
    { served, changes }: ServedChanges,
    reports: readonly SkillReport[],
    hasMoved: boolean,
  ): void {
    const sources = this.#slots.map(toSourceReport)
    const isSourceSame = JSON.stringify(sources) === JSON.stringify(this.current.sources())
    if (served.length === 0 && reports.length === 0 && !hasMoved && isSourceSame) return
    const previous = this.current
    const skills =
      served.length === 0 ? previous.list() : applySorted(previous.list(), served, skill => skill.name)
    const number = previous.number + 1
    const generation = this.#createGeneration(number, skills, Object.freeze(sources))
    this.#logger.debug('generation', { number, source: slot.label, changes: changes.length })
    this.#subscriptions.publish({ previous, generation, changes, reports })
  }

  #createGeneration(number: number, skills: readonly Skill[], sources: readonly SourceReport[]): Generation {
    const [digest, groups, policy] = [this.#digest.compute(), this.#names.sorted, this.#onDuplicate]
    return createGeneration({ number, digest, skills, groups, sources, policy })
  }
}
