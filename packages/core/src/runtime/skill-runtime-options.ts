import type { WriteLock } from '../authoring/write-lock.ts'
import type { CatalogOptions } from '../catalog/render-catalog.ts'
import { checkChoice, checkNumber, SkillError } from '../errors.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { DecisionStore } from '../history/decisions.ts'
import type { RevisionLog } from '../history/revision-log.ts'
import type { Clock, Hasher, Logger } from '../host.ts'
import type { AdmissionPolicy } from '../registry/admission.ts'
import type { InvalidPolicy } from '../registry/candidate-builder.ts'
import type { DuplicatePolicy } from '../registry/duplicate-policy.ts'
import type { ScriptRunner } from '../script/script-runner.ts'
import { FACETS, type Facet } from '../skill/diff-skills.ts'
import { checkSettle, type SettlePolicy } from '../source/settle.ts'
import type { SkillSource } from '../source/skill-source.ts'
import type { SkillStore } from '../store/skill-store.ts'
import type { PreScanHook, PreScanOptions } from '../sync/pre-scan.ts'
import type { ReadTriggers } from '../sync/source-readers.ts'

export interface SkillRuntimeOptions {
  /** In order of precedence. */
  readonly sources: readonly SkillSource[]
  /** Where what was read is kept. Closed with the runtime. @default in memory */
  readonly store?: SkillStore
  /** @default portableHasher */
  readonly hasher?: Hasher
  /**
   * Which of several skills with one name is served. With `error`, starting and `reload` fail while there are some.
   * @default 'first-wins'
   */
  readonly onDuplicate?: DuplicatePolicy
  /**
   * What a text that cannot be served does to its skill. With `throw` the last good revision stays, and starting and
   * `reload` fail. @default 'keep-last-good'
   */
  readonly onInvalid?: InvalidPolicy | 'throw'
  /** Changes of which parts of a skill emit `skill:modified`. @default all of them */
  readonly modifiedOn?: readonly Facet[]
  /** When sources are looked at besides their own events and `reload`. */
  readonly triggers?: Partial<ReadTriggers>
  /** Called before the sources are scanned at the start, on `reload`, and on requests where no events tell of changes. */
  readonly preScan?: PreScanHook | PreScanOptions
  /**
   * Decides whether a new revision goes live. @default by the trust of its source, and by what was decided with `review`
   */
  readonly admission?: AdmissionPolicy
  /** Where approvals and the like are kept. Closed with the runtime. @default in memory */
  readonly decisions?: DecisionStore
  /** Where every revision is written down, for `history`. Closed with the runtime. @default none: nothing is */
  readonly history?: RevisionLog
  /** Keeps writers apart; one that other processes respect, too, when they write to the same folders. @default within this process */
  readonly writeLock?: WriteLock
  /** Whether everything stays as it is at the start: later changes wait for approval, whatever their source. @default false */
  readonly frozen?: boolean
  /**
   * Whether what agents write is held beyond their own conversation until somebody approves it. @default 'hold'
   */
  readonly agentWrites?: 'hold' | 'live'
  /**
   * Runs the scripts of skills, outside this process. Closed with the runtime. @default none: scripts are files like any other
   */
  readonly scripts?: ScriptRunner
  /** When a burst of changes counts as finished. @default DEFAULT_SETTLE */
  readonly settle?: Partial<SettlePolicy>
  /** How often all bytes are hashed again whatever the file facts say, in milliseconds. @default 600,000 */
  readonly rehashMs?: number
  readonly catalog?: CatalogOptions
  /** @default a new InProcessEventBus */
  readonly events?: EventBus
  readonly logger?: Logger
  readonly clock?: Clock
}

export const DEFAULT_REHASH_MS = 600_000

/** @throws {SkillError} INVALID_OPTION with the option, its value, and what would be right */
export function checkRuntimeOptions(options: SkillRuntimeOptions): void {
  const { sources, onDuplicate, catalog } = options
  if (!Array.isArray(sources))
    throw new SkillError('INVALID_OPTION', 'sources is no list; use for example [directory("./skills")]')
  for (const [index, source] of sources.entries()) {
    const { read, state } = (source ?? {}) as Partial<Record<'read' | 'state', unknown>>
    if (typeof read === 'function' && typeof state === 'function') continue
    const shown = typeof source === 'string' ? JSON.stringify(source) : typeof source
    const path = typeof source === 'string' ? JSON.stringify(source) : '"./skills"'
    throw new SkillError(
      'INVALID_OPTION',
      `sources[${index}] is ${shown}, which is no source; use directory(${path})`,
    )
  }
  if (typeof onDuplicate !== 'function')
    checkChoice('onDuplicate', onDuplicate, ['first-wins', 'last-wins', 'error'])
  checkChoice('agentWrites', options.agentWrites, ['hold', 'live'])
  checkChoice('onInvalid', options.onInvalid, ['keep-last-good', 'drop', 'throw'])
  if (typeof catalog?.format !== 'function')
    checkChoice('catalog.format', catalog?.format, ['agentskills-xml', 'pai-xml', 'markdown', 'none'])
  for (const facet of options.modifiedOn ?? []) checkChoice('modifiedOn', facet, FACETS)
  checkNumber('rehashMs', options.rehashMs, 1)
  checkSettle('settle', options.settle)
}
