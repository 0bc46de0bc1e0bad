import { defined } from '@skillstoke/core/internal'
import { FleetConnection, findRestoredBackup, type ManifestSigner, SkillPublisher } from '@skillstoke/fleet'
import { type FleetConfig, type FleetFlags, readSigner, resolveFleet } from '../config/fleet-config.ts'
import { findSecretIn } from './find-secret.ts'

/** Options of the verbs of `stoke fleet`. */
export interface FleetVerbFlags extends FleetFlags {
  readonly json?: boolean
  readonly dryRun?: boolean
}

export interface OpenFleet extends FleetConfig {
  readonly fleet: FleetConnection
  readonly publisher: SkillPublisher
  /** The key that signs; absent for verbs that sign nothing. */
  readonly signer: ManifestSigner | undefined
  /** `{ channel }`, or nothing for the default channel. */
  readonly inChannel: { readonly channel?: string }
}

type FleetWork<T> = (open: OpenFleet) => Promise<T>

/** Connects to the fleet that the flags name, for as long as `work` runs, which signs nothing. */
export async function withFleet<T>(flags: FleetFlags, work: FleetWork<T>): Promise<T> {
  return await connect(flags, undefined, work)
}

/** Connects like `withFleet`, with the signing key that the flags or the environment name. */
export async function withSigner<T>(flags: FleetFlags, work: FleetWork<T>): Promise<T> {
  return await connect(flags, readSigner(flags.signingKey), work)
}

/** Connects like `withSigner`. If agents will refuse what `work` publishes, warns before it begins. */
export async function withPublisher<T>(flags: FleetFlags, work: FleetWork<T>): Promise<T> {
  return await withSigner(flags, async open => {
    const warning = await findRestoredBackup(open.fleet)
    if (warning !== undefined) process.stderr.write(`warning: ${warning}\n`)
    return await work(open)
  })
}

async function connect<T>(
  flags: FleetFlags,
  signer: ManifestSigner | undefined,
  work: FleetWork<T>,
): Promise<T> {
  const config = resolveFleet(flags)
  const { connection, channel } = config
  await using fleet = new FleetConnection(connection)
  const publisher = new SkillPublisher(fleet, { ...defined({ signer }), findFault: findSecretIn })
  const inChannel = defined({ channel })
  return await work({ ...config, fleet, publisher, signer, inChannel })
}
