import { randomUUID } from 'node:crypto'
import { SkillError } from '@skillstoke/core'
import { tryReadEpoch } from './feed-state.ts'
import type { FleetConnection } from './fleet-connection.ts'
import type { LayoutStep, PrepareFleetOptions } from './fleet-layout.ts'
import { EPOCH_SUBJECT, HEADS } from './fleet-subjects.ts'
import { type FleetEpoch, isSignedBy, listSigners, writeDocument } from './manifest.ts'
import type { NatsEngine } from './nats-engine.ts'
import type { StoredMessage } from './nats-messages.ts'
import { NO_KEYS } from './signing.ts'

/**
 * Creates or raises the epoch. Another key signs the same epoch anew, so that agents keep their skills.
 * @throws {SkillError} INVALID_OPTION
 */
export async function prepareEpoch(
  fleet: FleetConnection,
  engine: NatsEngine,
  {
    signer,
    isNewEpoch = false,
    isDryRun = false,
    isMissing,
  }: PrepareFleetOptions & { readonly isMissing: boolean },
): Promise<{ readonly step: LayoutStep; readonly document: FleetEpoch | undefined }> {
  for (;;) {
    const stored = isMissing ? undefined : await engine.readLast(HEADS, EPOCH_SUBJECT, 'leader')
    // The clock of this machine may be wrong, and agents never go back to a lower epoch.
    const time = (await engine.readTime(HEADS)) ?? Date.now()
    // Agents may refuse the stored document, for example because it is not signed.
    const before = stored === undefined ? undefined : tryReadEpoch(stored.data, fleet.trusted)?.document
    const signers = stored === undefined ? [] : listSigners(stored.data)
    const isOwn = stored !== undefined && isSignedBy(stored.data, signer)
    if (before !== undefined && !isNewEpoch && isOwn)
      return { step: { part: 'epoch', outcome: 'unchanged' }, document: before }
    if (signer === undefined && (fleet.trusted.isRequired || signers.length > 0))
      throw new SkillError('INVALID_OPTION', 'agents trust only signed documents; name the signing key')
    const isForeign = signers.length > 0 && !isOwn && (before === undefined || !fleet.trusted.isRequired)
    if (isForeign && !isNewEpoch)
      throw new SkillError(
        'INVALID_OPTION',
        `the epoch of this fleet is signed by ${signers.join(', ')}, which is none of the trusted keys; trust this key, too, or begin another fleet with --new-epoch`,
      )
    const document = nextEpoch(before ?? readOpenEpoch(stored, time), isNewEpoch, time)
    const data = await writeDocument(document, signer)
    const step = { part: 'epoch', outcome: stored === undefined ? 'created' : 'changed' } as const
    if (isDryRun) return { step, document: before }
    // If another administrator was first, the next round reads what that one stored.
    if (await engine.tryStore({ subject: EPOCH_SUBJECT, data, expectedSeq: stored?.seq ?? 0 }))
      return { step, document }
  }
}

function nextEpoch(before: FleetEpoch | undefined, isNewEpoch: boolean, time: number): FleetEpoch {
  if (before !== undefined && !isNewEpoch) return before
  // The time rises even if the earlier epoch was lost with its stream.
  const epoch = Math.max(time, (before?.epoch ?? 0) + 1)
  const { id = randomUUID() } = before ?? {}
  return { kind: 'epoch', id, epoch, at: new Date(epoch).toISOString() }
}

/** Returns the epoch of a fleet that nobody has signed yet. An epoch in the future could never be raised. */
function readOpenEpoch(stored: StoredMessage | undefined, time: number): FleetEpoch | undefined {
  if (stored === undefined || listSigners(stored.data).length > 0) return undefined
  const document = tryReadEpoch(stored.data, NO_KEYS)?.document
  return document !== undefined && document.epoch <= time ? document : undefined
}
