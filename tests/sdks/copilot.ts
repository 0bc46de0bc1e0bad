import { mkdirSync } from 'node:fs'
import {
  approveAll,
  CopilotClient,
  type CopilotSession,
  type ProviderConfig,
  type SessionConfig,
  type Tool,
} from '@github/copilot-sdk'
import { copilot } from '@skillstoke/adapters/copilot'
import type { Harness, HarnessConversation } from './harness.ts'
import { Relay, type RelayAnswer } from './relay.ts'
import type { World } from './world.ts'

/** The prompt of the subagent. It also marks the subagent's requests. */
export const RESEARCHER = 'You are the researcher.'

type Api = 'anthropic' | 'completions' | 'responses'

/** Starts the runtime. It keeps its files in the world, and reaches no other server than the model server. */
export async function startClient({ stateFolder }: World): Promise<CopilotClient> {
  const home = stateFolder.at('home')
  mkdirSync(home, { recursive: true })
  const env = { PATH: process.env['PATH'], HOME: home }
  const client = new CopilotClient({ mode: 'empty', baseDirectory: home, workingDirectory: home, env })
  await client.start()
  return client
}

export function createProvider(url: string, api: Api): ProviderConfig {
  if (api === 'anthropic') return { type: 'anthropic', baseUrl: url, apiKey: 'none' }
  return { type: 'openai', wireApi: api, baseUrl: `${url}/v1`, apiKey: 'none' }
}

/** The tool `edit` of the host, in the place of the tool that the runtime has under this name. */
export function createEditTool({ edit }: World): Tool {
  const { name, description, run } = edit
  const parameters = { type: 'object', properties: {} }
  return { name, description, parameters, overridesBuiltInTool: true, handler: run }
}

/** The configuration of a host whose agent has the tool `edit` and the subagent `researcher`. */
export function createConfig(
  world: World,
  url = world.server.url,
  api: Api = 'anthropic',
): SessionConfig & { readonly provider: ProviderConfig } {
  return {
    model: 'test-model',
    provider: createProvider(url, api),
    systemMessage: { mode: 'replace', content: 'You help.' },
    availableTools: ['custom:edit', 'builtin:task'],
    tools: [createEditTool(world)],
    customAgents: [
      {
        name: 'researcher',
        description: 'Researches.',
        prompt: RESEARCHER,
        tools: ['edit', 'load_skill', 'run_skill_command'],
      },
    ],
    onPermissionRequest: approveAll,
  }
}

/** Sends a message, and waits until the runtime is idle. Rejects if a model call fails. */
export async function ask(session: CopilotSession, prompt: string, signal?: AbortSignal): Promise<void> {
  const idle = Promise.withResolvers<void>()
  let failure: string | undefined
  const listeners = [
    session.on('session.idle', () => idle.resolve()),
    session.on('session.error', ({ data }) => {
      failure = data.message
    }),
  ]
  signal?.addEventListener('abort', () => void session.abort())
  await session.send({ prompt })
  await idle.promise
  for (const stop of listeners) stop()
  if (failure !== undefined) throw new Error(failure)
}

/** Removes the last turns from the event log of the session. */
export async function takeBack(session: CopilotSession, turns: number): Promise<void> {
  const events = await session.getEvents()
  const prompts = events.filter(({ type, agentId }) => type === 'user.message' && agentId === undefined)
  await session.rpc.history.truncate({ eventId: prompts.at(-turns)?.id ?? '' })
}

/** Plays a main agent that hands its work to the subagent `researcher`, which talks to the model server. */
export class Delegation {
  #replies: RelayAnswer[] = []

  /** Plays the main agent's next turn. `first` are its answers before it starts the subagent. */
  begin(mode: 'sync' | 'background' = 'sync', ...first: readonly RelayAnswer[]): void {
    const input = {
      ...{ description: 'Research', prompt: 'Begin.', agent_type: 'researcher' },
      ...{ name: 'helper', mode },
    }
    this.#replies = [...first, { kind: 'call', name: 'task', input }, { kind: 'text', text: 'Done.' }]
  }

  /** Returns the subagent, to which each message goes through the main agent. */
  open(session: CopilotSession): Promise<Pick<HarnessConversation, 'say'>> {
    const say = async (text: string): Promise<void> => {
      this.begin()
      await ask(session, text)
    }
    return Promise.resolve({ say })
  }

  answer(request: string): RelayAnswer | undefined {
    return request.includes(RESEARCHER) ? undefined : this.#replies.shift()
  }
}

function createHarness(name: string, api: Api, limits: Harness['limits'] = {}): Harness {
  return {
    name,
    limits: { commands: 'The SDK reads the tools when it opens a session.', ...limits },
    async open(world, { scope }) {
      const skills = await world.createSkills()
      const delegation = new Delegation()
      const relay = await Relay.start(world, { answer: request => delegation.answer(request) })
      const client = await startClient(world)
      const agents = { researcher: { exclude: ['secret'] } }
      const live = copilot(skills, { id: 'chat-1', agents, ...(scope && { scope }) })
      const config = createConfig(world, relay.url, api)
      const session = await live.open(client, config)
      return {
        loadTool: { name: 'load_skill', field: 'name' },
        hasFixedTools: true,
        canRunScripts: true,
        canStop: true,
        canOverlap: true,
        say: async (text, signal) => await ask(session, text, signal),
        takeBack: async turns => await takeBack(session, turns),
        fork: async () => {
          const { sessionId } = await client.rpc.sessions.fork({ sessionId: 'chat-1' })
          const copy = await copilot(skills, { id: 'chat-2' }).open(client, { ...config, sessionId })
          return { say: async text => await ask(copy, text) }
        },
        compact: async () => void (await session.rpc.history.compact()),
        openSubagent: async () => await delegation.open(session),
        async [Symbol.asyncDispose]() {
          await client.stop()
          await relay[Symbol.asyncDispose]()
          live[Symbol.dispose]()
          await skills.close()
        },
      }
    },
  }
}

/** The runtime also adds the field `__copilotMessageSource` to the results. */
const REWRITTEN =
  'Chat Completions: after a restart, the runtime writes the tool calls of its event log with other fields.'

export const copilotHarness: Harness = createHarness('@github/copilot-sdk 1.0, chat', 'completions', {
  restart: REWRITTEN,
  fork: REWRITTEN,
})
export const copilotResponsesHarness: Harness = createHarness(
  '@github/copilot-sdk 1.0, responses',
  'responses',
)
export const copilotAnthropicHarness: Harness = createHarness(
  '@github/copilot-sdk 1.0, Anthropic',
  'anthropic',
)
