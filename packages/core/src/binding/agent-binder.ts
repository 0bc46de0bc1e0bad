import type { RegistryUpdate } from '../registry/registry-update.ts'
import type { NamedTool } from '../tool/tool-resolver.ts'
import { AgentBinding, type BindingHost, type BindOptions } from './agent-binding.ts'
import type { BindableAgent } from './owned-tools.ts'

/** The agents that follow one registry. Each is brought up to date by itself, at the same time as the others. */
export class AgentBinder {
  readonly #host: BindingHost
  readonly #bindings = new Map<BindableAgent, AgentBinding>()

  constructor(host: Omit<BindingHost, 'ended'>) {
    this.#host = {
      ...host,
      ended: binding => {
        for (const [agent, other] of this.#bindings) if (other === binding) this.#bindings.delete(agent)
      },
    }
  }

  /** Gives an agent the tools and instructions of what exists now; an agent that is bound already keeps its binding. */
  async bind<Tool extends NamedTool>(
    agent: BindableAgent<Tool>,
    options: BindOptions<Tool>,
  ): Promise<AgentBinding> {
    const key = agent as BindableAgent
    for (let known = this.#bindings.get(key); known !== undefined; known = this.#bindings.get(key)) {
      if (!known.isUnbound) {
        await known.settled()
        return known
      }
      await known.unbind() // what it has added is taken off before somebody else adds
    }
    const binding = new AgentBinding(key, this.#host, options)
    this.#bindings.set(key, binding)
    await binding.syncTools()
    await binding.syncInstructions()
    return binding
  }

  async unbind(agent: BindableAgent): Promise<void> {
    await this.#bindings.get(agent)?.unbind()
  }

  /** To be called in the phase of tools. */
  async syncTools({ changes }: RegistryUpdate): Promise<void> {
    const names = changes.map(change => change.name)
    await Promise.all([...this.#bindings.values()].map(binding => binding.syncTools(names)))
  }

  /** To be called in the phase of instructions. */
  async syncInstructions({ changes }: RegistryUpdate): Promise<void> {
    if (changes.length === 0) return
    await Promise.all([...this.#bindings.values()].map(binding => binding.syncInstructions()))
  }

  /** Stops following; the agents keep what they have. */
  close(): void {
    for (const binding of this.#bindings.values()) binding.stop()
    this.#bindings.clear()
  }
}
