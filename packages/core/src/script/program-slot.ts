import { defined } from '../defined.ts'
import { SkillError, toMessage } from '../errors.ts'
import type { Clock, Logger } from '../host.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import {
  checkCapabilities,
  declaredCapabilities,
  findMissing,
  isCapability,
  type ScriptCapability,
} from '../skill/capabilities.ts'
import { type Diagnostic, describePlace, isError } from '../skill/diagnostic.ts'
import { type Digest, shortDigest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import type { CodeRecords } from './code-records.ts'
import type { ScriptScan, SkillCommand } from './command.ts'
import {
  type Code,
  readText,
  type ScannedCode,
  type ServingCode,
  toProgram,
  toServing,
} from './program-code.ts'
import type { LoadedProgram, ProgramLoad, ScriptRunner } from './script-runner.ts'

/** The objects that a `ProgramSlot` uses. */
export interface SlotHost {
  readonly runner: ScriptRunner
  readonly reader: Pick<SkillReader, 'readFile'>
  readonly clock: Clock
  readonly logger: Logger
  readonly records: CodeRecords
  /** Called when the command list or the code of a command changed. */
  onSwap(swap: CommandSwap): void
}

/** The result of a swap, in which newer code replaced the code of a skill. */
export interface CommandSwap {
  readonly skill: string
  /** Revision of the code that serves from now on; absent if no code serves. */
  readonly revision?: Digest
  readonly before: readonly SkillCommand[]
  readonly after: readonly SkillCommand[]
}

/** The requested code, and the state of its loading. */
interface Attempt {
  readonly skill: Skill
  readonly grants: readonly ScriptCapability[]
  /** True if the code is loaded and checked immediately; false if the first call loads and checks the code. */
  readonly isEager: boolean
  /** `lost` means that the machine failed, not the script. The next request tries again. */
  state: 'due' | 'running' | 'ended' | 'lost'
}

const NO_COMMANDS: readonly SkillCommand[] = Object.freeze([])

/**
 * The code of one skill folder. A slot has serving code and requested code. A swap replaces the serving code with the
 * requested code.
 *
 * ```text
 *   #attempt     want()          #follow()            it loads, or the script is faulty
 *    (none) -----------> due ---------------> running ---------------------------------> ended
 *                         ^                      | the machine fails                       |
 *                         |                      v                                         |
 *                         +------- want() ----- lost                                       |
 *                         +------- want() of something else, or forced --------------------+
 *
 *   #serving     scan is good            first call
 *    (none) --------------------> scanned ---------> started ----> draining, until its calls have ended
 *      |                             |                  ^
 *      +-----------------------------+------------------+
 *                newer code, loaded and checked
 *
 *    scanned: fails when it starts ----> the revision that was remembered last, or (none)
 *    scanned, started: forbidden, or the slot is closed ----> (none)
 * ```
 *
 * Attempts and starts are steps of one queue, so at most one program is `#loading`. `endForbidden` and `close` do not
 * wait for the queue, so each step checks after an `await` whether its result is still allowed.
 */
export class ProgramSlot {
  readonly #host: SlotHost
  #attempt: Attempt | undefined
  #serving: ServingCode | undefined
  #problems: readonly Diagnostic[] = []
  /** The scan of the newest code, even if the newest code does not load. */
  #newest: ScriptScan | undefined
  /** Runs one step after the other. No step rejects. */
  #queue: Promise<void> = Promise.resolve()
  /** Replaced code whose running calls have not ended yet. */
  readonly #draining = new Map<LoadedProgram, Code & { readonly ended: Promise<void> }>()
  /** The code that is being loaded. No call reaches this code yet. */
  #loading: (Code & { readonly stop: AbortController }) | undefined
  readonly #closing = new AbortController()

  constructor(host: SlotHost) {
    this.#host = host
  }

  get commands(): readonly SkillCommand[] {
    return this.#serving?.commands ?? NO_COMMANDS
  }

  /** The paths of the files that define commands, in the newest code or in the serving code. */
  get sources(): readonly string[] {
    return [...(this.#newest?.sources ?? []), ...(this.#serving?.scan.sources ?? [])]
  }

  /** The scan of the newest code; absent until the code was scanned. */
  get scan(): ScriptScan | undefined {
    return this.#newest
  }

  /** Revision of the serving code. */
  get revision(): Digest | undefined {
    return this.#serving?.skill.revision
  }

  /** The skill whose code was requested last. */
  get skill(): Skill | undefined {
    return this.#attempt?.skill
  }

  /** Diagnostics about the newest code. */
  get problems(): readonly Diagnostic[] {
    return this.#problems
  }

  /** The loaded program of the serving code; undefined if the serving code was only scanned. */
  get loaded(): LoadedProgram | undefined {
    return this.#serving?.loaded
  }

  /**
   * Requests the code of a revision. The first code of a slot serves after a scan. Later code replaces the serving
   * code only after it was loaded and checked.
   */
  want(skill: Skill, options: { readonly isEager?: boolean; readonly isForced?: boolean } = {}): void {
    const old = this.#attempt
    const { isEager = old !== undefined, isForced = false } = options
    this.endForbidden()
    const grants = this.#host.records.grantedTo(skill)
    const isSame = old?.skill === skill && old.grants.join(' ') === grants.join(' ')
    if (this.#isClosed || (isSame && !isForced && old.state !== 'lost')) return
    this.#attempt = { skill, grants, isEager, state: 'due' }
    this.#queue = this.#queue.then(() => this.#follow())
  }

  /** Ends all code whose permission was revoked: serving code, draining code and code that is being loaded. */
  endForbidden(): void {
    if (this.#serving !== undefined && this.#isForbidden(this.#serving))
      this.#swap(undefined, { withinMs: 0 })
    for (const [program, old] of this.#draining) if (this.#isForbidden(old)) hurry(program, 0)
    if (this.#loading !== undefined && this.#isForbidden(this.#loading)) this.#loading.stop.abort()
  }

  /** Resolves when the requested code serves, or has failed. Never rejects. */
  async ready(): Promise<void> {
    for (let last: unknown; last !== this.#queue; ) {
      last = this.#queue
      await last
    }
  }

  /**
   * Returns the program for a new call, and loads the program if needed. Returns `undefined` if there is no code or no code
   * loads.
   */
  async start(): Promise<LoadedProgram | undefined> {
    await this.ready()
    // Try each code once: first the scanned code, then the last good code of an earlier process.
    for (let last: ServingCode | undefined; ; ) {
      const serving = this.#serving
      if (serving === undefined || serving.scan.modules.length === 0 || serving === last) return undefined
      if (serving.loaded !== undefined) return serving.loaded
      last = serving
      this.#queue = this.#queue.then(() => this.#check(serving))
      await this.ready()
    }
  }

  /** Resolves when all replaced code has ended. Never rejects. */
  async drained(): Promise<void> {
    await Promise.all(Array.from(this.#draining.values(), ({ ended }) => ended))
  }

  /**
   * Removes the commands immediately, and waits until running calls end. `withinMs` limits how long running calls may
   * continue.
   */
  async close({ withinMs }: { readonly withinMs?: number } = {}): Promise<void> {
    this.#closing.abort()
    this.endForbidden()
    this.#loading?.stop.abort()
    this.#swap(undefined)
    if (withinMs !== undefined) for (const program of this.#draining.keys()) hurry(program, withinMs)
    await this.ready()
    await this.drained()
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  async #follow(): Promise<void> {
    for (let attempt = this.#attempt; attempt?.state === 'due'; attempt = this.#attempt) {
      const current = attempt
      current.state = 'running'
      const isSound = await this.#guard(current.skill, () => this.#try(current))
      current.state = isSound ? 'ended' : 'lost'
    }
  }

  /** Loads code that was scanned but not loaded yet. */
  async #check(serving: ServingCode): Promise<void> {
    if (this.#serving !== serving) return
    const isSound = await this.#guard(serving.skill, async () => {
      const outcome = await this.#load(serving, true)
      // While the code was loading, its permission may have been revoked, or the slot may have been closed.
      if (this.#serving !== serving) return await closeLoaded(outcome)
      if (outcome.kind === 'failed') return await this.#fail(serving.skill, outcome.diagnostics)
      this.#swap(toServing(serving, outcome.program))
      this.#host.records.remember(serving.skill)
    })
    // An attempt with the state `due` runs next, so only an attempt with the state `ended` must be marked as `lost`.
    if (!isSound && this.#attempt?.state === 'ended') this.#attempt.state = 'lost'
  }

  /**
   * Resolves to false if the machine failed, for example if bytes are missing from the store or no process can be
   * spawned. Faulty scripts do not throw here; they become diagnostics.
   */
  async #guard(skill: Skill, work: () => Promise<void>): Promise<boolean> {
    try {
      await work()
      return true
    } catch (error) {
      this.#host.logger.error('scripts cannot be loaded', { skill: skill.name, error })
      const message = `the scripts cannot be loaded: ${toMessage(error)}`
      try {
        await this.#fail(skill, [{ code: 'SCRIPT_FAILED', severity: 'error', message }])
      } catch (thrown) {
        this.#host.logger.error('diagnostics about scripts cannot be reported', {
          skill: skill.name,
          error: thrown,
        })
      }
      return false
    }
  }

  async #try(attempt: Attempt): Promise<void> {
    const { skill } = attempt
    const scan = await this.#scan(skill, this.#serving?.scan.modules ?? (await this.#readKnown(skill)))
    // During the scan, other code may have been requested, or this revision may have been rejected.
    if (this.#isClosed || this.#attempt !== attempt || this.#host.records.isRejected(skill)) return
    this.#newest = scan
    const declared = declaredCapabilities(skill).filter(isCapability)
    const notes = [...scan.diagnostics, ...checkCapabilities(skill)]
    if (scan.diagnostics.some(isError)) return await this.#fail(skill, notes)
    const missing =
      scan.modules.length === 0 ? [] : findMissing(declared, this.#host.records.grantedTo(skill))
    if (missing.length > 0) return await this.#fail(skill, [...notes, describeMissing(skill, missing)])
    const program = toProgram(skill, declared, this.#host.reader)
    const isLoaded = scan.modules.length > 0 && (attempt.isEager || !scan.isComplete)
    const outcome = isLoaded ? await this.#load({ skill, program, scan }, attempt.isEager) : undefined
    if (this.#isClosed || this.#isForbidden({ skill, program })) return await closeLoaded(outcome)
    if (outcome?.kind === 'failed') return await this.#fail(skill, [...notes, ...outcome.diagnostics])
    const loaded = outcome?.program
    this.#problems = notes
    this.#swap(toServing({ skill, scan, program }, loaded))
    if (loaded !== undefined) this.#host.records.remember(skill)
    await this.#remark(skill, notes)
  }

  /** Lets the old code continue to serve. If no old code serves, restores the last good code of an earlier process. */
  async #fail(skill: Skill, problems: readonly Diagnostic[]): Promise<void> {
    const failed = this.#serving
    if (this.#isClosed) return
    // Code without scan errors may still fail when it is loaded. Such code must no longer serve.
    if (failed === undefined || (failed.skill === skill && failed.loaded === undefined)) {
      const older = await this.#restore(skill)
      // During the restore, the permission of the code may have been revoked, or the slot may have been closed.
      const isAllowed = !this.#isClosed && older !== undefined && !this.#isForbidden(older)
      this.#swap(isAllowed ? older : undefined)
      if (!isAllowed) await older?.loaded?.close()
      if (this.#isClosed) return
    }
    this.#problems = problems
    for (const problem of problems)
      if (problem.code !== 'CAPABILITY_UNKNOWN')
        this.#host.logger.warn('commands do not load', {
          skill: skill.name,
          ...(problem.path === undefined ? {} : { place: describePlace(problem) }),
          reason: problem.message,
        })
    const revision = this.commands.length === 0 ? undefined : this.revision
    const note = revision === undefined ? '' : `; the commands of ${shortDigest(revision)} stay`
    await this.#remark(
      this.#attempt?.skill ?? skill,
      problems.map(each => (isError(each) ? { ...each, message: `${each.message}${note}` } : each)),
    )
  }

  async #restore(skill: Skill): Promise<ServingCode | undefined> {
    const older = await this.#host.records.readRemembered(skill)
    if (older === undefined) return undefined
    const scan = await this.#scan(older, [])
    const declared = declaredCapabilities(older).filter(isCapability)
    const program = toProgram(older, declared, this.#host.reader)
    const isRefused = (): boolean => this.#isClosed || this.#isForbidden({ skill: older, program })
    if (isRefused() || scan.diagnostics.some(isError)) return undefined
    // If the scan could not find all commands, load the code to find them.
    const outcome = scan.isComplete ? undefined : await this.#load({ skill: older, program, scan }, true)
    if (outcome?.kind === 'failed') return undefined
    if (isRefused()) {
      await closeLoaded(outcome)
      return undefined
    }
    return toServing({ skill: older, scan, program }, outcome?.program)
  }

  /** Replaces the serving code. New calls immediately use the new code. Running calls finish on the old code. */
  #swap(next: ServingCode | undefined, ending: { readonly withinMs?: number } = {}): void {
    const old = this.#serving
    if (old === next) return
    this.#serving = next
    if (old?.loaded !== undefined) {
      const { loaded } = old
      const ended = loaded
        .close(ending)
        .catch((error: unknown) => {
          this.#host.logger.error('the code of a skill did not end', { error })
        })
        .finally(() => this.#draining.delete(loaded))
      this.#draining.set(loaded, { skill: old.skill, program: old.program, ended })
    }
    const name = next?.skill.name ?? old?.skill.name ?? ''
    this.#host.onSwap({
      skill: name,
      ...defined({ revision: next?.skill.revision }),
      before: old?.commands ?? NO_COMMANDS,
      after: next?.commands ?? NO_COMMANDS,
    })
  }

  #isForbidden({ skill, program }: Code): boolean {
    return this.#host.records.isForbidden(skill, program.grants)
  }

  /**
   * Returns the modules that had commands in an earlier process. These modules are scanned as command modules even if they are
   * broken now.
   */
  async #readKnown(skill: Skill): Promise<readonly string[]> {
    const older = await this.#host.records.readRemembered(skill)
    return older === undefined ? [] : (await this.#scan(older, [])).modules
  }

  async #scan(skill: Skill, known: readonly string[]): Promise<ScriptScan> {
    const texts = await Promise.all(skill.files.map(file => readText(this.#host.reader, skill, file)))
    return await this.#host.runner.scan(skill.name, texts, known, this.#closing.signal)
  }

  async #load({ skill, program, scan }: ScannedCode, isUrgent: boolean): Promise<ProgramLoad> {
    const { clock, logger, runner } = this.#host
    const start = clock.monotonic()
    const isReload = this.#serving !== undefined
    if (isReload) logger.info('Hot reloading skill', { skill: program.skill, revision: program.revision })
    const stop = new AbortController()
    this.#loading = { skill, program, stop }
    const outcome = await runner
      .load(program, scan, { isUrgent, signal: stop.signal })
      .finally(() => (this.#loading = undefined))
    const commands = outcome.kind === 'loaded' ? outcome.program.commands.length : 0
    const durationMs = Math.round(clock.monotonic() - start)
    if (outcome.kind === 'loaded')
      logger.info('commands are loaded', { skill: program.skill, commands, durationMs })
    return outcome
  }

  async #remark(skill: Skill, diagnostics: readonly Diagnostic[]): Promise<void> {
    const folder = skill.directory ?? [skill.source, skill.location].filter(Boolean).join('/')
    try {
      await this.#host.records.remark(
        skill,
        diagnostics.map(each => ({ ...each, path: `${folder}/${each.path ?? fallbackPath(each, skill)}` })),
      )
    } catch (error) {
      if (!SkillError.isInstance(error, 'CLOSED')) throw error
    }
  }
}

/** Returns the path for a diagnostic that names no file. */
function fallbackPath({ code }: Diagnostic, { skillFile }: Skill): string {
  return code.startsWith('CAPABILITY') ? skillFile : 'scripts'
}

/** Shortens the grace period of a closing program. Ignores a failure, because the first `close` call already reports it. */
function hurry(program: LoadedProgram, withinMs: number): void {
  program.close({ withinMs }).catch(() => undefined)
}

async function closeLoaded(outcome: ProgramLoad | undefined): Promise<void> {
  if (outcome?.kind === 'loaded') await outcome.program.close()
}

function describeMissing(skill: Skill, missing: readonly ScriptCapability[]): Diagnostic {
  const words = missing.join(' ')
  return {
    code: 'CAPABILITY_NOT_GRANTED',
    severity: 'warning',
    message: `the scripts lack a grant for ${words}`,
    fix: `read the scripts first, then decide: stoke grant ${skill.name} ${words}`,
  }
}
