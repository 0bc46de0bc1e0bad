import { AgentBinder } from '../binding/agent-binder.ts'
import { CatalogCache } from '../catalog/catalog-cache.ts'
import { approximateTokens } from '../catalog/render-catalog.ts'
import { SkillSearch } from '../catalog/skill-search.ts'
import { createEmitter } from '../events/emit-update.ts'
import type { EventBus, SkillEvents } from '../events/event-bus.ts'
import { IS_ABOUT_CODE } from '../history/decisions.ts'
import { SkillReview } from '../history/skill-review.ts'
import type { Clock, Hasher, Logger } from '../host.ts'
import { RecapturingStore } from '../reader/recapturing-store.ts'
import { type ReaderParts, SkillReader } from '../reader/skill-reader.ts'
import { SkillRegistry } from '../registry/skill-registry.ts'
import { CodeRecords } from '../script/code-records.ts'
import { ProgramSlots } from '../script/program-slots.ts'
import { SkillScripts } from '../script/skill-scripts.ts'
import type { SkillStore } from '../store/skill-store.ts'
import { SourceReaders } from '../sync/source-readers.ts'
import { LiveSessions } from './live-sessions.ts'
import { SkillChanges } from './skill-changes.ts'
import { SkillReloads } from './skill-reloads.ts'
import {
  type ResolvedRuntimeOptions,
  resolveRuntimeOptions,
  type SkillRuntimeOptions,
} from './skill-runtime-options.ts'
import { SkillUses } from './skill-uses.ts'

/** The connected parts of a runtime. */
export interface RuntimeParts {
  readonly clock: Clock
  readonly hasher: Hasher
  readonly logger: Logger
  readonly store: SkillStore
  readonly registry: SkillRegistry
  readonly sources: SourceReaders
  readonly reader: ReaderParts
  readonly events: EventBus
  readonly review: SkillReview
  readonly programs: ProgramSlots
  readonly scripts: SkillScripts
  readonly reloads: SkillReloads
  readonly changes: SkillChanges
  readonly binder: AgentBinder
  readonly sessions: LiveSessions
  readonly uses: SkillUses
}

/**
 * Creates the parts of a runtime in the order of their dependencies. Reads nothing yet.
 * @throws {SkillError} INVALID_OPTION, DUPLICATE_SOURCE
 */
export function assembleRuntime(options: SkillRuntimeOptions): RuntimeParts {
  const host = resolveRuntimeOptions(options)
  const { clock, hasher, logger, store, decisions, log, events, catalog, seal } = host
  for (const { damage } of [decisions, log ?? {}]) if (damage !== undefined) logger.error(damage)
  const registry = createRegistry(host)
  const sources = new SourceReaders({ ...host, registry })
  for (const source of host.sources) sources.add(source)
  const shared = {
    registry,
    sources,
    store: new RecapturingStore(store, registry, sources),
    catalogs: new CatalogCache(catalog),
    index: new SkillSearch(),
  }
  // The script runner needs a reader, and a reader needs the commands of scripts. To break this cycle, the first reader
  // shows no commands.
  const reader = new SkillReader(shared)
  const review = new SkillReview({ registry, reader, store, decisions, log, clock, logger })
  const { programs, scripts } = createScripts(host, { registry, reader, review, store })
  const reloads = new SkillReloads({ reader, sources, programs, scripts, events, demands: host.demands })
  const changes = new SkillChanges({ ...host, registry, sources, reader, reloads, review })
  const parts = { ...shared, commands: programs }
  const uses = new SkillUses({ clock, events })
  const countTokens = catalog.countTokens ?? approximateTokens
  return {
    ...{ clock, hasher, logger, store, registry, sources, events, review, programs, scripts },
    ...{ reloads, changes },
    reader: parts,
    binder: new AgentBinder({ reader, clock, logger }),
    sessions: new LiveSessions({
      ...{ reader: new SkillReader(parts), scripts, store, hasher, seal, countTokens, uses },
    }),
    uses,
  }
}

function createRegistry(host: ResolvedRuntimeOptions): SkillRegistry {
  const { store, hasher, clock, logger, onDuplicate, onInvalid, admission, shared, modifiedOn, events } = host
  const registry = new SkillRegistry({
    ...{ store, hasher, clock, logger, onDuplicate, onInvalid, admission, shared },
  })
  registry.subscribe(createEmitter({ bus: events, logger, modifiedOn }), { phase: 'events' })
  return registry
}

function createScripts(
  { scripts: runner, clock, logger, decisions, events }: ResolvedRuntimeOptions,
  parts: {
    readonly registry: SkillRegistry
    readonly reader: SkillReader
    readonly review: SkillReview
    readonly store: SkillStore
  },
): { readonly programs: ProgramSlots; readonly scripts: SkillScripts } {
  const { registry, reader } = parts
  const records = new CodeRecords({ ...parts, decisions })
  const programs = new ProgramSlots({ ...{ clock, logger, runner, registry, reader, records } })
  const scripts = new SkillScripts({
    ...{ slots: programs, clock, logger, reader, records },
    // Emit every script event on the bus with an unchanged payload.
    tell: (name, payload) => void events.emit(name, payload as SkillEvents[typeof name]),
  })
  decisions.subscribe(made => {
    if (made.some(({ decision }) => IS_ABOUT_CODE[decision.kind])) programs.reconsider()
  })
  return { programs, scripts }
}
