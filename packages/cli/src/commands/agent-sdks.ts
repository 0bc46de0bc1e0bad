/** The agent SDKs that have an adapter. The more specific SDKs come first, because some of them contain others. */
export const AGENT_SDKS: readonly AgentSdk[] = [
  { id: 'mastra', name: 'Mastra', packages: ['@mastra/core'], tested: '1.71' },
  { id: 'langchain', name: 'LangChain', packages: ['langchain', 'deepagents'], tested: '1.5' },
  { id: 'strands', name: 'Strands Agents', packages: ['@strands-agents/sdk'], tested: '1.19' },
  { id: 'pi', name: 'pi', packages: ['@earendil-works/pi-agent-core'], tested: '1.5' },
  { id: 'genkit', name: 'Genkit', packages: ['genkit'], tested: '1.42' },
  {
    id: 'claude-agent-sdk',
    name: 'Claude Agent SDK',
    packages: ['@anthropic-ai/claude-agent-sdk'],
    tested: '0.3',
  },
  { id: 'copilot', name: 'GitHub Copilot SDK', packages: ['@github/copilot-sdk'], tested: '1.0' },
  { id: 'openai-agents', name: 'OpenAI Agents', packages: ['@openai/agents'], tested: '0.20' },
  { id: 'ai-sdk', name: 'AI SDK', packages: ['ai'], tested: '7.0 and 6.0' },
  { id: 'loop', name: 'your own loop', packages: ['openai', '@anthropic-ai/sdk'], tested: '7.57' },
]

/** An agent SDK with an adapter. */
export interface AgentSdk {
  /** The name of the page `docs/sdks/<id>.md` and of its program. */
  readonly id: string
  readonly name: string
  /** The npm packages that show that a project uses this SDK. */
  readonly packages: readonly string[]
  /** The versions of the first package with which the adapter is tested. */
  readonly tested: string
}
