import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import type { SourceTrust } from '../skill/trust.ts'

/** One folder of one source. Lasting decisions refer to it. */
export interface FolderPlace {
  /** Identity of the source on this machine: an absolute path or a URL. */
  readonly origin: string
  /** The folder within the source. */
  readonly location: string
}

/** Returns the place of a skill's folder, or `undefined` if no source has its label any longer. */
export function placeOf(
  { source, location }: { readonly source: string; readonly location: string },
  findSource: (label: string) => { readonly origin: string } | undefined,
): FolderPlace | undefined {
  const origin = findSource(source)?.origin
  return origin === undefined ? undefined : { origin, location }
}

/** A move of a folder within its source. */
export interface FolderMove {
  /** Identity of the folder in the file system, regardless of its path. */
  readonly identity: string
  readonly from: string
  readonly to: string
}

/** The input of an admission policy. The registry asks before a new revision goes live. */
export interface AdmissionRequest {
  readonly skill: Skill
  /** The live revision of this folder. */
  readonly live: Skill | undefined
  /** Identity of the source on this machine. */
  readonly origin: string
  readonly trust: SourceTrust
  /** Returns true if the source has a folder with a skill at a location. */
  isPresent(location: string): boolean
  /** True if the source was never shown before, neither in this process nor in an earlier one with the same store. */
  readonly isFirst: boolean
}

/**
 * A policy that decides whether a revision goes live or is held. The policy itself keeps its approvals.
 *
 * @example
 * ```ts
 * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
 * import type { AdmissionPolicy } from '@skillstoke/core/source'
 *
 * const licensedOnly: AdmissionPolicy = {
 *   admit: ({ skill }) =>
 *     skill.license === undefined ? { kind: 'hold', reason: 'the skill has no licence' } : { kind: 'admit' },
 * }
 * const source = new MemorySource({ label: 'mine' }, [{ name: 'greet', description: 'Use when greeting.' }])
 * await using skills = await createSkillRuntime({ sources: [source], review: { admission: licensedOnly } })
 * console.log(skills.current.reports()[0]?.status) // prints pending
 * ```
 */
export interface AdmissionPolicy {
  /** Decides about one revision. */
  admit(request: AdmissionRequest): AdmissionVerdict
  /** Returns the decision that holds for a folder regardless of its newest text. */
  standing?(place: FolderPlace): StandingDecision | undefined
  /** Reads the decisions that other processes have made. The registry calls it before it decides about new contents. */
  refresh?(): void
  /**
   * Moves the decisions about folders to their new locations. The registry awaits it before any question about these folders.
   * Folders may have swapped locations.
   */
  moved?(origin: string, moves: readonly FolderMove[]): Promise<void>
  /** Called each time after contents of a source were shown. */
  shown?(origin: string): void
  /**
   * Whether standing decisions outlive the process. If so, the store notes which folders have decisions, so that their
   * loss is noticed. @default false
   */
  readonly isLasting?: boolean
}

export type AdmissionVerdict =
  | { readonly kind: 'admit' }
  | {
      readonly kind: 'hold'
      readonly reason: string
      /** Whether a person has reviewed this very revision and rejected it. @default false */
      readonly isRejected?: boolean
      /** The conversation that wrote the revision. It sees the revision although the revision is held. */
      readonly conversation?: string
    }

/** A decision about a folder that outlives its revisions. */
export interface StandingDecision {
  /** Why the folder is not served. */
  readonly disabled?: string
  /** The revision that is served regardless of newer texts, and why. */
  readonly pinned?: { readonly revision: Digest; readonly reason: string }
  /** Approved revisions that may replace a held newest text, the latest decision first. */
  readonly approved?: readonly Digest[]
  /** Whether earlier decisions about the folder are lost. Then only the last good revision may be served. */
  readonly isLost?: boolean
  /** Returns true if a revision must no longer be served, not even as the last good one. */
  isRevoked?(revision: Digest): boolean
}

const ADMIT: AdmissionVerdict = Object.freeze({ kind: 'admit' })

/** Works without a store of approvals: trusted sources go live, reviewed sources wait. */
export const trustAdmission: AdmissionPolicy = {
  admit: ({ trust }) =>
    trust === 'auto'
      ? ADMIT
      : { kind: 'hold', reason: 'the source is reviewed and this revision is not approved' },
}
