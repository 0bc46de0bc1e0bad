import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Client } from '@modelcontextprotocol/client'
import { type AuthInfo, OAuthError, OAuthErrorCode } from '@modelcontextprotocol/server'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ERAS, open, text } from '../../../tests/fixtures/mcp-harness.ts'
import { bearerTokens, hashToken, oauthResource } from './auth/index.ts'
import type { AuditEntry } from './request-trace.ts'

const SUPPORT = 'support-'.padEnd(40, 's')
const ADMIN = 'admin-'.padEnd(40, 'a')
const FILES = {
  'support-mail/SKILL.md': text('support-mail'),
  'billing/SKILL.md': text('billing'),
  'internal/SKILL.md': text('internal'),
}
const access = bearerTokens([
  { name: 'help-desk', token: SUPPORT, scope: { include: ['support-*', 'internal'] } },
  { name: 'admin', sha256: hashToken(ADMIN) },
])
const authorize = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })

describe.each(ERAS)('access of a client with protocol version %s', era => {
  test('each client sees its own skills, everywhere', async () => {
    await using it = await open(FILES, { access, scope: { exclude: ['internal'] } })
    const desk = await it.connect(era, authorize(SUPPORT))
    const admin = await it.connect(era, authorize(ADMIN))
    expect((await desk.listPrompts()).prompts.map(({ name }) => name)).toEqual(['support-mail'])
    expect((await admin.listPrompts()).prompts.map(({ name }) => name)).toEqual(['billing', 'support-mail'])
    expect((await desk.listResources()).resources).toHaveLength(1)
    const load = async (client: typeof desk): Promise<string> =>
      JSON.stringify((await client.callTool({ name: 'skill', arguments: { name: 'billing' } })).content)
    expect(await load(desk)).not.toContain('Body of billing.')
    expect(await load(admin)).toContain('Body of billing.')
    expect(desk.getInstructions()).not.toContain('billing')
    await expect(desk.readResource({ uri: 'skill://billing/SKILL.md' })).rejects.toThrow()
  })

  test('a client gets no notification about a hidden skill', async () => {
    await using it = await open(FILES, { access })
    const desk = await it.connect(era, authorize(SUPPORT))
    const told: string[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    desk.setNotificationHandler('notifications/resources/list_changed', () => void told.push('list'))
    desk.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      told.push(params.uri)
      if (params.uri === 'skill://support-mail/SKILL.md') resolve()
    })
    const uris = ['skill://billing/SKILL.md', 'skill://support-mail/SKILL.md']
    if (era === '2026-07-28') await desk.listen({ resourcesListChanged: true, resourceSubscriptions: uris })
    else for (const uri of uris) await desk.subscribeResource({ uri })
    await it.write('billing/SKILL.md', text('billing', 'New.').replace('Does billing', 'Bills'))
    await it.clock.advance(300)
    await it.write('support-mail/SKILL.md', text('support-mail', 'New.'))
    await promise
    expect(told).toEqual(['skill://support-mail/SKILL.md'])
  })
})

