import { defined } from '../defined.ts'
import { SkillError } from '../errors.ts'
import { closeInTurn, waitAtMost } from '../host.ts'
import { quote } from '../quote.ts'
import type { CommandOffer, CommandOffers } from '../reader/command-offer.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import type { RegistryUpdate } from '../registry/registry-update.ts'
import type { SkillRegistry } from '../registry/skill-registry.ts'
import type { ScriptCapability } from '../skill/capabilities.ts'
import type { Skill } from '../skill/skill.ts'
import { mayExportCommands } from './command.ts'
import { describeProblem } from './command-not-found.ts'
import { type CommandSwap, ProgramSlot, type SlotHost } from './program-slot.ts'
import type { ScriptRunner } from './script-runner.ts'

export interface ProgramSlotsOptions extends Omit<SlotHost, 'onSwap' | 'runner' | 'reader'> {
  /** Absent if the runtime does not run scripts. */
  readonly runner: ScriptRunner | undefined
  readonly reader: SkillReader
  readonly registry: SkillRegistry
}

interface FileCall {
  readonly skill: Skill
  readonly grants: readonly ScriptCapability[]
  readonly stop: AbortController
}

type SkillPlace = Pick<Skill, 'name' | 'source' | 'location'>

/** The result of unloading the code of a skill. */
export type UnloadStatus = 'unloaded' | 'not-loaded' | 'not-found'

// Limits how long the subscribers of later phases wait for new code to load.
const MAX_PHASE_WAIT_MS = 1_000
// When the runtime closes, running calls may continue for this time.
const CLOSE_MS = 5_000

/**
 * The code of all skills, with one slot for each skill that has scripts. The slots are updated when the served skills or the
 * grants change.
 */
export class ProgramSlots implements CommandOffers {
  /** Called when the command list or the code of a command changes. */
  onSwap: ((swap: CommandSwap) => void) | undefined
  readonly #options: ProgramSlotsOptions
  readonly #slots = new Map<string, ProgramSlot>()
  readonly #unloaded = new Set<string>()
  /** Slots of removed skills. Commands of these skills may still be running. */
  readonly #leaving = new Set<ProgramSlot>()
  /** Running scripts that were started as files, not as commands. */
  readonly #fileCalls = new Set<FileCall>()
  #isClosed = false

  constructor(options: ProgramSlotsOptions) {
    this.#options = options
  }

