import { defined } from '../defined.ts'
import type { Clock } from '../host.ts'
import { type FolderPlace, placeOf } from '../registry/admission.ts'
import type { RegistryUpdate } from '../registry/registry-update.ts'
import type { Digest } from '../skill/digest.ts'
import type { SkillStore } from '../store/skill-store.ts'
import { Turns } from '../turns.ts'
import { type DecisionStore, EFFECT_MS, keyOf, type RecordedDecision } from './decisions.ts'
import type { RevisionAuthor, RevisionCause, RevisionLog, RevisionRecord } from './revision-log.ts'

/** The author and the cause of a change. */
export interface ChangeOrigin {
  readonly author: RevisionAuthor
  readonly cause: RevisionCause
  readonly note?: string
}

export interface HistoryRecorderOptions {
  readonly log: RevisionLog
  readonly store: SkillStore
  readonly decisions: DecisionStore
  readonly clock: Clock
  /** Finds a source by its label. */
  readonly findSource: (label: string) => RecordedSource | undefined
}

export interface RecordedSource {
  readonly origin: string
  readonly isRemote?: boolean
  readonly versions?: { describeChange(location: string): Promise<ChangeOrigin | undefined> }
}

interface Seen {
  readonly place: FolderPlace
  readonly source: string
  readonly name: string
  readonly revision?: Digest
  readonly event: RevisionRecord['event']
  /** Time at which the change became visible. The record is written later. */
  readonly at: number
}

// Large batches yield to the event loop at intervals.
const SLICE = 1_000
// Announced changes that never happen must not accumulate.
const MAX_EXPECTED = 1_000

/** Records each new revision with its author, and keeps the files of the revision in the store. */
export class HistoryRecorder {
  readonly #options: HistoryRecorderOptions
  /** The author and cause of each announced change. The key consists of place and digest. */
  readonly #expected = new Map<string, ChangeOrigin>()
  readonly #turns = new Turns(1)

  constructor(options: HistoryRecorderOptions) {
    this.#options = options
  }

  /** Announces the author of a file or revision that is about to appear. */
  expect(place: FolderPlace, digest: Digest, origin: ChangeOrigin): void {
    const oldest = this.#expected.keys().next().value
    if (this.#expected.size >= MAX_EXPECTED && oldest !== undefined) this.#expected.delete(oldest)
    this.#expected.set(`${keyOf(place)}${digest}`, origin)
  }

  /** Records the changes of an update. Resolves when the records are written. */
  async record(update: RegistryUpdate): Promise<void> {
    const seen = this.#findSeen(update)
    // Write one update after the other, because two updates may concern the same folders.
    await this.#turns.run(() => this.#write(seen))
  }

  #findSeen({ changes, reports }: RegistryUpdate): readonly Seen[] {
    const seen: Seen[] = []
    const at = this.#options.clock.now()
    for (const change of changes) {
      const skill = change.kind === 'modified' ? change.newSkill : change.skill
      const place = placeOf(skill, this.#options.findSource)
      if (place === undefined) continue
      const event = change.kind === 'removed' ? 'removed' : 'live'
      const revision = event === 'live' ? { revision: skill.revision } : {}
      seen.push({ place, source: skill.source, name: skill.name, event, at, ...revision })
    }
    for (const report of reports) {
      const place = placeOf(report, this.#options.findSource)
      if (place === undefined || report.revision === undefined || report.serving === report.revision) continue
      const { source, name, revision } = report
      seen.push({ place, source, name, revision, event: 'held', at })
    }
    // If a skill gets a new name but keeps its folder, record only one step, under the new name.
    const live = new Set(seen.flatMap(({ event, place }) => (event === 'live' ? keyOf(place) : [])))
    return seen.filter(({ event, place }) => event !== 'removed' || !live.has(keyOf(place)))
  }

  async #write(seen: readonly Seen[]): Promise<void> {
    const { log, store, clock } = this.#options
    const added: RevisionRecord[] = []
    for (const [index, { place, source, name, revision, event, at }] of seen.entries()) {
      if (index > 0 && index % SLICE === 0) await new Promise<void>(resolve => void clock.after(0, resolve))
      const last = log.last(place)
      if (last?.event === event && last.revision === revision) continue
      const records = last === undefined ? [] : await log.list(place)
      if (isKnown(records, event, revision)) continue
      const origin = await this.#findOrigin({ place, source, revision, at }, records)
      added.push({ ...place, source, name, ...defined({ revision }), event, ...origin, at })
      if (revision !== undefined) store.setRef(refOf(place, revision), revision)
    }
    if (added.length > 0) await this.#forget(await log.append(added))
  }

  /** When the log drops steps, lets the store delete their revisions, except revisions that another step still names. */
  async #forget(dropped: readonly RevisionRecord[]): Promise<void> {
    const { log, store } = this.#options
    for (const { origin, location, revision } of dropped) {
      if (revision === undefined) continue
      const place = { origin, location }
      const isListed = (await log.list(place)).some(step => step.revision === revision)
      if (!isListed) store.setRef(refOf(place, revision), undefined)
    }
  }

