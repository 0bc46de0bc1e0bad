import { InProcessWriteLock } from '../authoring/write-lock.ts'
import { AgentBinder } from '../binding/agent-binder.ts'
import { CatalogCache } from '../catalog/catalog-cache.ts'
import { approximateTokens } from '../catalog/render-catalog.ts'
import { SkillSearch } from '../catalog/skill-search.ts'
import { createEmitter } from '../events/emit-update.ts'
import { type EventBus, InProcessEventBus, type SkillEvents } from '../events/event-bus.ts'
import { type DecisionStore, MemoryDecisions } from '../history/decisions.ts'
import { createReviewAdmission } from '../history/review-admission.ts'
import { SkillReview } from '../history/skill-review.ts'
import { type Clock, type Hasher, type Logger, portableHasher, silentLogger, systemClock } from '../host.ts'
import { RecapturingStore } from '../reader/recapturing-store.ts'
import { type ReaderParts, SkillReader } from '../reader/skill-reader.ts'
import { SkillRegistry } from '../registry/skill-registry.ts'
import { CodeRecords } from '../script/code-records.ts'
import { SkillScripts } from '../script/skill-scripts.ts'
import { FACETS } from '../skill/diff-skills.ts'
import { DEFAULT_SETTLE } from '../source/settle.ts'
import { MemorySkillStore } from '../store/memory-skill-store.ts'
import type { SkillStore } from '../store/skill-store.ts'
import { PreScan } from '../sync/pre-scan.ts'
import { SourceReaders } from '../sync/source-readers.ts'
import { LiveSessions } from './live-sessions.ts'
import { SkillChanges } from './skill-changes.ts'
import { SkillReloads } from './skill-reloads.ts'
import { checkRuntimeOptions, DEFAULT_REHASH_MS, type SkillRuntimeOptions } from './skill-runtime-options.ts'

/** Everything that a runtime consists of, connected. */
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
  readonly scripts: SkillScripts
  readonly reloads: SkillReloads
  readonly changes: SkillChanges
  readonly binder: AgentBinder
  readonly sessions: LiveSessions
}

/** What a host passed in, or what takes its place. */
interface Host {
  readonly options: SkillRuntimeOptions
  readonly clock: Clock
  readonly hasher: Hasher
  readonly logger: Logger
  readonly store: SkillStore
  readonly decisions: DecisionStore
  readonly events: EventBus
}

/**
 * Creates the parts of a runtime in the order in which they know each other. Nothing is read yet.
 * @throws {SkillError} INVALID_OPTION, DUPLICATE_SOURCE
 */
export function assembleRuntime(options: SkillRuntimeOptions): RuntimeParts {
  checkRuntimeOptions(options)
  const host = createHost(options)
  const { clock, hasher, logger, store, decisions, events } = host
  const registry = createRegistry(host)
  const sources = createSources(host, registry)
  const shared = {
    registry,
    sources,
    store: new RecapturingStore(store, registry, sources),
    catalogs: new CatalogCache(options.catalog ?? {}),
    index: new SkillSearch(),
  }
  // Scripts read skills, and readers show the commands of scripts: the first reader shows none.
  const reader = new SkillReader(shared)
  const log = options.history
  const review = new SkillReview({ registry, reader, store, decisions, log, clock, logger })
  const scripts = createScripts(host, { registry, reader, review, store: shared.store })
  const demands = { isUnique: options.onDuplicate === 'error', isValid: options.onInvalid === 'throw' }
  const reloads = new SkillReloads({ reader, sources, scripts, events, demands })
  const changes = new SkillChanges({
    ...{ registry, sources, reader, reloads, store, decisions, review, log, events, clock, logger },
    writeLock: options.writeLock ?? new InProcessWriteLock(),
    agentWrites: options.agentWrites ?? 'hold',
  })
  const parts = { ...shared, commands: scripts }
  return {
    ...{ clock, hasher, logger, store, registry, sources, events, review, scripts, reloads, changes },
    reader: parts,
    binder: new AgentBinder({ reader, clock, logger }),
    sessions: new LiveSessions({
      reader: new SkillReader(parts),
      scripts,
      store,
      hasher,
      countTokens: options.catalog?.countTokens ?? approximateTokens,
    }),
  }
}

function createHost(options: SkillRuntimeOptions): Host {
  const logger = options.logger ?? silentLogger
  const clock = options.clock ?? systemClock
  const decisions: DecisionStore = options.decisions ?? new MemoryDecisions()
  if (decisions.damage !== undefined) logger.error(decisions.damage)
  const onHandlerError = (error: unknown, name: string): void =>
    logger.error('an event handler failed', { name, error })
  return {
    options,
    clock,
    hasher: options.hasher ?? portableHasher,
    logger,
    store: options.store ?? new MemorySkillStore({ clock }),
    decisions,
    events: options.events ?? new InProcessEventBus({ onHandlerError }),
  }
}

function createRegistry({ options, clock, hasher, logger, store, decisions, events }: Host): SkillRegistry {
  const registry = new SkillRegistry({
    ...{ store, hasher, clock, logger },
    ...(options.onDuplicate === undefined ? {} : { onDuplicate: options.onDuplicate }),
    ...(options.onInvalid === 'drop' ? { onInvalid: 'drop' } : {}),
    admission: options.admission ?? createReviewAdmission({ decisions, isFrozen: options.frozen === true }),
  })
  const modifiedOn = new Set(options.modifiedOn ?? FACETS)
  registry.subscribe(createEmitter({ bus: events, logger, modifiedOn }), { phase: 'events' })
  return registry
}

function createSources(
  { options, clock, hasher, logger, store }: Host,
  registry: SkillRegistry,
): SourceReaders {
  const sources = new SourceReaders({
    ...{ registry, store, hasher, clock, logger },
    settle: { ...DEFAULT_SETTLE, ...options.settle },
    rehashMs: options.rehashMs ?? DEFAULT_REHASH_MS,
    triggers: { onAccess: true, onRequest: true, ...options.triggers },
    preScan: options.preScan === undefined ? undefined : new PreScan(options.preScan, clock, logger),
  })
  for (const source of options.sources) sources.add(source)
  return sources
}

/** Decisions that change what code may do although the same text is served. */
const ABOUT_CODE: readonly string[] = ['grant', 'revoke', 'approve', 'reject']

function createScripts(
  { options, clock, logger, decisions, events }: Host,
  parts: {
    readonly registry: SkillRegistry
    readonly reader: SkillReader
    readonly review: SkillReview
    readonly store: SkillStore
  },
): SkillScripts {
  const scripts = new SkillScripts({
    ...{ clock, logger },
    runner: options.scripts,
    registry: parts.registry,
    reader: parts.reader,
    store: parts.store,
    records: new CodeRecords({ ...parts, decisions }),
    // The bus has every event of scripts, with the same payload.
    tell: (name, payload) => void events.emit(name, payload as SkillEvents[typeof name]),
  })
  decisions.subscribe(made => {
    if (made.some(({ decision }) => ABOUT_CODE.includes(decision.kind))) scripts.reconsider()
  })
  return scripts
}
