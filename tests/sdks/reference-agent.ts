import { createOpenAI } from '@ai-sdk/openai'
import { openConversationStore, SkillAgent } from '@skillstoke/agent'
import { tool } from 'ai'
import { z } from 'zod'
import type { Harness } from './harness.ts'

export const referenceAgentHarness: Harness = {
  name: '@skillstoke/agent',
  limits: { subagent: 'The agent has no subagents.' },
  async open(world, { scope, commandTools = false }) {
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
      commandTools,
      ...(scope && { scope }),
    })
    const chat = agent.conversation('chat-1')
    return {
      canRunScripts: true,
      canStop: true,
      canOverlap: true,
      say: async (text, signal) => {
        await chat.send(text, { ...(signal && { signal }) })
      },
      takeBack: async turns => await chat.takeBack((await chat.questions()).length + 1 - turns),
      fork: async () => {
        const copy = await chat.branch('chat-2')
        return { say: async (text: string) => void (await copy.send(text)) }
      },
      compact: async () => await chat.compact({ summarize: () => 'A summary.' }),
      async [Symbol.asyncDispose]() {
        await agent.close()
        await store.close()
        await skills.close()
      },
    }
  },
}
