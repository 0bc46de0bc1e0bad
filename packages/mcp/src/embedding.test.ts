import { Client } from '@modelcontextprotocol/client'
import { completable, InMemoryTransport, McpServer, ResourceTemplate } from '@modelcontextprotocol/server'
import { createSkillRuntime, MemorySource } from '@skillstoke/core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ERAS, open, text } from '../../../tests/fixtures/mcp-harness.ts'
import { createSkillsServer } from './skill-mcp.ts'

/** A server of a shop, with something of each kind. */
function createShop(options: ConstructorParameters<typeof McpServer>[1] = {}): McpServer {
  const mcp = new McpServer({ name: 'shop', version: '1.0.0' }, { instructions: 'Sells shoes.', ...options })
  const answer = (words: string) => ({ content: [{ type: 'text' as const, text: words }] })
  mcp.registerTool('stock', { description: 'Counts shoes.' }, () => answer('7 shoes'))
  mcp.registerTool('sell', { inputSchema: z.object({ size: z.number() }) }, ({ size }) =>
    answer(`sold ${size}`),
  )
  const sizes = completable(z.string(), value => ['41', '42', '43'].filter(each => each.startsWith(value)))
  mcp.registerPrompt('advise', { argsSchema: z.object({ size: sizes }) }, ({ size }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Advise ${size}.` } }],
  }))
  mcp.registerResource('prices', 'shop://prices', {}, uri => ({ contents: [{ uri: uri.href, text: '99' }] }))
  const complete = { brand: (): string[] => ['hiker', 'runner'] }
  mcp.registerResource(
    'shoe',
    new ResourceTemplate('shop://{brand}', { list: undefined, complete }),
    {},
    uri => ({
      contents: [{ uri: uri.href, text: 'a shoe' }],
    }),
  )
  return mcp
}

async function checkAll(client: Client): Promise<void> {
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
    'skill',
    'read_skill_file',
    'stock',
    'sell',
  ])
  const call = async (name: string, input: Record<string, unknown> = {}): Promise<string> =>
    JSON.stringify(await client.callTool({ name, arguments: input }))
  expect(await call('stock')).toContain('7 shoes')
  expect(await call('sell', { size: 42 })).toContain('sold 42')
  expect(await call('sell', { size: 'x' })).toContain('Input validation error')
  expect(await call('skill', { name: 'refund' })).toContain('Body of refund.')
  await expect(call('nothing')).rejects.toThrow('there is no tool "nothing"')

  expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['advise', 'refund'])
  const prompt = async (name: string, values: Record<string, string>): Promise<string> =>
    JSON.stringify(await client.getPrompt({ name, arguments: values }))
  expect(await prompt('advise', { size: '42' })).toContain('Advise 42.')
  expect(await prompt('refund', { arguments: '1042' })).toContain('Body of refund.')

  const { resources } = await client.listResources()
  expect(resources.map(({ uri }) => uri)).toEqual(['shop://prices', 'skill://refund/SKILL.md'])
  const read = async (uri: string): Promise<string> => JSON.stringify(await client.readResource({ uri }))
  expect(await read('shop://prices')).toContain('99')
  expect(await read('shop://hiker')).toContain('a shoe')
  expect(await read('skill://refund/SKILL.md')).toContain('Body of refund.')
  await expect(read('skill://nothing/SKILL.md')).rejects.toThrow()
  expect((await client.listResourceTemplates()).resourceTemplates.map(each => each.uriTemplate)).toEqual([
    'skill://{name}/{+path}',
    'shop://{brand}',
  ])
  const complete = async (ref: Parameters<Client['complete']>[0]['ref'], name: string, value: string) =>
    (await client.complete({ ref, argument: { name, value } })).completion.values
  expect(await complete({ type: 'ref/prompt', name: 'advise' }, 'size', '4')).toEqual(['41', '42', '43'])
  expect(await complete({ type: 'ref/resource', uri: 'shop://{brand}' }, 'brand', '')).toEqual([
    'hiker',
    'runner',
  ])
  expect(await complete({ type: 'ref/resource', uri: 'skill://{name}/{+path}' }, 'name', 'r')).toEqual([
    'refund',
  ])
}

describe.each(ERAS)('a server of a host, for a client with protocol version %s', era => {
  test.each([
    ['without capabilities', {}],
    [
      'with all capabilities',
      { capabilities: { tools: {}, prompts: {}, resources: {}, completions: {}, logging: {} } },
    ],
  ])('%s, serves the skills beside what the host registered', async (_title, options) => {
    await using it = await open(
      { 'refund/SKILL.md': text('refund') },
      { createServer: () => createShop(options) },
    )
    const client = await it.connect(era)
    expect(client.getServerVersion()).toMatchObject({ name: 'shop' })
    expect(client.getInstructions()).toMatch(/^Sells shoes\.\n\n.*Does refund\./s)
    await checkAll(client)
  })
})

test.each([
  ['without capabilities', undefined],
  ['with the capability declared', { resources: { subscribe: true } }],
])('a host that sets its own handlers, %s, keeps them', async (_title, capabilities) => {
  const subscribed: string[] = []
  const pages = ['shop://1', 'shop://2']
  const createHost = (): McpServer => {
    const mcp = new McpServer(
      { name: 'shop', version: '1.0.0' },
      capabilities === undefined ? {} : { capabilities },
    )
    if (capabilities === undefined) mcp.server.registerCapabilities({ resources: { subscribe: true } })
    mcp.server.setRequestHandler('resources/list', ({ params }) => {
      const index = Number(params?.cursor ?? 0)
      const resources = [{ uri: pages[index] ?? '', name: 'page' }]
      return { resources, ...(index + 1 < pages.length ? { nextCursor: String(index + 1) } : {}) }
    })
    mcp.server.setRequestHandler('resources/read', ({ params: { uri } }) => ({
      contents: [{ uri, text: 'own' }],
    }))
    mcp.server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
      subscribed.push(uri)
      return {}
    })
    return mcp
  }
  await using it = await open({ 'refund/SKILL.md': text('refund') }, { createServer: createHost })
  const client = await it.connect('2025-11-25')
  expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual([
    ...pages,
    'skill://refund/SKILL.md',
  ])
  expect(JSON.stringify(await client.readResource({ uri: 'shop://1' }))).toContain('own')
  expect(JSON.stringify(await client.readResource({ uri: 'skill://refund/SKILL.md' }))).toContain(
    'Body of refund.',
  )
  await client.subscribeResource({ uri: 'shop://1' })
  await client.subscribeResource({ uri: 'skill://refund/SKILL.md' })
  expect(subscribed).toEqual(['shop://1'])
  expect((await client.callTool({ name: 'skill', arguments: { name: 'refund' } })).isError).toBe(false)
})

test('resources and templates of a host with the scheme of the skills are not listed twice', async () => {
  const createHost = (): McpServer => {
    const mcp = createShop()
    const read = (uri: URL) => ({ contents: [{ uri: uri.href, text: 'of the host' }] })
    mcp.registerResource('mine', 'skill://refund/SKILL.md', {}, read)
    mcp.registerResource(
      'files',
      new ResourceTemplate('skill://{name}/{+path}', { list: undefined }),
      {},
      read,
    )
    return mcp
  }
  await using it = await open({ 'refund/SKILL.md': text('refund') }, { createServer: createHost })
  const client = await it.connect('2026-07-28')
  expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual([
    'shop://prices',
    'skill://refund/SKILL.md',
  ])
  expect((await client.listResourceTemplates()).resourceTemplates.map(each => each.uriTemplate)).toEqual([
    'skill://{name}/{+path}',
    'shop://{brand}',
  ])
  expect(JSON.stringify(await client.readResource({ uri: 'skill://refund/SKILL.md' }))).toContain(
    'Body of refund.',
  )
})

test('attach() adds the skills to a server before and after the host registers its own tools', async () => {
  const source = new MemorySource({ label: 'mine' }, [
    { name: 'refund', description: 'Does refund.', body: 'Body of refund.' },
  ])
  await using skills = await createSkillRuntime({ sources: [source] })
  await using server = createSkillsServer(skills)
  const mcp = createShop()
  server.attach(mcp)
  mcp.registerTool('late', {}, () => ({ content: [{ type: 'text', text: 'late' }] }))
  const [near, far] = InMemoryTransport.createLinkedPair()
  await mcp.connect(near)
  const client = new Client({ name: 'test', version: '1' })
  const told: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  client.setNotificationHandler('notifications/prompts/list_changed', () => {
    told.push('prompts')
    resolve()
  })
  await client.connect(far)
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('late')
  expect(JSON.stringify(await client.callTool({ name: 'late', arguments: {} }))).toContain('late')
  source.put({ name: 'greet', description: 'Greets.' })
  await skills.fresh()
  await promise
  expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['advise', 'greet', 'refund'])
  expect(() => server.attach(mcp)).toThrow('connect')
  expect(skills.sessions()).toHaveLength(1)
  await client.close()
  expect(skills.sessions()).toEqual([])
})

test('the tools of the skills win over tools of the host with the same name, with a warning', async () => {
  const createServer = (): McpServer => {
    const mcp = new McpServer({ name: 'shop', version: '1' })
    mcp.registerTool('skill', {}, () => ({ content: [{ type: 'text', text: 'mine' }] }))
    return mcp
  }
  await using it = await open({ 'refund/SKILL.md': text('refund') }, { createServer })
  const client = await it.connect('2026-07-28')
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['skill', 'read_skill_file'])
  expect(it.warnings).toEqual(['mcp: the tool "skill" is hidden by the tool of the skills'])
})
