import { createHash } from 'node:crypto'
import { type Digest, type SessionState, SkillError } from '@skillstoke/core'
import type { Kysely, RawBuilder, Selectable, Transaction } from 'kysely'
import type { ConversationTables } from './conversation-schema.ts'
import {
  type AppendOptions,
  ConversationBusyError,
  ConversationConflictError,
  type ConversationMessage,
  type ConversationPage,
  type ConversationStore,
  type ConversationSummary,
  checkAppend,
  checkIds,
  checkPage,
  checkRange,
  DEFAULT_PAGE_SIZE,
  type MessageRange,
  type MessageRole,
  type SkillUse,
  type StoredMessage,
  type StoredUse,
  type TurnClaim,
} from './conversation-store.ts'
import { findTexts, type NewMessageRow, putText, removeUnusedTexts, storeText } from './shared-texts.ts'

type Database = Kysely<ConversationTables>
type Writing = Transaction<ConversationTables>

/** What differs between the database systems. */
export interface SqlEngine {
  /** Runs a transaction again if it failed only because other writers were active. */
  readonly retry: <T>(work: () => Promise<T>) => Promise<T>
  /** Whether a transaction must lock the row of its conversation. SQLite locks the whole database instead. */
  readonly locksRows: boolean
  /** The current wall time in milliseconds. All processes of a store must use the same clock. */
  readonly now: () => RawBuilder<number | string>
}

/**
 * Stores conversations in a database. Created by `openConversationStore` or `openPostgresStore`.
 *
 * @example
 * ```ts
 * import { openConversationStore } from '@skillstoke/agent'
 *
 * await using store = await openConversationStore('./conversations.sqlite')
 * await store.append('local', 'chat-1', 0, [{ id: 'a', role: 'user', content: 'Hello.', at: Date.now() }])
 * await store.fork('local', 'chat-1', 1, 'chat-2')
 * console.log((await store.list('local')).map(({ id, seq }) => `${id}: ${seq}`)) // prints [ 'chat-1: 1', 'chat-2: 1' ]
 * ```
 */
export class SqlConversationStore implements ConversationStore, AsyncDisposable {
  readonly #database: Database
  readonly #engine: SqlEngine
  #isClosed = false

  constructor(database: Database, engine: SqlEngine) {
    this.#database = database
    this.#engine = engine
  }

