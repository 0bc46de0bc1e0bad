import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, test } from 'vitest'
import { BIN, stokeProcess } from './fixtures/cli.ts'
import { type DevProcess, startDev } from './fixtures/dev.ts'
import { CLIENT_KINDS, overHttp, overStdio, startClient } from './fixtures/mcp-client.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

interface Answer {
  readonly content: readonly { readonly text: string }[]
}

async function startDevFor(folder: TemporaryFolder, state: TemporaryFolder): Promise<DevProcess> {
  return await startDev({ root: folder.path, state: state.path, args: ['--no-agent'] })
}

describe.each(CLIENT_KINDS)('the client %s', kind => {
  test.each(['stdio', 'http'] as const)(
    'over %s, the first request after a save shows the saved text',
    async transport => {
      using folder = new TemporaryFolder()
      using state = new TemporaryFolder()
      folder.writeSkill('refund', { body: 'Within 30 days.' })
      await using dev = transport === 'http' ? await startDevFor(folder, state) : undefined
      const target = dev === undefined ? overStdio(folder.path, state.path) : overHttp(dev)
      await using client = await startClient(kind, target)
      if (kind !== 'v1') expect(await client.ask('version')).toEqual({ version: kind.split(' ').at(-1) })
      expect((await client.ask<{ text: string }>('instructions')).text).toContain(
        'Does what refund does. Use it for all about refund.',
      )
      const { tools } = await client.ask<{ tools: { name: string }[] }>('tools/list')
      expect(tools.map(tool => tool.name)).toEqual([
        'skill',
        'read_skill_file',
        'run_skill_command',
        'run_skill_script',
      ])

      const load = async (): Promise<string> => {
        const answer = await client.ask<Answer>('tools/call', {
          name: 'skill',
          arguments: { name: 'refund' },
        })
        return answer.content[0]?.text ?? ''
      }
      const read = async (): Promise<string> =>
        JSON.stringify(await client.ask('resources/read', { uri: 'skill://refund/SKILL.md' }))
      expect(await load()).toContain('Within 30 days.')
      folder.writeSkill('refund', { body: 'Within 60 days.' })
      expect(await load()).toContain('Within 60 days.')
      folder.writeSkill('refund', { body: 'Within 90 days.' })
      expect(await read()).toContain('Within 90 days.')
      folder.writeSkill('refund', { body: 'Order $ARGUMENTS, within 100 days.' })
      const prompt = { name: 'refund', arguments: { arguments: '1042' } }
      expect(JSON.stringify(await client.ask('prompts/get', prompt))).toContain(
        'Order 1042, within 100 days.',
      )
      folder.writeSkill('shipping')
      const { prompts } = await client.ask<{ prompts: { name: string }[] }>('prompts/list')
      expect(prompts.map(({ name }) => name)).toEqual(['refund', 'shipping'])
      if (kind !== 'v1') {
        folder.writeSkill('refund', { body: 'Within 120 days.' })
        const verified = await client.ask('skills/read', { uri: 'skill://refund/SKILL.md' })
        expect(verified).toMatchObject({ file: { verified: true, body: 'Within 120 days.\n' } })
      }
      await expect(client.ask('resources/read', { uri: 'skill://unknown/SKILL.md' })).rejects.toThrow()
    },
  )
})

test.each(['stdio', 'http'] as const)(
  'the command line of the MCP Inspector lists and calls our tools over %s',
  async transport => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('refund', { body: 'Within 30 days.' })
    await using dev = transport === 'http' ? await startDevFor(folder, state) : undefined
    const target =
      dev === undefined
        ? [process.execPath, BIN, 'mcp', '--root', folder.path, '--state', state.path]
        : [dev.mcpUrl.href, '--transport', 'http', '--header', `Authorization: Bearer ${dev.token}`]
    const inspect = (...args: string[]): string => {
      const inspector = resolve('node_modules/.bin/mcp-inspector')
      const run = spawnSync(inspector, ['--cli', ...target, ...args], { encoding: 'utf8', timeout: 60_000 })
      expect(run.status, run.stderr).toBe(0)
      return run.stdout
    }
    expect(inspect('--method', 'tools/list')).toContain('read_skill_file')
    expect(inspect('--method', 'resources/list')).toContain('skill://refund/SKILL.md')
    expect(inspect('--method', 'tools/call', '--tool-name', 'skill', '--tool-arg', 'name=refund')).toContain(
      'Within 30 days.',
    )
    folder.writeSkill('refund', { body: 'Within 60 days.' })
    expect(inspect('--method', 'prompts/list')).toContain('"refund"')
    expect(inspect('--method', 'prompts/get', '--prompt-name', 'refund')).toContain('Within 60 days.')
  },
  120_000,
)

