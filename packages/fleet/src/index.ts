// `@skillstoke/fleet`: publishes skills to many machines and follows them there. No tool may sort the export blocks.

// For every program of a fleet: one connection for each process.
export { FleetConnection, type FleetConnectionOptions } from './fleet-connection.ts'

// For agents: a source that follows a channel.
export { type FleetSource, type FleetSourceOptions, fleetSource, isFleetSource } from './fleet-source.ts'

// For publishers: versions, channels and signatures.
export { SkillPublisher, type SkillPublisherOptions } from './skill-publisher.ts'
export type { ChannelOptions, PublishOptions, PublishReport } from './publish-options.ts'
export { LivePublisher, type LivePublisherOptions } from './live-publisher.ts'
export { createNkey, createSigningKey, loadSigningKey, type ManifestSigner } from './signing.ts'

// For people who look: who runs what.
export { type FleetReport, FleetStatus } from './fleet-status.ts'
export { FleetReporter, type FleetReporterOptions } from './fleet-reporter.ts'

// For administrators: the streams, the accounts and the permissions.
export { examineFleet } from './examine-fleet.ts'
export { findRestoredBackup } from './restored-backup.ts'
export { describePermissions, writeAccounts } from './fleet-roles.ts'
export { prepareFleet } from './fleet-layout.ts'