  async append(
    tenant: string,
    conversation: string,
    expectSeq: number,
    messages: readonly ConversationMessage[],
    options: AppendOptions = {},
  ): Promise<number> {
    checkAppend(options)
    const { session, holder } = options
    return await this.#write(async writing => {
      const { seq, ...head } = await this.#lock(writing, tenant, conversation)
      const end = expectSeq + messages.length
      if (await isRepeat(writing, tenant, conversation, expectSeq, messages)) return end
      if (seq !== expectSeq) throw new ConversationConflictError(conversation, expectSeq, seq)
      assertFree(conversation, head, holder)
      if (messages.length > 0) {
        const ids = messages.map(({ id }) => id)
        const known = await writing
          .selectFrom('message')
          .select('id')
          .where('tenant', '=', tenant)
          .where('conversation', '=', conversation)
          .where('id', 'in', ids)
          .execute()
        checkIds(
          messages,
          known.map(({ id }) => id),
        )
        for (const [index, message] of messages.entries())
          await insertMessage(writing, tenant, conversation, expectSeq + index + 1, message)
        await writing
          .updateTable('conversation')
          .set({ seq: end, updated: Math.max(...messages.map(({ at }) => at)) })
          .where('tenant', '=', tenant)
          .where('id', '=', conversation)
          .execute()
      }
      if (session !== undefined) await saveSession(writing, tenant, conversation, end, session)
      return end
    })
  }

  async claim(
    tenant: string,
    conversation: string,
    { holder, expectSeq, leaseMs }: TurnClaim,
  ): Promise<void> {
    await this.#write(async writing => {
      const { seq, ...head } = await this.#lock(writing, tenant, conversation)
      assertFree(conversation, head, holder)
      if (seq !== expectSeq) throw new ConversationConflictError(conversation, expectSeq, seq)
      await writing
        .updateTable('conversation')
        .set({ holder, held_until: head.now + leaseMs })
        .where('tenant', '=', tenant)
        .where('id', '=', conversation)
        .execute()
    })
  }

  async release(tenant: string, conversation: string, holder: string): Promise<void> {
    await this.#write(async writing => {
      await writing
        .updateTable('conversation')
        .set({ holder: null, held_until: null })
        .where('tenant', '=', tenant)
        .where('id', '=', conversation)
        .where('holder', '=', holder)
        .execute()
    })
  }

  async read(
    tenant: string,
    conversation: string,
    range: MessageRange = {},
  ): Promise<readonly StoredMessage[]> {
    checkRange(range)
    this.#assertOpen()
    let query = this.#database
      .selectFrom('message')
      .leftJoin('text', 'text.digest', 'message.text')
      .selectAll('message')
      .select('text.content as textContent')
      .where('tenant', '=', tenant)
      .where('conversation', '=', conversation)
      .where('seq', '>', range.after ?? 0)
      .orderBy('seq')
    if (range.limit !== undefined) query = query.limit(range.limit)
    const rows = await this.#engine.retry(async () => await query.execute())
    const [first, last] = [rows[0]?.seq, rows.at(-1)?.seq]
    if (first === undefined || last === undefined) return []
    const uses = await this.#engine.retry(
      async () =>
        await this.#database
          .selectFrom('skill_use')
          .selectAll()
          .where('tenant', '=', tenant)
          .where('conversation', '=', conversation)
          .where('seq', '>=', first)
          .where('seq', '<=', last)
          .execute(),
    )
    return rows.map(row =>
      toMessageOf(
        row,
        uses.filter(({ seq }) => seq === row.seq),
      ),
    )
  }

  async readSession(tenant: string, conversation: string, atSeq?: number): Promise<SessionState | undefined> {
    this.#assertOpen()
    const row = await this.#engine.retry(
      async () =>
        await this.#database
          .selectFrom('session')
          .$if(atSeq !== undefined, query => query.where('session.seq', '<=', atSeq ?? 0))
          .innerJoin('listing', 'listing.digest', 'session.listing')
          .innerJoin('text', 'text.digest', 'session.catalog')
          .select([
            'session.generation',
            'session.ledger',
            'session.seen',
            'session.identity',
            'listing.announced',
          ])
          .select('text.content as catalog')
          .where('session.tenant', '=', tenant)
          .where('session.conversation', '=', conversation)
          .orderBy('session.seq', 'desc')
          .limit(1)
          .executeTakeFirst(),
    )
    if (row === undefined) return undefined
    return {
      version: 3,
      catalog: JSON.parse(row.catalog) as SessionState['catalog'],
      generation: row.generation as Digest,
      announced: JSON.parse(row.announced) as SessionState['announced'],
      ledger: JSON.parse(row.ledger) as SessionState['ledger'],
      seen: JSON.parse(row.seen) as SessionState['seen'],
      ...(JSON.parse(row.identity) as Pick<SessionState, 'conversation' | 'seal'>),
    }
  }

  async list(tenant: string, page: ConversationPage = {}): Promise<readonly ConversationSummary[]> {
    checkPage(page)
    this.#assertOpen()
    let query = this.#database
      .selectFrom('conversation')
      .select(['id', 'seq', 'updated'])
      .where('tenant', '=', tenant)
      .where('seq', '>', 0)
      .orderBy('id')
      .limit(page.limit ?? DEFAULT_PAGE_SIZE)
    if (page.after !== undefined) query = query.where('id', '>', page.after)
    // The driver of PostgreSQL returns 64-bit integers as text.
    return (await this.#engine.retry(async () => await query.execute())).map(({ id, seq, updated }) => ({
      id,
      seq,
      at: Number(updated),
    }))
  }

  async findUses(
    tenant: string,
    skill: string,
    limit: number = DEFAULT_PAGE_SIZE,
  ): Promise<readonly StoredUse[]> {
    this.#assertOpen()
    const rows = await this.#engine.retry(
      async () =>
        await this.#database
          .selectFrom('skill_use')
          .innerJoin('message', join =>
            join
              .onRef('message.tenant', '=', 'skill_use.tenant')
              .onRef('message.conversation', '=', 'skill_use.conversation')
              .onRef('message.seq', '=', 'skill_use.seq'),
          )
          .selectAll('skill_use')
          .select('message.at as at')
          .where('skill_use.tenant', '=', tenant)
          .where('skill_use.skill', '=', skill)
          .orderBy('message.at', 'desc')
          .orderBy('skill_use.seq', 'desc')
          .limit(limit)
          .execute(),
    )
    return rows.map(row => ({
      ...toUse(row),
      conversation: row.conversation,
      seq: row.seq,
      at: Number(row.at),
    }))
  }

  async fork(tenant: string, conversation: string, atSeq: number, newConversation: string): Promise<void> {
    let attempts = 0
    await this.#write(async writing => {
      attempts++
      // Inserts first, because a transaction of SQLite takes its lock with its first write.
      const { numInsertedOrUpdatedRows } = await insertHead(writing, tenant, newConversation)
      if (numInsertedOrUpdatedRows === 0n) {
        const { seq, ...head } = await this.#lock(writing, tenant, newConversation)
        assertFree(newConversation, head, undefined)
        // The answer to the first attempt may have been lost after its commit.
        const parts = { conversation, atSeq, newConversation, seq }
        if (seq > 0 && attempts > 1 && (await isCopy(writing, tenant, parts))) return
        if (seq > 0) throw new ConversationConflictError(newConversation, 0, seq)
      }
      const source = await writing
        .selectFrom('message')
        .select(({ fn }) => [fn.max('seq').as('seq'), fn.max('at').as('at')])
        .where('tenant', '=', tenant)
        .where('conversation', '=', conversation)
        .where('seq', '<=', atSeq)
        .executeTakeFirst()
      await writing
        .updateTable('conversation')
        .set({ seq: source?.seq ?? 0, updated: Number(source?.at ?? 0) })
        .where('tenant', '=', tenant)
        .where('id', '=', newConversation)
        .execute()
      for (const table of OWNED_TABLES) {
        const rows = await writing
          .selectFrom(table)
          .selectAll()
          .where('tenant', '=', tenant)
          .where('conversation', '=', conversation)
          .where('seq', '<=', atSeq)
          .execute()
        for (const row of rows)
          await writing
            .insertInto(table)
            .values({ ...row, conversation: newConversation })
            .execute()
      }
    })
  }

  async remove(tenant: string, conversation: string): Promise<void> {
    await this.#write(async writing => await removeConversation(writing, tenant, conversation))
  }

  async removeInactive(tenant: string, before: number): Promise<number> {
    this.#assertOpen()
    const found = await this.#engine.retry(
      async () =>
        await this.#database
          .selectFrom('conversation')
          .select('id')
          .where('tenant', '=', tenant)
          .where('updated', '<', before)
          .execute(),
    )
    let removed = 0
    for (const { id } of found)
      await this.#write(async writing => {
        const { now, held_until, updated } = await this.#lock(writing, tenant, id)
        // Another process may have continued or claimed the conversation since the query.
        if (updated >= before || (held_until ?? 0) > now) return
        await removeConversation(writing, tenant, id)
        removed++
      })
    return removed
  }

  /** Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#database.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #write<T>(work: (writing: Writing) => Promise<T>): Promise<T> {
    this.#assertOpen()
    return await this.#engine.retry(() => this.#database.transaction().execute(work))
  }

  /** Locks a conversation for this transaction, and creates it if necessary. */
  async #lock(writing: Writing, tenant: string, conversation: string): Promise<Head> {
    await insertHead(writing, tenant, conversation)
    const query = writing
      .selectFrom('conversation')
      .select(['seq', 'updated', 'holder', 'held_until'])
      .select(this.#engine.now().as('now'))
      .where('tenant', '=', tenant)
      .where('id', '=', conversation)
    const row = await (this.#engine.locksRows ? query.forUpdate() : query).executeTakeFirstOrThrow()
    // The driver of PostgreSQL returns 64-bit integers as text.
    const { seq, holder, updated, held_until, now } = row
    return {
      seq,
      holder,
      updated: Number(updated),
      held_until: held_until === null ? null : Number(held_until),
      now: Number(now),
    }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new SkillError('CLOSED', 'the conversation store is closed')
  }
}

