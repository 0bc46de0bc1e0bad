import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import { childProcesses } from '@skillstoke/scripts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'
import { ModelServer } from './model-server.ts'

const SEAL_KEY = 'a key of thirty-two bytes or more'

/** A tool of the host that a scenario uses to change skills while the model waits for the tool's answer. */
export interface HostTool {
  readonly name: 'edit'
  readonly description: string
  /** Runs the change that the scenario has prepared, and returns the tool's answer. */
  readonly run: () => Promise<string>
}

/** Skills on disk, a model server and one host tool, for one scenario. */
export class World implements AsyncDisposable {
  readonly folder = new TemporaryFolder()
  /** A folder for the state that a conversation keeps between two processes. */
  readonly stateFolder = new TemporaryFolder()
  readonly server: ModelServer
  readonly edit: HostTool
  /** The ids that the model gave the calls of skill tools. */
  readonly callIds: (string | undefined)[] = []
  #change: () => unknown = () => undefined
  readonly #opened: SkillRuntime[] = []

  private constructor(server: ModelServer) {
    this.server = server
    const run = async (): Promise<string> => {
      await this.#change()
      for (const skills of this.#opened) await skills.fresh()
      return 'Edited.'
    }
    this.edit = { name: 'edit', description: 'Edits a file.', run }
  }

  /** Opens a world with the skills `refund`, `orders` and `secret`. */
  static async open(): Promise<World> {
    const world = new World(await ModelServer.start())
    world.folder.writeSkill('refund', { body: 'Refunds need form ONE.' })
    world.folder.writeSkill('orders')
    world.folder.writeSkill('secret')
    return world
  }

  /** Prepares the change that the next call of the host tool makes and awaits. */
  prepare(change: () => unknown): void {
    this.#change = change
  }

  /** Starts a runtime over the skills, as one process does. */
  async createSkills(): Promise<SkillRuntime> {
    const skills = await createSkillRuntime({
      sources: [directory(this.folder.path, { label: 'skills' })],
      scripts: childProcesses(),
      // Every scenario with a restart also shows that the adapter keeps the seal of the state.
      state: { sealKey: SEAL_KEY },
    })
    skills.events.on('skill:used', ({ callId }) => void this.callIds.push(callId))
    this.#opened.push(skills)
    return skills
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#opened.map(async skills => await skills.close()))
    await this.server[Symbol.asyncDispose]()
    this.stateFolder[Symbol.dispose]()
    this.folder[Symbol.dispose]()
  }
}
