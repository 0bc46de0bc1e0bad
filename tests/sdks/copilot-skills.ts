import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import type { SessionConfig } from '@github/copilot-sdk'
import { createScopeTest } from '@skillstoke/core'
import { ask, createConfig, Delegation, startClient } from './copilot.ts'
import type { Harness } from './harness.ts'
import { Relay } from './relay.ts'
import type { World } from './world.ts'

/** The skills of the Copilot runtime itself, in `skillDirectories`. Its scope is a list of names to hide. */
export const copilotSkillsHarness: Harness = {
  name: '@github/copilot-sdk 1.0, own skills',
  isPeer: true,
  async open(world, { scope }) {
    const delegation = new Delegation()
    const relay = await Relay.start(world, { answer: request => delegation.answer(request) })
    const client = await startClient(world)
    const isSeen = createScopeTest(scope ?? {})
    const hidden = readdirSync(world.folder.path).filter(name => !isSeen(name))
    const config = createOptions(world, relay.url, hidden)
    const mark = world.stateFolder.at('opened')
    const session = existsSync(mark)
      ? await client.resumeSession('chat-1', config)
      : await client.createSession({ ...config, sessionId: 'chat-1' })
    writeFileSync(mark, '')
    return {
      loadTool: { name: 'skill', field: 'skill' },
      say: async text => await ask(session, text),
      compact: async () => void (await session.rpc.history.compact()),
      openSubagent: async () => await delegation.open(session),
      async [Symbol.asyncDispose]() {
        await client.stop()
        await relay[Symbol.asyncDispose]()
      },
    }
  },
}

function createOptions(world: World, url: string, hidden: readonly string[]): SessionConfig {
  const config = createConfig(world, url)
  return {
    ...config,
    // With `replace`, the runtime leaves its list of skills out.
    systemMessage: { mode: 'append', content: 'You help.' },
    enableSkills: true,
    skillDirectories: [world.folder.path],
    disabledSkills: [...hidden],
    availableTools: ['custom:edit', 'builtin:task', 'builtin:skill'],
    customAgents: (config.customAgents ?? []).map(agent => ({ ...agent, tools: ['edit', 'skill'] })),
  }
}
