import { createOpenAI } from '@ai-sdk/openai'
import { openConversationStore, SkillAgent } from '@skillstoke/agent'
import { tool } from 'ai'
import { z } from 'zod'
import type { Harness } from './harness.ts'

export const referenceAgentHarness: Harness = {
  name: '@skillstoke/agent',
  limits: { subagent: 'The agent has no subagents.' },
  async open(world, { scope }) {
    const skills = await world.createSkills()
    const store = await openConversationStore(world.stateFolder.at('conversations.sqlite'))
    const { description, run } = world.edit
    const agent = new SkillAgent({
      skills,
      store,
      model: createOpenAI({ baseURL: `${world.server.url}/v1`, apiKey: 'none' }).chat('test-model'),
      instructions: 'You help.',
      tools: { edit: tool({ description, inputSchema: z.object({}), execute: run }) },
      maxRetries: 0,
      ...(scope && { scope }),
    })
    const chat = agent.conversation('chat-1')
    return {
      canRunScripts: true,
      say: async text => void (await chat.send(text)),
      compact: async () => await chat.compact({ summarize: () => 'A summary.' }),
      async [Symbol.asyncDispose]() {
        await agent.close()
        await store.close()
        await skills.close()
      },
    }
  },
}
