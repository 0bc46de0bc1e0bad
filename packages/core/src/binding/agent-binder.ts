import { LATE, waitAtMost } from '../host.ts'
import type { RegistryUpdate } from '../registry/registry-update.ts'
import type { NamedTool } from '../tool/tool-resolver.ts'
import { type AgentBinderOptions, AgentBinding, type BindOptions } from './agent-binding.ts'
import type { BindableAgent } from './owned-tools.ts'

// An agent that takes longer is no longer waited for: the other agents go on, and it catches up by itself.
const PATIENCE_MS = 250

/** The agents that follow one registry. Each is brought up to date by itself, at the same time as the others. */
export class AgentBinder {
  readonly #options: AgentBinderOptions
  readonly #bindings = new Map<BindableAgent, AgentBinding>()
  /** Bindings that ran out of patience and are not waited for while they are busy. */
  readonly #slow = new WeakSet<AgentBinding>()
  /** How often each agent was unbound, so that a bind() that is still waiting knows that it was taken back. */
  readonly #unbindings = new WeakMap<BindableAgent, number>()

  constructor(options: AgentBinderOptions) {
    this.#options = options
  }

  /**
   * Gives an agent the tools and instructions of what exists now; an agent that is bound already keeps its binding. If
   * `unbind` is called while an earlier binding is still being taken off, returns that ended binding.
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
      await known.unbind() // what it has added is taken off before somebody else adds
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

  /** To be called in the phase of tools. */
  async syncTools({ changes }: RegistryUpdate): Promise<void> {
    const names = changes.map(change => change.name)
    await this.#syncAll(binding => binding.syncTools(names))
  }

  /** To be called in the phase of instructions. */
  async syncInstructions({ changes }: RegistryUpdate): Promise<void> {
    if (changes.length === 0) return
    await this.#syncAll(binding => binding.syncInstructions())
  }

  /** Stops following; the agents keep what they have. */
  close(): void {
    for (const binding of this.#bindings.values()) binding.stop()
    this.#bindings.clear()
  }

  #forget(ended: AgentBinding): void {
    for (const [agent, binding] of this.#bindings) if (binding === ended) this.#bindings.delete(agent)
  }

  /** Waits for every agent, but only once for one that hangs: it is left alone until it is done. */
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