/** The row of a conversation, with the time at which it was read. */
interface Head {
  readonly seq: number
  readonly updated: number
  readonly holder: string | null
  readonly held_until: number | null
  readonly now: number
}

/** The tables whose rows belong to one message of a conversation. */
const OWNED_TABLES = ['message', 'session', 'skill_use'] as const

async function insertHead(
  writing: Writing,
  tenant: string,
  id: string,
): Promise<{ readonly numInsertedOrUpdatedRows?: bigint | undefined }> {
  return await writing
    .insertInto('conversation')
    .values({ tenant, id, seq: 0, updated: 0, holder: null, held_until: null })
    .onConflict(conflict => conflict.doNothing())
    .executeTakeFirstOrThrow()
}

function assertFree(
  conversation: string,
  head: Pick<Head, 'holder' | 'held_until' | 'now'>,
  holder: string | undefined,
): void {
  const remainingMs = (head.held_until ?? 0) - head.now
  if (head.holder !== null && head.holder !== holder && remainingMs > 0)
    throw new ConversationBusyError(conversation, head.holder, remainingMs)
}

async function insertMessage(
  writing: Writing,
  tenant: string,
  conversation: string,
  seq: number,
  message: ConversationMessage,
): Promise<void> {
  const row = toRow(tenant, conversation, seq, message)
  await writing
    .insertInto('message')
    .values(await storeText(writing, row))
    .execute()
  const uses = (message.uses ?? []).map(({ callId: call, tool, skill, revision }) => ({
    ...{ tenant, conversation, seq, call, tool, skill, revision },
  }))
  if (uses.length > 0) await writing.insertInto('skill_use').values(uses).execute()
}

