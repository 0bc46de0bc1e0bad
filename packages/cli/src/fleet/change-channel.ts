import { defined } from '@skillstoke/core/internal'
import type { ChannelOptions } from '@skillstoke/fleet'
import type { Answer } from '../terminal/answer.ts'
import { toAnswer } from './print-report.ts'
import { type FleetVerbFlags, withPublisher } from './with-fleet.ts'

/** Options of the verbs that change a channel. */
export interface ChangeFlags extends FleetVerbFlags {
  readonly expect?: number
  readonly note?: string
}

export interface PromoteFlags extends ChangeFlags {
  readonly from: string
  readonly to: string
}

export interface RollbackFlags extends ChangeFlags {
  readonly to?: number
}

/** Implements `stoke fleet promote`. */
export async function promote(flags: PromoteFlags, names: readonly string[]): Promise<Answer> {
  const { from, to } = flags
  const options = { ...toChannelOptions(flags), ...(names.length === 0 ? {} : { names }) }
  return await withPublisher(flags, async ({ publisher }) =>
    toAnswer(await publisher.promote({ from, to }, options), flags.dryRun),
  )
}

/** Implements `stoke fleet rollback`. */
export async function rollback({ to, ...flags }: RollbackFlags, name: string): Promise<Answer> {
  return await withPublisher(flags, async ({ publisher, inChannel }) => {
    const options = { ...toChannelOptions(flags), ...inChannel, ...defined({ version: to }) }
    return toAnswer(await publisher.rollback(name, options), flags.dryRun)
  })
}

/** Implements `stoke fleet remove`. */
export async function remove(flags: ChangeFlags, name: string): Promise<Answer> {
  return await withPublisher(flags, async ({ publisher, inChannel }) =>
    toAnswer(await publisher.remove(name, { ...toChannelOptions(flags), ...inChannel }), flags.dryRun),
  )
}

export function toChannelOptions({ expect, note, dryRun }: ChangeFlags): ChannelOptions {
  return { isDryRun: dryRun === true, ...defined({ expect, note }) }
}
