import { LATE, waitAtMost } from '../host.ts'
import type { RegistryUpdate } from '../registry/registry-update.ts'
import type { NamedTool } from '../tool/tool-resolver.ts'
import { type AgentBinderOptions, AgentBinding, type BindOptions } from './agent-binding.ts'
import type { BindableAgent } from './owned-tools.ts'

// Longest time that an update waits for slow agents. A slower agent is updated later and delays no other agent.
const PATIENCE_MS = 250

/** Updates all agents of one registry, concurrently and independently. */
export class AgentBinder {
  readonly #options: AgentBinderOptions
  readonly #bindings = new Map<BindableAgent, AgentBinding>()
  /** Bindings that exceeded the time limit. The binder does not wait for such a binding while the binding is busy. */
  readonly #slow = new WeakSet<AgentBinding>()
  /** Number of `unbind()` calls for each agent, so that a waiting `bind()` notices a later `unbind()`. */
  readonly #unbindings = new WeakMap<BindableAgent, number>()

  constructor(options: AgentBinderOptions) {
    this.#options = options
  }

  /**
   * Adds the tools and instructions of the current skills to an agent. An agent that is already bound keeps its
   * binding. If an earlier binding is still ending, waits until that binding has ended. If `unbind()` is called during
   * this wait, returns the ended binding and adds nothing.
   */
  async bind<Tool extends NamedTool>(
    agent: BindableAgent<Tool>,
    options: BindOptions<Tool>,
  ): Promise<AgentBinding> {
    const key = agent as BindableAgent
    const unbindings = this.#unbindings.get(key)
    for (let known = this.#bindings.get(key); known !== undefined; known = this.#bindings.get(key)) {
      if (!known.isUnbound) {
        await known.settled()
        return known
      }
      await known.unbind() // removes the old tools before a new binding adds any
      if (this.#unbindings.get(key) !== unbindings) return known
    }
    const binding = new AgentBinding(key, this.#options, options, ended => this.#forget(ended))
    this.#bindings.set(key, binding)
    await binding.syncTools()
    await binding.syncInstructions()
    return binding
  }

  async unbind(agent: BindableAgent): Promise<void> {
    this.#unbindings.set(agent, (this.#unbindings.get(agent) ?? 0) + 1)
    await this.#bindings.get(agent)?.unbind()
  }

  /** Updates the tools of all agents. Called in the phase `tools`. */
  async syncTools({ changes }: RegistryUpdate): Promise<void> {
    const names = changes.map(change => change.name)
    await this.#syncAll(binding => binding.syncTools(names))
  }

  /** Updates the instructions of all agents. Called in the phase `instructions`. */
  async syncInstructions({ changes }: RegistryUpdate): Promise<void> {
    if (changes.length === 0) return
    await this.#syncAll(binding => binding.syncInstructions())
  }

  /** Stops all updates. The agents keep their tools and instructions. */
  close(): void {
    for (const binding of this.#bindings.values()) binding.stop()
    this.#bindings.clear()
  }

  #forget(ended: AgentBinding): void {
    for (const [agent, binding] of this.#bindings) if (binding === ended) this.#bindings.delete(agent)
  }

  /** Updates every agent. Does not wait for an agent that exceeded the time limit and is still busy. */
  async #syncAll(sync: (binding: AgentBinding) => Promise<void>): Promise<void> {
    const pending = new Set<AgentBinding>()
    const work: Promise<void>[] = []
    for (const binding of this.#bindings.values()) {
      const isLeftAlone = this.#slow.has(binding) && binding.isBusy
      const done = sync(binding)
      if (isLeftAlone) continue
      this.#slow.delete(binding)
      pending.add(binding)
      work.push(done.then(() => void pending.delete(binding)))
    }
    const outcome = await waitAtMost(this.#options.clock, PATIENCE_MS, Promise.all(work))
    if (outcome === LATE) for (const binding of pending) this.#slow.add(binding)
  }
}
