import { type Digest, type SessionState, SkillError } from '@skillstoke/core'
import type { ConformanceCase } from '@skillstoke/core/testing'
import {
  ConversationBusyError,
  ConversationConflictError,
  type ConversationMessage,
  type ConversationStore,
} from '../index.ts'

const DIGEST: Digest = `sha256:${'0'.repeat(64)}`

/**
 * Test cases for implementations of `ConversationStore`, for use in any test runner. Call `check()` of each case with
 * an empty store.
 *
 * @example
 * ```ts
 * import { MemoryConversationStore } from '@skillstoke/agent'
 * import { conversationStoreConformance } from '@skillstoke/agent/testing'
 *
 * for (const { check } of conversationStoreConformance) await check(new MemoryConversationStore())
 * ```
 */
export const conversationStoreConformance: readonly ConformanceCase<ConversationStore>[] = [
  {
    name: 'append() compares the last position, lets one of two writers win, and ignores a repeat',
    async check(store) {
      const two = [message('a'), message('b')]
      equal(await store.append('t', 'c', 0, two), 2, 'the new last place')
      await conflicts(store.append('t', 'c', 0, [message('x')]), 2)
      await conflicts(store.append('t', 'c', 3, [message('x')]), 2)
      equal(await store.append('t', 'c', 0, two), 2, 'the same place for the same messages')
      equal(await idsOf(store, 'c'), ['a', 'b'], 'nothing twice')
    },
  },
  {
    name: 'append() lets exactly one of many concurrent writers win each position',
    async check(store) {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 8 }, (_, index) => store.append('t', 'c', 0, [message(`m${index}`)])),
      )
      equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1, 'winners')
      equal((await store.read('t', 'c')).length, 1, 'messages')
    },
  },
  {
    name: 'read() returns complete messages in order and in pages',
    async check(store) {
      const rich: ConversationMessage = {
        id: 'rich',
        role: 'tool',
        content: [{ type: 'text', text: 'ü "x" \u0000 \u2028' }, { nested: [null, true, 1.5] }],
        at: 1_790_000_000_123,
        skills: { generation: 7, digest: DIGEST },
      }
      await store.append('t', 'c', 0, [message('a'), rich, message('b')])
      equal((await store.read('t', 'c'))[1], { ...rich, seq: 2 }, 'the same message')
      equal(
        (await store.read('t', 'c', { after: 1, limit: 1 })).map(({ id }) => id),
        ['rich'],
        'one page',
      )
      equal(await store.read('t', 'none'), [], 'nothing where nothing is')
    },
  },
  {
    name: 'read() and readSession() separate tenants and conversations',
    async check(store) {
      await store.append('t', 'c', 0, [message('a')], { session: state('one') })
      await store.append('u', 'c', 0, [message('a')])
      equal((await store.read('u', 'd')).length, 0, 'another conversation')
      equal(await store.readSession('u', 'c'), undefined, 'another tenant')
      await store.remove('u', 'c')
      equal(await idsOf(store, 'c'), ['a'], 'still there')
    },
  },
  {
    name: 'readSession() returns the newest state, which is stored together with its messages or not at all',
    async check(store) {
      equal(await store.readSession('t', 'c'), undefined, 'none before the first')
      await store.append('t', 'c', 0, [message('a')], { session: state('one') })
      await store.append('t', 'c', 1, [message('b')])
      equal(await store.readSession('t', 'c'), state('one'), 'the first')
      await conflicts(store.append('t', 'c', 0, [message('x')], { session: state('never') }), 2)
      equal(await store.readSession('t', 'c'), state('one'), 'not that of a refused writer')
      await store.append('t', 'c', 2, [], { session: state('two') })
      equal(await store.readSession('t', 'c'), state('two'), 'the second')
      equal(await store.readSession('t', 'c', 1), state('one'), 'the one after the first message')
      equal(await store.readSession('t', 'c', 0), undefined, 'none before the first message')
    },
  },
  {
    name: 'read() returns system texts unchanged, even if several conversations share them',
    async check(store) {
      const system = (id: string): ConversationMessage => ({
        id,
        role: 'system',
        content: 'You help.',
        at: 0,
      })
      await store.append('t', 'c', 0, [system('s'), message('a')], { session: state('one') })
      await store.append('t', 'd', 0, [system('s')], { session: state('one') })
      await store.fork('t', 'c', 2, 'fork')
      for (const gone of ['c', 'd']) {
        await store.remove('t', gone)
        equal((await store.read('t', 'fork'))[0]?.content, 'You help.', `still there without ${gone}`)
        equal(await store.readSession('t', 'fork'), state('one'), `its session without ${gone}`)
      }
    },
  },
  {
    name: 'fork() copies messages and session states up to a position',
    async check(store) {
      await store.append('t', 'c', 0, [message('a')], { session: state('one') })
      await store.append('t', 'c', 1, [message('b')], { session: state('two') })
      await store.append('t', 'c', 2, [message('d')], { session: state('three') })
      await store.fork('t', 'c', 2, 'fork')
      equal(await store.append('t', 'fork', 2, [message('x')]), 3, 'goes on from there')
      equal(await idsOf(store, 'fork'), ['a', 'b', 'x'], 'the messages')
      equal(await store.readSession('t', 'fork'), state('two'), 'what was told by then')
      equal(await idsOf(store, 'c'), ['a', 'b', 'd'], 'the old one as it was')
      await conflicts(store.fork('t', 'c', 1, 'fork'), 3)
    },
  },
  {
    name: 'append() refuses a message whose id is stored already, and stores nothing',
    async check(store) {
      await store.append('t', 'c', 0, [message('a'), message('b')])
      for (const repeated of [[message('a')], [message('x'), message('b')], [message('x'), message('x')]])
        equal(await codeOf(store.append('t', 'c', 2, repeated)), 'INVALID_OPTION', 'refused')
      equal(await idsOf(store, 'c'), ['a', 'b'], 'nothing was added')
      equal(await store.append('t', 'd', 0, [message('a')]), 1, 'another conversation may use the id')
    },
  },
  {
    name: 'fork() refuses a claimed conversation, and accepts an empty one',
    async check(store) {
      await store.append('t', 'c', 0, [message('a')], { session: state('one') })
      await store.claim('t', 'fork', { holder: 'one', expectSeq: 0, leaseMs: 60_000 })
      await isBusy(store.fork('t', 'c', 1, 'fork'))
      equal(await idsOf(store, 'fork'), [], 'nothing was copied')
      await store.release('t', 'fork', 'one')
      await store.fork('t', 'c', 1, 'fork')
      equal(await idsOf(store, 'fork'), ['a'], 'the messages')
      equal(await store.readSession('t', 'fork'), state('one'), 'the state')
    },
  },
  {
    name: 'remove() removes a whole conversation and no other',
    async check(store) {
      await store.append('t', 'c', 0, [message('a')], { session: state('one') })
      await store.append('t', 'd', 0, [message('a')], { session: state('one') })
      await store.remove('t', 'c')
      await store.remove('t', 'c')
      equal([await idsOf(store, 'c'), await store.readSession('t', 'c')], [[], undefined], 'gone')
      equal(await store.readSession('t', 'd'), state('one'), 'the other one')
      equal(await store.append('t', 'c', 0, [message('new')]), 1, 'may begin anew')
    },
  },
  {
    name: 'claim() lets one holder append, until the holder releases the claim or the lease ends',
    async check(store) {
      const claim = (holder: string, expectSeq: number, leaseMs = 60_000): Promise<void> =>
        store.claim('t', 'c', { holder, expectSeq, leaseMs })
      await claim('one', 0)
      await isBusy(claim('two', 0))
      await isBusy(store.append('t', 'c', 0, [message('x')], { holder: 'two' }))
      await isBusy(store.append('t', 'c', 0, [message('x')]))
      equal(await store.list('t'), [], 'a claimed conversation without messages is not listed')
      equal(await store.append('t', 'c', 0, [message('a')], { holder: 'one' }), 1, 'the holder appends')
      await claim('one', 1)
      await store.release('t', 'c', 'two')
      await isBusy(claim('two', 1))
      await store.release('t', 'c', 'one')
      await conflicts(claim('two', 0), 1)
      await claim('two', 1, 0)
      await claim('one', 1)
      equal(await store.append('t', 'c', 1, [message('b')], { holder: 'one' }), 2, 'after the lease')
    },
  },
  {
    name: 'claim() gives a conversation to exactly one of many concurrent claimants',
    async check(store) {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 8 }, (_, index) =>
          store.claim('t', 'c', { holder: `h${index}`, expectSeq: 0, leaseMs: 60_000 }),
        ),
      )
      equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1, 'winners')
    },
  },
  {
    name: 'list() returns the conversations of a tenant in pages',
    async check(store) {
      for (const id of ['b', 'a', 'c'])
        await store.append('t', id, 0, [{ ...message('m'), at: 1_790_000_000_123 }])
      await store.append('u', 'd', 0, [message('m')])
      equal(
        await store.list('t', { limit: 2 }),
        ['a', 'b'].map(id => ({ id, seq: 1, at: 1_790_000_000_123 })),
        'the first page',
      )
      equal(
        (await store.list('t', { after: 'b' })).map(({ id }) => id),
        ['c'],
        'the second page',
      )
    },
  },
  {
    name: 'read() and findUses() return which revisions of skills answered',
    async check(store) {
      const use = { callId: 'call-1', tool: 'skill', skill: 'pdf', revision: DIGEST }
      const other = { ...use, callId: 'call-2', skill: 'maps' }
      await store.append('t', 'c', 0, [message('a'), { ...message('b'), at: 1, uses: [use, other] }])
      await store.append('t', 'd', 0, [{ ...message('e'), at: 2, uses: [use] }])
      const found = [
        { ...use, conversation: 'd', seq: 1, at: 2 },
        { ...use, conversation: 'c', seq: 2, at: 1 },
      ]
      equal(await store.findUses('t', 'pdf'), found, 'the newest first')
      equal(await store.findUses('t', 'pdf', 1), found.slice(0, 1), 'at most one')
      equal(await store.findUses('u', 'pdf'), [], 'another tenant')
      equal(
        (await store.read('t', 'c')).map(({ uses }) => uses?.length),
        [undefined, 2],
        'with their message',
      )
      await store.fork('t', 'c', 2, 'fork')
      equal(
        (await store.findUses('t', 'pdf')).map(({ conversation }) => conversation).sort(),
        ['c', 'd', 'fork'],
        'a fork',
      )
      await store.remove('t', 'c')
      equal(
        (await store.findUses('t', 'maps')).map(({ conversation }) => conversation),
        ['fork'],
        'after a removal',
      )
    },
  },
  {
    name: 'read() returns where a compacted conversation starts over',
    async check(store) {
      await store.append('t', 'c', 0, [message('a'), { ...message('b'), startsOver: true }, message('c')])
      equal(
        (await store.read('t', 'c')).map(({ startsOver }) => startsOver ?? false),
        [false, true, false],
        'the mark',
      )
    },
  },
  {
    name: 'read() returns which messages were taken back, also of a fork',
    async check(store) {
      await store.append('t', 'c', 0, [message('a'), message('b'), { ...message('c'), backTo: 1 }])
      await store.fork('t', 'c', 3, 'fork')
      for (const id of ['c', 'fork'])
        equal(
          (await store.read('t', id)).map(({ backTo }) => backTo),
          [undefined, undefined, 1],
          'the position',
        )
    },
  },
  {
    name: 'removeInactive() removes conversations whose last message is too old, except claimed ones',
    async check(store) {
      for (const [id, at] of [
        ['old', 10],
        ['held', 10],
        ['new', 30],
      ] as const)
        await store.append('t', id, 0, [{ ...message('m'), at }])
      await store.append('u', 'old', 0, [message('m')])
      await store.claim('t', 'held', { holder: 'one', expectSeq: 1, leaseMs: 60_000 })
      equal(await store.removeInactive('t', 20), 1, 'removed')
      equal(
        (await store.list('t')).map(({ id }) => id),
        ['held', 'new'],
        'the others stay',
      )
      equal((await store.list('u')).length, 1, 'another tenant')
    },
  },
  {
    name: 'append() and read() copy messages, so that callers cannot alter stored ones',
    async check(store) {
      const content = { text: 'a' }
      await store.append('t', 'c', 0, [{ ...message('a'), content }])
      content.text = 'changed'
      const [row] = await store.read('t', 'c')
      Object.assign(row?.content as object, { text: 'changed' })
      equal((await store.read('t', 'c'))[0]?.content, { text: 'a' }, 'as it was given')
    },
  },
]