describe.each(ERAS)('open streams of clients with protocol version %s', era => {
  /** Counts the notifications about one skill. */
  const follow = async (client: Client, uri: string): Promise<{ count: number }> => {
    const told = { count: 0 }
    client.setNotificationHandler('notifications/resources/updated', () => void told.count++)
    if (era === '2026-07-28') await client.listen({ resourceSubscriptions: [uri] })
    else await client.subscribeResource({ uri })
    return told
  }
  const URI = 'skill://support-mail/SKILL.md'

  test('the stream of a client whose token is no longer accepted ends within a minute', async () => {
    const gone = new Set<string>()
    const own = bearerTokens([
      { name: 'desk', token: SUPPORT },
      { name: 'admin', token: ADMIN },
    ])
    const verifier = {
      verifyAccessToken: async (token: string) => {
        if (gone.has(token)) throw new OAuthError(OAuthErrorCode.InvalidToken, 'removed')
        return await own.verifier.verifyAccessToken(token)
      },
    }
    await using it = await open(FILES, { access: { ...own, verifier } })
    const desk = await follow(await it.connect(era, authorize(SUPPORT)), URI)
    const admin = await follow(await it.connect(era, authorize(ADMIN)), URI)
    await it.write('support-mail/SKILL.md', text('support-mail', 'First.'))
    await vi.waitFor(() => expect([desk.count, admin.count]).toEqual([1, 1]))
    gone.add(SUPPORT)
    await it.clock.advance(60_000)
    await it.write('support-mail/SKILL.md', text('support-mail', 'Second.'))
    await vi.waitFor(() => expect(admin.count).toBe(2))
    expect(desk.count).toBe(1)
  })

  test('if the access control reports a change, streams of removed clients and of changed scopes end at once', async () => {
    const listeners = new Set<() => void>()
    let clients = [
      { name: 'gone', token: 'gone-'.padEnd(40, 'g') },
      { name: 'desk', token: SUPPORT, scope: { include: ['support-*'] } },
      { name: 'admin', token: ADMIN },
    ]
    let current = bearerTokens(clients)
    const followed = {
      ...current,
      verifier: {
        verifyAccessToken: async (token: string) => await current.verifier.verifyAccessToken(token),
      },
      scopeOf: (auth: AuthInfo) => current.scopeOf?.(auth),
      subscribe: (listener: () => void) => {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
    }
    await using it = await open(FILES, { access: followed })
    const told = await Promise.all(
      clients.map(async ({ token }) => await follow(await it.connect(era, authorize(token)), URI)),
    )
    await it.write('support-mail/SKILL.md', text('support-mail', 'First.'))
    await vi.waitFor(() => expect(told.map(({ count }) => count)).toEqual([1, 1, 1]))
    clients = clients
      .slice(1)
      .map(each => (each.name === 'desk' ? { ...each, scope: { include: ['*'] } } : each))
    current = bearerTokens(clients)
    const before = listeners.size
    for (const listener of [...listeners]) listener()
    await vi.waitFor(() => expect(listeners.size).toBe(before - 2))
    await it.clock.advance(300)
    await it.write('support-mail/SKILL.md', text('support-mail', 'Second.'))
    await vi.waitFor(() => expect(told.map(({ count }) => count)).toEqual([1, 1, 2]))
  })

  test('a client keeps its notifications when more clients with other scopes come than views are kept', async () => {
    const many = {
      verifier: {
        verifyAccessToken: (token: string) =>
          Promise.resolve({ token, clientId: token, scopes: [], expiresAt: 253_370_764_800 }),
      },
      scopeOf: ({ clientId }: { clientId: string }) => ({ include: ['support-*', clientId] }),
    }
    await using it = await open(FILES, { access: many, maxSessions: 400 })
    const first = await follow(await it.connect(era, authorize('client-0')), URI)
    for (let i = 1; i <= 260; i++) {
      const client = await it.connect(era, authorize(`client-${i}`))
      await client.listPrompts()
    }
    await it.write('support-mail/SKILL.md', text('support-mail', 'First.'))
    await vi.waitFor(() => expect(first.count).toBe(1))
  })
})

test('a request without a valid token is refused, and audited', async () => {
  const audited: AuditEntry[] = []
  await using it = await open(FILES, { access, audit: entry => void audited.push(entry) })
  const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} }
  for (const headers of [{}, authorize('wrong'), { authorization: `Basic ${SUPPORT}` }]) {
    const response = await it.request(headers, initialize)
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/)
  }
  const client = await it.connect('2025-11-25', authorize(SUPPORT))
  await client.callTool({ name: 'skill', arguments: { name: 'support-mail' } })
  await client.callTool({ name: 'skill', arguments: { name: 'billing' } })
  await expect(client.getPrompt({ name: 'billing' })).rejects.toThrow()
  expect(audited).toMatchObject([
    { method: 'POST', name: '/mcp', outcome: 'refused' },
    { outcome: 'refused' },
    { outcome: 'refused' },
    {
      client: 'help-desk',
      method: 'tools/call',
      name: 'skill',
      skill: 'support-mail',
      revision: it.skills.current.get('support-mail').revision,
      outcome: 'ok',
    },
    { client: 'help-desk', method: 'tools/call', outcome: 'failed' },
    { client: 'help-desk', method: 'prompts/get', name: 'billing', outcome: 'error' },
  ])
  expect(JSON.stringify(audited)).not.toContain(SUPPORT)
})

test('an audit function that throws does not fail the request', async () => {
  const audit = (): void => {
    throw new Error('the log is full')
  }
  await using it = await open(FILES, { audit })
  const client = await it.connect('2026-07-28')
  const answer = await client.callTool({ name: 'skill', arguments: { name: 'billing' } })
  expect(JSON.stringify(answer.content)).toContain('Body of billing.')
})

test('a client cannot use the session of another client', async () => {
  await using it = await open(FILES, { access })
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
  const began = await it.request(authorize(ADMIN), { jsonrpc: '2.0', id: 1, method: 'initialize', params })
  const session = { 'mcp-session-id': began.headers.get('mcp-session-id') ?? '' }
  const ping = { jsonrpc: '2.0', id: 2, method: 'ping' }
  expect((await it.request({ ...authorize(ADMIN), ...session }, ping)).status).toBe(200)
  expect((await it.request({ ...authorize(SUPPORT), ...session }, ping)).status).toBe(404)
})

