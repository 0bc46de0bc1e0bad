import { createHash } from 'node:crypto'
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills'
import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import { ERAS, type Harness, listen, open, text } from '../../../tests/fixtures/mcp-harness.ts'
import { GENERATION_META_KEY, REVISION_META_KEY } from './skill-entry.ts'
import { SkillMcp } from './skill-mcp.ts'

describe.each(ERAS)('SkillMcp over HTTP, for a client with protocol version %s', era => {
  test('offers two constant tools, whose answers name the generation and the skill revision', async () => {
    await using it = await open({ 'pdf/SKILL.md': text('pdf') })
    const client = await it.connect(era)
    const { tools } = await client.listTools()
    expect(tools.map(tool => tool.name)).toEqual(['skill', 'read_skill_file'])
    const answer = await client.callTool({ name: 'skill', arguments: { name: 'pdf' } })
    expect(answer.content[0]).toMatchObject({ type: 'text', text: expect.stringContaining('Body of pdf.') })
    expect(answer._meta).toMatchObject({
      [GENERATION_META_KEY]: it.skills.current.digest,
      [REVISION_META_KEY]: it.skills.current.get('pdf').revision,
    })
    await it.write('pdf/SKILL.md', text('pdf', 'Newest.'))
    const newest = await client.callTool({ name: 'skill', arguments: { name: 'pdf' } })
    expect(JSON.stringify(newest.content)).toContain('Newest.')
    expect((await client.listTools()).tools).toEqual(tools)
  })

  test('explains an invalid tool call to the model, and reports an unknown tool as an error', async () => {
    await using it = await open({ 'pdf/SKILL.md': text('pdf') })
    const client = await it.connect(era)
    expect(await client.callTool({ name: 'skill', arguments: { name: 42 } })).toMatchObject({
      isError: true,
      content: [{ text: '"name" is 42; it must be text\n' }],
    })
    await expect(client.callTool({ name: 'pdf', arguments: {} })).rejects.toThrow(
      'there is no tool "pdf": it is a skill; call the tool "skill" with {"name":"pdf"} and follow its instructions',
    )
  })

  test('puts the catalog into the instructions, and serves only the skills in its scope', async () => {
    await using it = await open(
      { 'pdf/SKILL.md': text('pdf'), 'maps/SKILL.md': text('maps') },
      { scope: { include: ['pdf'] } },
    )
    const client = await it.connect(era)
    expect(client.getInstructions()).toContain('Does pdf.')
    expect(client.getInstructions()).not.toContain('maps')
    const entries = await new SkillsClient(client).list()
    expect(entries.skills.map(each => each.uri)).toEqual(['skill://pdf/SKILL.md'])
    expect((await client.listResources()).resources.map(each => each.name)).toEqual(['pdf'])
    await expect(new SkillsClient(client).get('skill://maps/SKILL.md')).rejects.toThrow()
    await expect(client.readResource({ uri: 'skill://maps/SKILL.md' })).rejects.toThrow()
    expect(await client.callTool({ name: 'skill', arguments: { name: 'maps' } })).toMatchObject({
      isError: true,
    })
  })

  test('names 100 skills in the first 2 KB of the instructions, and lists them on the first page with addresses that it answers', async () => {
    const names = Array.from({ length: 100 }, (_, index) => `office-task-${index + 100}`)
    const long = ` ${'It has many rules. '.repeat(20)}`
    const files = names.map(name => [`${name}/SKILL.md`, text(name).replace('Does', `Use for${long}`)])
    await using it = await open(Object.fromEntries(files) as Record<string, string>)
    const client = await it.connect(era)
    const instructions = client.getInstructions() ?? ''
    for (const name of names) expect(instructions.slice(0, 2_048)).toContain(name)
    expect(instructions).not.toContain('skill://')
    const { resources } = await client.listResources()
    expect(resources).toHaveLength(100)
    const [first] = resources
    expect(JSON.stringify(await client.readResource({ uri: first?.uri ?? '' }))).toContain('office-task-100')
    expect((await client.listPrompts()).prompts).toHaveLength(100)
  })

  test('serves files that match the digests in their skill entry, and names the revision in each answer', async () => {
    const image = new Uint8Array([0x89, 0x50, 0, 0xff])
    await using it = await open({
      'pdf/skill.md': text('pdf'),
      'pdf/references/forms.md': '\uFEFFForms',
      'pdf/logo.png': image,
    })
    const client = await it.connect(era)
    const skills = new SkillsClient(client)
    const { skill } = await skills.get('skill://pdf/SKILL.md')
    const { revision } = it.skills.current.get('pdf')
    expect(skill._meta).toEqual({ [REVISION_META_KEY]: revision })
    expect(skill.frontmatter).toEqual({ name: 'pdf', description: 'Does pdf.' })
    expect(skill.resources).toEqual([
      { uri: 'skill://pdf/SKILL.md', digest: sha256(text('pdf')), size: text('pdf').length },
      { uri: 'skill://pdf/logo.png', digest: sha256(image), size: 4 },
      { uri: 'skill://pdf/references/forms.md', digest: sha256('\uFEFFForms'), size: 8 },
    ])
    expect(await skills.read(skill)).toMatchObject({ verified: true, body: 'Body of pdf.\n' })
    expect((await skills.read(skill, 'logo.png')).bytes).toEqual(image)
    expect((await skills.read(skill, 'references/forms.md')).text).toBe('\uFEFFForms')
    const { contents } = await client.readResource({ uri: 'skill://pdf/logo.png' })
    expect(contents).toMatchObject([{ mimeType: 'image/png', _meta: { [REVISION_META_KEY]: revision } }])
  })

  test('serves the list of files and the list of skills that clients of FastMCP read, at their newest revision', async () => {
    await using it = await open(
      {
        'pdf/skill.md': text('pdf'),
        'pdf/a b.md': 'x',
        'maps/SKILL.md': text('maps'),
        'maps/_manifest': 'own',
      },
      { scope: { exclude: ['secret'] } },
    )
    const client = await it.connect(era)
    const read = async (uri: string): Promise<unknown> => {
      const [content] = (await client.readResource({ uri })).contents
      if (content === undefined || !('text' in content)) throw new Error(`${uri} is no text`)
      return content.mimeType === 'application/json' ? JSON.parse(content.text) : content.text
    }
    await it.write('pdf/a b.md', 'newer')
    await it.write('secret/SKILL.md', text('secret'))
    expect(await read('skill://pdf/_manifest')).toEqual({
      skill: 'pdf',
      files: [
        { path: 'a b.md', size: 5, hash: sha256('newer') },
        { path: 'SKILL.md', size: text('pdf').length, hash: sha256(text('pdf')) },
      ],
    })
    expect(await read('skill://index.json')).toEqual({
      $schema: expect.stringContaining('/discovery/0.2.0/'),
      skills: ['maps', 'pdf'].map(name => ({
        name,
        type: 'skill-md',
        description: `Does ${name}.`,
        url: `skill://${name}/SKILL.md`,
      })),
    })
    expect(await read('skill://maps/_manifest')).toBe('own')
    await expect(read('skill://secret/_manifest')).rejects.toThrow()
    await expect(read('skill://pdf/x/_manifest')).rejects.toThrow()
  })

  test('lists the content of folders, and refuses URIs that name no folder', async () => {
    await using it = await open({ 'pdf/SKILL.md': text('pdf'), 'pdf/references/forms.md': 'x' })
    const skills = new SkillsClient(await it.connect(era))
    const names = async (uri: string): Promise<string[]> =>
      (await skills.readDirectory(uri)).resources.map(each => `${each.name} ${each.mimeType}`)
    expect(await names('skill://pdf')).toEqual(['SKILL.md text/markdown', 'references inode/directory'])
    expect(await names('skill://pdf/references')).toEqual(['forms.md text/markdown'])
    await expect(names('skill://pdf/SKILL.md')).rejects.toThrow('not a directory')
    await expect(names('skill://pdf/refer')).rejects.toThrow('not a directory')
  })

  test('returns correct pages of each list even if skills change between two pages', async () => {
    await using it = await open(
      Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map(name => [`${name}/SKILL.md`, text(name)])),
      { pageSize: 2 },
    )
    const client = await it.connect(era)
    const skills = new SkillsClient(client)
    expect((await skills.list()).skills).toHaveLength(5)
    const first = await skills.list({ cursor: Buffer.from('a').toString('base64url') })
    expect(first.skills.map(each => each.frontmatter.name)).toEqual(['b', 'c'])
    await it.remove('c')
    await it.write('aa/SKILL.md', text('aa'))
    const second = await skills.list({ cursor: first.nextCursor as string })
    expect(second.skills.map(each => each.frontmatter.name)).toEqual(['d', 'e'])
    await expect(skills.list({ cursor: 'no cursor!' })).rejects.toThrow('is not from this server')
    expect((await client.listResources()).resources.map(each => each.name)).toEqual([
      'a',
      'aa',
      'b',
      'd',
      'e',
    ])
  })

  test('serves a skill whose frontmatter was repaired, but lists no entry for this skill and logs the reason only once', async () => {
    await using it = await open({
      'pdf/SKILL.md': '---\nname: pdf\ndescription: use it: always\n---\nBody.\n',
    })
    const client = await it.connect(era)
    const skills = new SkillsClient(client)
    expect((await skills.list()).skills).toEqual([])
    expect((await skills.list()).skills).toEqual([])
    await expect(skills.get('skill://pdf/SKILL.md')).rejects.toThrow()
    expect(it.warnings).toHaveLength(1)
    expect(it.warnings[0]).toContain('"pdf" is not offered through the Skills extension')
    expect((await client.readResource({ uri: 'skill://pdf/SKILL.md' })).contents).toHaveLength(1)
    expect(await client.callTool({ name: 'skill', arguments: { name: 'pdf' } })).toMatchObject({
      isError: false,
    })
  })

  test.each([
    'skill://unknown/SKILL.md',
    'skill://pdf/unknown.md',
    'skill://pdf/..%2Fmaps/SKILL.md',
    'file:///etc/passwd',
  ])('has no resource %s', async uri => {
    await using it = await open({ 'pdf/SKILL.md': text('pdf'), 'maps/SKILL.md': text('maps') })
    const client = await it.connect(era)
    await expect(client.readResource({ uri })).rejects.toThrow()
  })

  test(`sends the first change of a burst immediately and all later changes in one notification ${verifies('OMNI-X10', 'OMNI-B07', 'P24')}`, async () => {
    await using it = await open({
      'pdf/SKILL.md': text('pdf'),
      'pdf/references/a.md': '1',
      'maps/SKILL.md': text('maps'),
    })
    const client = await it.connect(era)
    const { notices, count } = listen(client)
    const uris = ['skill://pdf/SKILL.md', 'skill://pdf/references/a.md', 'skill://pdf']
    if (era === '2026-07-28') await client.listen({ resourcesListChanged: true, resourceSubscriptions: uris })
    else for (const uri of uris) await client.subscribeResource({ uri })

    await it.write('pdf/SKILL.md', text('pdf', 'First.'))
    await count(2)
    expect(notices.splice(0).sort()).toEqual(['skill://pdf', 'skill://pdf/SKILL.md'])

    await it.write('pdf/SKILL.md', text('pdf', 'Second.'))
    await it.write('maps/SKILL.md', text('maps', 'Nobody asked for it.'))
    await it.write('pdf/references/a.md', '2')
    await it.write('tone/SKILL.md', text('tone'))
    await it.clock.advance(250)
    await count(4)
    expect(notices.splice(0).sort()).toEqual([
      'list',
      'skill://pdf',
      'skill://pdf/SKILL.md',
      'skill://pdf/references/a.md',
    ])

    // The interval has ended and no notification is pending, so the next notification is sent immediately.
    await it.clock.advance(250)
    await it.remove('tone')
    await count(1)
    expect(notices).toEqual(['list'])
  })
})

