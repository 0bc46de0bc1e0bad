import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { text as readAll } from 'node:stream/consumers'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { stoke } from './fixtures/cli.ts'
import { startDev } from './fixtures/dev.ts'
import { type Serving, startServe } from './fixtures/serve.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

async function connect(url: string, token: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }))
  return client
}

const namesOf = async (client: Client): Promise<string[]> =>
  (await client.listPrompts()).prompts.map(({ name }) => name)

describe('stoke serve', () => {
  test('each client of the file sees its skills, and the audit log names what it used', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/support-mail', { body: 'Be brief.' })
    folder.writeSkill('skills/billing')
    const clients = folder.at('clients.json')
    const make = (name: string, ...args: string[]): string =>
      (
        JSON.parse(stoke(['token', name, '--clients', clients, '--json', ...args]).stdout) as {
          token: string
        }
      ).token
    const desk = make('help-desk', '--include', 'support-*')
    const admin = make('admin', '--expires', '2199-01-01')
    const log = folder.at('audit.jsonl')
    const roots = ['--root', folder.at('skills'), '--state', folder.at('state')]
    await using serving = await startServe([
      ...roots,
      '--clients',
      clients,
      '--audit-log',
      log,
      '--port',
      '0',
    ])
    expect(serving.output()).toContain('clients  help-desk, admin')
    expect(serving.output()).not.toContain(desk)
    const first = await connect(serving.url, desk)
    expect(await namesOf(first)).toEqual(['support-mail'])
    expect(await namesOf(await connect(serving.url, admin))).toEqual(['billing', 'support-mail'])
    folder.writeSkill('skills/support-mail', { body: 'Be very brief.' })
    const answer = await first.callTool({ name: 'skill', arguments: { name: 'support-mail' } })
    expect(JSON.stringify(answer.content)).toContain('Be very brief.')
    expect(JSON.stringify([answer, first.getInstructions()])).not.toContain(folder.path)
    await expect(connect(serving.url, 'wrong')).rejects.toThrow()
    serving.process.kill('SIGINT')
    await once(serving.process, 'exit')
    const entries = readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as Record<string, unknown>)
    expect(entries[0]).toMatchObject({ client: 'help-desk', skill: 'support-mail', outcome: 'ok' })
    expect(entries.at(-1)).toMatchObject({ outcome: 'refused' })
  })

  test('serve follows the file of clients: a removed client is refused, a new one is accepted, and a broken file changes nothing', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund')
    const path = folder.at('clients.json')
    const make = (name: string): string =>
      (JSON.parse(stoke(['token', name, '--clients', path, '--json']).stdout) as { token: string }).token
    const desk = make('desk')
    const admin = make('admin')
    const roots = ['--root', folder.at('skills'), '--state', folder.at('state')]
    await using serving = await startServe([...roots, '--clients', path, '--port', '0'])
    const connected = await connect(serving.url, desk)
    const { clients } = JSON.parse(readFileSync(path, 'utf8')) as { clients: { name: string }[] }
    // The file starts with a byte order mark, as some editors write it.
    folder.write('clients.json', `\uFEFF${JSON.stringify({ clients: clients.slice(1) })}`)
    await expect(connected.listPrompts()).rejects.toThrow()
    await expect(connect(serving.url, desk)).rejects.toThrow()
    const late = make('late')
    expect(await namesOf(await connect(serving.url, late))).toEqual(['refund'])
    folder.write('clients.json', '{')
    expect(await namesOf(await connect(serving.url, admin))).toEqual(['refund'])
    expect(serving.output()).toMatch(/clients {2}admin, late\n.*not valid JSON.*the last valid file stay/s)
    const replace = ['token', 'late', '--clients', path, '--replace', '--expires', '2199-01-01']
    expect(stoke(replace).stderr).toContain('not valid JSON')
    const past = stoke(['token', 'old', '--expires', '2020-01-01'])
    expect([past.status, past.stderr]).toEqual([2, expect.stringContaining('is in the past')])
  })

  test('the last client of the file can be removed while serve runs, and its stream ends at once', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund')
    const path = folder.at('clients.json')
    const { token } = JSON.parse(stoke(['token', 'desk', '--clients', path, '--json']).stdout) as {
      token: string
    }
    const roots = ['--root', folder.at('skills'), '--state', folder.at('state')]
    await using serving = await startServe([...roots, '--clients', path, '--port', '0'])
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const clientInfo = { name: 'x', version: '1' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
    const began = await fetch(`${serving.url}/mcp`, { method: 'POST', headers, body })
    const session = { 'mcp-session-id': began.headers.get('mcp-session-id') ?? '' }
    await began.arrayBuffer()
    const stream = await fetch(`${serving.url}/mcp`, { headers: { ...headers, ...session } })
    expect(stream.status).toBe(200)
    folder.write('clients.json', '{"clients": []}')
    await stream.text() // ends without another request
    const refused = await fetch(`${serving.url}/mcp`, { method: 'POST', headers, body })
    expect(refused.status).toBe(401)
    expect(serving.output()).toContain('clients  none')
  })

  test('a replaced token keeps the skills and the end of the earlier one', () => {
    using folder = new TemporaryFolder()
    const path = folder.at('clients.json')
    const make = (...args: string[]): string => stoke(['token', 'desk', '--clients', path, ...args]).stdout
    expect(make('--include', 'support-*', '--expires', '2199-01-01')).toContain(
      'the skills support-*, until 2199-01-01',
    )
    const [before] = (JSON.parse(readFileSync(path, 'utf8')) as { clients: { sha256: string }[] }).clients
    expect(make('--replace')).toContain('the skills support-*, until 2199-01-01')
    const [after] = (JSON.parse(readFileSync(path, 'utf8')) as { clients: { sha256: string }[] }).clients
    expect(after).toEqual({ ...before, sha256: after?.sha256 })
    expect(after?.sha256).not.toBe(before?.sha256)
    expect(stoke(['token', 'x', '--clients', folder.at('none', 'c.json')])).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/^error: the clients cannot be written: .*ENOENT[^\n]*\n/),
    })
  })

  test('the command line reads the skills of another server with SKILLSTOKE_MCP_TOKEN', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund')
    await using serving = await startServe([
      ...['--root', folder.at('skills'), '--state', folder.at('state'), '--port', '0'],
    ])
    const token = /token +(\S+)/.exec(serving.output())?.[1] ?? ''
    const { host } = new URL(serving.url)
    const source = [
      '--source',
      `mcp+${serving.url}/mcp`,
      '--private-host',
      host,
      '--state',
      folder.at('other'),
    ]
    const list = (env: NodeJS.ProcessEnv): string => stoke(['list', ...source], { env }).stdout
    expect(list({})).not.toContain('refund')
    expect(list({ SKILLSTOKE_MCP_TOKEN: token })).toMatch(/pending +refund/)
  })

  test('without clients, serve starts only on this machine, with a token that survives a restart', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund')
    const roots = ['--root', folder.at('skills'), '--state', folder.at('state')]
    const refused = stoke(['serve', ...roots, '--host', '0.0.0.0'])
    expect(refused.status).toBe(2)
    expect(refused.stderr).toContain('only for clients that identify themselves')
    expect(stoke(['serve', '--state', folder.at('state')], { cwd: folder.path }).stderr).toContain(
      'serves only folders that you name',
    )
    const tokenOf = ({ output }: Serving): string => /token +(\S+)/.exec(output())?.[1] ?? ''
    const start = async (...args: string[]): Promise<string[]> => {
      await using serving = await startServe([...roots, ...args])
      expect(await namesOf(await connect(serving.url, tokenOf(serving)))).toEqual(['refund'])
      return [serving.url, tokenOf(serving)]
    }
    const before = await start()
    expect(await start()).toEqual(before)
    expect((await start('--new-token'))[1]).not.toBe(before[1])
  })

  test('serve refuses other host names, answers /healthz to everybody, and serves metrics on its own port', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund')
    const args = ['--root', folder.at('skills'), '--state', folder.at('state'), '--port', '0']
    await using serving = await startServe([
      ...args,
      '--allow-host',
      'skills.example.com',
      '--metrics-port',
      '0',
    ])
    const { port } = new URL(serving.url)
    const ask = async (host: string, path: string, origin?: string): Promise<number | undefined> => {
      const headers = { host, ...(origin === undefined ? {} : { origin }) }
      const sent = request({ host: '127.0.0.1', port, path, headers }).end()
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      await readAll(response)
      return response.statusCode
    }
    expect(await ask('evil.example.com', '/healthz')).toBe(403)
    expect(await ask('skills.example.com', '/healthz', 'https://evil.example.com')).toBe(403)
    expect(await ask('skills.example.com', '/healthz')).toBe(200)
    expect(await ask('skills.example.com', '/nothing')).toBe(404)
    expect(await ask('skills.example.com', '/mcp')).toBe(401)
    const token = /token +(\S+)/.exec(serving.output())?.[1] ?? ''
    const client = await connect(serving.url, token)
    await client.callTool({ name: 'skill', arguments: { name: 'refund' } })
    await client.getPrompt({ name: 'refund' })
    const metricsUrl = /metrics +(\S+)/.exec(serving.output())?.[1] ?? ''
    const metrics = await (await fetch(metricsUrl)).text()
    expect(metrics).toContain('skillstoke_activations_total{skill="refund",by="model",tool="skill"} 1')
    expect(metrics).toContain('skillstoke_activations_total{skill="refund",by="user",tool=""} 1')
    expect(metrics).toContain('skillstoke_requests_total{method="tools/call",outcome="ok"} 1')
    expect(metrics).toContain('skillstoke_request_duration_seconds_count{method="prompts/get"} 1')
  })

  test('pages of allowed origins may use the server, and clients find no authorization server', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund')
    const args = ['--root', folder.at('skills'), '--state', folder.at('state'), '--port', '0']
    await using serving = await startServe([...args, '--allow-host', 'app.example.com'])
    const ask = async (origin: string, init: RequestInit = {}): Promise<Response> =>
      await fetch(`${serving.url}/mcp`, { ...init, headers: { ...init.headers, origin } })
    const preflight = {
      method: 'OPTIONS',
      headers: {
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,mcp-session-id',
      },
    }
    for (const origin of ['https://app.example.com', 'http://localhost:6274']) {
      const allowed = await ask(origin, preflight)
      expect(allowed.status).toBe(204)
      expect(allowed.headers.get('access-control-allow-origin')).toBe(origin)
      expect(allowed.headers.get('access-control-allow-headers')).toBe('authorization,mcp-session-id')
      const refused = await ask(origin)
      expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, origin])
      expect(refused.headers.get('access-control-expose-headers')).toContain('Mcp-Session-Id')
      expect(refused.headers.get('www-authenticate')).toBe('Bearer')
    }
    const evil = await ask('https://evil.example.com', preflight)
    expect([evil.status, evil.headers.get('access-control-allow-origin')]).toEqual([403, null])
    const metadata = await fetch(`${serving.url}/.well-known/oauth-protected-resource/mcp`)
    expect(metadata.status).toBe(404)
  })

  test('serve names a file of clients that does not exist, and counts one skill', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund')
    const roots = ['--root', folder.at('skills'), '--state', folder.at('state')]
    const { status, stderr } = stoke(['serve', ...roots, '--clients', folder.at('none.json')])
    expect([status, stderr]).toEqual([
      2,
      expect.stringContaining('none.json" does not exist; create it with'),
    ])
    await using serving = await startServe([...roots, '--port', '0'])
    expect(serving.output()).toContain('serving 1 skill, generation')
  })

  test.each([
    ['{', 'not valid JSON'],
    ['{"clients": []}', 'names no client'],
    ['{}', 'names no client'],
    [
      `{"clients": [{"name": "a", "sha256": "${'0'.repeat(64)}", "include": []}]}`,
      '"clients.0.include": names no skill',
    ],
    ['{"clients": [{"name": "a", "sha256": "12"}]}', '"clients.0.sha256": must have 64 hexadecimal digits'],
    ['{"clients": [{"name": "a", "token": "x"}]}', 'clients.0'],
    ['{"oauth": {"resource": "http://example.com", "issuer": "https://x.example.com"}}', '"resource" is'],
  ])('the clients file %s is refused', (content, reason) => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund')
    const clients = folder.write('clients.json', content)
    const roots = ['--root', folder.at('skills'), '--state', folder.at('state')]
    const { status, stderr } = stoke(['serve', ...roots, '--clients', clients])
    expect([status, stderr]).toEqual([2, expect.stringContaining(reason)])
  })
})

test('a restarted dev has the same address and token, so a configured client goes on', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/refund', { body: 'Within 30 days.' })
  const options = {
    root: folder.at('skills'),
    state: folder.at('state'),
    args: ['--no-agent'],
    port: 'default',
  } as const
  const use = async (): Promise<[string, string]> => {
    await using dev = await startDev(options)
    const client = await connect(dev.url, dev.token)
    const { content } = await client.callTool({ name: 'skill', arguments: { name: 'refund' } })
    expect(JSON.stringify(content)).toContain('Within 30 days.')
    return [dev.url, dev.token]
  }
  const before = await use()
  expect(await use()).toEqual(before)
})
