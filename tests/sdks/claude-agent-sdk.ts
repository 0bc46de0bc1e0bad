import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import {
  createSdkMcpServer,
  type McpSdkServerConfigWithInstance,
  type Options,
  query,
  tool,
} from '@anthropic-ai/claude-agent-sdk'
import { type ClaudeState, type ClaudeStateStore, claudeAgent } from '@skillstoke/adapters/claude-agent-sdk'
import type { SessionState } from '@skillstoke/core'
import { type Harness, ONE_TURN } from './harness.ts'
import { Relay, type RelayAnswer, type RelayPlan } from './relay.ts'
import type { World } from './world.ts'

/** The system prompt of the subagent. It also marks the subagent's requests. */
export const RESEARCHER = 'You are the researcher.'

/** The environment in which Claude Code talks only to the model server, and keeps its files in the world. */
export function createEnv(world: World, baseUrl: string = world.server.url): Record<string, string> {
  const home = world.stateFolder.at('home')
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    CLAUDE_CONFIG_DIR: `${home}/.claude`,
    ANTHROPIC_BASE_URL: baseUrl,
    ANTHROPIC_API_KEY: 'none',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_ERROR_REPORTING: '1',
    DISABLE_TELEMETRY: '1',
    // This header of the system prompt differs in each request.
    CLAUDE_CODE_ATTRIBUTION_HEADER: '0',
    // Otherwise Claude Code repeats a refused request without its beta headers.
    CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS: '1',
  }
}

/** The server of the host, with the tool `edit`. */
export function createHostServer(world: World): McpSdkServerConfigWithInstance {
  const { name, description, run } = world.edit
  const edit = tool(name, description, {}, async () => ({ content: [{ type: 'text', text: await run() }] }))
  return createSdkMcpServer({ name: 'host', tools: [edit], alwaysLoad: true })
}

/** The options of a host whose agent has the tool `edit` and the subagent `researcher`. */
export function createOptions(world: World): Options {
  const cwd = world.stateFolder.at('work')
  mkdirSync(cwd, { recursive: true })
  return {
    cwd,
    env: createEnv(world),
    model: 'claude-sonnet-4-5',
    settingSources: [],
    skills: [],
    tools: ['Agent', 'Read'],
    systemPrompt: 'You help.',
    mcpServers: { host: createHostServer(world) },
    agents: { researcher: { description: 'Researches.', prompt: RESEARCHER, tools: ['mcp__host__edit'] } },
    allowedTools: ['Agent', 'mcp__host__edit', 'mcp__skills__run_skill_command', 'mcp__skills__refund__tell'],
    // The scenarios call the tools by their names without the name of the server.
    toolAliases: {
      edit: 'mcp__host__edit',
      skill: 'mcp__skills__skill',
      run_skill_command: 'mcp__skills__run_skill_command',
      refund__tell: 'mcp__skills__refund__tell',
    },
  }
}

/** Keeps each conversation in a file. */
export function createStore(world: World): ClaudeStateStore {
  const fileOf = (id: string): string => world.stateFolder.at(`${id}.json`)
  return {
    load: id => {
      const file = fileOf(id)
      return Promise.resolve(
        existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ClaudeState) : undefined,
      )
    },
    save: (id, state) => {
      writeFileSync(fileOf(id), JSON.stringify(state))
      return Promise.resolve()
    },
  }
}

/** What a host remembers of a turn. */
interface Turn {
  /** The state before the turn. */
  readonly state: SessionState
  /** The id of the last message of the turn. */
  readonly answer: string
}

function toAbort(signal: AbortSignal): Pick<Options, 'abortController'> {
  const abortController = new AbortController()
  signal.addEventListener('abort', () => abortController.abort(signal.reason))
  return { abortController }
}

/** Runs one query to its end. Returns the id of the last answer. Rejects if a model call fails. */
export async function ask(prompt: string, options: Options): Promise<string> {
  let answer = ''
  for await (const message of query({ prompt, options })) {
    if (message.type === 'assistant') answer = message.uuid
    if (message.type === 'result' && message.is_error) throw new Error(`the query failed: ${message.subtype}`)
  }
  return answer
}

/** Plays a main agent that hands its work to the subagent `researcher`, which talks to the model server. */
export function planDelegation(): RelayPlan {
  const input = {
    description: 'Research',
    prompt: 'Begin.',
    subagent_type: 'researcher',
    run_in_background: false,
  }
  const replies: RelayAnswer[] = [{ kind: 'call', name: 'Agent', input }]
  return {
    answer: request =>
      request.includes(RESEARCHER) ? undefined : (replies.shift() ?? { kind: 'text', text: 'Done.' }),
  }
}

export const claudeAgentHarness: Harness = {
  name: '@anthropic-ai/claude-agent-sdk 0.3.331',
  limits: { overlap: ONE_TURN },
  async open(world, { scope, commandTools = false }) {
    const skills = await world.createSkills()
    const agents = { researcher: { exclude: ['secret'] } }
    const store = createStore(world)
    const live = await claudeAgent(skills, {
      id: 'chat-1',
      agents,
      store,
      commandTools,
      ...(scope && { scope }),
    })
    const turns: Turn[] = []
    let resumed: Partial<Options> = {}
    return {
      canRunScripts: true,
      canStop: true,
      say: async (text, signal) => {
        const options = { ...createOptions(world), ...resumed, ...(signal && toAbort(signal)) }
        resumed = {}
        const state = live.session.state()
        const answer = await ask(text, live.options(options))
        turns.push({ state, answer })
      },
      // The SDK goes on after an earlier answer. The host takes back what the adapter knows.
      takeBack: count => {
        const { state } = turns.at(-count) ?? {}
        const answer = turns.at(-count - 1)?.answer
        if (state !== undefined) live.session.revert(state)
        if (answer !== undefined) resumed = { resumeSessionAt: answer }
        return Promise.resolve()
      },
      fork: () => {
        const copy = live.fork('chat-2')
        const say = async (text: string): Promise<void> =>
          void (await ask(text, copy.options(createOptions(world))))
        return Promise.resolve({ say })
      },
      compact: async () => void (await ask('/compact', live.options(createOptions(world)))),
      openSubagent: () => {
        const say = async (text: string): Promise<void> => {
          await using relay = await Relay.start(world, planDelegation())
          const env = createEnv(world, relay.url)
          await ask(text, live.options({ ...createOptions(world), env }))
        }
        return Promise.resolve({ say })
      },
      async [Symbol.asyncDispose]() {
        live[Symbol.dispose]()
        await skills.close()
      },
    }
  },
}
