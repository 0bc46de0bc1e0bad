import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { McpHttpServerConfig, McpStdioServerConfig } from '@anthropic-ai/claude-agent-sdk'
import { describe, expect, test } from 'vitest'
import { type DevProcess, startDev } from '../fixtures/dev.ts'
import { overHttp, overStdio } from '../fixtures/mcp-client.ts'
import type { Target } from '../fixtures/mcp-client-program.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'
import { ask, createHostServer, createOptions } from './claude-agent-sdk.ts'
import { SDK_MCP_CLIENTS } from './mcp-clients.ts'
import { World } from './world.ts'

/** @param port @default a free port */
async function start(folder: TemporaryFolder, state: TemporaryFolder, port?: string): Promise<DevProcess> {
  const args = ['--no-agent', ...(port === undefined ? [] : ['--port', port])]
  return await startDev({ root: folder.path, state: state.path, args })
}

/** Writes a skill with one argument. */
function writeRefund(folder: TemporaryFolder, terms: string): void {
  const fields = 'name: refund\ndescription: Use for refunds.\nargument-hint: "[order]"'
  folder.write('refund/SKILL.md', `---\n${fields}\n---\nFor order $ARGUMENTS: ${terms}\n`)
}

for (const { name, supports, connect } of SDK_MCP_CLIENTS)
  describe(`the MCP client of ${name}`, () => {
    test.each(supports)(
      'over $transport in protocol $version, each request after a save shows the saved text',
      async ({ transport, version }) => {
        using folder = new TemporaryFolder()
        using state = new TemporaryFolder()
        writeRefund(folder, 'within 30 days.')
        await using dev = await start(folder, state)
        const target = transport === 'http' ? overHttp(dev) : overStdio(folder.path, state.path)
        await using client = await connect(target, version)
        if (client.version !== undefined) expect(client.version).toBe(version)
        expect(await client.listTools()).toContain('skill')
        expect(await client.call('skill', { name: 'refund' })).toContain('within 30 days.')
        writeRefund(folder, 'within 60 days.')
        expect(await client.call('skill', { name: 'refund' })).toContain('within 60 days.')
        writeRefund(folder, 'within 90 days.')
        expect(await client.readResource('skill://refund/SKILL.md')).toContain('within 90 days.')
        const { prompts } = client
        if (prompts === undefined) return
        expect(await prompts.list()).toEqual(['refund'])
        writeRefund(folder, 'within 120 days.')
        folder.writeSkill('shipping')
        expect(await prompts.get('refund', { order: '1042' })).toContain('For order 1042: within 120 days.')
        expect(await prompts.list()).toEqual(['refund', 'shipping'])
      },
    )
  })

describe.each(SDK_MCP_CLIENTS)(
  'after a restart of the server, the MCP client of $name',
  ({ supports, connect }) => {
    test.each(supports.filter(({ transport }) => transport === 'http'))(
      'continues in protocol $version with the text saved meanwhile',
      async ({ version }) => {
        using folder = new TemporaryFolder()
        using state = new TemporaryFolder()
        writeRefund(folder, 'within 30 days.')
        await using first = await start(folder, state)
        await using client = await connect(overHttp(first), version)
        expect(await client.call('skill', { name: 'refund' })).toContain('within 30 days.')
        await first[Symbol.asyncDispose]()
        writeRefund(folder, 'within 60 days.')
        await using second = await start(folder, state, first.mcpUrl.port)
        expect(second.token).toBe(first.token)
        expect(await client.call('skill', { name: 'refund' })).toContain('within 60 days.')
        expect(await client.readResource('skill://refund/SKILL.md')).toContain('within 60 days.')
        expect(await client.listTools()).toContain('skill')
      },
    )
  },
)

