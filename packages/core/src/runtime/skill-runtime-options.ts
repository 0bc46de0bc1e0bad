import { InProcessWriteLock } from '../authoring/write-lock.ts'
import { CATALOG_OPTIONS, type CatalogOptions } from '../catalog/render-catalog.ts'
import { SkillError } from '../errors.ts'
import { type EventBus, InProcessEventBus } from '../events/event-bus.ts'
import { MemoryDecisions } from '../history/decisions.ts'
import { createReviewAdmission } from '../history/review-admission.ts'
import type { RevisionLog } from '../history/revision-log.ts'
import { type Clock, type Hasher, type Logger, portableHasher, silentLogger, systemClock } from '../host.ts'
import { checkOptions, checkValue, isFunction, type KnownOptions, number, oneOf } from '../options.ts'
import { quote } from '../quote.ts'
import type { AdmissionPolicy } from '../registry/admission.ts'
import { INVALID_POLICIES, type InvalidPolicy } from '../registry/candidate-builder.ts'
import { DUPLICATE_POLICIES, type DuplicatePolicy } from '../registry/duplicate-policy.ts'
import type { SharedSources } from '../registry/last-good.ts'
import type { ScriptRunner } from '../script/script-runner.ts'
import { StateSeal } from '../session/state-seal.ts'
import { FACETS, type SkillFacet } from '../skill/diff-skills.ts'
import { DEFAULT_SETTLE, SETTLE_OPTIONS, type SettlePolicy } from '../source/settle.ts'
import type { SkillSource } from '../source/skill-source.ts'
import { MemorySkillStore } from '../store/memory-skill-store.ts'
import { PreScan, type PreScanHook, type PreScanOptions } from '../sync/pre-scan.ts'
import type { ReadTriggers } from '../sync/source-readers.ts'
import type { Demands } from './demands.ts'
import { type SkillState, STATE_PARTS } from './skill-state.ts'

export interface SkillRuntimeOptions {
  /** The sources, highest precedence first. */
  readonly sources: readonly SkillSource[]
  /**
   * The stores in which the runtime keeps its state. `close()` of the runtime closes the stores, and so does a failed
   * `createSkillRuntime`.
   * @default in memory, without a history
   */
  readonly state?: SkillState
  /** Rules that decide which revisions go live, and when. */
  readonly review?: ReviewPolicy
  /**
   * Runs the scripts of skills outside this process. The runner is closed with the runtime, or when
   * `createSkillRuntime` fails.
   * @default none: scripts are files that do not run
   */
  readonly scripts?: ScriptRunner
  readonly catalog?: CatalogOptions
  /** @default an event bus that calls handlers in this process */
  readonly events?: EventBus
  /**
   * Decides which of several skills with the same name is served. With `error`, the start and `reload()` fail if two
   * skills have the same name.
   * @default 'first-wins'
   */
  readonly onDuplicate?: DuplicatePolicy
  /**
   * Decides what is served when the text of a skill is invalid. With `throw`, the start and `reload()` fail, and the
   * last good revision is still served.
   * @default 'keep-last-good'
   */
  readonly onInvalid?: InvalidPolicy | 'throw'
  /**
   * Runs before sources are scanned: at the start, at `reload()`, and at `fresh()` if a source does not report changes.
   */
  readonly preScan?: PreScanHook | PreScanOptions
  readonly logger?: Logger
  readonly clock?: Clock
  /** When and how sources are read. Few hosts need to change these options. */
  readonly tuning?: RuntimeTuning
}

/** Rules that decide which revisions go live, and when. */
export interface ReviewPolicy {
  /** Decides whether a new revision goes live. @default by the trust tier of the source and the recorded decisions */
  readonly admission?: AdmissionPolicy
  /** Whether every change after the start waits for approval, even a change in a trusted source. @default false */
  readonly isFrozen?: boolean
  /**
   * Sources that several projects with one store share, and the name of this project. While the project is frozen, it
   * keeps its own last served revisions of these sources, so that another project cannot make their changes live here.
   * @default none
   */
  readonly shared?: SharedSources
  /**
   * Whether writes of agents wait for approval or go live immediately. Each write is always live in the conversation
   * that made it.
   * @default 'hold'
   */
  readonly agentWrites?: AgentWrites
}

/** The values of `AgentWrites`. */
export const AGENT_WRITES = ['hold', 'live'] as const

/**
 * Whether writes of agents wait for approval or go live immediately. Each write is always live in the conversation that
 * made it.
 */
export type AgentWrites = (typeof AGENT_WRITES)[number]

/** When and how sources are read. */
export interface RuntimeTuning {
  /** When a burst of changes counts as finished. @default DEFAULT_SETTLE */
  readonly settle?: Partial<SettlePolicy>
  /**
   * Interval in milliseconds at which all files are hashed again, even if their size, times and inode are unchanged.
   * @default 600,000
   */
  readonly rehashMs?: number
  /** Which calls read the sources again. Source events and `reload()` always cause a new read. */
  readonly triggers?: Partial<ReadTriggers>
  /** The facets whose changes emit `skill:modified`. @default all of them */
  readonly modifiedOn?: readonly SkillFacet[]
  /** @default portableHasher */
  readonly hasher?: Hasher
}

export const DEFAULT_REHASH_MS = 600_000

const DEFAULT_TRIGGERS: ReadTriggers = Object.freeze({ onAccess: true, onRequest: true })
const ON_INVALID = [...INVALID_POLICIES, 'throw'] as const

