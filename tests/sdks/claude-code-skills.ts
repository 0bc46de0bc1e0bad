import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { type Options, query } from '@anthropic-ai/claude-agent-sdk'
import { createScopeTest } from '@skillstoke/core'
import { createEnv, createHostServer, planDelegation, RESEARCHER } from './claude-agent-sdk.ts'
import type { Harness, HarnessOptions } from './harness.ts'
import { Relay } from './relay.ts'
import type { World } from './world.ts'

/** Claude Code's own skills, in the folder `.claude/skills` of the project. Its scope is a list of names. */
function createOptions(world: World, { scope }: HarnessOptions, baseUrl?: string): Options {
  const cwd = world.stateFolder.at('project')
  if (!existsSync(cwd)) {
    mkdirSync(`${cwd}/.claude`, { recursive: true })
    // Claude Code watches a real folder. The world writes through the link.
    renameSync(world.folder.path, `${cwd}/.claude/skills`)
    symlinkSync(`${cwd}/.claude/skills`, world.folder.path)
  }
  const names = ['refund', 'orders', 'secret', 'secret-two', 'maps'].filter(createScopeTest(scope ?? {}))
  return {
    cwd,
    env: createEnv(world, baseUrl),
    model: 'claude-sonnet-4-5',
    settingSources: ['project'],
    skills: scope === undefined ? 'all' : names,
    tools: ['Agent', 'Read', 'Skill'],
    systemPrompt: 'You help.',
    mcpServers: { host: createHostServer(world) },
    agents: {
      researcher: {
        description: 'Researches.',
        prompt: RESEARCHER,
        tools: ['Skill', 'mcp__host__edit'],
        disallowedTools: ['Skill(secret)'],
      },
    },
    allowedTools: ['Agent', 'mcp__host__edit'],
    toolAliases: { edit: 'mcp__host__edit' },
  }
}

export const claudeCodeSkillsHarness: Harness = {
  name: '@anthropic-ai/claude-agent-sdk 0.3.331, .claude/skills',
  isPeer: true,
  isTimed: true,
  open(world, options) {
    const file = world.stateFolder.at('session')
    const say = async (prompt: string, baseUrl?: string): Promise<void> => {
      const resume = existsSync(file) ? { resume: readFileSync(file, 'utf8') } : {}
      const own = createOptions(world, options, baseUrl)
      for await (const message of query({ prompt, options: { ...own, ...resume } }))
        if (message.type === 'result') writeFileSync(file, message.session_id)
    }
    return Promise.resolve({
      loadTool: { name: 'Skill', field: 'skill' },
      say: async prompt => await say(prompt),
      compact: async () => await say('/compact'),
      openSubagent: () =>
        Promise.resolve({
          async say(text: string) {
            await using relay = await Relay.start(world, planDelegation())
            await say(text, relay.url)
          },
        }),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    })
  },
}
