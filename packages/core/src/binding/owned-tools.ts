import { quote } from '../quote.ts'
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
   * Returns true if the agent has a tool with this name, no matter who added the tool. Without `hasTool`, `addTool`
   * must throw if the name is taken.
   */
  hasTool?(name: string): boolean | Promise<boolean>
  /** The agent's instructions. The binding changes the instructions only if an instructions builder is given. */
  instructions?: string
}

/** Calls a function of the host. Rejects when the function fails or exceeds the time limit. */
export type Guard = <T>(what: string, call: () => T | Promise<T>) => Promise<T>

interface Slot<Tool> {
  /** The tools with this name. Each key is the name of the skill that provides the tool. */
  readonly providers: Map<string, Tool>
  /** The tool that the binding added to the agent under this name. */
  current: { readonly skill: string; readonly tool: Tool } | undefined
}

/**
 * The tools that one binding added to its agent. A tool stays as long as at least one skill provides it. Tools that the
 * agent already had are never changed.
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

  /** Returns the added tools, sorted by name. Each tool lists the skills that provide it, sorted by name. */
  list(): readonly { readonly name: string; readonly skills: readonly string[] }[] {
    return [...this.#slots]
      .filter(([, slot]) => slot.current !== undefined)
      .map(([name, { providers }]) => ({ name, skills: [...providers.keys()].sort(compareText) }))
      .sort((a, b) => compareText(a.name, b.name))
  }

  /** Replaces the tools of a skill. Returns the failures. A second call retries the failed changes. */
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

  /** Removes every added tool from the agent, including tools that are still being added. Returns the failures. */
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

  /**
   * Adds, replaces or removes the agent's tool with this name, depending on which skills provide a tool with this name.
   */
  async #settle(name: string): Promise<void> {
    const slot = this.#slotOf(name)
    const { current, providers } = slot
    const skill = current !== undefined && providers.has(current.skill) ? current.skill : firstOf(providers)
    const tool = skill === undefined ? undefined : providers.get(skill)
    if (current !== undefined && current.tool === tool) {
      if (skill !== undefined) slot.current = { skill, tool }
      return
    }
    // Record each change inside its call, because a call that exceeds the time limit may still succeed later.
    if (current !== undefined) {
      await this.#guard(`removeTool(${quote(name)})`, async () => {
        await this.#agent.removeTool(name)
        slot.current = undefined
      })
    }
    if (skill !== undefined && tool !== undefined && !(await this.#isAgentsOwn(name))) {
      await this.#guard(`addTool(${quote(name)})`, async () => {
        await this.#agent.addTool(tool)
        if (this.#isCleared) await this.#agent.removeTool(name)
        else slot.current = { skill, tool }
      })
    }
    if (providers.size === 0) this.#slots.delete(name)
  }

  async #isAgentsOwn(name: string): Promise<boolean> {
    return await this.#guard(`hasTool(${quote(name)})`, () => this.#agent.hasTool?.(name) ?? false)
  }
}

function firstOf(providers: ReadonlyMap<string, unknown>): string | undefined {
  return [...providers.keys()].sort(compareText)[0]
}
