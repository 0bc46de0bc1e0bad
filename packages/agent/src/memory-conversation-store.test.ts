import { expect, test } from 'vitest'
import type { ConversationMessage } from './conversation-store.ts'
import { MemoryConversationStore } from './memory-conversation-store.ts'

const message = (id: string): ConversationMessage => ({ id, role: 'user', content: id, at: 0 })

test('append() compares the head: of two writers one wins, and a repeat changes nothing', async () => {
  const store = new MemoryConversationStore()
  expect(await store.append('t', 'c', 0, [message('a'), message('b')])).toBe(2)
  await expect(store.append('t', 'c', 0, [message('x')])).rejects.toMatchObject({
    name: 'ConversationConflictError',
    actualSeq: 2,
  })
  expect(await store.append('t', 'c', 0, [message('a'), message('b')])).toBe(2)
  expect((await store.read('t', 'c')).map(({ id, seq }) => [id, seq])).toEqual([
    ['a', 1],
    ['b', 2],
  ])
})

test('tenants and conversations do not see each other', async () => {
  const store = new MemoryConversationStore()
  await store.append('t', 'c', 0, [message('a')])
  expect(await store.read('u', 'c')).toEqual([])
  expect(await store.read('t', 'd')).toEqual([])
})

test('fork() copies up to a place, remove() forgets', async () => {
  const store = new MemoryConversationStore()
  await store.append('t', 'c', 0, [message('a'), message('b'), message('c')])
  await store.fork('t', 'c', 2, 'd')
  await store.append('t', 'd', 2, [message('x')])
  expect((await store.read('t', 'd')).map(each => each.id)).toEqual(['a', 'b', 'x'])
  expect((await store.read('t', 'c', { after: 1, limit: 1 })).map(each => each.id)).toEqual(['b'])
  await expect(store.fork('t', 'c', 1, 'd')).rejects.toMatchObject({ name: 'ConversationConflictError' })
  await store.remove('t', 'c')
  expect(await store.read('t', 'c')).toEqual([])
})

test('what was stored cannot be altered through what was given or read', async () => {
  const store = new MemoryConversationStore()
  const content = { text: 'a' }
  await store.append('t', 'c', 0, [{ ...message('a'), content }])
  content.text = 'changed'
  const [row] = await store.read('t', 'c')
  Object.assign(row?.content as object, { text: 'changed' })
  expect((await store.read('t', 'c'))[0]?.content).toEqual({ text: 'a' })
})
