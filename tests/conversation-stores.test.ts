import { PGlite } from '@electric-sql/pglite'
import {
  type ConversationStore,
  exportConversation,
  importConversation,
  MemoryConversationStore,
  openConversationStore,
  openPostgresStore,
} from '@skillstoke/agent'
import { conversationStoreConformance } from '@skillstoke/agent/testing'
import { type Driver, PGliteDialect } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { POSTGRES_PROGRAMS, PostgresServer } from './fixtures/postgres-server.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

describe('openPostgresStore() with PGlite', () => {
  let pglite: PGlite
  beforeAll(() => {
    pglite = new PGlite()
  })
  beforeEach(async () => {
    await pglite.exec('drop schema public cascade; create schema public')
  })
  afterAll(async () => await pglite.close())

  /** Keeps the database open when the store is closed, because a new database takes a second. */
  class SharedDialect extends PGliteDialect {
    override createDriver(): Driver {
      const driver = super.createDriver()
      driver.destroy = () => Promise.resolve()
      return driver
    }
  }

  test('work whose answer was lost after its commit is done once', async () => {
    const lost = Object.assign(new Error('the connection was lost'), { code: '08006' })
    let isLosing = false
    class LosingDialect extends SharedDialect {
      override createDriver(): Driver {
        const driver = super.createDriver()
        const commit = driver.commitTransaction.bind(driver)
        driver.commitTransaction = async connection => {
          await commit(connection)
          if (isLosing) {
            isLosing = false
            throw lost
          }
        }
        return driver
      }
    }
    await using store = await openPostgresStore(new LosingDialect({ pglite }))
    const once = async (work: () => Promise<unknown>): Promise<void> => {
      isLosing = true
      await work()
      expect(isLosing).toBe(false)
    }
    const message = (id: string) => ({ id, role: 'user', content: id, at: 0 }) as const
    await once(async () => await store.append('t', 'c', 0, [message('a'), message('b')]))
    await once(async () => await store.fork('t', 'c', 1, 'fork'))
    await once(async () => await store.claim('t', 'fork', { holder: 'one', expectSeq: 1, leaseMs: 60_000 }))
    await once(async () => await store.release('t', 'fork', 'one'))
    expect((await store.read('t', 'fork')).map(({ id }) => id)).toEqual(['a'])
    await once(async () => await store.remove('t', 'c'))
    expect((await store.list('t')).map(({ id }) => id)).toEqual(['fork'])
    await expect(store.fork('t', 'fork', 1, 'fork')).rejects.toMatchObject({ actualSeq: 1 })
  })

  describe.each(conversationStoreConformance)('$name', promise => {
    test('passes', async () => {
      await using store = await openPostgresStore(new SharedDialect({ pglite }))
      await promise.check(store)
    })
  })
})

describe.skipIf(POSTGRES_PROGRAMS === undefined)('openPostgresStore() with a PostgreSQL server', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await PostgresServer.start()
  })
  afterAll(async () => await server[Symbol.asyncDispose]())

  describe.each(conversationStoreConformance)('$name', promise => {
    test('passes', async () => {
      await server.clear()
      await using store = await openPostgresStore(server.connect())
      await promise.check(store)
    })
  })

  test('several processes may open a new database at the same time', async () => {
    await server.clear()
    const stores = await Promise.all([0, 1, 2, 3].map(() => openPostgresStore(server.connect())))
    await stores[0]?.append('t', 'c', 0, [message('a')])
    expect(await stores[3]?.read('t', 'c')).toHaveLength(1)
    for (const store of stores) await store.close()
  })

  test('appends, forks and removals that share a system text never fail or lose the text', async () => {
    await server.clear()
    const stores = await Promise.all([0, 1, 2, 3].map(() => openPostgresStore(server.connect())))
    const system = { id: 's', role: 'system', content: 'You help.', at: 1 } as const
    const work = stores.flatMap((store, writer) =>
      Array.from({ length: 15 }, async (_, index) => {
        const id = `c-${writer}-${index}`
        await store.append('t', id, 0, [system, message('a')])
        await store.fork('t', id, 2, `f-${writer}-${index}`)
        await store.remove('t', id)
        expect((await store.read('t', `f-${writer}-${index}`))[0]?.content).toBe('You help.')
      }),
    )
    await Promise.all(work)
    expect(await stores[0]?.list('t')).toHaveLength(60)
    for (const store of stores) await store.close()
  })

  test('a database that cannot be reached is reported with its reason', async () => {
    const pool = server.connect()
    await pool.end()
    await expect(openPostgresStore(pool)).rejects.toMatchObject({
      code: 'IO_FAILED',
      message: expect.stringContaining('the conversations in PostgreSQL cannot be opened: '),
    })
  })
})

