import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import type { SourceTrust } from '../skill/trust.ts'

/** One folder of one source, wherever the process runs: what lasting decisions are about. */
export interface FolderPlace {
  /** What the source is on this machine: an absolute path, a URL. */
  readonly origin: string
  /** The folder within the source. */
  readonly location: string
}

/** The place of a skill, given the source of its label; `undefined` if there is no such source any longer. */
export function placeOf(
  { source, location }: { readonly source: string; readonly location: string },
  findSource: (label: string) => { readonly origin: string } | undefined,
): FolderPlace | undefined {
  const origin = findSource(source)?.origin
  return origin === undefined ? undefined : { origin, location }
}

/** A folder of a source that has another path now: from one location to another. */
export interface FolderMove {
  /** What the file system knows it by, whatever its path. */
  readonly identity: string
  readonly from: string
  readonly to: string
}

/** What the registry asks before a new revision goes live. */
export interface AdmissionRequest {
  readonly skill: Skill
  /** The revision of this folder that is live now. */
  readonly live: Skill | undefined
  /** What the source is on this machine. */
  readonly origin: string
  readonly trust: SourceTrust
  /** Whether the source has a folder with a skill at a location. */
  isPresent(location: string): boolean
  /** Nothing of the source was ever shown before, neither in this process nor in an earlier one with the same store. */
  readonly isFirst: boolean
}

/** Decides whether a revision goes live or is held; who keeps approvals is the policy's business. */
export interface AdmissionPolicy {
  admit(request: AdmissionRequest): AdmissionVerdict
  /** What holds for a folder whatever its newest text is. */
  standing?(place: FolderPlace): StandingDecision | undefined
  /** Takes up what other processes have decided until now; called before new contents are decided about. */
  refresh?(): void
  /**
   * Takes over what was decided about folders to where they are now. It is awaited before anything is asked about them.
   * Folders may have changed places with each other.
   */
  moved?(origin: string, moves: readonly FolderMove[]): Promise<void>
  /** Called after contents of a source were shown, each time. */
  shown?(origin: string): void
  /**
   * Whether what stands outlives the process. The store then notes for which folders there are decisions, so that their
   * loss is noticed. @default false
   */
  readonly isLasting?: boolean
}

export type AdmissionVerdict =
  | { readonly kind: 'admit' }
  | {
      readonly kind: 'hold'
      readonly reason: string
      /** Whether somebody has looked at this very revision and does not want it. @default false */
      readonly isRejected?: boolean
      /** The conversation that wrote it, in which it is live all the same. */
      readonly conversation?: string
    }

/** A decision about a folder that outlives its revisions. */
export interface StandingDecision {
  /** Why nothing of the folder is served. */
  readonly disabled?: string
  /** The revision that is served whatever is written, and why. */
  readonly pinned?: { readonly revision: Digest; readonly reason: string }
  /** What may be served when the newest text may not, the newest decision first. */
  readonly approved?: readonly Digest[]
  /** Whether there were decisions about the folder which are lost: nothing but the last good revision may be served. */
  readonly isLost?: boolean
  /** Whether a revision must not be served any more, not even as the last good one. */
  isRevoked?(revision: Digest): boolean
}

const ADMIT: AdmissionVerdict = Object.freeze({ kind: 'admit' })

/** Without a store of approvals nothing can be approved: trusted sources go live, reviewed ones wait. */
export const trustAdmission: AdmissionPolicy = {
  admit: ({ trust }) =>
    trust === 'auto'
      ? ADMIT
      : { kind: 'hold', reason: 'the source is reviewed and this revision is not approved' },
}