test('after a loaded skill has changed, the next tool answer of the conversation contains a notice', async () => {
  await using it = await open({ 'pdf/SKILL.md': text('pdf'), 'maps/SKILL.md': text('maps') })
  const client = await it.connect('2025-11-25')
  const other = await it.connect('2025-11-25')
  await client.callTool({ name: 'skill', arguments: { name: 'pdf' } })
  await it.write('pdf/SKILL.md', text('pdf', 'Edited.'))
  const answer = await client.callTool({ name: 'skill', arguments: { name: 'maps' } })
  expect(answer.content).toMatchObject([
    { text: expect.stringContaining('Body of maps.') },
    { text: expect.stringContaining('you loaded pdf at') },
  ])
  expect((await client.callTool({ name: 'skill', arguments: { name: 'maps' } })).content).toHaveLength(1)
  const first = await other.callTool({ name: 'skill', arguments: { name: 'maps' } })
  expect(JSON.stringify(first.content)).not.toContain('skills_update')
})

describe('sessions of 2025-era clients', () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
  }
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' }

  test('closes an unused session, and continues it at the next request of its client', async () => {
    await using it = await open({ 'pdf/SKILL.md': text('pdf') }, { sessionIdleMs: 1_000 })
    const id = (await it.request({}, initialize)).headers.get('mcp-session-id') as string
    expect(it.skills.sessions()).toHaveLength(1)
    await it.clock.advance(900)
    expect((await it.request({ 'mcp-session-id': id }, list)).status).toBe(200)
    await it.clock.advance(2_000)
    expect(it.skills.sessions()).toEqual([])
    expect((await it.request({ 'mcp-session-id': id }, list)).status).toBe(200)
    expect(it.skills.sessions()).toHaveLength(1)
  })

  test('a session that its client has ended is not continued', async () => {
    await using it = await open({ 'pdf/SKILL.md': text('pdf') })
    const id = (await it.request({}, initialize)).headers.get('mcp-session-id') as string
    expect((await it.request({ 'mcp-session-id': id }, undefined, 'DELETE')).status).toBe(200)
    expect((await it.request({ 'mcp-session-id': id }, list)).status).toBe(404)
  })

  const GRACE_MS = 30_000
  const limited = { maxSessions: 2 }

  test('if there are too many sessions, evicts the session that has been idle for longest', async () => {
    await using it = await open({ 'pdf/SKILL.md': text('pdf') }, limited)
    const ids: string[] = []
    for (let count = 0; count < 3; count++) {
      ids.push((await it.request({}, initialize)).headers.get('mcp-session-id') as string)
      await it.clock.advance(1)
      if (count === 1) await it.request({ 'mcp-session-id': ids[0] as string }, list)
      await it.clock.advance(GRACE_MS)
    }
    const statuses = await Promise.all(
      ids.map(async id => (await it.request({ 'mcp-session-id': id }, list)).status),
    )
    // The evicted session would continue if one of the other two were idle.
    expect(statuses).toEqual([200, 503, 200])
  })

  test('never evicts a recently used session, and reports to a refused client when to retry', async () => {
    await using it = await open({ 'pdf/SKILL.md': text('pdf') }, limited)
    const ids: string[] = []
    for (let count = 0; count < 2; count++) {
      ids.push((await it.request({}, initialize)).headers.get('mcp-session-id') as string)
      await it.clock.advance(3_000)
    }
    const refused = await it.request({}, initialize)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '24'])
    for (const id of ids) expect((await it.request({ 'mcp-session-id': id }, list)).status).toBe(200)
    await it.clock.advance(GRACE_MS - 1)
    expect((await it.request({}, initialize)).status).toBe(503)
    await it.clock.advance(1)
    expect((await it.request({}, initialize)).status).toBe(200)
  })

  test('keeps a session with an open stream, even if the stream is silent for a long time', async () => {
    await using it = await open({ 'pdf/SKILL.md': text('pdf') }, limited)
    const clients = [await it.connect('2025-11-25'), await it.connect('2025-11-25')]
    await it.clock.advance(10 * GRACE_MS)
    const refused = await it.request({}, initialize)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '30'])
    for (const client of clients) expect((await client.listTools()).tools).not.toEqual([])
  })

  test('evicts a session whose streams were all cancelled, and keeps a session that opened a new stream', async () => {
    await using it = await open({ 'pdf/SKILL.md': text('pdf') }, limited)
    const begin = async (): Promise<string> =>
      (await it.request({}, initialize)).headers.get('mcp-session-id') as string
    const stream = async (id: string): Promise<ReadableStreamDefaultReader> => {
      const headers = { 'mcp-session-id': id, accept: 'text/event-stream' }
      const { body } = await it.mcp.fetch(new Request('http://127.0.0.1/mcp', { headers }))
      return (body as ReadableStream<Uint8Array>).getReader()
    }
    const [left, kept] = [await begin(), await begin()]
    for (const id of [left, kept]) {
      const reader = await stream(id)
      const awaited = reader.read()
      await reader.cancel()
      await awaited
    }
    const newer = await stream(kept)
    await it.clock.advance(GRACE_MS)
    expect((await it.request({}, initialize)).status).toBe(200)
    expect((await it.request({}, initialize)).status).toBe(503)
    expect((await it.request({ 'mcp-session-id': kept }, list)).status).toBe(200)
    await newer.cancel()
  })

  test('starts exactly as many simultaneous sessions as the limit allows', async () => {
    await using it = await open({ 'pdf/SKILL.md': text('pdf') }, { ...limited, maxSessions: 20 })
    const statuses = await Promise.all(
      Array.from({ length: 50 }, async () => (await it.request({}, initialize)).status),
    )
    expect(statuses.filter(status => status === 200)).toHaveLength(20)
    expect(statuses.filter(status => status === 503)).toHaveLength(30)
    expect(it.skills.sessions()).toHaveLength(20)
    await it.clock.advance(GRACE_MS)
    await Promise.all(Array.from({ length: 50 }, () => it.request({}, initialize)))
    expect(it.skills.sessions()).toHaveLength(20)
  })

  test.each([
    [{ maxSessions: 0 }, 'maxSessions is 0'],
    [{ maxSessions: 1.5 }, 'maxSessions is 1.5'],
    [{ sessionIdleMs: -1 }, 'sessionIdleMs is -1'],
  ])('refuses the options %j', async (options, message) => {
    await expect(open({}, options)).rejects.toThrow(message)
  })

  test('after a refused request, a session counts as unused', async () => {
    await using it = await open({ 'pdf/SKILL.md': text('pdf') }, { sessionIdleMs: 1_000 })
    const id = (await it.request({}, initialize)).headers.get('mcp-session-id') as string
    expect((await it.request({ 'mcp-session-id': id, accept: 'text/html' }, undefined, 'GET')).status).toBe(
      406,
    )
    await it.clock.advance(2_000)
    expect(it.skills.sessions()).toEqual([])
  })

  test('never exceeds the limit when many sessions start simultaneously', async () => {
    await using it = await open({ 'pdf/SKILL.md': text('pdf') }, { maxSessions: 5 })
    await Promise.all(Array.from({ length: 30 }, () => it.request({}, initialize)))
    expect(it.skills.sessions().length).toBeLessThanOrEqual(5)
    expect(it.skills.sessions().length).toBeGreaterThan(0)
  })

  test('calls onSessionChange when a session starts or ends, and after each tool call', async () => {
    const told: number[] = []
    await using it: Harness = await open(
      { 'pdf/SKILL.md': text('pdf') },
      { onSessionChange: () => void told.push(it.skills.sessions().length) },
    )
    const id = (await it.request({}, initialize)).headers.get('mcp-session-id') as string
    expect(told.splice(0)).toEqual([1])
    const call = {
      jsonrpc: '2.0',
      id: 3,
      method: 'tools/call',
      params: { name: 'skill', arguments: { name: 'pdf' } },
    }
    await it.request({ 'mcp-session-id': id }, call)
    expect(told.splice(0)).toEqual([1])
    await it.request({ 'mcp-session-id': id }, undefined, 'DELETE')
    expect(told).toEqual([0])
  })

  test('two servers on one runtime use different session ids', async () => {
    await using it = await open({ 'pdf/SKILL.md': text('pdf') })
    await using other = new SkillMcp(it.skills)
    const begin = new Request('http://127.0.0.1/mcp', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify(initialize),
    })
    expect((await other.fetch(begin)).status).toBe(200)
    expect((await it.request({}, initialize)).status).toBe(200)
    expect(it.skills.sessions().map(({ id }) => id)).toEqual(['mcp-1', 'mcp-2'])
  })

  test('creates a session only for a handshake, not for other requests or an unknown session id', async () => {
    await using it = await open({ 'pdf/SKILL.md': text('pdf') })
    expect((await it.request({}, list)).status).toBe(400)
    expect((await it.request({}, undefined, 'GET')).ok).toBe(false)
    expect((await it.request({ 'mcp-session-id': 'made-up' }, list)).status).toBe(404)
    expect(it.skills.sessions()).toEqual([])
  })
})

