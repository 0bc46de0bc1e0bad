import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createSkillRuntime, type SkillRuntime, type SkillRuntimeOptions } from '@skillstoke/core'
import { FileSource, MemoryFileSystem, NO_SETTLE } from '@skillstoke/core/source'
import { FakeClock } from '@skillstoke/core/testing'
import { expect } from 'vitest'
import type { SkillMcpOptions } from '../mcp-options.ts'
import { SkillMcp } from '../skill-mcp.ts'

export const ERAS = ['2025-11-25', '2026-07-28'] as const
export type Era = (typeof ERAS)[number]

export const text = (name: string, body = `Body of ${name}.`): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`

/** A server over skills in memory, with real clients of the SDK. */
export interface Harness extends AsyncDisposable {
  readonly fileSystem: MemoryFileSystem
  readonly skills: SkillRuntime
  readonly mcp: SkillMcp
  readonly clock: FakeClock
  readonly warnings: string[]
  write(path: string, content: string | Uint8Array): Promise<void>
  remove(path: string): Promise<void>
  /** Connects a client, with headers for each request. */
  connect(era: Era, headers?: Readonly<Record<string, string>>): Promise<Client>
  request(headers: Record<string, string>, body: unknown, method?: string): Promise<Response>
}

export async function open(
  files: Readonly<Record<string, string | Uint8Array>>,
  options: SkillMcpOptions = {},
  runtime: Partial<SkillRuntimeOptions> = {},
): Promise<Harness> {
  const fileSystem = new MemoryFileSystem(
    Object.fromEntries(Object.entries(files).map(([path, content]) => [`/skills/${path}`, content])),
  )
  const skills = await createSkillRuntime({
    sources: [new FileSource({ fileSystem, root: '/skills', label: 'skills' })],
    tuning: { settle: NO_SETTLE },
    ...runtime,
  })
  const clock = new FakeClock()
  const warnings: string[] = []
  const ignore = (): void => undefined
  const logger = { debug: ignore, info: ignore, warn: (line: string) => warnings.push(line), error: ignore }
  const mcp = new SkillMcp(skills, { clock, logger, ...options })
  const url = new URL('http://127.0.0.1/mcp')
  const clients: Client[] = []
  const settled = async (): Promise<void> => {
    await skills.fresh()
    await skills.delivered()
  }
  return {
    fileSystem,
    skills,
    mcp,
    clock,
    warnings,
    write: async (path, content) => {
      fileSystem.write(`/skills/${path}`, content)
      await settled()
    },
    remove: async path => {
      fileSystem.remove(`/skills/${path}`)
      await settled()
    },
    connect: async (era, headers = {}) => {
      const mode = era === '2026-07-28' ? 'auto' : 'legacy'
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
      await client.connect(
        new StreamableHTTPClientTransport(url, {
          fetch: (input, init) => mcp.fetch(new Request(input, init)),
          requestInit: { headers },
        }),
      )
      clients.push(client)
      expect(client.getNegotiatedProtocolVersion()).toBe(era)
      return client
    },
    request: async (headers, body, method = 'POST') => {
      const response = await mcp.fetch(
        new Request(url, {
          method,
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            ...headers,
          },
          ...(method === 'POST' ? { body: JSON.stringify(body) } : {}),
        }),
      )
      await response.arrayBuffer() // read to its end, as every server does
      return response
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(clients.map(client => client.close()))
      await mcp.close()
      await skills.close()
    },
  }
}

/** Collects notifications. `count(n)` resolves when the client has received n notifications. */
export function listen(
  client: Client,
  about: 'resources' | 'prompts' = 'resources',
): { notices: string[]; count: (wanted: number) => Promise<void> } {
  const notices: string[] = []
  let wake = (): void => undefined
  const add = (notice: string): void => {
    notices.push(notice)
    wake()
  }
  if (about === 'prompts')
    client.setNotificationHandler('notifications/prompts/list_changed', () => add('list'))
  else {
    client.setNotificationHandler('notifications/resources/list_changed', () => add('list'))
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => add(params.uri))
  }
  return {
    notices,
    count: async wanted => {
      while (notices.length < wanted) await new Promise<void>(resolve => (wake = resolve))
    },
  }
}
