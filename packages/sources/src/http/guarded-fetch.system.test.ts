import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { archive } from '../archive/archive-source.ts'
import { wellKnown } from '../well-known/well-known-source.ts'
import { isPublicAddress } from './address-guard.ts'
import { createGuardedFetch, guardedFetch } from './guarded-fetch.ts'

let answer: RequestListener
let requests = 0
let host: string

const server = createServer((request, response) => {
  requests++
  answer(request, response)
})

beforeAll(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(async () => {
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
})

const get = async (url: string, options: Partial<Parameters<typeof guardedFetch>[1]> = {}) =>
  await guardedFetch(new URL(url), {
    privateHosts: [host],
    maxBytes: 1000,
    signal: AbortSignal.timeout(5000),
    ...options,
  })

describe('T27: private networks', () => {
  test.each([
    'https://127.0.0.1/',
    'https://127.1/',
    'https://0x7f000001/',
    'https://2130706433/',
    'https://0177.0.0.1/',
    'https://①②⑦.⓪.⓪.①/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::127.0.0.1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://[fd00::1]/',
    'https://[fe80::1]/',
    'https://0.0.0.0/',
    'https://10.1.2.3/',
    'https://169.254.169.254/latest/meta-data/',
    'https://192.168.1.1/',
    'https://100.64.0.1/',
  ])('guardedFetch() refuses %s', async url => {
    await expect(get(url)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(/in a private network or on this machine; allow it as a private host/),
    })
  })

  test.each(['1.1.1.1', '8.8.8.8', '2606:4700:4700::1111'])('isPublicAddress() accepts %s', address => {
    expect(isPublicAddress(address)).toBe(true)
  })

  test('a host name is refused if any of its addresses is private', async () => {
    const resolve = async (): Promise<readonly string[]> => ['93.184.216.34', '10.0.0.1']
    await expect(get('https://example.com/', { resolve })).rejects.toThrow(/example.com is at 10.0.0.1/)
  })

  test('a request resolves the host name only once, even if the DNS record changes a moment later', async () => {
    // The first lookup returns a private address, which is refused. A second lookup in the same request would return a
    // public address.
    const answers = [['127.0.0.1'], ['93.184.216.34']]
    let asked = 0
    const resolve = async (): Promise<readonly string[]> => answers[asked++ % 2] ?? []
    const before = requests
    await expect(get(`https://rebind.test:${host.split(':')[1]}/`, { resolve })).rejects.toThrow(
      /at 127.0.0.1/,
    )
    expect([asked, requests]).toEqual([1, before])
  })

  test('a request resolves its host name only once, and connects to the checked address', async () => {
    let asked = 0
    const port = host.split(':')[1]
    const resolve = async (): Promise<readonly string[]> => {
      asked++
      return ['127.0.0.1']
    }
    answer = (_, response) => void response.end('here')
    const { bytes } = await get(`http://localhost:${port}/`, { resolve, privateHosts: [`localhost:${port}`] })
    expect([Buffer.from(bytes ?? []).toString(), asked]).toEqual(['here', 1])
  })

  test('each redirect is checked like the original URL, and at most five redirects are followed', async () => {
    answer = (_, response) => void response.writeHead(302, { Location: 'https://169.254.169.254/' }).end()
    await expect(get(`http://${host}/`)).rejects.toThrow(/169.254.169.254 is at 169.254.169.254/)
    answer = (request, response) => void response.writeHead(302, { Location: `${request.url}x` }).end()
    const before = requests
    await expect(get(`http://${host}/`)).rejects.toThrow(/more than 5 redirects/)
    expect(requests - before).toBe(6)
  })

  test.each([
    'http://example.com/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'https://user:pw@example.com/',
  ])('guardedFetch() refuses %s', async url => {
    await expect(get(url)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })

  test('unencrypted http is allowed only for hosts on this machine, even if `privateHosts` lists other hosts', async () => {
    const resolve = async (): Promise<readonly string[]> => ['10.0.0.1']
    await expect(get('http://localhost/', { resolve, privateHosts: ['localhost'] })).rejects.toThrow(
      /not on this machine; use https/,
    )
    await expect(get('http://intranet/', { privateHosts: ['intranet'] })).rejects.toThrow(/not encrypted/)
  })
})

describe('answers', () => {
  test('a request sends the entity tag, and the answer 304 means that the content has not changed', async () => {
    answer = (request, response) => {
      const isKnown = request.headers['if-none-match'] === '"1"'
      response.writeHead(isKnown ? 304 : 200, { ETag: '"1"' }).end(isKnown ? undefined : 'text')
    }
    const first = await get(`http://${host}/`)
    expect(first.etag).toBe('"1"')
    expect((await get(`http://${host}/`, { etag: '"1"' })).bytes).toBeUndefined()
  })

  test('an answer above maxBytes is refused, with or without a Content-Length', async () => {
    answer = (_, response) => void response.end('x'.repeat(2000))
    await expect(get(`http://${host}/`)).rejects.toMatchObject({ code: 'TOO_LARGE' })
    answer = (_, response) => {
      response.write('x'.repeat(600))
      response.end('x'.repeat(600))
    }
    await expect(get(`http://${host}/`)).rejects.toMatchObject({ code: 'TOO_LARGE' })
  })

  test('the fetch of createGuardedFetch() closes the connection if an answer exceeds maxBytes', async () => {
    const closed = Promise.withResolvers<void>()
    answer = (_, response) => {
      response.on('close', closed.resolve)
      response.write('x'.repeat(600))
      response.write('x'.repeat(600))
    }
    const fetch = createGuardedFetch({ privateHosts: [host], maxBytes: 1000 })
    await expect((await fetch(`http://${host}/`)).text()).rejects.toMatchObject({ code: 'TOO_LARGE' })
    await closed.promise
    answer = (_, response) => void response.end('x'.repeat(1000))
    expect(await (await fetch(`http://${host}/`)).text()).toHaveLength(1000)
  })

  test.each([
    [404, {}, 'NOT_FOUND', undefined],
    [500, {}, 'IO_FAILED', undefined],
    [429, { 'Retry-After': '7' }, 'IO_FAILED', 7000],
  ])('the error for HTTP status %d contains the status', async (status, headers, code, retryAfterMs) => {
    answer = (_, response) => void response.writeHead(status, headers).end()
    await expect(get(`http://${host}/`)).rejects.toMatchObject({
      code,
      data: { status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
    })
  })

  test('a request fails if its connection breaks during the answer', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'Content-Length': '100' })
      response.write('half')
      setImmediate(() => response.destroy())
    }
    await expect(get(`http://${host}/`)).rejects.toMatchObject({ code: 'IO_FAILED' })
  })

  test('if a server never answers, the request ends when the signal aborts', async () => {
    answer = () => undefined
    const abort = new AbortController()
    const waiting = get(`http://${host}/`, { signal: abort.signal })
    abort.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
  })
})

test.each([
  ['archive', () => archive('https://user:hunter2@example.com/skills.zip')],
  ['wellKnown', () => wellKnown('https://user:hunter2@example.com')],
])('%s() refuses credentials in its URL at once, and does not repeat them', (_, make) => {
  let message = ''
  try {
    make()
  } catch (thrown) {
    message = String(thrown)
  }
  expect(message).toMatch(/has credentials in it/)
  expect(message).not.toContain('hunter2')
})
