import { compareText } from '../skill/compare.ts'
import type { NamedTool } from '../tool/tool-resolver.ts'

/**
 * An agent whose tools and instructions can change while it runs.
 *
 * @example
 * ```ts
 * import { type BindableAgent, createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * const tools = new Map<string, { name: string }>()
 * const agent: BindableAgent = {
 *   addTool: tool => tools.set(tool.name, tool),
 *   removeTool: name => tools.delete(name),
 *   hasTool: name => tools.has(name),
 * }
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * await skills.bind(agent, { tools: { resolve: skill => [{ name: `open_${skill.name}` }] } })
 * console.log([...tools.keys()]) // prints [ 'open_support-pdf' ]
 * ```
 */
export interface BindableAgent<Tool extends NamedTool = NamedTool> {
  addTool(tool: Tool): unknown
  /** The result is ignored. */
  removeTool(name: string): unknown
  /**
   * Returns whether the agent has a tool of any origin. Without it, `addTool` has to throw for a name that is taken.
   */
  hasTool?(name: string): boolean | Promise<boolean>
  /** The agent's instructions; written when the binding builds instructions. */
  instructions?: string
}

/** Calls code of the host. Rejects when the call fails or exceeds its time limit. */
export type Guard = <T>(what: string, call: () => T | Promise<T>) => Promise<T>

interface Slot<Tool> {
  /** The tools of this name, by the skill that provides them. */
  readonly providers: Map<string, Tool>
  /** The tool that this binding put on the agent. */
  current: { readonly skill: string; readonly tool: Tool } | undefined
}

/**
 * The tools that one binding has put on its agent. A tool stays as long as one skill provides it. Tools that the agent
 * owned before are never changed.
 */
export class OwnedTools<Tool extends NamedTool> {
  readonly #agent: BindableAgent<Tool>
  readonly #guard: Guard
  readonly #slots = new Map<string, Slot<Tool>>()
  readonly #bySkill = new Map<string, readonly string[]>()
  #isCleared = false

  constructor(agent: BindableAgent<Tool>, guard: Guard) {
    this.#agent = agent
    this.#guard = guard
  }

  /** Returns the tools on the agent, sorted by name, each with its sorted skills. */
  list(): readonly { readonly name: string; readonly skills: readonly string[] }[] {
    return [...this.#slots]
      .filter(([, slot]) => slot.current !== undefined)
      .map(([name, { providers }]) => ({ name, skills: [...providers.keys()].sort(compareText) }))
      .sort((a, b) => compareText(a.name, b.name))
  }

  /** Replaces the tools of a skill. Returns the failures; a second call retries them. */
  async replace(skill: string, tools: readonly Tool[]): Promise<readonly unknown[]> {
    const names = new Set(tools.map(tool => tool.name))
    const gone = (this.#bySkill.get(skill) ?? []).filter(name => !names.has(name))
    for (const name of gone) this.#slots.get(name)?.providers.delete(skill)
    for (const tool of tools) this.#slotOf(tool.name).providers.set(skill, tool)
    if (names.size === 0) this.#bySkill.delete(skill)
    else this.#bySkill.set(skill, [...names])
    const failures: unknown[] = []
    for (const name of [...gone, ...names]) {
      try {
        await this.#settle(name)
      } catch (thrown) {
        failures.push(thrown)
        if (gone.includes(name)) this.#bySkill.set(skill, [...(this.#bySkill.get(skill) ?? []), name])
      }
    }
    return failures
  }

  /** Removes every tool from the agent, including tools that are still being added. Returns the failures. */
  async clear(): Promise<readonly unknown[]> {
    this.#isCleared = true
    const failures: unknown[] = []
    for (const skill of [...this.#bySkill.keys()]) failures.push(...(await this.replace(skill, [])))
    return failures
  }

  #slotOf(name: string): Slot<Tool> {
    const slot: Slot<Tool> = this.#slots.get(name) ?? { providers: new Map(), current: undefined }
    this.#slots.set(name, slot)
    return slot
  }

  /** Updates the tool of one name on the agent to match the skills. */
  async #settle(name: string): Promise<void> {
    const slot = this.#slotOf(name)
    const { current, providers } = slot
    const skill = current !== undefined && providers.has(current.skill) ? current.skill : firstOf(providers)
    const tool = skill === undefined ? undefined : providers.get(skill)
    if (current !== undefined && current.tool === tool) {
      if (skill !== undefined) slot.current = { skill, tool }
      return
    }
    // Record changes inside the calls, because a call that exceeds its limit may still succeed later.
    if (current !== undefined) {
      await this.#guard(`removeTool(${JSON.stringify(name)})`, async () => {
        await this.#agent.removeTool(name)
        slot.current = undefined
      })
    }
    if (skill !== undefined && tool !== undefined && !(await this.#isAgentsOwn(name))) {
      await this.#guard(`addTool(${JSON.stringify(name)})`, async () => {
        await this.#agent.addTool(tool)
        if (this.#isCleared) await this.#agent.removeTool(name)
        else slot.current = { skill, tool }
      })
    }
    if (providers.size === 0) this.#slots.delete(name)
  }

  async #isAgentsOwn(name: string): Promise<boolean> {
    return await this.#guard(`hasTool(${JSON.stringify(name)})`, () => this.#agent.hasTool?.(name) ?? false)
  }
}

function firstOf(providers: ReadonlyMap<string, unknown>): string | undefined {
  return [...providers.keys()].sort(compareText)[0]
}
