import { FleetConnection, SkillPublisher } from '@skillstoke/fleet'
import { type FleetConfig, type FleetFlags, resolveFleet } from '../config/fleet-config.ts'

export interface OpenFleet extends FleetConfig {
  readonly fleet: FleetConnection
  readonly publisher: SkillPublisher
  /** `{ channel }`, or nothing for the default channel. */
  readonly inChannel: { readonly channel?: string }
}

/** Connects to the fleet that the flags name, for as long as `work` runs. */
export async function withFleet<T>(flags: FleetFlags, work: (open: OpenFleet) => Promise<T>): Promise<T> {
  const config = resolveFleet(flags)
  const { connection, channel, signer } = config
  await using fleet = new FleetConnection(connection)
  const publisher = new SkillPublisher(fleet, signer === undefined ? {} : { signer })
  return await work({ ...config, fleet, publisher, inChannel: channel === undefined ? {} : { channel } })
}