  async #findOrigin(
    step: Pick<Seen, 'place' | 'source' | 'at'> & { readonly revision: Digest | undefined },
    records: readonly RevisionRecord[],
  ): Promise<ChangeOrigin> {
    const { place, revision } = step
    const source = this.#options.findSource(step.source)
    const unknown: RevisionAuthor = { kind: source?.isRemote === true ? 'source' : 'person' }
    const decided = await this.#findDecided(place, revision, step.at, records)
    if (revision === undefined) return decided ?? { author: unknown, cause: 'removal' }
    return (
      (await this.#findExpected(place, revision)) ??
      decided ??
      (await this.#findWritten(place, revision)) ??
      (await source?.versions?.describeChange(place.location)) ?? {
        author: unknown,
        cause: records.length === 0 ? 'found' : source?.isRemote === true ? 'fetch' : 'edit',
      }
    )
  }

  async #findExpected(place: FolderPlace, revision: Digest): Promise<ChangeOrigin | undefined> {
    if (this.#expected.size === 0) return undefined
    const files = (await this.#options.store.getTree(revision)) ?? []
    for (const digest of [revision, ...files.map(file => file.digest)]) {
      const key = `${keyOf(place)}${digest}`
      const origin = this.#expected.get(key)
      if (origin === undefined) continue
      this.#expected.delete(key)
      return origin
    }
    return undefined
  }

  /** Returns the decision that caused this step, if one was made since the previous step. */
  async #findDecided(
    place: FolderPlace,
    revision: Digest | undefined,
    at: number,
    records: readonly RevisionRecord[],
  ): Promise<ChangeOrigin | undefined> {
    const { decisions } = this.#options
    const [last] = records
    // A revision that is seen for the first time comes from a write, not from a decision.
    const isSeen = revision === undefined || records.some(record => record.revision === revision)
    if (last === undefined || !isSeen || decisions.find(place) === undefined) return undefined
    const made = await decisions.list(place)
    const decision = made.findLast(each => {
      if (each.at < last.at) return false
      if ('revision' in each && each.revision === revision) return isBeginning(each, revision)
      // A decision that names no revision can only have caused a step that followed shortly after the decision.
      return at - each.at <= EFFECT_MS && (revision === undefined ? isEnd(each) : isBeginning(each, revision))
    })
    return decision === undefined ? undefined : toOrigin(decision)
  }

  /** Returns the agent that announced this text before writing the file, for example in another process. */
  async #findWritten(place: FolderPlace, revision: Digest): Promise<ChangeOrigin | undefined> {
    const writes = this.#options.decisions.find(place)?.writes
    if (writes === undefined || writes.length === 0) return undefined
    const files = (await this.#options.store.getTree(revision)) ?? []
    const write = writes.findLast(({ path, digest }) =>
      files.some(file => file.path === path && file.digest === digest),
    )
    return write === undefined ? undefined : { author: { kind: 'agent', name: write.by }, cause: 'write' }
  }
}

/** Returns true if a decision can stop a skill from being served. */
function isEnd({ kind }: RecordedDecision): boolean {
  return kind === 'disable' || kind === 'reject' || kind === 'withdraw' || kind === 'unpin'
}

/** Returns true if a decision can make a known revision live. */
function isBeginning(decision: RecordedDecision, revision: Digest): boolean {
  if (decision.kind === 'approve' || decision.kind === 'pin') return decision.revision === revision
  return ['enable', 'unpin', 'reject', 'withdraw'].includes(decision.kind)
}

function toOrigin({ kind, by, note }: RecordedDecision): ChangeOrigin {
  return { author: { kind: 'person', name: by }, cause: kind, ...defined({ note }) }
}

/** Returns true if `records`, sorted newest first, already contains the step. */
function isKnown(
  records: readonly RevisionRecord[],
  event: RevisionRecord['event'],
  revision: Digest | undefined,
): boolean {
  // If a recorded revision is held again, the cause is a decision. Decisions are recorded elsewhere.
  if (event === 'held') return records.some(record => record.revision === revision)
  const lastServed = records.find(record => record.event !== 'held')
  return event === 'removed'
    ? lastServed === undefined || lastServed.event === 'removed'
    : lastServed?.event === 'live' && lastServed.revision === revision
}

/** Returns the name of the store reference that keeps a revision for the history. */
export function refOf({ origin, location }: FolderPlace, revision: Digest): string {
  return JSON.stringify(['history', origin, location, revision])
}
