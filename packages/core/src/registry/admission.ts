import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import type { SourceTrust } from '../skill/trust.ts'
import type { FolderOnDisk } from './folder-path.ts'

/** Identifies one folder of one source. A standing decision refers to its folder by this place. */
export interface FolderPlace {
  /** Identity of the source on this machine: an absolute path or a URL. */
  readonly origin: string
  /** The folder within the source. */
  readonly location: string
}

/** Returns the place of a skill's folder; `undefined` if the skill's source was removed. */
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

/** The input of an admission policy. The registry asks the policy before a new revision goes live. */
export interface AdmissionRequest {
  readonly skill: Skill
  /** The live revision of this folder. */
  readonly live: Skill | undefined
  /** Identity of the source on this machine. */
  readonly origin: string
  readonly trust: SourceTrust
  readonly folder: FolderOnDisk
  /** Returns true if the source has a skill folder at the given location. */
  isPresent(location: string): boolean
  /** Returns the folder of another skill; `undefined` if no source has this folder. */
  findFolder(place: FolderPlace): FolderOnDisk | undefined
  /** True if the source was never shown before, neither in this process nor in an earlier one with the same store. */
  readonly isFirst: boolean
}

/**
 * A policy that decides whether a revision goes live or is held. The policy itself stores the approvals.
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
  /** Returns the standing decision about a folder, if there is one. */
  standing?(place: FolderPlace): StandingDecision | undefined
  /**
   * Reads the decisions that other processes have made. The registry calls `refresh` before it decides about new contents.
   */
  refresh?(): void
  /**
   * Moves the decisions about moved folders to the new locations. The registry waits for `moved` before it asks the
   * policy about these folders. Two folders may swap locations.
   */
  moved?(origin: string, moves: readonly FolderMove[]): Promise<void>
  /**
   * Returns the last known location of a folder with decisions, by the identity of the folder. The registry asks for
   * folders that it does not know, because a folder may have been moved while no process ran.
   */
  locate?(origin: string, identity: string): string | undefined
  /** Called each time new contents of a source have become visible. */
  shown?(origin: string): void
  /**
   * True if standing decisions outlive the process. The store then notes which folders have decisions, so that the
   * registry can detect lost decisions.
   * @default false
   */
  readonly isLasting?: boolean
}

export type AdmissionVerdict =
  | { readonly kind: 'admit' }
  | {
      readonly kind: 'hold'
      readonly reason: string
      /** True if a person rejected exactly this revision. @default false */
      readonly isRejected?: boolean
      /**
       * The conversation that wrote the revision. This conversation sees the revision even while the revision waits for
       * approval.
       */
      readonly conversation?: string
    }

/** A decision about a folder. The decision stays in effect when the skill in the folder changes. */
export interface StandingDecision {
  /** Why the folder is not served. */
  readonly disabled?: string
  /** The revision that is served regardless of newer texts, and the reason. */
  readonly pinned?: { readonly revision: Digest; readonly reason: string }
  /** Approved revisions that may be served while the newest text waits, most recently approved first. */
  readonly approved?: readonly Digest[]
  /** True if earlier decisions about the folder are lost. In this case, only the last good revision may be served. */
  readonly isLost?: boolean
  /** Returns true if a revision must no longer be served, not even as the last good revision. */
  isRevoked?(revision: Digest): boolean
}

const ADMIT: AdmissionVerdict = Object.freeze({ kind: 'admit' })

/** A policy that stores no approvals. Changes of trusted sources go live. Changes of reviewed sources wait. */
export const trustAdmission: AdmissionPolicy = {
  admit: ({ trust }) =>
    trust === 'auto'
      ? ADMIT
      : { kind: 'hold', reason: 'the source is reviewed and this revision is not approved' },
}