describe('the MCP client of Claude Code', () => {
  test.each(['http', 'stdio'] as const)(
    'over %s, the model loads the text saved last, and a prompt sends it',
    async transport => {
      await using world = await World.open()
      const { folder, stateFolder, server } = world
      writeRefund(folder, 'within 30 days.')
      await using dev = await startDev({
        root: folder.path,
        state: join(stateFolder.path, 'dev'),
        args: ['--no-agent'],
      })
      const target =
        transport === 'http' ? overHttp(dev) : overStdio(folder.path, join(stateFolder.path, 'dev'))
      const options = createOptions(world)
      const yours = {
        ...options,
        mcpServers: { host: createHostServer(world), skills: toConfig(target) },
        allowedTools: [...(options.allowedTools ?? []), 'mcp__skills__skill'],
      }
      const load = { kind: 'call', name: 'mcp__skills__skill', input: { name: 'refund' } } as const
      world.prepare(() => writeRefund(folder, 'within 60 days.'))
      server.play(load, { kind: 'call', name: 'mcp__host__edit', input: {} }, load)
      await ask('Begin.', yours)
      const [, second, , last] = server.requests
      expect(second?.text).toContain('within 30 days.')
      expect(second?.text).not.toContain('within 60 days.')
      expect(last?.text).toContain('within 60 days.')

      writeRefund(folder, 'within 90 days.')
      server.requests.length = 0
      await ask('/mcp__skills__refund 1042', yours)
      expect(server.requests.at(-1)?.text).toContain('For order 1042: within 90 days.')
    },
    120_000,
  )
})

test('the MCP client of Claude Code continues over HTTP after a restart of the server', async () => {
  await using world = await World.open()
  const { folder, server } = world
  using state = new TemporaryFolder()
  writeRefund(folder, 'within 30 days.')
  await using first = await start(folder, state)
  await using proxy = await startPatientProxy(first.mcpUrl.port)
  const options = createOptions(world)
  const url = new URL(`http://127.0.0.1:${proxy.port}/mcp`)
  const headers = { authorization: `Bearer ${first.token}` }
  const yours = {
    ...options,
    mcpServers: { host: createHostServer(world), skills: toConfig({ kind: 'http', url, headers }) },
    allowedTools: [...(options.allowedTools ?? []), 'mcp__skills__skill'],
  }
  const load = { kind: 'call', name: 'mcp__skills__skill', input: { name: 'refund' } } as const
  await using running = new AsyncDisposableStack()
  world.prepare(async () => {
    await first[Symbol.asyncDispose]()
    writeRefund(folder, 'within 60 days.')
    running.use(await start(folder, state, first.mcpUrl.port))
  })
  server.play(load, { kind: 'call', name: 'mcp__host__edit', input: {} }, load)
  await ask('Begin.', yours)
  expect(server.requests.at(-1)?.text).toContain('within 60 days.')
}, 120_000)

/**
 * Forwards requests to a port, and waits while no server listens there, as the proxies before real servers do. Claude
 * Code gives a server up after a few refused connections, and a restart on a busy machine takes longer.
 */
async function startPatientProxy(port: string): Promise<AsyncDisposable & { readonly port: number }> {
  let isOpen = true
  const forward = (incoming: IncomingMessage, outgoing: ServerResponse, body: Buffer): void => {
    const { url: path, method } = incoming
    const headers = { ...incoming.headers, host: `127.0.0.1:${port}` }
    const sent = request({ host: '127.0.0.1', port, path, method, headers }, answer => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.on('error', () => outgoing.destroy())
      answer.pipe(outgoing)
    })
    sent.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code !== 'ECONNREFUSED' || outgoing.headersSent) outgoing.destroy()
      else void delay(50).then(() => isOpen && forward(incoming, outgoing, body))
    })
    outgoing.once('close', () => sent.destroy())
    sent.end(body)
  }
  const accept = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> =>
    forward(incoming, outgoing, Buffer.concat(await incoming.toArray()))
  const proxy = createServer((incoming, outgoing) => void accept(incoming, outgoing))
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  return {
    port: (proxy.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      isOpen = false
      proxy.closeAllConnections()
      await new Promise(resolve => proxy.close(resolve))
    },
  }
}

function toConfig(target: Target): McpHttpServerConfig | McpStdioServerConfig {
  return target.kind === 'http'
    ? { type: 'http', url: target.url.href, headers: target.headers }
    : { type: 'stdio', command: target.command, args: [...target.args] }
}
