import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Diagnostic, SkillError } from '@skillstoke/core'
import { describePlace } from '@skillstoke/core/internal'
import type { ProgramLoad, ScriptProgram, ScriptScan } from '@skillstoke/core/source'
import type { AccessInUse, ScriptAccess } from '../access/script-access.ts'
import type { SetAside } from '../access/set-aside.ts'
import type { LoadFrame } from '../child/frames.ts'
import { toFolderUrl, writeFiles } from '../folders/program-folder.ts'
import type { ProgramFolders } from '../folders/program-folders.ts'
import { providedModules } from '../provided-modules.ts'
import { type PlainCode, readPlain } from '../scan/plain-javascript.ts'
import type { ScriptReaders } from '../scan/script-readers.ts'
import type { ResolvedScriptRunnerOptions } from '../script-runner-options.ts'
import { findPlace, toCommands, toLoadDiagnostic } from './loaded-commands.ts'
import {
  IdleProcesses,
  isForOneCall,
  type PooledProcess,
  PooledProgram,
  type PooledProgramOptions,
} from './pooled-program.ts'
import { ProcessReserve } from './process-reserve.ts'
import { ProcessStarter } from './process-starter.ts'
import { createRedaction } from './redact.ts'
import type { Sandbox } from './sandbox.ts'
import type { LoadFrameOutcome } from './script-process.ts'

export interface ProgramLoaderOptions {
  readonly options: ResolvedScriptRunnerOptions
  readonly sandbox: Sandbox
  readonly folders: ProgramFolders
  readonly readers: ScriptReaders
  /** What the code that is loaded or running may access. */
  readonly inUse: Set<AccessInUse>
  readonly setAside: SetAside
  /** Checks the grants of a program, and records the resulting access in `use`. @throws {SkillError} SCRIPT_REFUSED */
  readonly check: (program: ScriptProgram, use: AccessInUse) => Promise<ScriptAccess>
}

/** A revision that is being loaded into processes. */
interface Loading {
  readonly program: ScriptProgram
  readonly scan: ScriptScan
  readonly folder: string
  readonly code: PlainCode['modules']
  readonly check: () => Promise<ScriptAccess>
}

interface Started {
  readonly pooled: PooledProcess
  readonly outcome: LoadFrameOutcome
}

// Time in which a reserve process must begin to load, in milliseconds. After this time, a new process replaces the reserve process.
const SILENCE_MS = 1_000
// For skills above these limits, copying takes longer than starting a process in the existing folder.
const MAX_COPIED_BYTES = 1_048_576
const MAX_COPIED_FILES = 64
/** Maximum number of copied folders that stay after their process has ended, because a result may name a file in such a folder. */
const MAX_KEPT_COPIES = 4

/**
 * Loads revisions into contained processes. A process into which a revision was loaded runs only this revision, with
 * the grants that the process got at its start.
 */
export class ProgramLoader {
  readonly #parts: ProgramLoaderOptions
  readonly #starter: ProcessStarter
  readonly #reserve: ProcessReserve
  readonly #idle: IdleProcesses
  readonly #programs = new Set<PooledProgram>()
  /** The last time at which a process was started for a program whose processes had all ended. */
  #refilledAt = -Infinity

  constructor(parts: ProgramLoaderOptions) {
    const { options } = parts
    this.#parts = parts
    this.#starter = new ProcessStarter(parts)
    this.#reserve = new ProcessReserve(this.#starter, options.reserveMs)
    this.#idle = new IdleProcesses(options.maxIdleProcesses, options.idleMs)
  }

