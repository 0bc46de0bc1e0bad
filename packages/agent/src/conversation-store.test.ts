import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MemoryConversationStore } from './memory-conversation-store.ts'
import { openConversationStore } from './open-conversation-store.ts'
import { conversationStoreConformance } from './testing/index.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'conversations-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const pathOf = (): string => join(folder, 'state', 'conversations.sqlite')

describe.each(conversationStoreConformance)('$name', promise => {
  test('in memory', async () => {
    await promise.check(new MemoryConversationStore())
  })
  test('in SQLite', async () => {
    await using store = await openConversationStore(pathOf())
    await promise.check(store)
  })
})

describe('openConversationStore()', () => {
  const message = (id: string): Parameters<MemoryConversationStore['append']>[3][number] => ({
    id,
    role: 'user',
    content: id,
    at: 0,
  })

  test('keeps conversations after a restart, and lets several stores open the same file', async () => {
    const [a, b] = await Promise.all([openConversationStore(pathOf()), openConversationStore(pathOf())])
    await a.append('t', 'c', 0, [message('a')])
    await expect(b.append('t', 'c', 0, [message('b')])).rejects.toMatchObject({ actualSeq: 1 })
    await b.append('t', 'c', 1, [message('b')])
    await a.close()
    await a.close()
    await b.close()
    await expect(a.read('t', 'c')).rejects.toMatchObject({ code: 'CLOSED' })
    await using later = await openConversationStore(pathOf())
    expect((await later.read('t', 'c')).map(({ id }) => id)).toEqual(['a', 'b'])
  })

  test('several stores write to the same file one after the other, and do not block the process', async () => {
    const stores = await Promise.all([0, 1, 2].map(() => openConversationStore(pathOf())))
    await stores[0]?.append('t', 'source', 0, [message('a')])
    let ticks = 0
    const timer = setInterval(() => ticks++, 1)
    const work = stores.flatMap((store, writer) =>
      Array.from({ length: 20 }, async (_, index) => {
        await store.append('t', `c-${writer}-${index}`, 0, [message('a'), message('b')])
        await store.fork('t', 'source', 1, `f-${writer}-${index}`)
      }),
    )
    await Promise.all(work)
    clearInterval(timer)
    expect(ticks).toBeGreaterThan(0)
    expect(await stores[0]?.read('t', 'c-2-19')).toHaveLength(2)
    for (const store of stores) await store.close()
  })

  test('stores each system text, catalog and list only once, and removes the texts that no conversation uses', async () => {
    const digest = `sha256:${'0'.repeat(64)}` as const
    const catalog = { digest, text: '<skills>', tokens: 2, listed: [], omitted: [] }
    const state = { version: 3, generation: digest, catalog, announced: [], ledger: [], seen: {} } as const
    const countTexts = (): number => {
      const database = new DatabaseSync(pathOf())
      const [row] = database.prepare('SELECT count(*) AS count FROM text').all()
      database.close()
      return Number(row?.['count'])
    }
    await using store = await openConversationStore(pathOf())
    const system = { ...message('s'), role: 'system', content: 'You help. <skills>' } as const
    for (const id of ['one', 'two']) {
      await store.append('t', id, 0, [system], { session: state })
      await store.append('t', id, 1, [message('a')], { session: state })
    }
    expect(countTexts()).toBe(3)
    await store.remove('t', 'one')
    expect(countTexts()).toBe(3)
    await store.remove('t', 'two')
    expect(countTexts()).toBe(0)
  })

  test('creates files that only their owner can read', async () => {
    await using store = await openConversationStore(pathOf())
    await store.append('t', 'c', 0, [message('a')])
    for (const name of ['', '-wal']) expect(statSync(`${pathOf()}${name}`).mode & 0o077).toBe(0)
  })

  test('rejects a file that is not a database or has a newer format, and leaves the file unchanged', async () => {
    const path = join(folder, 'broken.sqlite')
    writeFileSync(path, 'not a database, but quite long'.repeat(100))
    await expect(openConversationStore(path)).rejects.toMatchObject({
      code: 'IO_FAILED',
      message: expect.stringMatching(/the conversations in ".*broken\.sqlite" cannot be opened: /),
    })
    await (await openConversationStore(pathOf())).close()
    const database = new DatabaseSync(pathOf())
    database.exec("INSERT INTO kysely_migration (name, timestamp) VALUES ('2027-01-01-later', '2027')")
    database.close()
    await expect(openConversationStore(pathOf())).rejects.toMatchObject({
      message: expect.stringContaining('2027-01-01-later'),
    })
  })
})
