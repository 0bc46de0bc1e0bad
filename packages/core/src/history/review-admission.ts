import { type Clock, systemClock } from '../host.ts'
import { quote } from '../quote.ts'
import type {
  AdmissionPolicy,
  AdmissionRequest,
  AdmissionVerdict,
  FolderPlace,
  StandingDecision,
} from '../registry/admission.ts'
import type { SourceTrust } from '../skill/trust.ts'
import { describeNewCapabilities } from './capabilities.ts'
import {
  type AgentWrite,
  type DecisionMeta,
  type DecisionStore,
  type FolderDecisions,
  isAmong,
  placeOfSource,
} from './decisions.ts'
import { findHeldWrites, findMovedWrites, findRemovedWrites } from './held-writes.ts'

export interface ReviewAdmissionOptions {
  readonly decisions: DecisionStore
  /** True if every change waits for an approval, even in trusted sources. */
  readonly isFrozen?: boolean
  /**
   * True if the store of served revisions outlives the process. In this case, the policy records which sources were
   * frozen, so that losing the store cannot make a changed skill live.
   * @default false
   */
  readonly isStoreLasting?: boolean
  /** @default the system clock */
  readonly clock?: Clock
}

/**
 * Creates a policy that admits changes of trusted sources. In reviewed sources, the policy admits only revisions that
 * were approved for the same folder.
 */
export function createReviewAdmission(options: ReviewAdmissionOptions): AdmissionPolicy {
  const { decisions, isFrozen = false, isStoreLasting = false, clock = systemClock } = options
  const isNoted = (origin: string): boolean => decisions.find(placeOfSource(origin))?.frozen !== undefined
  // Caches whether each source was frozen when this process started, because this process may record a freeze later.
  const wasFrozen = new Map<string, boolean>()
  const findLost = (origin: string): boolean => {
    const known = wasFrozen.get(origin) ?? (isStoreLasting && isNoted(origin))
    wasFrozen.set(origin, known)
    return known
  }
  return {
    admit: request => {
      // When a host freezes a source for the first time, the current contents are served.
      const isBegin = request.live === undefined && request.isFirst && !(isFrozen && findLost(request.origin))
      const waits = isFrozen && !isBegin
      const place = { origin: request.origin, location: request.skill.location }
      const decided = decisions.find(place)
      const isSame = request.live?.revision === request.skill.revision
      const asking = { ...request, ...place }
      const { own, others, forgotten } = findHeldWrites(request.skill, asking, decisions)
      const removed = findRemovedWrites(request.skill, request.live, asking, decisions)
      const left = decided?.approved.size ? [] : findLeftWrites(request, decisions)
      // A text that was approved here stays live if an agent writes the same text to another folder.
      const writes = [...own, ...(isSame ? [] : others), ...left].sort((a, b) => a.at - b.at)
      const lost = forgotten.at(0)
      return decide(request, decided, { isFrozen: waits, isSame, forgotten: lost, writes, removed })
    },
    refresh: () => decisions.refresh(),
    shown: origin => {
      if (!isFrozen || !isStoreLasting || isNoted(origin)) return
      wasFrozen.set(origin, false)
      const note = { kind: 'freeze', by: 'isFrozen', at: clock.now() } as const
      // If the freeze cannot be stored, the next scan of the source tries to store it again.
      decisions.record(placeOfSource(origin), note).catch(() => undefined)
    },
    moved: (origin, moves) => decisions.move(origin, moves),
    locate: (origin, identity) => {
      const location = decisions.locate?.(origin, identity)
      const isDecided = location !== undefined && decisions.find({ origin, location }) !== undefined
      return isDecided ? location : undefined
    },
    standing: place => toStanding(decisions.find(place)),
    isLasting: decisions.isLasting === true,
  }
}

