import { finishSwaps, hasSwaps } from '../authoring/folder-swap.ts'
import {
  type AuthoringHost,
  type NotedWrite,
  SkillWriter,
  type SkillWriterOptions,
} from '../authoring/skill-writer.ts'
import type { WriteLock } from '../authoring/write-lock.ts'
import { SkillError } from '../errors.ts'
import type { EventBus } from '../events/event-bus.ts'
import { type DecisionStore, keyOf, type MadeDecision } from '../history/decisions.ts'
import { findHiddenIn } from '../history/hidden-in-revision.ts'
import { HistoryRecorder } from '../history/history-recorder.ts'
import type { RevisionLog } from '../history/revision-log.ts'
import { SkillHistory } from '../history/skill-history.ts'
import { SkillReview } from '../history/skill-review.ts'
import type { Clock, Logger } from '../host.ts'
import type { FolderPlace } from '../registry/admission.ts'
import { type SkillReport, targetOf } from '../registry/generation.ts'
import type { SkillRegistry } from '../registry/skill-registry.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import type { SkillSource, WritableFolder } from '../source/skill-source.ts'
import type { SkillStore } from '../store/skill-store.ts'
import type { AgentWrites } from './skill-runtime-options.ts'
import type { SourceReaders } from './source-readers.ts'

export interface SkillChangesOptions {
  readonly registry: SkillRegistry
  readonly sources: SourceReaders
  readonly store: SkillStore
  readonly decisions: DecisionStore
  readonly log: RevisionLog | undefined
  readonly events: EventBus
  readonly writeLock: WriteLock
  readonly agentWrites: AgentWrites
  /** What writers need of the runtime. */
  readonly authoring: Pick<AuthoringHost, 'look' | 'readFile' | 'reload'> & {
    reloadSkill(name: string): Promise<readonly string[]>
  }
  readonly clock: Clock
  readonly logger: Logger
}

/** Who changes skills, who decides about it, and what is written down of both. */
export class SkillChanges {
  readonly review: SkillReview
  /** Absent when nothing is written down. */
  readonly history: SkillHistory | undefined
  readonly #options: SkillChangesOptions
  readonly #recorder: HistoryRecorder | undefined
  readonly #stopDecisions: () => void

  constructor(options: SkillChangesOptions) {
    this.#options = options
    const { registry, sources, store, decisions, clock, log } = options
    this.review = new SkillReview(
      {
        current: () => registry.current,
        originOf: label => sources.find(source => source.label === label)?.origin,
        trustOf: label => sources.find(source => source.label === label)?.trust,
        findNewest: place => registry.findNewest(place),
        recordedRevisions: async place =>
          (await log?.list(place))?.flatMap(({ revision }) => revision ?? []) ?? [],
        findHidden: (place, revision) => this.#findHidden(place, revision),
        isStored: async revision => (await store.getTree(revision)) !== undefined,
        stored: () => this.#flush(),
        reconsider: async place => {
          await registry.reconsider(place)
          // What was decided to be served has to outlive the process together with the decision.
          await this.#flush()
        },
      },
      { decisions, clock },
    )
    if (log !== undefined) {
      this.#recorder = this.#createRecorder(log)
      this.history = this.#createHistory(log)
    }
    this.#stopDecisions = decisions.subscribe(made => void this.#takeUp(made))
  }

  /** Writes skills into a folder of a source. */
  createWriter(source: SkillSource, folder: WritableFolder, options: SkillWriterOptions = {}): SkillWriter {
    const { registry, authoring, clock, writeLock } = this.#options
    const reportsOf = (name: string): readonly SkillReport[] =>
      registry.current.reports().filter(each => each.name === name && each.source === source.label)
    const isPending = (name: string): boolean => reportsOf(name).some(({ status }) => status === 'pending')
    const findNewest = (location: string): Skill | undefined =>
      registry.findNewest({ origin: source.origin, location })
    const host: AuthoringHost = {
      ...authoring,
      find: name => registry.current.find(name),
      findOwn: name => reportsOf(name).flatMap(({ location }) => findNewest(location) ?? [])[0],
      findNewest,
      reloadSkill: async name => ({ errors: await authoring.reloadSkill(name), isHeld: isPending(name) }),
      noteWrite: write => this.#noteWrite(source.origin, write),
    }
    const { label, reading } = source
    const layer = { label, ...(reading === undefined ? {} : { reading }), ...folder }
    return new SkillWriter(layer, host, { clock, lock: writeLock, ...options })
  }

  /** A process that was killed may have left a folder between two moves. */
  async finishSwaps(): Promise<void> {
    const { sources, writeLock, logger } = this.#options
    for (const { writable, label } of sources.list()) {
      if (writable === undefined) continue
      const { fileSystem, root } = writable
      try {
        if (await hasSwaps(fileSystem, root)) await writeLock.run(() => finishSwaps(fileSystem, root))
      } catch (error) {
        logger.warn('what a killed process had begun could not be ended', { source: label, error })
      }
    }
  }

  /** Nothing that is decided is taken up any more. */
  stop(): void {
    this.#stopDecisions()
  }

