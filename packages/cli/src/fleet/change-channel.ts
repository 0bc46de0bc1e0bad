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

export interface ActivateFlags extends ChangeFlags {
  readonly discard?: boolean
}

/** Implements `stoke fleet promote`. */
export async function promote(names: readonly string[], flags: PromoteFlags): Promise<number> {
  const { from, to } = flags
  return await withPublisher(flags, async ({ publisher }) =>
    printReport(await publisher.promote({ from, to }, { ...toOptions(flags), ...only(names) }), flags),
  )
}

/** Implements `stoke fleet rollback`. */
export async function rollback(name: string, { to, ...flags }: RollbackFlags): Promise<number> {
  return await withPublisher(flags, async ({ publisher, inChannel }) => {
    const version = to === undefined ? {} : { version: to }
    return printReport(
      await publisher.rollback(name, { ...toOptions(flags), ...inChannel, ...version }),
      flags,
    )
  })
}

/** Implements `stoke fleet remove`. */
export async function remove(name: string, flags: ChangeFlags): Promise<number> {
  return await withPublisher(flags, async ({ publisher, inChannel }) =>
    printReport(await publisher.remove(name, { ...toOptions(flags), ...inChannel }), flags),
  )
}

/** Implements `stoke fleet activate`. */
export async function activate(names: readonly string[], flags: ActivateFlags): Promise<number> {
  return await withPublisher(flags, async ({ publisher, inChannel }) => {
    const options = { ...toOptions(flags), ...inChannel, ...only(names) }
    const report =
      flags.discard === true ? await publisher.unstage(options) : await publisher.activate(options)
    return printReport(report, flags)
  })
}

function toOptions({ expect, note, dryRun }: ChangeFlags): ChannelOptions {
  return {
    isDryRun: dryRun === true,
    ...(expect === undefined ? {} : { expect }),
    ...(note === undefined ? {} : { note }),
  }
}

function only(names: readonly string[]): { readonly names?: readonly string[] } {
  return names.length === 0 ? {} : { names }
}
