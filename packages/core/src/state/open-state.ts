import type { MemoryRevisionLogOptions } from '../history/revision-log.ts'
import { closeInTurn } from '../host.ts'
import { checkOptions, type KnownOptions, silentLogger } from '../internal-entry.ts'
import type { DecisionStore, RevisionLog, SkillState, SkillStore, WriteLock } from '../source-entry.ts'
import { type DecisionStoreOptions, openDecisions } from './decision-store.ts'
import { openRevisionLog } from './revision-log.ts'
import { openWriteLock, type WriteLockOptions } from './shared-write-lock.ts'
import { openSkillStore } from './sqlite-store.ts'
import { defaultStateDirectory } from './state-directory.ts'

export interface OpenStateOptions {
  /** Options for `openDecisions`. */
  readonly decisions?: DecisionStoreOptions
  /** Options for `openRevisionLog`. */
  readonly history?: MemoryRevisionLogOptions
  /** Options for `openWriteLock`. */
  readonly writeLock?: WriteLockOptions
}

const KNOWN: KnownOptions<OpenStateOptions> = { decisions: true, history: true, writeLock: true }

/** The open state of one directory: the store, the decisions, the history and the write lock. */
export interface OpenedState extends SkillState, AsyncDisposable {
  readonly store: SkillStore
  readonly decisions: DecisionStore
  readonly history: RevisionLog
  readonly writeLock: Required<WriteLock> & AsyncDisposable
  /**
   * Closes all four parts. A runtime that receives this state also closes it, even if `createSkillRuntime()` refuses
   * the options. Idempotent.
   */
  close(): Promise<void>
}

/**
 * Opens the store, the decisions, the history and the write lock of a state directory. Several processes may share the
 * directory. If one part of the state cannot be opened, closes the parts that are already open.
 * @param directory is created when it does not exist; the default is `defaultStateDirectory()`
 * @throws {SkillError} IO_FAILED with the path when the directory or one of its files cannot be used; INVALID_OPTION
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory, openState } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({
 *   sources: [directory('./skills')],
 *   state: await openState('./state'), // closed with the runtime
 * })
 * console.log((await skills.history.log('support-pdf')).length) // prints 1
 * ```
 */
export async function openState(
  directory: string = defaultStateDirectory(),
  options: OpenStateOptions = {},
): Promise<OpenedState> {
  checkOptions('openState()', options, KNOWN)
  const opened: (() => Promise<void>)[] = []
  const close = async (): Promise<void> => await closeInTurn(opened, silentLogger)
  const keep = <Part extends { close(): Promise<void> }>(part: Part): Part => {
    opened.unshift(() => part.close())
    return part
  }
  try {
    const store = keep(await openSkillStore(directory))
    const history = keep(await openRevisionLog(directory, options.history))
    const writeLock = keep(await openWriteLock(directory, options.writeLock))
    // The decisions are opened last. `openDecisions` reports damage only once, so a failure after this report would
    // lose the report.
    const decisions = keep(await openDecisions(directory, options.decisions))
    // Not enumerable, because the runtime refuses unknown options of `state`.
    const ends = { close: { value: close }, [Symbol.asyncDispose]: { value: close } }
    return Object.defineProperties({ store, decisions, history, writeLock }, ends) as OpenedState
  } catch (thrown) {
    await close()
    throw thrown
  }
}
