import { finishSwaps, hasSwaps } from '../authoring/folder-swap.ts'
import type { NotedWrite, SkillWriterOptions, SkillWriterParts } from '../authoring/skill-write.ts'
import { SkillWriter } from '../authoring/skill-writer.ts'
import { defined } from '../defined.ts'
import { SkillError } from '../errors.ts'
import type { EventBus } from '../events/event-bus.ts'
import { type DecisionStore, keyOf, type MadeDecision } from '../history/decisions.ts'
import { HistoryRecorder } from '../history/history-recorder.ts'
import type { RevisionLog } from '../history/revision-log.ts'
import { type RevisionRestorer, SkillHistory } from '../history/skill-history.ts'
import type { SkillReview } from '../history/skill-review.ts'
import { closeInTurn, type Logger } from '../host.ts'
import type { FolderPlace } from '../registry/admission.ts'
import { targetOf } from '../registry/skill-report.ts'
import type { Skill } from '../skill/skill.ts'
import type { SkillSource, WritableFolder } from '../source/skill-source.ts'
import { flushStore } from '../store/flush-store.ts'
import type { SkillStore } from '../store/skill-store.ts'
import type { AgentWrites } from './skill-runtime-options.ts'

export interface SkillChangesOptions extends Omit<SkillWriterParts, 'agentWrites'> {
  readonly store: SkillStore
  readonly decisions: DecisionStore
  readonly review: SkillReview
  readonly log: RevisionLog | undefined
  readonly events: EventBus
  readonly agentWrites: AgentWrites
  readonly logger: Logger
}

/** Connects the writers of skills with the review and the history. */
export class SkillChanges implements RevisionRestorer {
  readonly history: SkillHistory
  readonly #options: SkillChangesOptions
  readonly #recorder: HistoryRecorder | undefined
  readonly #stopDecisions: () => void
  /** The files that agents wrote to folders that are no skills yet, if writes of agents go live at once. */
  readonly #begun = new Map<string, ReadonlySet<string>>()

  constructor(options: SkillChangesOptions) {
    this.#options = options
    const { registry, sources, store, decisions, review, clock, log } = options
    if (log !== undefined) {
      const recorder = new HistoryRecorder({
        log,
        store,
        decisions,
        clock,
        findSource: label => sources.find(source => source.label === label),
      })
      registry.subscribe(update => recorder.record(update), { phase: 'events' })
      this.#recorder = recorder
    }
    this.history = new SkillHistory({
      clock,
      registry,
      review,
      decisions,
      log,
      recorder: this.#recorder,
      restorer: this,
    })
    this.#stopDecisions = decisions.subscribe(made => void this.#takeUp(made))
  }

  /**
   * Returns a writer for the first writable source.
   * @throws {SkillError} READ_ONLY when no source is writable
   */
  createWriter(options: SkillWriterOptions = {}): SkillWriter {
    const source = this.#options.sources.find(({ writable }) => writable !== undefined)
    if (source?.writable === undefined)
      throw new SkillError(
        'READ_ONLY',
        'no source is writable; make one writable: directory(path, { writable: true })',
      )
    return this.#createWriter(source, source.writable, options)
  }

  /** Finishes folder swaps that a killed process started. */
  async finishSwaps(): Promise<void> {
    const { sources, writeLock, logger } = this.#options
    for (const { writable, label } of sources.list()) {
      if (writable === undefined) continue
      const { fileSystem, root } = writable
      try {
        if (await hasSwaps(fileSystem, root)) await writeLock.run(() => finishSwaps(fileSystem, root))
      } catch (error) {
        logger.warn('a folder swap of a killed process could not be finished', { source: label, error })
      }
    }
  }

  isWritable({ origin }: FolderPlace): boolean {
    return this.#options.sources.find(source => source.origin === origin)?.writable !== undefined
  }

