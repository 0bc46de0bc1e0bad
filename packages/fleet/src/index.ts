// `@skillstoke/fleet`: publishes skills to many machines and follows them there. No tool may sort the export blocks.

// For every program of a fleet: one connection for each process.
export {
  FleetConnection,
  type FleetConnectionOptions,
  type FleetCredentials,
  type FleetTls,
} from './fleet-connection.ts'

// For agents: a source that follows a channel.
export {
  FLEET_RETRIEVALS,
  type FleetRetrieval,
  type FleetSource,
  type FleetSourceOptions,
  type FleetTarget,
  fleetSource,
  isFleetSource,
} from './fleet-source.ts'

// For publishers: versions, channels and signatures.
export { SkillPublisher, type SkillPublisherOptions } from './skill-publisher.ts'
export type {
  ChannelOptions,
  PromoteOptions,
  PublishedSkill,
  PublishOptions,
  PublishProgress,
  PublishReport,
  RollbackOptions,
} from './publish-options.ts'
export { LivePublisher, type LivePublisherOptions } from './live-publisher.ts'
export type { CollectOptions, CollectReport } from './collect-garbage.ts'
export type { RefusedSkill } from './publishable.ts'
export type {
  ManifestFile,
  SkillRemoval,
  SkillVersion,
  VersionRecord,
} from './manifest.ts'
export { createNkey, createSigningKey, loadSigningKey, type ManifestSigner } from './signing.ts'

// For people who look: who runs what.
export {
  AGENT_STATES,
  type AgentState,
  type AgentStatus,
  type FleetReport,
  type FleetSkillStatus,
  FleetStatus,
  type FleetStatusOptions,
} from './fleet-status.ts'
export type { AgentReport } from './agent-report.ts'
export { FleetReporter, type FleetReporterOptions } from './fleet-reporter.ts'

// For administrators: the streams, the accounts and the permissions.
export {
  type ExamineOptions,
  examineFleet,
  type FleetExamination,
  type FleetFinding,
} from './examine-fleet.ts'
export { findRestoredBackup } from './restored-backup.ts'
export { describePermissions, type FleetPermissions, writeAccounts } from './fleet-roles.ts'
export {
  type LayoutReport,
  type LayoutStep,
  prepareFleet,
  type PrepareFleetOptions,
} from './fleet-layout.ts'