function message(id: string): ConversationMessage {
  return { id, role: 'user', content: id, at: 0 }
}

function state(name: string): SessionState {
  const content = { body: '0123', files: '4567' }
  const ledger = [{ name, revision: DIGEST, toldRevision: DIGEST, content, toldContent: content }]
  const catalog = {
    digest: DIGEST,
    text: `<skill>${name}</skill>`,
    tokens: 7,
    listed: [name],
    omitted: ['b'],
  }
  const announced: SessionState['announced'] = [[name, '0123']]
  const identity = { conversation: '0'.repeat(32), seal: 'a seal' }
  return {
    version: 3,
    ...identity,
    generation: DIGEST,
    catalog,
    announced,
    ledger,
    seen: { [name]: [DIGEST] },
  }
}

async function idsOf(store: ConversationStore, conversation: string): Promise<string[]> {
  return (await store.read('t', conversation)).map(({ id }) => id)
}

async function conflicts(work: Promise<unknown>, actualSeq: number): Promise<void> {
  const failure = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  equal(
    failure instanceof ConversationConflictError ? failure.actualSeq : failure,
    actualSeq,
    'a conflict at',
  )
}

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => undefined,
    (thrown: unknown) => (SkillError.isInstance(thrown) ? thrown.code : thrown),
  )
}

async function isBusy(work: Promise<unknown>): Promise<void> {
  const failure = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  equal(failure instanceof ConversationBusyError && failure.remainingMs > 0, true, 'refused as busy')
}

function equal(actual: unknown, expected: unknown, what: string): void {
  const [is, shouldBe] = [toText(actual), toText(expected)]
  if (is !== shouldBe) throw new Error(`${what}: ${is} instead of ${shouldBe}`)
}

/** Returns JSON with sorted keys. */
function toText(value: unknown): string {
  const sorted = (_: string, item: unknown): unknown =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item
  return JSON.stringify(value, sorted) ?? 'nothing'
}