test('a client that sends too many requests gets 429, and other clients do not', async () => {
  const audited: AuditEntry[] = []
  const audit = (entry: AuditEntry): void => void audited.push(entry)
  await using it = await open(FILES, { access, audit, requestsPerMinute: 3 })
  const ping = { jsonrpc: '2.0', id: 2, method: 'ping' }
  const statusOf = async (token: string): Promise<number> => (await it.request(authorize(token), ping)).status
  for (let i = 0; i < 3; i++) expect(await statusOf(SUPPORT)).not.toBe(429)
  const refused = await it.request(authorize(SUPPORT), ping)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '20'])
  expect(audited.at(-1)).toMatchObject({ client: 'help-desk', outcome: 'refused' })
  expect(await statusOf(ADMIN)).not.toBe(429)
  await it.clock.advance(20_000)
  expect(await statusOf(SUPPORT)).not.toBe(429)
})

test('without a client, bearerTokens() refuses everybody', async () => {
  await using it = await open(FILES, { access: bearerTokens([]) })
  expect((await it.request(authorize(SUPPORT), {})).status).toBe(401)
})

test('an expired bearer token is refused', async () => {
  const old = bearerTokens([{ name: 'old', token: SUPPORT, expiresAt: Date.now() - 1_000 }])
  await using it = await open(FILES, { access: old })
  expect((await it.request(authorize(SUPPORT), {})).status).toBe(401)
})

test.each([
  [[{ name: 'a' }], 'needs either "token" or "sha256"'],
  [[{ name: 'a', token: 'short' }], 'has 5 characters; use at least 32'],
  [[{ name: 'a', token: `${SUPPORT} ` }], 'characters that no header may have'],
  [[{ name: 'a', sha256: 'abc' }], '64 hexadecimal digits'],
  [[{ name: '', token: SUPPORT }], 'has no name'],
  [
    [
      { name: 'a', token: SUPPORT },
      { name: 'b', token: SUPPORT },
    ],
    'the same token',
  ],
  [
    [
      { name: 'a', token: SUPPORT },
      { name: 'a', token: ADMIN },
    ],
    'same name',
  ],
])('bearerTokens(%j) is refused', (clients, reason) => {
  expect(() => bearerTokens(clients)).toThrow(reason)
})