  async restore(place: FolderPlace, skill: Skill, by: string): Promise<void> {
    const { registry, sources, review } = this.#options
    const source = sources.find(({ origin }) => origin === place.origin)
    if (source?.writable === undefined) return
    this.#recorder?.expect(place, skill.revision, { author: { kind: 'person', name: by }, cause: 'rollback' })
    await this.#createWriter(source, source.writable).restore(skill, registry.findNewest(place))
    // If a person restores a revision that an agent wrote, approve the revision, because the person wants it to be
    // served.
    const report = registry.current
      .reports()
      .find(each => each.source === source.label && each.location === place.location)
    if (report?.status === 'pending' && report.revision === skill.revision)
      await review.approve(targetOf(report), { by, revision: skill.revision, confirmHidden: true })
  }

  /** Ignores later decisions. */
  stop(): void {
    this.#stopDecisions()
  }

  async close(): Promise<void> {
    const { decisions, log, writeLock, logger } = this.#options
    await closeInTurn([() => decisions.close(), () => log?.close(), () => writeLock.close?.()], logger)
  }

  #createWriter(source: SkillSource, folder: WritableFolder, options: SkillWriterOptions = {}): SkillWriter {
    const { registry, reader, sources, reloads, clock, hasher, writeLock } = this.#options
    const { label, origin, reading } = source
    const layer = { label, origin, ...defined({ reading }), ...folder }
    const agentWrites = {
      record: async (write: NotedWrite): Promise<void> => await this.#noteWrite(origin, write),
      pathsAt: (location: string) => this.#findWritten({ origin, location }),
    }
    const parts = { registry, reader, sources, reloads, agentWrites, writeLock, clock, hasher }
    return new SkillWriter(layer, parts, options)
  }

  /** Applies decisions of this process or of another process. */
  async #takeUp(made: readonly MadeDecision[]): Promise<void> {
    const { registry, store, events, logger } = this.#options
    const places = new Map(made.map(({ place }) => [keyOf(place), place]))
    try {
      for (const place of places.values()) {
        const latest = made.findLast(each => keyOf(each.place) === keyOf(place))?.decision
        await registry.reconsider(place, latest?.kind === 'approve' ? latest.revision : undefined)
      }
      // Flush now. If a write were still pending when the process ends, this write could overwrite the result of the
      // decision with an older value.
      await flushStore(store, logger)
      this.#fetchApproved(made)
    } catch (error) {
      if (!SkillError.isInstance(error, 'CLOSED')) logger.error('a decision could not be applied', { error })
    }
    for (const { place, decision } of made)
      if (decision.kind !== 'write') await events.emit('skill:decided', { ...place, decision })
  }

  /** Reads a source again if another process approved a revision that this process does not have. */
  #fetchApproved(made: readonly MadeDecision[]): void {
    const { registry, sources, logger } = this.#options
    const origins = made.flatMap(({ place, decision }) => {
      if (decision.kind !== 'approve') return []
      return registry.findNewest(place)?.revision === decision.revision ? [] : place.origin
    })
    for (const origin of new Set(origins)) {
      sources.reloadOne(origin).catch((error: unknown) => {
        if (!SkillError.isInstance(error, 'CLOSED')) logger.error('a source could not be read', { error })
      })
    }
  }

  #findWritten(place: FolderPlace): ReadonlySet<string> {
    const { decisions, agentWrites } = this.#options
    if (agentWrites === 'live') return this.#begun.get(keyOf(place)) ?? new Set()
    return new Set(decisions.find(place)?.writes.map(({ path }) => path))
  }

  /** Notes a file that goes live at once, until its folder is a skill. */
  #noteLive(place: FolderPlace, path: string): void {
    const key = keyOf(place)
    if (this.#options.registry.findNewest(place) === undefined)
      this.#begun.set(key, new Set(this.#begun.get(key)).add(path))
    else this.#begun.delete(key)
  }

  async #noteWrite(origin: string, { location, folder, path, digest, author }: NotedWrite): Promise<void> {
    const { decisions, agentWrites, clock } = this.#options
    const place = { origin, location }
    const by = author.name ?? 'an agent'
    this.#recorder?.expect(place, digest, { author: { kind: 'agent', name: by }, cause: 'write' })
    if (agentWrites === 'live') return this.#noteLive(place, path)
    const identity = this.#options.registry.findFolder(place)?.identity
    const where = defined({ conversation: author.conversation, identity })
    await decisions.record(place, { kind: 'write', path, digest, folder, ...where, by, at: clock.now() })
  }
}
