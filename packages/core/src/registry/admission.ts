import type { Skill } from '../skill/skill.ts'

/** What the registry asks before a new revision goes live. */
export interface AdmissionRequest {
  readonly skill: Skill
  /** The revision of this folder that is live now. */
  readonly live: Skill | undefined
  /** What the source is on this machine. */
  readonly origin: string
  readonly trust: 'auto' | 'review'
}

/** Decides whether a revision goes live or is held; who keeps approvals is the policy's business. */
export interface AdmissionPolicy {
  admit(request: AdmissionRequest): AdmissionVerdict
}

export type AdmissionVerdict = { readonly kind: 'admit' } | { readonly kind: 'hold'; readonly reason: string }

const ADMIT: AdmissionVerdict = Object.freeze({ kind: 'admit' })

/** Without a store of approvals nothing can be approved: trusted sources go live, reviewed ones wait. */
export const trustAdmission: AdmissionPolicy = {
  admit: ({ trust }) =>
    trust === 'auto'
      ? ADMIT
      : { kind: 'hold', reason: 'the source is reviewed and this revision is not approved' },
}
