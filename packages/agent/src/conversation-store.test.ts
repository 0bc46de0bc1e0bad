import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MemoryConversationStore } from './memory-conversation-store.ts'
import { openConversationStore } from './sqlite-conversation-store.ts'
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

  test('keeps conversations over a restart, and can be opened by several at once', async () => {
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

  test('many writers of several stores wait for each other without stopping the process', async () => {
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

  test('nobody else can read what is said', async () => {
    await using store = await openConversationStore(pathOf())
    await store.append('t', 'c', 0, [message('a')])
    for (const name of ['', '-wal']) expect(statSync(`${pathOf()}${name}`).mode & 0o077).toBe(0)
  })

  test('a file that is no database, or of a newer version, is told and left alone', async () => {
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