describe('stoke mcp', () => {
  test('stoke mcp writes only protocol messages to standard output, even with broken skills and invalid requests', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('refund')
    folder.write('broken/SKILL.md', '---\nname: broken\ndescription: "open\n---\n')
    folder.write('repaired/SKILL.md', '---\nname: repaired\ndescription: use it: always\n---\nBody.\n')
    const args = [BIN, 'mcp', '--root', folder.path, '--state', state.path, '--verbose']
    const server = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    let errors = ''
    server.stderr.on('data', (data: Buffer) => (errors += data.toString()))
    const lines: string[] = []
    const reader = createInterface({ input: server.stdout })
    reader.on('line', line => lines.push(line))
    const send = (message: unknown): void => void server.stdin.write(`${JSON.stringify(message)}\n`)
    const call = async (id: number, method: string, params: unknown = {}): Promise<void> => {
      send({ jsonrpc: '2.0', id, method, params })
      while (!lines.some(line => line.includes(`"id":${id}`))) await once(reader, 'line')
    }
    const clientInfo = { name: 'raw', version: '1' }
    await call(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
    send({ jsonrpc: '2.0', method: 'notifications/initialized' })
    server.stdin.write('this is not JSON\n')
    await call(2, 'skills/list')
    folder.writeSkill('shipping')
    await call(3, 'tools/call', { name: 'skill', arguments: { name: 'shipping' } })
    await call(4, 'no/such/method')
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' })
    expect(errors).toContain('"repaired" is not offered through the Skills extension')
    const exited = once(server, 'exit')
    server.stdin.end()
    expect(await exited).toEqual([0, null])
  })

  test('stoke mcp serves only the folders that the user names as arguments', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('skills/refund')
    folder.write('skillstoke.json', '{"roots": ["skills"]}')
    const env = { SKILLSTOKE_STATE: state.path }
    const refused = stokeProcess(['mcp'], { cwd: folder.path, env })
    expect(refused).toMatchObject({ status: 2, stdout: '' })
    expect(refused.stderr).toContain('serves only folders that you name')
    for (const args of [
      ['--root', 'skills'],
      ['--config', 'skillstoke.json'],
    ])
      expect(stokeProcess(['mcp', ...args], { cwd: folder.path, env }).status, args.join(' ')).toBe(0)
  })

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('stoke mcp exits with 0 on %s', async signal => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('refund')
    const args = [BIN, 'mcp', '--root', folder.path, '--state', state.path, '--verbose']
    const server = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    await once(server.stderr, 'data')
    const exited = once(server, 'exit')
    server.kill(signal)
    expect(await exited).toEqual([0, null])
  })
})

test('over stdio, the refusal of an unknown protocol version repeats no control characters', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/refund')
  const args = ['mcp', '--root', folder.at('skills'), '--state', folder.at('state')]
  const child = spawn(process.execPath, [BIN, ...args], { stdio: ['pipe', 'pipe', 'ignore'] })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const ask = async (id: number, method: string, version: string): Promise<string> => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params: { _meta } })}\n`)
    return String((await lines.next()).value)
  }
  expect(JSON.parse(await ask(1, 'tools/list', '2026-07-28'))).toHaveProperty('result')
  const refusal = await ask(2, 'subscriptions/listen', 'a\u202e\r\u0085\u001b[31m')
  expect(JSON.parse(refusal)).toMatchObject({ id: 2, error: { message: expect.stringContaining('\\u202e') } })
  expect(refusal).not.toMatch(/[^ -~]/)
  child.stdin.end()
  await once(child, 'exit')
})

test('over stdio, lines that are no message or too long are answered, and the next request works', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/refund')
  const args = ['mcp', '--root', folder.at('skills'), '--state', folder.at('state')]
  const child = spawn(process.execPath, [BIN, ...args], { stdio: ['pipe', 'pipe', 'ignore'] })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const ask = async (line: string): Promise<unknown> => {
    child.stdin.write(`${line}\n`)
    return JSON.parse(String((await lines.next()).value))
  }
  const clientInfo = { name: 'x', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const begin = { jsonrpc: '2.0', id: 1, method: 'initialize', params }
  expect(await ask(JSON.stringify(begin))).toMatchObject({ id: 1, result: {} })
  const long = 'x'.repeat(11_000_000)
  for (const [line, id, code] of [
    ['{', null, -32_700],
    ['{"jsonrpc":"2.0","id":null,"method":"tools/list"}', null, -32_600],
    ['{"id":4,"method":"ping"}', 4, -32_600],
    ['[{"jsonrpc":"2.0","id":5,"method":"ping"}]', null, -32_600],
    [`{"jsonrpc":"2.0","id":"${'x'.repeat(5_000)}","method":"ping"}`, null, -32_600],
    [`{"jsonrpc":"2.0","id":6,"method":"${long}"}`, 6, -32_600],
    [`{"method":"ping","params":{"x":"${long}"},"jsonrpc":"2.0","id":"a"}`, 'a', -32_600],
    [`{"method":"ping","params":{"x":"${long}","id":7}}`, null, -32_600],
  ] as const)
    expect(await ask(line)).toMatchObject({ id, error: { code } })
  for (const [line, fault] of [
    ['{"jsonrpc":"2.0","id":9,"method":"ping","params":[1]}', '"params" is [1]; use an object'],
    ['{"jsonrpc":"2.0","id":9,"method":"ping","name":"x"}', 'there is no field "name"'],
    ['{"jsonrpc":"2.0","id":9,"method":5}', '"method" is 5; use the name'],
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', '"id" is 1.5; use a string or a whole number'],
    ['{"jsonrpc":"1.0","id":9,"method":"ping"}', '"jsonrpc" is "1.0"; use "2.0"'],
    ['7', '"jsonrpc" is missing'],
  ] as const)
    expect(await ask(line)).toMatchObject({ error: { message: expect.stringContaining(fault) } })
  const load = '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"skill"}}'
  const again = '{"jsonrpc":"2.0","id":3,"method":"ping","params":[1]}'
  const answers = [await ask(`${load}\n${load}\n${again}`), await ask(''), await ask('')]
  expect(answers).toMatchObject([
    { id: null, error: { message: 'a request with the id 3 is running; use a new id' } },
    { id: null, error: { message: expect.stringContaining('"params"') } },
    { id: 3, result: {} },
  ])
  expect(await ask(load)).toMatchObject({ id: 3, result: {} })
  expect(await ask('{"jsonrpc":"2.0","id":8,"method":"ping"}')).toMatchObject({ id: 8, result: {} })
  child.stdin.end()
  await once(child, 'exit')
})
