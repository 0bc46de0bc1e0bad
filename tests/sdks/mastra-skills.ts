import { readdirSync } from 'node:fs'
import { createOpenAI } from '@ai-sdk/openai-3'
import { Agent } from '@mastra/core/agent'
import { Mastra } from '@mastra/core/mastra'
import { createTool } from '@mastra/core/tools'
import { LocalFilesystem, Workspace } from '@mastra/core/workspace'
import { LibSQLStore } from '@mastra/libsql'
import { Memory } from '@mastra/memory'
import { createScopeTest, type SkillScope } from '@skillstoke/core'
import { z } from 'zod'
import type { Harness } from './harness.ts'
import type { World } from './world.ts'

// Mastra must not report its use.
process.env['MASTRA_TELEMETRY_DISABLED'] = '1'

/** The skills of Mastra itself, in a workspace. */
export const mastraSkillsHarness: Harness = {
  name: '@mastra/core 1.71, own skills',
  isPeer: true,
  async open(world, { scope }) {
    const storage = new LibSQLStore({ id: 'store', url: `file:${world.stateFolder.at('mastra.db')}` })
    const memory = new Memory({ storage })
    let lastMessages = Number.MAX_SAFE_INTEGER
    const agents = {
      agent: createAgent(world, memory, scope),
      helper: createAgent(world, memory, { exclude: ['secret'] }),
    }
    const host = new Mastra({ agents, storage, logger: false })
    const say = async (name: keyof typeof agents, text: string): Promise<void> => {
      const options = { thread: name, resource: 'user-1', options: { lastMessages } }
      await host
        .getAgent(name)
        .generate(text, { memory: options, maxSteps: 9, modelSettings: { maxRetries: 0 } })
    }
    return {
      say: async text => await say('agent', text),
      compact: () => {
        lastMessages = 1
        return Promise.resolve()
      },
      openSubagent: () => Promise.resolve({ say: async (text: string) => await say('helper', text) }),
      [Symbol.asyncDispose]: async () => await storage.close(),
    }
  },
}

function createAgent(world: World, memory: Memory, scope: SkillScope | undefined): Agent {
  const { description, run } = world.edit
  const workspace = new Workspace({
    filesystem: new LocalFilesystem({ basePath: world.folder.path }),
    // Mastra has no scope for skills. A list of folders hides the others, but also every new one.
    skills: scope === undefined ? ['.'] : readdirSync(world.folder.path).filter(createScopeTest(scope)),
  })
  return new Agent({
    id: 'agent',
    name: 'agent',
    instructions: 'You help.',
    model: createOpenAI({ baseURL: `${world.server.url}/v1`, apiKey: 'none' }).chat('test-model'),
    memory,
    workspace,
    tools: { edit: createTool({ id: 'edit', description, inputSchema: z.object({}), execute: run }) },
  })
}