describe('oauthResource()', () => {
  const issuerServer = createServer()
  let issuer: string
  let isDown = false
  let privateKey: Awaited<ReturnType<typeof generateKeyPair>>['privateKey']
  let otherKey: typeof privateKey

  beforeAll(async () => {
    const pair = await generateKeyPair('ES256')
    privateKey = pair.privateKey
    otherKey = (await generateKeyPair('ES256')).privateKey
    const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'k1', alg: 'ES256' }
    issuerServer.on('request', (request, response) => {
      const documents: Record<string, unknown> = {
        '/.well-known/openid-configuration': { issuer, jwks_uri: `${issuer}/keys` },
        '/keys': { keys: [jwk] },
      }
      const document = isDown ? undefined : documents[request.url ?? '']
      response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(document ?? {}))
    })
    issuerServer.listen(0, '127.0.0.1')
    await once(issuerServer, 'listening')
    issuer = `http://127.0.0.1:${(issuerServer.address() as AddressInfo).port}`
  })
  afterAll(() => void issuerServer.close())

  const resource = 'http://127.0.0.1/mcp'
  const sign = async (
    claims: Record<string, unknown>,
    { key = privateKey, audience = resource, expires = '1h' } = {},
  ): Promise<string> =>
    await new SignJWT({ client_id: 'agent-7', ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setExpirationTime(expires)
      .sign(key)
  const skills = { 'skills:support': ['support-*'], 'skills:all': ['*'] }

  test('a token opens the skills of its scopes', async () => {
    const audited: AuditEntry[] = []
    const options = {
      access: oauthResource({ resource, issuer, skills }),
      audit: (entry: AuditEntry) => void audited.push(entry),
    }
    await using it = await open(FILES, options)
    const namesFor = async (scope: string | undefined): Promise<string[]> => {
      const token = await sign(scope === undefined ? {} : { scope })
      const client = await it.connect('2026-07-28', authorize(token))
      return (await client.listPrompts()).prompts.map(({ name }) => name)
    }
    expect(await namesFor('openid skills:support')).toEqual(['support-mail'])
    expect(await namesFor('skills:support skills:all')).toEqual(['billing', 'internal', 'support-mail'])
    expect(await namesFor('openid')).toEqual([])
    expect(await namesFor(undefined)).toEqual([])
    const client = await it.connect('2025-11-25', authorize(await sign({ scp: ['skills:all'], sub: 'ann' })))
    await client.callTool({ name: 'skill', arguments: { name: 'billing' } })
    expect(audited.at(-1)).toMatchObject({ client: 'agent-7 ann', skill: 'billing' })
  })

  test('two different pairs of client and user are never one identity, and a token without both is refused', async () => {
    const names: (string | undefined)[] = []
    await using it = await open(FILES, {
      access: oauthResource({ resource, issuer }),
      audit: ({ client }) => void names.push(client),
    })
    const pairs = [
      { client_id: 'a b', sub: 'c' },
      { client_id: 'a', sub: 'b c' },
      { client_id: 'a', sub: 'a' },
      { client_id: 'a' },
      { client_id: undefined, sub: 'a' },
      { client_id: 'user:a' },
    ]
    for (const claims of pairs) {
      const client = await it.connect('2026-07-28', authorize(await sign(claims)))
      await client.callTool({ name: 'skill', arguments: { name: 'billing' } })
    }
    expect(names).toEqual(['a%20b c', 'a b%20c', 'a a', 'a', 'user:a', 'user%3Aa'])
    expect((await it.request(authorize(await sign({ client_id: undefined })), {})).status).toBe(401)
  })

  test('a token of another audience, issuer or key, an old token, and a weak algorithm are refused', async () => {
    await using it = await open(FILES, {
      access: oauthResource({ resource, issuer, requiredScopes: ['mcp'] }),
    })
    const good = await sign({ scope: 'mcp' })
    const statusOf = async (token: string): Promise<number> =>
      (await it.request(authorize(token), { jsonrpc: '2.0', id: 1, method: 'ping' })).status
    expect(await statusOf(good)).toBe(400) // accepted, but a session has to begin with "initialize"
    expect(await statusOf(await sign({ scope: 'mcp' }, { audience: 'http://other/mcp' }))).toBe(401)
    expect(await statusOf(await sign({ scope: 'mcp' }, { key: otherKey }))).toBe(401)
    expect(await statusOf(await sign({ scope: 'mcp' }, { expires: '-1h' }))).toBe(401)
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${good.split('.')[1]}.`
    expect(await statusOf(unsigned)).toBe(401)
    const lacking = await it.request(authorize(await sign({ scope: 'other' })), {})
    expect(lacking.status).toBe(403)
    expect(lacking.headers.get('www-authenticate')).toContain('insufficient_scope')
  })

  test('clients find the authorization server through the metadata of the resource', async () => {
    await using it = await open(FILES, { access: oauthResource({ resource, issuer, skills }) })
    const refused = await it.request({}, {})
    const url = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1] ?? ''
    expect(url).toBe('http://127.0.0.1/.well-known/oauth-protected-resource/mcp')
    // The challenge for a request without a bearer token names no error (RFC 6750).
    for (const authorization of [undefined, '', 'Basic YTpi', 'Bearer', 'Bearer '])
      expect(
        (await it.request(authorization === undefined ? {} : { authorization }, {})).headers.get(
          'www-authenticate',
        ),
      ).toBe(`Bearer resource_metadata="${url}"`)
    const wrong = await it.request(authorize('wrong'), {})
    expect(wrong.headers.get('www-authenticate')).toContain('error="invalid_token"')
    const document = await it.mcp.fetch(new Request(url))
    expect(await document.json()).toEqual({
      resource,
      authorization_servers: [issuer],
      bearer_methods_supported: ['header'],
      scopes_supported: ['skills:support', 'skills:all'],
    })
    expect((await it.mcp.fetch(new Request(url, { method: 'POST' }))).status).toBe(405)
  })

  test('while the issuer cannot be reached, requests fail with 500, and later ones succeed', async () => {
    const statusesOf = async (options: { readonly jwksUrl?: string }): Promise<number[]> => {
      await using it = await open(FILES, { access: oauthResource({ resource, issuer, ...options }) })
      const token = authorize(await sign({}))
      isDown = true
      const first = await it.request(token, { jsonrpc: '2.0', id: 1, method: 'ping' })
      isDown = false
      const second = await it.request(token, { jsonrpc: '2.0', id: 1, method: 'ping' })
      return [first.status, second.status]
    }
    expect(await statusesOf({})).toEqual([500, 400])
    expect(await statusesOf({ jwksUrl: `${issuer}/keys` })).toEqual([500, 400])
  })

  test.each([
    [
      { resource: 'http://example.com/mcp', issuer: 'https://login.example.com' },
      '"resource" is "http://example.com/mcp"',
    ],
    [{ resource: 'https://example.com/mcp', issuer: 'login' }, '"issuer" is "login"; use an https address'],
  ])('oauthResource(%j) is refused', (options, reason) => {
    expect(() => oauthResource(options)).toThrow(reason)
  })
})
