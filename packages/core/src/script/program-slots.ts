import { SkillError } from '../errors.ts'
import { closeInTurn, waitAtMost } from '../host.ts'
import type { CommandOffer, CommandOffers } from '../reader/command-offer.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import type { RegistryUpdate } from '../registry/registry-update.ts'
import type { SkillRegistry } from '../registry/skill-registry.ts'
import type { Skill } from '../skill/skill.ts'
import { mayExportCommands } from './command.ts'
import { describeProblem } from './command-not-found.ts'
import { FileCalls } from './file-calls.ts'
import { type CommandSwap, ProgramSlot, type SlotHost } from './program-slot.ts'
import type { ScriptRunner } from './script-runner.ts'

export interface ProgramSlotsOptions extends Omit<SlotHost, 'onSwap' | 'runner'> {
  /** Absent if the runtime does not run scripts. */
  readonly runner: ScriptRunner | undefined
  readonly reader: SkillReader
  readonly registry: SkillRegistry
}

type SkillPlace = Pick<Skill, 'name' | 'source' | 'location'>

/** The result of unloading the code of a skill. */
export type UnloadStatus = 'unloaded' | 'not-loaded' | 'not-found'

// Subscribers wait for the code of a change, but not for a script that does not finish loading.
const MAX_PHASE_WAIT_MS = 1_000
// Time for running calls to end by themselves when the runtime closes.
const CLOSE_MS = 5_000

/** The code of all skills, one slot for each skill with scripts. It follows the served skills and the grants. */
export class ProgramSlots implements CommandOffers {
  /** Scripts that run as files. They end when their permission is revoked. */
  readonly files: FileCalls
  readonly #options: ProgramSlotsOptions
  readonly #slots = new Map<string, ProgramSlot>()
  readonly #unloaded = new Set<string>()
  /** Slots of removed skills whose calls may still run. */
  readonly #leaving = new Set<ProgramSlot>()
  readonly #listeners = new Set<(swap: CommandSwap) => void>()
  #isClosed = false

  constructor(options: ProgramSlotsOptions) {
    this.#options = options
    this.files = new FileCalls(options.records)
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

  /** Adds a listener for changes of the command list, or of the code behind it. */
  subscribe(listener: (swap: CommandSwap) => void): void {
    this.#listeners.add(listener)
  }

  find(skill: Skill): ProgramSlot | undefined {
    return this.#slots.get(keyOf(skill))
  }

  isUnloaded(skill: Skill): boolean {
    return this.#unloaded.has(keyOf(skill))
  }

  /** Returns the commands of a skill, and the problem that blocks its newest commands. */
  offer(skill: SkillPlace): CommandOffer {
    const served = this.#options.reader.current.find(skill.name)
    if (served !== undefined && !isSamePlace(served, skill))
      return { commands: [], problem: describeShadowed(skill, served) }
    const slot = served === undefined ? undefined : this.find(served)
    const problem = describeProblem(slot)
    const { commands = [], revision } = slot ?? {}
    return {
      commands,
      ...(revision === undefined ? {} : { revision }),
      ...(problem === undefined ? {} : { problem }),
    }
  }

  /** Follows a new generation. Resolves when its commands serve, or after one second. */
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

  /** Checks all permissions again after a decision, and ends forbidden code at once. */
  reconsider(): void {
    for (const slot of this.#slots.values()) if (slot.skill !== undefined) slot.want(slot.skill)
    for (const slot of this.#leaving) slot.endForbidden()
    this.files.endForbidden()
  }

  /**
   * Requests the code of a served skill. Returns `undefined` if the skill has no code, was unloaded, or scripts are not
   * run.
   */
  want(skill: Skill): ProgramSlot | undefined {
    if (this.runner === undefined || this.#isClosed || this.isUnloaded(skill)) return undefined
    const known = this.find(skill)?.skill
    // Another folder has the name now. The code of the former folder does not belong to it.
    if (known !== undefined && known !== skill && !this.#options.registry.isSameFolder(known, skill))
      this.#forget(known)
    // Most skills have no code, so skip them early.
    if (this.find(skill) === undefined && !skill.files.some(({ path }) => mayExportCommands(path)))
      return undefined
    const slot = this.#slot(skill)
    slot.want(skill)
    return slot
  }

  /** Loads the code of a skill now, even if it was unloaded or did not change. */
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
    // A concurrent reload gets a new slot.
    this.#slots.delete(keyOf(skill))
    await this.#leave(slot)
    return 'unloaded'
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
    const slot = new ProgramSlot({
      ...this.#options,
      runner: this.requireRunner(),
      onSwap: swap => {
        for (const listener of this.#listeners) listener(swap)
      },
    })
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

  /** Removes the commands of a slot at once. Resolves when its calls have ended. */
  async #leave(slot: ProgramSlot): Promise<void> {
    this.#leaving.add(slot)
    await slot.close().finally(() => this.#leaving.delete(slot))
  }
}

/** Returns the reason why a shadowed skill runs no code. Only the served skill of a name runs code. */
export function describeShadowed(skill: SkillPlace, served: SkillPlace): string {
  const [name, own, first] = [skill.name, skill.source, served.source].map(text => JSON.stringify(text))
  return `the code of ${name} from ${own} does not run, because ${first} comes first with that name`
}

/** True if two skills are the same folder, possibly at different revisions. */
export function isSamePlace(a: SkillPlace, b: SkillPlace): boolean {
  return a.source === b.source && a.location === b.location
}

/** Returns a key of source and name, not of the folder, so that a moved folder keeps its code. */
function keyOf({ source, name }: Skill): string {
  return `${source}\0${name}`
}