test('SkillMcp refuses a request body that exceeds the limit', async () => {
  await using it = await open({ 'pdf/SKILL.md': text('pdf') }, { maxRequestBytes: 1_000 })
  const response = await it.request({}, { jsonrpc: '2.0', id: 1, method: 'x'.repeat(2_000) })
  expect(response.status).toBe(413)
})

test('SkillMcp limits the number of subscriptions and the length of their URIs', async () => {
  await using it = await open({ 'pdf/SKILL.md': text('pdf') })
  const client = await it.connect('2025-11-25')
  await expect(client.subscribeResource({ uri: `skill://${'x'.repeat(5_000)}` })).rejects.toThrow('4096')
  for (let count = 0; count < 1_000; count++) await client.subscribeResource({ uri: `skill://pdf/${count}` })
  await expect(client.subscribeResource({ uri: 'skill://pdf/one-more' })).rejects.toThrow(
    '1000 subscriptions',
  )
  await client.unsubscribeResource({ uri: 'skill://pdf/0' })
  await client.subscribeResource({ uri: 'skill://pdf/one-more' })
})

test('a closed SkillMcp refuses requests', async () => {
  await using it = await open({ 'pdf/SKILL.md': text('pdf') })
  await it.mcp.close()
  await expect(it.mcp.serveStdio()).rejects.toThrow('closed')
  expect((await it.request({}, { jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(503)
})

test(`close() ends every connection and leaves the runtime open ${verifies('OMNI-21')}`, async () => {
  await using it = await open({ 'pdf/SKILL.md': text('pdf') })
  const client = await it.connect('2025-11-25')
  await it.mcp.close()
  await it.mcp.close()
  await expect(client.listTools()).rejects.toThrow()
  expect(it.skills.sessions()).toEqual([])
  expect((await it.skills.load('pdf')).body).toBe('Body of pdf.')
})

function sha256(bytes: string | Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}