function decide(
  { skill, live, trust }: AdmissionRequest,
  decided: FolderDecisions | undefined,
  circumstances: Circumstances,
): AdmissionVerdict {
  const rejection = decided?.rejected.get(skill.revision)
  if (rejection !== undefined)
    return { kind: 'hold', reason: `rejected by ${describeMeta(rejection)}`, isRejected: true }
  if (decided?.approved.has(skill.revision) === true)
    return skill.listedFrontmatter === undefined ? { kind: 'admit' } : NOT_STORED
  const { writes, removed } = circumstances
  const reason = findReason(trust, circumstances)
  if (reason === undefined) return { kind: 'admit' }
  const grown = describeNewCapabilities(live, skill)
  // If two conversations wrote texts, neither may see the text of the other.
  const [conversation, ...others] = new Set([...writes, ...removed].map(each => each.conversation))
  const isShown = conversation !== undefined && others.length === 0 && trust !== 'review'
  return {
    kind: 'hold',
    reason: grown.length === 0 ? reason : `${reason}; new: ${grown.join('; ')}`,
    ...(isShown ? { conversation } : {}),
  }
}

// A person approved the files, and the list of the source may show something else.
const NOT_STORED: AdmissionVerdict = Object.freeze({
  kind: 'hold',
  reason: 'the files of the approved revision are not stored, and its source has not sent them yet',
})

interface Circumstances {
  readonly isFrozen: boolean
  readonly writes: readonly AgentWrite[]
  /** The unapproved texts of files that the revision lacks. */
  readonly removed: readonly AgentWrite[]
  readonly forgotten: AgentWrite | undefined
  readonly isSame: boolean
}

/** Returns why an unapproved revision is held, or `undefined` if the revision goes live. */
function findReason(
  trust: SourceTrust,
  { isFrozen, writes, removed, forgotten, isSame }: Circumstances,
): string | undefined {
  const [write, gone] = [writes.at(-1), removed.at(-1)]
  if (write !== undefined) return `written by ${describeMeta(write)} and not approved`
  if (gone !== undefined)
    return `without ${quote(gone.path)}, which was last written by ${describeMeta(gone)} and not approved`
  if (trust === 'review') return 'the source is reviewed and this revision is not approved'
  if (forgotten !== undefined && !isSame)
    return `agents wrote more texts to this folder than can be tracked; the last dropped text is by ${describeMeta(forgotten)}`
  return isFrozen && !isSame ? 'changes wait for approval while the skills are frozen' : undefined
}

/**
 * Returns the texts in this revision that agents wrote to a folder that no longer exists. That folder, or the folder
 * around it, may have been moved while no process ran, and moving a text does not approve the text.
 */
function findLeftWrites(request: AdmissionRequest, decisions: DecisionStore): readonly AgentWrite[] {
  const isLeft = ({ origin, location }: FolderPlace): boolean =>
    origin === request.origin && !request.isPresent(location)
  const left = decisions.listWritten().filter(([place]) => isLeft(place))
  const settled = left.flatMap(([, former]) => former.settled)
  return left.flatMap(each => findMovedWrites(request.skill, each)).filter(each => !isAmong(each, settled))
}

function toStanding(decided: FolderDecisions | undefined): StandingDecision | undefined {
  if (decided === undefined) return undefined
  const { disabled, pinned, rejected, withdrawn, approved } = decided
  return {
    ...(disabled === undefined ? {} : { disabled: `disabled by ${describeMeta(disabled)}` }),
    ...(pinned === undefined
      ? {}
      : { pinned: { revision: pinned.revision, reason: `pinned by ${describeMeta(pinned)}` } }),
    approved: [...approved].sort(([, a], [, b]) => b.at - a.at).map(([revision]) => revision),
    isRevoked: revision => rejected.has(revision) || withdrawn.has(revision),
  }
}

function describeMeta({ by, at, note }: DecisionMeta): string {
  const day = new Date(at).toISOString().slice(0, 10)
  return `${by} on ${day}${note === undefined ? '' : ` (${note})`}`
}
