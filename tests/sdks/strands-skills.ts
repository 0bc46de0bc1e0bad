import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createScopeTest } from '@skillstoke/core'
import * as sdk from '@strands-agents/sdk'
import { AgentSkills } from '@strands-agents/sdk/vended-plugins/skills'
import type { Harness, HarnessOptions } from './harness.ts'
import { chatModel, createAgent, createSessionManager } from './strands.ts'
import type { World } from './world.ts'

/** The plugin `AgentSkills` of the SDK. It has no scope, so a narrower choice is a list of folders. */
function createPlugin({ folder }: World, { scope }: HarnessOptions = {}): AgentSkills {
  if (scope === undefined) return new AgentSkills({ skills: [folder.path] })
  const names = readdirSync(folder.path).filter(createScopeTest(scope))
  return new AgentSkills({ skills: names.map(name => join(folder.path, name)) })
}

export const strandsSkillsHarness: Harness = {
  name: '@strands-agents/sdk 1.19, AgentSkills',
  isPeer: true,
  open(world, options) {
    const model = chatModel(world)
    const summarizer = new sdk.SummarizingConversationManager({
      summaryRatio: 0.8,
      preserveRecentMessages: 1,
    })
    const agent = createAgent(world, createPlugin(world, options), {
      model,
      conversationManager: summarizer,
      sessionManager: createSessionManager(world),
    })
    return Promise.resolve({
      loadTool: { name: 'skills', field: 'skill_name' },
      say: async (text: string) => void (await agent.invoke(text)),
      compact: async () => void (await summarizer.reduce({ agent, model })),
      openSubagent: () => {
        const helper = createAgent(world, createPlugin(world, { scope: { exclude: ['secret'] } }), { model })
        return Promise.resolve({ say: async (text: string) => void (await helper.invoke(text)) })
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    })
  },
}