  async load(program: ScriptProgram, scan: ScriptScan, signal?: AbortSignal): Promise<ProgramLoad> {
    const { inUse, folders } = this.#parts
    const isEdit = [...inUse].some(({ skill }) => skill === program.skill)
    const use: AccessInUse = { skill: program.skill }
    inUse.add(use)
    const check = (): Promise<ScriptAccess> => this.#parts.check(program, use)
    let folder: string | undefined
    /** The process that this load uses. If the load does not return this process, the load ends the process. */
    let held: PooledProcess | undefined
    let isKept = false
    try {
      const plain = readPlain(program, this.#parts.readers, signal)
      plain.catch(() => undefined) // awaited below, unless something else fails first
      const early = await this.#startEarly(program, check)
      held = early
      folder = await folders.take(program, early?.folder)
      if (early !== undefined) held = await this.#giveFolder(early, folder)
      const { modules: code, diagnostics: unplain } = await plain
      const faults = unplain.filter(({ path }) => scan.sources.includes(path ?? ''))
      if (faults.length > 0) return { kind: 'failed', diagnostics: faults }
      const loading = { program, scan, folder, code, check }
      const { outcome, pooled, left } = await this.#beginAndCheck(loading, held, signal)
      held = pooled
      if (isEdit || early?.isReserved === true) this.#reserve.keep(pooled.access)
      if (outcome.kind === 'failed' || left !== undefined)
        return {
          kind: 'failed',
          diagnostics: [
            ...(outcome.kind === 'failed' ? [toLoadDiagnostic(outcome, folder)] : []),
            ...(left === undefined ? [] : [toRefusal(left)]),
          ],
        }
      const redaction = createRedaction(pooled.access.secrets)
      const { commands, diagnostics } = toCommands(program, scan, outcome.commands, redaction)
      if (diagnostics.length > 0) return { kind: 'failed', diagnostics }
      const { kind } = await this.#parts.sandbox.containment()
      const isOffline = kind === 'sandbox' && !program.grants.includes('net')
      isKept = true
      return { kind: 'loaded', program: this.#pool(loading, pooled, { commands, use, isOffline }) }
    } catch (thrown) {
      if (!SkillError.isInstance(thrown, 'SCRIPT_REFUSED')) throw thrown
      return { kind: 'failed', diagnostics: [toRefusal(thrown.message)] }
    } finally {
      if (!isKept) {
        inUse.delete(use)
        if (held !== undefined) await this.#starter.end(held)
        if (folder !== undefined) await folders.giveBack(program.revision)
      }
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#programs].map(program => program.close({ withinMs: 0 })))
    await this.#reserve.close()
  }

  /** Returns the reserve process, or starts a process with an empty folder. The process can then start while the files are written. */
  async #startEarly(
    program: ScriptProgram,
    check: () => Promise<ScriptAccess>,
  ): Promise<PooledProcess | undefined> {
    // Granted paths must be checked right before the process starts, so a program with granted paths gets no process early.
    const isPlain = program.grants.every(grant => grant === 'net' || grant === 'exec')
    if (!isPlain || this.#parts.folders.has(program.revision)) return undefined
    const access = await check()
    return (await this.#reserve.take(access)) ?? (await this.#starter.startEmpty(access))
  }

  /** Returns the process if the revision is in its folder; otherwise ends the process. */
  async #giveFolder(early: PooledProcess, folder: string): Promise<PooledProcess | undefined> {
    if (early.folder === folder) return { ...early, hasOwnFolder: false }
    await this.#starter.end(early)
    return undefined
  }

  /**
   * Like `#begin`. A process that may write to folders is ended after it loaded the code, and its folders are checked.
   * Loads the code a second time if something was left there, because another script could have left it.
   */
  async #beginAndCheck(
    loading: Loading,
    waiting: PooledProcess | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Started & { readonly left?: string | undefined }> {
    for (let attempt = 1; ; attempt++) {
      const started = await this.#begin(loading, attempt === 1 ? waiting : undefined, signal)
      if (!isForOneCall(started.pooled)) return started
      await this.#starter.end(started.pooled)
      const left = await started.pooled.left
      if (left === undefined || attempt === 2) return { ...started, left }
    }
  }

  /**
   * Loads the code into `waiting`. Starts a new process if `waiting` is missing, or if `waiting` is a reserve process
   * that fails before any code of the skill ran.
   */
  async #begin(
    loading: Loading,
    waiting: PooledProcess | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Started> {
    if (waiting !== undefined) {
      const outcome = await this.#loadInto(waiting, loading, signal)
      const hasBegun = outcome.kind === 'loaded' || outcome.path !== undefined
      if (hasBegun || !waiting.isReserved || signal?.aborted === true) return { pooled: waiting, outcome }
      // The reserve process ended or hung before any code of the skill ran.
      await this.#starter.end(waiting)
    }
    const pooled = await this.#starter.start(loading.folder, await loading.check())
    return { pooled, outcome: await this.#loadInto(pooled, loading, signal) }
  }

  async #loadInto(
    pooled: PooledProcess,
    { scan, code }: Loading,
    signal: AbortSignal | undefined,
  ): Promise<LoadFrameOutcome> {
    const { process, folder, isReserved } = pooled
    const { limits, loadTimeoutMs } = this.#parts.options
    const { modules, validator } = providedModules()
    const frame: LoadFrame = {
      kind: 'load',
      files: toFolderUrl(folder),
      code,
      modules: scan.modules,
      provided: modules,
      validator,
      skillDirectory: folder,
      maxBytes: limits.stdout,
    }
    return await process.load(frame, {
      timeoutMs: loadTimeoutMs,
      ...(isReserved ? { silenceMs: SILENCE_MS } : {}),
      signal,
    })
  }

  /** Starts one more process for code that another process has already loaded. @throws {SkillError} SCRIPT_FAILED, SCRIPT_REFUSED */
  async #startOneMore(loading: Loading, signal: AbortSignal, isRefill: boolean): Promise<PooledProcess> {
    const access = await loading.check()
    const reserved = await this.#takeCopy(loading, access)
    const { outcome, pooled } = await this.#begin({ ...loading, check: async () => access }, reserved, signal)
    const now = performance.now()
    const isSoon = isRefill && now - this.#refilledAt < this.#parts.options.reserveMs
    if (isRefill) this.#refilledAt = now
    if (isSoon || reserved !== undefined) this.#reserve.keep(access)
    if (outcome.kind === 'loaded') return pooled
    await this.#starter.end(pooled)
    const problem = toLoadDiagnostic(outcome, pooled.folder)
    const left = await pooled.left
    const more = left === undefined ? '' : `; ${left}`
    throw new SkillError('SCRIPT_FAILED', `${describePlace(problem)}: ${problem.message}${more}`)
  }

  /** Takes the reserve process, and copies the revision into the folder of that process. */
  async #takeCopy(
    { program: { files }, folder }: Loading,
    access: ScriptAccess,
  ): Promise<PooledProcess | undefined> {
    const bytes = files.reduce((sum, { size }) => sum + size, 0)
    if (bytes > MAX_COPIED_BYTES || files.length > MAX_COPIED_FILES) return undefined
    const reserved = await this.#reserve.take(access)
    if (reserved === undefined) return undefined
    try {
      await writeFiles(reserved.folder, { files, readFile: async path => readFileSync(join(folder, path)) })
      return reserved
    } catch {
      // If the revision cannot be copied, a process starts in the existing folder.
      await this.#starter.end(reserved)
      return undefined
    }
  }

  #pool(
    loading: Loading,
    first: PooledProcess,
    { commands, use, isOffline }: Pick<PooledProgramOptions, 'commands' | 'isOffline'> & { use: AccessInUse },
  ): PooledProgram {
    const { program, check } = loading
    const { revision, grants } = program
    const { options, folders, inUse } = this.#parts
    const copies: string[] = []
    const keepCopies = async (most: number): Promise<void> => {
      for (const copy of copies.splice(0, copies.length - most)) await folders.discard(copy)
    }
    let mostCopies = MAX_KEPT_COPIES
    const pool: PooledProgram = new PooledProgram(isForOneCall(first) ? [] : [first], {
      revision,
      commands,
      isOffline,
      ...(grants.some(grant => grant.startsWith('fs.')) ? { check } : {}),
      locate: (stack, { folder }) => describePlace(findPlace(stack, folder)),
      start: async (ending, isRefill) => await this.#startOneMore(loading, ending, isRefill),
      limits: options,
      idle: this.#idle,
      discard: async each => {
        await this.#starter.discard({ ...each, hasOwnFolder: false })
        if (each.hasOwnFolder) copies.push(each.folder)
        await keepCopies(mostCopies)
      },
      onClosed: async () => {
        this.#programs.delete(pool)
        inUse.delete(use)
        mostCopies = 0
        await keepCopies(mostCopies)
        await folders.giveBack(revision)
      },
    })
    this.#programs.add(pool)
    return pool
  }
}

function toRefusal(message: string): Diagnostic {
  return { code: 'SCRIPT_FAILED', severity: 'error', message }
}
