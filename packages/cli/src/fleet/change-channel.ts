import { defined } from '@skillstoke/core/internal'
import type { ChannelOptions } from '@skillstoke/fleet'
import { printReport } from './print-report.ts'
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
export async function promote(flags: PromoteFlags, names: readonly string[]): Promise<number> {
  const { from, to } = flags
  const options = { ...toChannelOptions(flags), ...(names.length === 0 ? {} : { names }) }
  return await withPublisher(flags, async ({ publisher }) =>
    printReport(await publisher.promote({ from, to }, options), flags),
  )
}

/** Implements `stoke fleet rollback`. */
export async function rollback({ to, ...flags }: RollbackFlags, name: string): Promise<number> {
  return await withPublisher(flags, async ({ publisher, inChannel }) => {
    const options = { ...toChannelOptions(flags), ...inChannel, ...defined({ version: to }) }
    return printReport(await publisher.rollback(name, options), flags)
  })
}

/** Implements `stoke fleet remove`. */
export async function remove(flags: ChangeFlags, name: string): Promise<number> {
  return await withPublisher(flags, async ({ publisher, inChannel }) =>
    printReport(await publisher.remove(name, { ...toChannelOptions(flags), ...inChannel }), flags),
  )
}

export function toChannelOptions({ expect, note, dryRun }: ChangeFlags): ChannelOptions {
  return { isDryRun: dryRun === true, ...defined({ expect, note }) }
}