  get runner(): ScriptRunner | undefined {
    return this.#options.runner
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** @throws {SkillError} INVALID_OPTION when the runtime has no runner */
  requireRunner(): ScriptRunner {
    const { runner } = this.#options
    if (runner !== undefined) return runner
    throw new SkillError(
      'INVALID_OPTION',
      'the runtime has no runner for scripts; pass scripts: childProcesses() from @skillstoke/scripts to createSkillRuntime()',
    )
  }

  find(skill: Skill): ProgramSlot | undefined {
    return this.#slots.get(keyOf(skill))
  }

  isUnloaded(skill: Skill): boolean {
    return this.#unloaded.has(keyOf(skill))
  }

  /** Returns the commands of a skill, and the reason why its newest commands cannot be called. */
  offer(skill: SkillPlace): CommandOffer {
    const served = this.#options.reader.current.find(skill.name)
    if (served !== undefined && !isSamePlace(served, skill))
      return { commands: [], problem: describeShadowed(skill, served) }
    const slot = served === undefined ? undefined : this.find(served)
    const problem = describeProblem(slot)
    const { commands = [], revision } = slot ?? {}
    return { commands, ...defined({ revision, problem }) }
  }

  /** Requests the code of a new generation. Resolves when that code serves or has failed, at the latest after one second. */
  async follow({ changes }: RegistryUpdate): Promise<void> {
    const slots = changes.flatMap(change => {
      if (change.kind === 'removed') this.#forget(change.skill)
      else if (change.kind === 'modified' && keyOf(change.oldSkill) !== keyOf(change.newSkill))
        this.#forget(change.oldSkill)
      const skill = change.kind === 'modified' ? change.newSkill : change.skill
      return change.kind === 'removed' ? [] : (this.want(skill) ?? [])
    })
    await waitAtMost(this.#options.clock, MAX_PHASE_WAIT_MS, Promise.all(slots.map(slot => slot.ready())))
  }

  /** Checks all permissions again, and immediately ends code without permission. Call this method after a decision. */
  reconsider(): void {
    for (const slot of this.#slots.values()) if (slot.skill !== undefined) slot.want(slot.skill)
    for (const slot of this.#leaving) slot.endForbidden()
    for (const { skill, grants, stop } of this.#fileCalls)
      if (this.#options.records.isForbidden(skill, grants))
        stop.abort(
          new SkillError('SCRIPT_REFUSED', `permission to run ${skill.name} was revoked while it ran`),
        )
  }

  /**
   * Requests the code of a served skill. Returns `undefined` if the skill has no code, if its code was unloaded, or if this
   * runtime runs no scripts.
   */
  want(skill: Skill): ProgramSlot | undefined {
    if (this.runner === undefined || this.#isClosed || this.isUnloaded(skill)) return undefined
    const known = this.find(skill)?.skill
    // If another folder now has the name of this skill, the code of the former folder must end.
    if (known !== undefined && known !== skill && !this.#options.registry.isSameFolder(known, skill))
      this.#forget(known)
    // Return early, because most skills have no code.
    if (this.find(skill) === undefined && !skill.files.some(({ path }) => mayExportCommands(path)))
      return undefined
    const slot = this.#slot(skill)
    slot.want(skill)
    return slot
  }

  /** Loads the code of a skill immediately, even if the code was unloaded or did not change. */
  async reload(skill: Skill): Promise<{ readonly slot: ProgramSlot; readonly wasLoaded: boolean }> {
    const wasLoaded = !this.#unloaded.delete(keyOf(skill)) && this.find(skill) !== undefined
    const slot = this.#slot(skill)
    slot.want(skill, { isEager: true, isForced: true })
    await slot.ready()
    return { slot, wasLoaded }
  }

  /** Ends the code of a skill, and removes its commands until `reload`. */
  async unload(skill: Skill): Promise<UnloadStatus> {
    const slot = this.find(skill)
    if (slot === undefined || slot.commands.length === 0) return 'not-loaded'
    this.#unloaded.add(keyOf(skill))
    // Delete the slot first, so that a concurrent reload creates a new slot.
    this.#slots.delete(keyOf(skill))
    await this.#leave(slot)
    return 'unloaded'
  }

  /**
   * Runs a script that is not a command. Aborts the script when one of its capabilities is revoked, or when the caller
   * aborts.
   */
  async runFile<T>(
    { skill, grants }: Pick<FileCall, 'skill' | 'grants'>,
    outer: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const call = { skill, grants, stop: new AbortController() }
    this.#fileCalls.add(call)
    try {
      return await work(AbortSignal.any([call.stop.signal, ...(outer === undefined ? [] : [outer])]))
    } finally {
      this.#fileCalls.delete(call)
    }
  }

  /** Ends all code, and closes the runner. */
  async close(): Promise<void> {
    this.#isClosed = true
    const slots = [...this.#slots.values(), ...this.#leaving]
    await closeInTurn(
      [
        async () => {
          await Promise.all(slots.map(slot => slot.close({ withinMs: CLOSE_MS })))
        },
        () => this.runner?.close(),
      ],
      this.#options.logger,
    )
  }

  #slot(skill: Skill): ProgramSlot {
    const known = this.find(skill)
    if (known !== undefined) return known
    const onSwap = (swap: CommandSwap): void => this.onSwap?.(swap)
    const slot = new ProgramSlot({ ...this.#options, runner: this.requireRunner(), onSwap })
    this.#slots.set(keyOf(skill), slot)
    return slot
  }

  #forget(skill: Skill): void {
    const slot = this.find(skill)
    this.#slots.delete(keyOf(skill))
    this.#unloaded.delete(keyOf(skill))
    this.#options.records.forget(skill)
    if (slot === undefined) return
    this.#leave(slot).catch((error: unknown) => {
      this.#options.logger.error('the code of a skill did not end', { skill: skill.name, error })
    })
  }

  /** Removes the commands of a slot immediately. Resolves when its running calls have ended. */
  async #leave(slot: ProgramSlot): Promise<void> {
    this.#leaving.add(slot)
    await slot.close().finally(() => this.#leaving.delete(slot))
  }
}

/**
 * Returns the reason why a shadowed skill runs no code. If several skills have the same name, only the served skill may
 * run code.
 */
export function describeShadowed(skill: SkillPlace, served: SkillPlace): string {
  const [name, own, first] = [skill.name, skill.source, served.source].map(text => quote(text))
  return `the code of ${name} from the source ${own} does not run, because the source ${first} has precedence`
}

/** True if two skills come from the same folder, even if their revisions differ. */
export function isSamePlace(a: SkillPlace, b: SkillPlace): boolean {
  return a.source === b.source && a.location === b.location
}

/** Returns a key made of source and skill name, so that a moved folder keeps its code. */
function keyOf({ source, name }: Skill): string {
  return `${source}\0${name}`
}
