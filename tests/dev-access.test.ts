import { get } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DevProcess, startDev } from './fixtures/dev.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

describe('access to the dev server', () => {
  const folder = new TemporaryFolder()
  const state = new TemporaryFolder()
  let dev: DevProcess
  let port: string

  beforeAll(async () => {
    folder.writeSkill('refund')
    dev = await startDev({ root: folder.path, state: state.path, args: ['--allow-host', 'dev.example'] })
    port = new URL(dev.url).port
  })
  afterAll(async () => {
    await dev[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
    state[Symbol.dispose]()
  })

  /** Sends a request with a chosen Host header. `fetch` in Node cannot set this header. */
  const ask = async (path: string, headers: Record<string, string>): Promise<number> =>
    await new Promise((resolve, reject) => {
      get({ host: '127.0.0.1', port, path, headers }, response => {
        response.resume()
        resolve(response.statusCode ?? 0)
      }).once('error', reject)
    })

  const withToken = (): Record<string, string> => ({ authorization: `Bearer ${dev.token}` })

  test.each(['127.0.0.1', 'localhost', '[::1]', 'LOCALHOST', 'dev.example'])(
    'access is granted to the host %s',
    async name => {
      const host = `${name}:${port}`
      expect(await ask('/api/generation', { ...withToken(), host })).toBe(200)
      expect(await ask('/api/generation', { ...withToken(), host, origin: `http://${host}` })).toBe(200)
    },
  )

  test.each(['/', '/api/generation', '/mcp', '/api/login', '/no-such-page'])(
    'access is refused to a foreign host or origin, even with the token: %s',
    async path => {
      for (const host of [
        'evil.example',
        `evil.example:${port}`,
        '127.0.0.1',
        '127.0.0.1:1',
        `127.0.0.1.evil.example:${port}`,
      ])
        expect(await ask(path, { ...withToken(), host }), host).toBe(403)
      const host = `127.0.0.1:${port}`
      for (const origin of [
        'http://evil.example',
        'null',
        `https://127.0.0.1:${port}`,
        'http://127.0.0.1:1',
        'file://',
      ])
        expect(await ask(path, { ...withToken(), host, origin }), origin).toBe(403)
    },
  )

  test.each([
    '/api/generation',
    '/api/skills',
    '/api/skills/refund',
    '/api/sessions',
    '/api/events',
    '/mcp',
    '/api/v1/chat/completions',
    '/api/unknown',
  ])('access is refused without the token: %s', async path => {
    const wrong = [
      {},
      { authorization: 'Bearer wrong' },
      { authorization: `Basic ${dev.token}` },
      { cookie: 'skillstoke=1' },
    ]
    for (const headers of wrong) {
      const response = await fetch(`${dev.url}${path}`, { headers })
      expect(response.status, JSON.stringify(headers)).toBe(401)
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
      expect(JSON.stringify(await response.json())).not.toContain(dev.token)
    }
  })

  test('a page can exchange the token for a strict cookie and a key, which give access to the API but not to MCP', async () => {
    const login = async (token: unknown): Promise<Response> =>
      await fetch(`${dev.url}/api/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token }),
      })
    expect((await login('wrong')).status).toBe(401)
    expect((await login(undefined)).status).toBe(401)
    const response = await login(dev.token)
    const cookie = response.headers.get('set-cookie') ?? ''
    expect(cookie).toMatch(new RegExp(`^skillstoke-${port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`))
    expect(cookie).not.toContain(dev.token)
    const { key } = (await response.json()) as { key: string }
    const pair = cookie.split(';')[0] ?? ''
    const get = async (path: string, headers: Record<string, string>): Promise<number> =>
      (await fetch(`${dev.url}${path}`, { headers })).status
    expect(await get('/api/skills', { cookie: pair, 'x-skillstoke-key': key })).toBe(200)
    expect(await get('/mcp', { cookie: pair, 'x-skillstoke-key': key })).toBe(401)
    // Browsers also send the cookie to servers on other ports of this machine, but those servers do not know the key.
    expect(await get('/api/skills', { cookie: pair })).toBe(401)
    expect(await get('/api/skills', { cookie: pair, 'x-skillstoke-key': 'wrong' })).toBe(401)
    expect(await get('/api/skills', { 'x-skillstoke-key': key })).toBe(401)
  })

  test('every request that changes something must have a JSON body, because a form on another site cannot send JSON', async () => {
    const post = async (type: string, body: string): Promise<number> => {
      const headers = { ...withToken(), 'content-type': type }
      return (await fetch(`${dev.url}/api/reload`, { method: 'POST', headers, body })).status
    }
    expect(await post('application/json', '{}')).toBe(200)
    expect(await post('application/json; charset=utf-8', '{}')).toBe(200)
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp'])
      expect(await post(type, '{}'), type).toBe(415)
    expect(await post('application/json', `"${'x'.repeat(20_000)}"`)).toBe(413)
  })

  test('every answer has headers that forbid everything the page does not need', async () => {
    for (const path of ['/', '/api/generation', '/no-such-page']) {
      const { headers } = await fetch(`${dev.url}${path}`)
      expect(headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'")
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('access-control-allow-origin')).toBeNull()
    }
    expect((await fetch(`${dev.url}/../package.json`)).status).toBe(404)
    expect((await fetch(`${dev.url}/assets/%2e%2e%2f%2e%2e%2fmain.js`)).status).toBe(404)
  })

  test('the server closes a connection whose headers arrive too slowly', async () => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nHost: localhost')
    const closed = new Promise<string>(resolve => {
      let received = ''
      socket.on('data', data => (received += data.toString()))
      socket.on('close', () => resolve(received))
    })
    expect(await closed).toContain('408')
  }, 60_000)
})