  async close(): Promise<void> {
    await this.#options.decisions.close()
    await this.#options.log?.close()
    await this.#options.writeLock.close?.()
  }

  /** Waits for the store; when that fails, it says why by itself. */
  async #flush(): Promise<void> {
    const { store, logger } = this.#options
    await store.flush().catch((error: unknown) => logger.error('the store could not be flushed', { error }))
  }

  /** Shows what was decided, here or in another process. */
  async #takeUp(made: readonly MadeDecision[]): Promise<void> {
    const { registry, events, logger } = this.#options
    const places = new Map(made.map(({ place }) => [keyOf(place), place]))
    try {
      for (const place of places.values()) {
        const latest = made.findLast(each => keyOf(each.place) === keyOf(place))?.decision
        await registry.reconsider(place, latest?.kind === 'approve' ? latest.revision : undefined)
      }
      // What came of it has to outlive the process, so that an older value is not written over it at the end.
      await this.#flush()
      this.#fetchApproved(made)
    } catch (error) {
      if (!SkillError.isInstance(error, 'CLOSED')) logger.error('a decision could not be taken up', { error })
    }
    for (const { place, decision } of made)
      if (decision.kind !== 'write') await events.emit('skill:decided', { ...place, decision })
  }

  /** What another process has fetched and somebody has approved there is not here yet. */
  #fetchApproved(made: readonly MadeDecision[]): void {
    const { registry, sources, logger } = this.#options
    const origins = made.flatMap(({ place, decision }) => {
      if (decision.kind !== 'approve') return []
      return registry.findNewest(place)?.revision === decision.revision ? [] : place.origin
    })
    for (const origin of new Set(origins)) {
      sources.reloadOne(origin).catch((error: unknown) => {
        if (!SkillError.isInstance(error, 'CLOSED')) logger.error('a source could not be asked', { error })
      })
    }
  }

  async #noteWrite(origin: string, { location, path, digest, author }: NotedWrite): Promise<void> {
    const { decisions, agentWrites, clock } = this.#options
    const place = { origin, location }
    const by = author.name ?? 'an agent'
    this.#recorder?.expect(place, digest, { author: { kind: 'agent', name: by }, cause: 'write' })
    if (agentWrites === 'live') return
    const where = author.conversation === undefined ? {} : { conversation: author.conversation }
    await decisions.record(place, { kind: 'write', path, digest, ...where, by, at: clock.now() })
  }

  #createRecorder(log: RevisionLog): HistoryRecorder {
    const { registry, sources, store, decisions, clock } = this.#options
    const findSource = (label: string): SkillSource | undefined => sources.find(each => each.label === label)
    const recorder = new HistoryRecorder({ log, store, decisions, clock, findSource })
    registry.subscribe(update => recorder.record(update), { phase: 'events' })
    return recorder
  }

  #createHistory(log: RevisionLog): SkillHistory {
    const { registry } = this.#options
    const host = {
      find: (target: string) => this.review.find(target),
      decisions: async (place: FolderPlace) => await this.#options.decisions.list(place),
      readRevision: (place: FolderPlace, revision: Digest) => registry.readRevision(place, revision),
      isPinned: (place: FolderPlace) => this.#options.decisions.find(place)?.pinned !== undefined,
      isWritable: (place: FolderPlace) => this.#findSource(place)?.writable !== undefined,
      findHidden: (place: FolderPlace, revision: Digest) => this.#findHidden(place, revision),
      restore: (place: FolderPlace, skill: Skill, by: string) => this.#restore(place, skill, by),
      pin: async (place: FolderPlace, revision: Digest, by: string) => {
        this.#recorder?.expect(place, revision, { author: { kind: 'person', name: by }, cause: 'rollback' })
        return await this.review.pinAt(place, revision, { by })
      },
      knows: (origin: string) => this.#options.sources.find(source => source.origin === origin) !== undefined,
      recorded: () => registry.delivered(),
    }
    return new SkillHistory(host, log)
  }

  async #findHidden(place: FolderPlace, revision: Digest): Promise<readonly Diagnostic[]> {
    const skill = await this.#options.registry.readRevision(place, revision)
    return skill === undefined ? [] : await findHiddenIn(skill, this.#options.authoring.readFile)
  }

  async #restore(place: FolderPlace, skill: Skill, by: string): Promise<void> {
    const { registry } = this.#options
    const source = this.#findSource(place)
    if (source?.writable === undefined) return
    this.#recorder?.expect(place, skill.revision, { author: { kind: 'person', name: by }, cause: 'rollback' })
    await this.createWriter(source, source.writable).restore(skill, registry.findNewest(place))
    // Whoever goes back to a revision wants it served, whoever wrote it.
    const report = registry.current
      .reports()
      .find(each => each.source === source.label && each.location === place.location)
    if (report?.status === 'pending' && report.revision === skill.revision)
      await this.review.approve(targetOf(report), { by, revision: skill.revision, confirmHidden: true })
  }

  #findSource({ origin }: FolderPlace): SkillSource | undefined {
    return this.#options.sources.find(source => source.origin === origin)
  }
}