/** The options of a runtime with all defaults filled in. */
export interface ResolvedRuntimeOptions
  extends Required<
      Pick<SkillRuntimeOptions, 'sources' | 'catalog' | 'events' | 'onDuplicate' | 'logger' | 'clock'>
    >,
    Required<Pick<SkillState, 'store' | 'decisions' | 'writeLock'>>,
    Required<Pick<ReviewPolicy, 'admission' | 'agentWrites'>>,
    Required<Pick<RuntimeTuning, 'rehashMs' | 'hasher'>> {
  /** The log of revisions; absent if no history is recorded. */
  readonly log: RevisionLog | undefined
  /** Absent if stored states are not sealed. */
  readonly seal: StateSeal | undefined
  readonly shared: SharedSources | undefined
  readonly scripts: ScriptRunner | undefined
  readonly onInvalid: InvalidPolicy
  readonly demands: Demands
  readonly preScan: PreScan | undefined
  readonly settle: SettlePolicy
  readonly triggers: ReadTriggers
  readonly modifiedOn: ReadonlySet<SkillFacet>
}

/**
 * Checks the options of a runtime and fills in the defaults.
 * @throws {SkillError} INVALID_OPTION with the option, its value, and a valid value
 */
export function resolveRuntimeOptions(options: SkillRuntimeOptions): ResolvedRuntimeOptions {
  checkRuntimeOptions(options)
  const { state = {}, review = {}, tuning = {}, logger = silentLogger, clock = systemClock } = options
  const decisions = state.decisions ?? new MemoryDecisions()
  return {
    sources: options.sources,
    store: state.store ?? new MemorySkillStore({ clock }),
    decisions,
    log: state.history,
    writeLock: state.writeLock ?? new InProcessWriteLock(),
    seal: state.sealKey === undefined ? undefined : new StateSeal(state.sealKey),
    admission:
      review.admission ??
      createReviewAdmission({
        ...{ decisions, clock, isFrozen: review.isFrozen === true },
        isStoreLasting: state.store?.notes !== undefined,
      }),
    shared: review.isFrozen === true ? review.shared : undefined,
    agentWrites: review.agentWrites ?? 'hold',
    scripts: options.scripts,
    catalog: options.catalog ?? {},
    events:
      options.events ??
      new InProcessEventBus({
        onHandlerError: (error, name) => logger.error('an event handler failed', { name, error }),
      }),
    onDuplicate: options.onDuplicate ?? 'first-wins',
    onInvalid: options.onInvalid === 'drop' ? 'drop' : 'keep-last-good',
    demands: { isUnique: options.onDuplicate === 'error', isValid: options.onInvalid === 'throw' },
    preScan: options.preScan === undefined ? undefined : new PreScan(options.preScan, clock, logger),
    logger,
    clock,
    settle: { ...DEFAULT_SETTLE, ...tuning.settle },
    rehashMs: tuning.rehashMs ?? DEFAULT_REHASH_MS,
    triggers: { ...DEFAULT_TRIGGERS, ...tuning.triggers },
    modifiedOn: new Set(tuning.modifiedOn ?? FACETS),
    hasher: tuning.hasher ?? portableHasher,
  }
}

const REVIEW: KnownOptions<ReviewPolicy> = {
  admission: true,
  isFrozen: true,
  shared: true,
  agentWrites: oneOf(AGENT_WRITES),
}
const TRIGGERS: KnownOptions<ReadTriggers> = { onAccess: true, onRequest: true }
const TUNING: KnownOptions<RuntimeTuning> = {
  settle: SETTLE_OPTIONS,
  rehashMs: number(1),
  triggers: TRIGGERS,
  modifiedOn: true,
  hasher: true,
}
const KNOWN: KnownOptions<SkillRuntimeOptions> = {
  sources: true,
  state: STATE_PARTS,
  review: REVIEW,
  scripts: true,
  catalog: CATALOG_OPTIONS,
  events: true,
  onDuplicate: oneOf(DUPLICATE_POLICIES, isFunction),
  onInvalid: oneOf(ON_INVALID),
  preScan: true,
  logger: true,
  clock: true,
  tuning: TUNING,
}

/** The full name of each nested option. The error message for an option at the wrong level contains this name. */
const MOVED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.keys(STATE_PARTS).map(name => [name, `state.${name}`])),
  ...Object.fromEntries(Object.keys(REVIEW).map(name => [name, `review.${name}`])),
  ...Object.fromEntries(Object.keys(TUNING).map(name => [name, `tuning.${name}`])),
  frozen: 'review.isFrozen',
}

function checkRuntimeOptions(options: SkillRuntimeOptions): void {
  checkOptions('createSkillRuntime()', options, KNOWN, { moved: MOVED })
  // A program in JavaScript may pass nothing.
  const given: Partial<SkillRuntimeOptions> = options ?? {}
  checkSources(given.sources)
  for (const facet of given.tuning?.modifiedOn ?? []) checkValue('tuning.modifiedOn', facet, oneOf(FACETS))
}

function checkSources(sources: readonly SkillSource[] | undefined): void {
  if (sources === undefined || !Array.isArray(sources))
    throw new SkillError('INVALID_OPTION', 'sources is not a list; use for example [directory("./skills")]')
  for (const [index, source] of sources.entries()) {
    const { read, state } = (source ?? {}) as Partial<Record<'read' | 'state', unknown>>
    if (typeof read === 'function' && typeof state === 'function') continue
    const shown = typeof source === 'string' ? quote(source) : typeof source
    const path = typeof source === 'string' ? quote(source) : '"./skills"'
    throw new SkillError(
      'INVALID_OPTION',
      `sources[${index}] is ${shown}, which is not a source; use directory(${path})`,
    )
  }
}