describe('importConversation()', () => {
  const digest = `sha256:${'0'.repeat(64)}` as const
  const catalog = { digest, text: '<skills>', tokens: 2, listed: [], omitted: [] }
  const session = { version: 3, generation: digest, catalog, announced: [], ledger: [], seen: {} } as const

  test('restores an exported conversation in another kind of store, from chunks that are cut anywhere', async () => {
    using folder = new TemporaryFolder()
    await using from = await openConversationStore(folder.at('state', 'a.sqlite'))
    const use = { callId: 'call-1', tool: 'skill', skill: 'pdf', revision: digest }
    const messages = Array.from({ length: 450 }, (_, index) => message(`m${index}`))
    const last = {
      ...message('last'),
      content: [{ text: 'ü\u2028"' }],
      uses: [use],
      startsOver: true,
      backTo: 3,
    }
    await from.append('t', 'c', 0, [...messages, last], { session })
    let text = ''
    for await (const line of exportConversation(from, 't', 'c')) text += line
    const to: ConversationStore = new MemoryConversationStore()
    const chunks = text.match(/[\s\S]{1,1000}/g) ?? []
    expect(await importConversation(to, 'u', 'd', chunks)).toBe(451)
    expect(await to.read('u', 'd')).toEqual(await from.read('t', 'c'))
    expect(await to.readSession('u', 'd')).toEqual(session)
    expect(await importConversation(to, 'u', 'd', [text])).toBe(451)
    expect(await to.read('u', 'd')).toHaveLength(451)
    await to.append('u', 'e', 0, [message('other')])
    await expect(importConversation(to, 'u', 'e', [text])).rejects.toMatchObject({ actualSeq: 1 })
  })

  test('keeps the session state after each message, so that a fork begins with the right one', async () => {
    const from = new MemoryConversationStore()
    const later = { ...session, catalog: { ...catalog, text: '<later>' } }
    await from.append('t', 'c', 0, [message('a')])
    await from.append('t', 'c', 1, [message('b')], { session })
    await from.append('t', 'c', 2, [message('c'), message('d')], { session: later })
    await from.append('t', 'c', 4, [message('e')])
    using folder = new TemporaryFolder()
    await using to = await openConversationStore(folder.at('state', 'a.sqlite'))
    await importConversation(to, 't', 'c', exportConversation(from, 't', 'c'))
    const states = [1, 2, 3, 4, 5].map(async seq => await to.readSession('t', 'c', seq))
    expect(await Promise.all(states)).toEqual([undefined, session, session, later, later])
    await to.fork('t', 'c', 2, 'fork')
    expect(await to.readSession('t', 'fork')).toEqual(session)
    expect(await importConversation(to, 't', 'c', exportConversation(from, 't', 'c'))).toBe(5)
  })

  test.each([
    ['', 'the export is empty'],
    ['{"message":1}\n', 'line 1 of the export has no "format": "skillstoke.conversation"'],
    [
      '{"format":"skillstoke.conversation","version":2}\n',
      'the export has version 2; this library reads version 1',
    ],
    ['{"format":"skillstoke.conversation","version":1}\n\n{"mess', 'line 2 of the export is not JSON'],
    ['{"format":"skillstoke.conversation","version":1}\n7', 'line 2 of the export is not a JSON object'],
    [
      '{"format":"skillstoke.conversation","version":1}\n{"a":1}',
      'line 2 of the export is neither a message nor the session state after one',
    ],
  ])('refuses %j', async (text, reason) => {
    await expect(importConversation(new MemoryConversationStore(), 't', 'c', [text])).rejects.toThrow(reason)
  })
})

function message(id: string): { id: string; role: 'user'; content: string; at: number } {
  return { id, role: 'user', content: id, at: 1_790_000_000_123 }
}
