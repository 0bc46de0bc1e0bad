import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { MINIFLARE, Workers } from './cloudflare.ts'
import { countBrokenPrefixes, type ModelRequest, type Reply } from './model-server.ts'

const DONE: Reply = { kind: 'text', text: 'Done.' }
const FAIL: Reply = { kind: 'status', status: 400 }
const load = (name: string): Reply => ({ kind: 'call', name: 'skill', input: { name } })

function countText(request: ModelRequest | undefined, text: string): number {
  return (request?.text.split(text).length ?? 1) - 1
}

/** Makes a change while the model answers the request with this number. */
function changeDuring(workers: Workers, number: number, change: () => Promise<void>): void {
  const { server } = workers
  server.beforeAnswer = async () => {
    if (server.requests.length === number) await change()
  }
}

describe.skipIf(!existsSync(MINIFLARE))('AIChatAgent in workerd', () => {
  test('an edit in the middle of a tool loop reaches the next model call once, also after a restart', async () => {
    await using workers = await Workers.open()
    const { requests } = workers.server
    workers.server.play(load('refund'), load('orders'), DONE)
    changeDuring(workers, 2, async () => await workers.write('refund', 'Refunds need form TWO.'))
    const page = await workers.connect()
    await page.say('Begin.')
    expect(requests.map(request => countText(request, 'you loaded refund'))).toEqual([0, 0, 1])
    await page.say('Again.')
    page.close()
    await workers.restart()
    await workers.write('maps', 'Draw maps.')
    const next = await workers.connect()
    await next.say('Once more.')
    expect(requests).toHaveLength(5)
    expect(countText(requests.at(-1), 'you loaded refund')).toBe(1)
    expect(countText(requests.at(-1), 'added: maps')).toBe(1)
    expect(countBrokenPrefixes(requests)).toBe(0)
    next.close()
  })

  test('the notice of a failed model call is sent again once', async () => {
    await using workers = await Workers.open()
    const { requests } = workers.server
    workers.server.play(load('refund'), load('orders'), FAIL)
    changeDuring(workers, 2, async () => await workers.write('refund', 'Refunds need form TWO.'))
    const page = await workers.connect()
    await expect(page.say('Begin.')).rejects.toThrow('error')
    await page.say('Again.')
    expect(requests.map(request => countText(request, 'you loaded refund'))).toEqual([0, 0, 1, 1])
    expect(countBrokenPrefixes(requests.toSpliced(2, 1))).toBe(0)
    page.close()
  })

  test('a regenerated answer forgets the load, and gets the notice again', async () => {
    await using workers = await Workers.open()
    const { requests } = workers.server
    workers.server.play(load('orders'), load('refund'), DONE)
    changeDuring(workers, 2, async () => await workers.write('maps', 'Draw maps.'))
    const page = await workers.connect()
    await page.say('Begin.')
    expect(countText(requests.at(-1), 'added: maps')).toBe(1)
    await page.regenerate()
    expect(countText(requests.at(-1), 'added: maps')).toBe(1)
    expect(countText(requests.at(-1), 'form ONE')).toBe(0)
    await workers.write('refund', 'Refunds need form TWO.')
    await page.say('Again.')
    expect(countText(requests.at(-1), 'you loaded refund')).toBe(0)
    expect(countBrokenPrefixes(requests.slice(3))).toBe(0)
    page.close()
  })

  test('a stopped turn keeps what it loaded', async () => {
    await using workers = await Workers.open()
    const { requests } = workers.server
    workers.server.play(load('refund'), { kind: 'hold' })
    const page = await workers.connect()
    const turn = page.say('Begin.')
    while (requests.length < 2) await workers.server.received()
    page.stop()
    await turn
    await workers.write('refund', 'Refunds need form TWO.')
    await page.say('Again.')
    expect(countText(requests.at(-1), 'form ONE')).toBe(1)
    expect(countText(requests.at(-1), 'you loaded refund')).toBe(1)
    expect(countBrokenPrefixes(requests)).toBe(0)
    page.close()
  })

  test('two messages at the same time are answered one after the other', async () => {
    await using workers = await Workers.open()
    const { requests } = workers.server
    workers.server.play(load('refund'), load('orders'), DONE, DONE)
    changeDuring(workers, 2, async () => await workers.write('maps', 'Draw maps.'))
    const page = await workers.connect()
    await Promise.all([page.say('One.'), page.say('Two.')])
    expect(requests.map(request => countText(request, 'added: maps'))).toEqual([0, 0, 1, 1])
    // The SDK stores the second question before the first answer.
    expect(countBrokenPrefixes(requests)).toBe(1)
    page.close()
  })
})

test('docs/sdks/cloudflare.md shows the whole program', () => {
  const [, shown] = /```ts\n(.*?)```/s.exec(readFileSync('docs/sdks/cloudflare.md', 'utf8')) ?? []
  expect(shown).toBe(readFileSync('tests/sdks/programs/cloudflare.ts', 'utf8'))
})