async function removeConversation(writing: Writing, tenant: string, conversation: string): Promise<void> {
  const used = await findTexts(writing, tenant, conversation)
  await writing
    .deleteFrom('conversation')
    .where('tenant', '=', tenant)
    .where('id', '=', conversation)
    .execute()
  for (const table of OWNED_TABLES)
    await writing
      .deleteFrom(table)
      .where('tenant', '=', tenant)
      .where('conversation', '=', conversation)
      .execute()
  await writing
    .deleteFrom('listing')
    .where('digest', 'not in', query => query.selectFrom('session').select('listing'))
    .execute()
  await removeUnusedTexts(writing, used)
}

/** Returns whether these messages are already stored after the position `after`. */
async function isRepeat(
  writing: Writing,
  tenant: string,
  conversation: string,
  after: number,
  messages: readonly ConversationMessage[],
): Promise<boolean> {
  if (messages.length === 0) return false
  const stored = await writing
    .selectFrom('message')
    .select('id')
    .where('tenant', '=', tenant)
    .where('conversation', '=', conversation)
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(messages.length)
    .execute()
  return messages.every((message, index) => stored[index]?.id === message.id)
}

/** Whether a conversation of `seq` messages has the messages of another one up to a position, and no others. */
async function isCopy(
  writing: Writing,
  tenant: string,
  parts: {
    readonly conversation: string
    readonly atSeq: number
    readonly newConversation: string
    readonly seq: number
  },
): Promise<boolean> {
  const readIds = async (from: string, end: number): Promise<readonly string[]> => {
    const rows = await writing
      .selectFrom('message')
      .select('id')
      .where('tenant', '=', tenant)
      .where('conversation', '=', from)
      .where('seq', '<=', end)
      .orderBy('seq')
      .execute()
    return rows.map(({ id }) => id)
  }
  const source = await readIds(parts.conversation, parts.atSeq)
  const copy = await readIds(parts.newConversation, parts.seq)
  return source.length === copy.length && source.every((id, index) => id === copy[index])
}

async function saveSession(
  writing: Writing,
  tenant: string,
  conversation: string,
  seq: number,
  state: SessionState,
): Promise<void> {
  const announced = JSON.stringify(state.announced)
  const listing = createHash('sha256').update(announced).digest('hex')
  await writing
    .insertInto('listing')
    .values({ digest: listing, announced })
    .onConflict(conflict => conflict.doNothing())
    .execute()
  const row = {
    generation: state.generation,
    listing,
    catalog: await putText(writing, JSON.stringify(state.catalog)),
    ledger: JSON.stringify(state.ledger),
    seen: JSON.stringify(state.seen),
    identity: JSON.stringify({ conversation: state.conversation, seal: state.seal }),
  }
  await writing
    .insertInto('session')
    .values({ tenant, conversation, seq, ...row })
    .onConflict(conflict => conflict.columns(['tenant', 'conversation', 'seq']).doUpdateSet(row))
    .execute()
}

function toRow(
  tenant: string,
  conversation: string,
  seq: number,
  message: ConversationMessage,
): NewMessageRow {
  const { id, role, content, at, skills, startsOver } = message
  return {
    tenant,
    conversation,
    seq,
    id,
    role,
    content: JSON.stringify(content),
    text: null,
    at,
    generation: skills?.generation ?? null,
    digest: skills?.digest ?? null,
    starts_over: startsOver === true ? 1 : null,
  }
}

function toMessageOf(
  row: Selectable<ConversationTables['message']> & { readonly textContent: string | null },
  uses: readonly UseRow[],
): StoredMessage {
  const { seq, id, role, at, generation, digest } = row
  const content = row.textContent ?? row.content
  return {
    seq,
    id,
    role: role as MessageRole,
    content: JSON.parse(content) as unknown,
    at: Number(at),
    ...(generation === null || digest === null ? {} : { skills: { generation, digest: digest as Digest } }),
    ...(uses.length === 0 ? {} : { uses: uses.map(toUse) }),
    ...(row.starts_over === 1 ? { startsOver: true } : {}),
  }
}

type UseRow = ConversationTables['skill_use']

function toUse({ call, tool, skill, revision }: UseRow): SkillUse {
  return { callId: call, tool, skill, revision: revision as Digest }
}
