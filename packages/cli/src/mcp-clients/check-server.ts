import type { Client } from '@modelcontextprotocol/client'
import { defined, toMessage } from '@skillstoke/core/internal'
import { CHECKING_CLIENT } from '../skills/keep-usage.ts'
import type { ServerEntry } from './client-table.ts'

/** The protocol versions with which a server is tried. */
export const CHECKED_VERSIONS = ['2025-11-25', '2026-07-28'] as const

export type CheckedVersion = (typeof CHECKED_VERSIONS)[number]

/** What a client of one protocol version gets from a server. */
export interface ServerCheck {
  readonly version: CheckedVersion
  readonly ok: boolean
  /** Time until the connection was usable, in milliseconds. */
  readonly connectMs?: number
  readonly tools?: number
  readonly prompts?: number
  readonly resources?: number
  /** Entries of the Skills extension; absent if the server does not offer the extension. */
  readonly skills?: number
  /** Why the check failed. */
  readonly fault?: string
  /** Warnings that the server wrote to standard error. */
  readonly warnings?: readonly string[]
}

const CONNECT_TIMEOUT_MS = 30_000
const MAX_STDERR = 4_000
const WARNING = /^skillstoke (?:warning|error):/

/** Connects to a server as a client does, and uses each feature once. */
export async function checkServer(
  server: ServerEntry,
  version: CheckedVersion,
  environment: NodeJS.ProcessEnv,
): Promise<ServerCheck> {
  const { Client } = await import('@modelcontextprotocol/client')
  const mode = version === '2026-07-28' ? 'auto' : 'legacy'
  const client = new Client({ name: CHECKING_CLIENT, version: '1' }, { versionNegotiation: { mode } })
  const { transport, readErrors } = await createTransport(server, environment)
  const start = performance.now()
  try {
    await client.connect(transport, { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) })
    const connectMs = Math.round(performance.now() - start)
    const negotiated = client.getNegotiatedProtocolVersion()
    if (negotiated !== version)
      return { version, ok: false, connectMs, fault: `the server answered with version ${negotiated}` }
    const used = await useAll(client)
    const warnings = readErrors()
      .split('\n')
      .filter(line => WARNING.test(line))
    return { version, ok: true, connectMs, ...used, ...(warnings.length === 0 ? {} : { warnings }) }
  } catch (thrown) {
    const errors = readErrors().trim()
    const fault = `${toMessage(thrown)}${errors === '' ? '' : `\n${errors}`}`
    return { version, ok: false, fault }
  } finally {
    await client.close()
  }
}

type AnyTransport = Parameters<Client['connect']>[0]

/**
 * Creates the transport to a server, and a function that returns what the server wrote to standard error.
 * @param cwd the working directory of a program. The default is that of this process
 */
export async function createTransport(
  server: ServerEntry,
  environment: NodeJS.ProcessEnv,
  cwd?: string,
): Promise<{ transport: AnyTransport; readErrors: () => string }> {
  if (server.kind === 'http') {
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
    const token = server.tokenVariable === undefined ? undefined : environment[server.tokenVariable]
    const authorization = token === undefined ? server.authorization : `Bearer ${token}`
    const headers = defined({ Authorization: authorization })
    const transport = new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers } })
    const hint =
      server.tokenVariable === undefined || token !== undefined
        ? ''
        : `the variable ${server.tokenVariable} is not set, so no token was sent`
    return { transport, readErrors: () => hint }
  }
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
  const { command, args, env: own } = server
  const env = defined({ ...environment, ...own }) as Record<string, string>
  const parameters = { command, args: [...args], env, ...defined({ cwd }) }
  const transport = new StdioClientTransport({ ...parameters, stderr: 'pipe' })
  let errors = ''
  transport.stderr?.on('data', (data: Buffer) => (errors = `${errors}${data.toString()}`.slice(-MAX_STDERR)))
  return { transport, readErrors: () => errors }
}

async function useAll(client: Client): Promise<Omit<ServerCheck, 'version' | 'ok' | 'connectMs'>> {
  const { tools } = await client.listTools()
  const { prompts } = await client.listPrompts()
  const { resources } = await client.listResources()
  await client.callTool({ name: 'skill', arguments: {} })
  const [prompt] = prompts
  if (prompt !== undefined) await client.getPrompt({ name: prompt.name })
  const [resource] = resources
  if (resource !== undefined) await client.readResource({ uri: resource.uri })
  const { SkillsClient } = await import('@modelcontextprotocol/client/ext/skills')
  const skills = new SkillsClient(client, { skipInvalid: true })
  const entries = skills.supported ? (await skills.list()).skills.length : undefined
  return {
    tools: tools.length,
    prompts: prompts.length,
    resources: resources.length,
    ...defined({ skills: entries }),
  }
}
