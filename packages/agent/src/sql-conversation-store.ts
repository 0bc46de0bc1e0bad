import { type Digest, type SessionState, SkillError } from '@skillstoke/core'
import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely'
import { OWNED_COLUMNS } from './conversation-schema.ts'
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
import { findTexts, putText, removeUnusedTexts } from './shared-texts.ts'

type Writing = Transaction<unknown>

/** A 64-bit integer. The driver of PostgreSQL returns it as text. */
type WideInteger = number | string

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
  readonly #database: Kysely<unknown>
  readonly #engine: SqlEngine
  #isClosed = false

  constructor(database: Kysely<unknown>, engine: SqlEngine) {
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
    const owner = ownerOf(tenant, conversation)
    return await this.#write(async writing => {
      const { seq, ...head } = await this.#lock(writing, tenant, conversation)
      const end = expectSeq + messages.length
      if (await isRepeat(writing, owner, expectSeq, messages)) return end
      if (seq !== expectSeq) throw new ConversationConflictError(conversation, expectSeq, seq)
      assertFree(conversation, head, holder)
      if (messages.length > 0) {
        const ids = sql.join(messages.map(({ id }) => id))
        checkIds(messages, await readIds(writing, sql`${owner} and id in (${ids})`))
        for (const [index, message] of messages.entries())
          await insertMessage(writing, tenant, conversation, expectSeq + index + 1, message)
        const updated = Math.max(...messages.map(({ at }) => at))
        await sql`update conversation set seq = ${end}, updated = ${updated}
          where tenant = ${tenant} and id = ${conversation}`.execute(writing)
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
      await sql`update conversation set holder = ${holder}, held_until = ${head.now + leaseMs}
        where tenant = ${tenant} and id = ${conversation}`.execute(writing)
    })
  }

  async release(tenant: string, conversation: string, holder: string): Promise<void> {
    await this.#write(async writing => {
      await sql`update conversation set holder = null, held_until = null
        where tenant = ${tenant} and id = ${conversation} and holder = ${holder}`.execute(writing)
    })
  }

  async read(
    tenant: string,
    conversation: string,
    range: MessageRange = {},
  ): Promise<readonly StoredMessage[]> {
    checkRange(range)
    const owner = ownerOf(tenant, conversation)
    const limit = range.limit === undefined ? sql`` : sql`limit ${range.limit}`
    const rows = await this.#read(sql<MessageRow>`
      select message.*, shared.content as shared
      from message left join text as shared on shared.digest = message.text
      where ${owner} and seq > ${range.after ?? 0} order by seq ${limit}`)
    const [first, last] = [rows[0]?.seq, rows.at(-1)?.seq]
    if (first === undefined || last === undefined) return []
    const uses = await this.#read(sql<UseRow>`
      select * from skill_use where ${owner} and seq >= ${first} and seq <= ${last}`)
    return rows.map(row =>
      toMessage(
        row,
        uses.filter(({ seq }) => seq === row.seq),
      ),
    )
  }

  async readSession(tenant: string, conversation: string, atSeq?: number): Promise<SessionState | undefined> {
    const until = atSeq === undefined ? sql`` : sql`and seq <= ${atSeq}`
    const [row] = await this.#read(sql<Record<'state' | 'catalog' | 'announced', string>>`
      select state, catalogs.content as catalog, listings.content as announced
      from session join text as catalogs on catalogs.digest = catalog
      join text as listings on listings.digest = listing
      where ${ownerOf(tenant, conversation)} ${until} order by seq desc limit 1`)
    if (row === undefined) return undefined
    const { catalog, announced } = row
    const state = JSON.parse(row.state) as Omit<SessionState, 'catalog' | 'announced'>
    return {
      ...state,
      catalog: JSON.parse(catalog) as SessionState['catalog'],
      announced: JSON.parse(announced) as SessionState['announced'],
    }
  }

  async list(tenant: string, page: ConversationPage = {}): Promise<readonly ConversationSummary[]> {
    checkPage(page)
    const after = page.after === undefined ? sql`` : sql`and id > ${page.after}`
    const rows = await this.#read(sql<{ id: string; seq: number; updated: WideInteger }>`
      select id, seq, updated from conversation where tenant = ${tenant} and seq > 0 ${after}
      order by id limit ${page.limit ?? DEFAULT_PAGE_SIZE}`)
    return rows.map(({ id, seq, updated }) => ({ id, seq, at: Number(updated) }))
  }

  async findUses(
    tenant: string,
    skill: string,
    limit: number = DEFAULT_PAGE_SIZE,
  ): Promise<readonly StoredUse[]> {
    const rows = await this.#read(sql<UseRow & { readonly at: WideInteger }>`
      select skill_use.*, message.at from skill_use join message using (tenant, conversation, seq)
      where tenant = ${tenant} and skill = ${skill} order by at desc, seq desc limit ${limit}`)
    return rows.map(row => ({
      ...toUse(row),
      conversation: row.conversation,
      seq: row.seq,
      at: Number(row.at),
    }))
  }

  async fork(tenant: string, conversation: string, atSeq: number, newConversation: string): Promise<void> {
    const source = sql`${ownerOf(tenant, conversation)} and seq <= ${atSeq}`
    let attempts = 0
    await this.#write(async writing => {
      attempts++
      // Inserts first, because a transaction of SQLite takes its lock with its first write.
      if (!(await insertHead(writing, tenant, newConversation))) {
        const { seq, ...head } = await this.#lock(writing, tenant, newConversation)
        assertFree(newConversation, head, undefined)
        // The answer to the first attempt may have been lost after its commit.
        const copy = sql`${ownerOf(tenant, newConversation)} and seq <= ${seq}`
        if (seq > 0 && attempts > 1 && (await isCopy(writing, source, copy))) return
        if (seq > 0) throw new ConversationConflictError(newConversation, 0, seq)
      }
      const { rows } = await sql<{ seq: number | null; at: WideInteger | null }>`
        select max(seq) as seq, max(at) as at from message where ${source}`.execute(writing)
      await sql`update conversation set seq = ${rows[0]?.seq ?? 0}, updated = ${Number(rows[0]?.at ?? 0)}
        where tenant = ${tenant} and id = ${newConversation}`.execute(writing)
      for (const [table, names] of Object.entries(OWNED_COLUMNS)) {
        const columns = sql.raw(names)
        await sql`insert into ${sql.table(table)} (tenant, conversation, ${columns})
          select tenant, cast(${newConversation} as text), ${columns} from ${sql.table(table)}
          where ${source}`.execute(writing)
      }
    })
  }

  async remove(tenant: string, conversation: string): Promise<void> {
    await this.#write(async writing => await removeConversation(writing, tenant, conversation))
  }

  async removeInactive(tenant: string, before: number): Promise<number> {
    const found = await this.#read(sql<{ readonly id: string }>`
      select id from conversation where tenant = ${tenant} and updated < ${before}`)
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

  async #read<Row>(query: RawBuilder<Row>): Promise<readonly Row[]> {
    this.#assertOpen()
    return await this.#engine.retry(async () => (await query.execute(this.#database)).rows)
  }

  async #write<T>(work: (writing: Writing) => Promise<T>): Promise<T> {
    this.#assertOpen()
    return await this.#engine.retry(() => this.#database.transaction().execute(work))
  }

  /** Locks a conversation for this transaction, and creates it if necessary. */
  async #lock(writing: Writing, tenant: string, conversation: string): Promise<Head> {
    await insertHead(writing, tenant, conversation)
    const { rows } = await sql<Record<keyof Head, WideInteger | null>>`
      select seq, updated, holder, held_until, ${this.#engine.now()} as now from conversation
      where tenant = ${tenant} and id = ${conversation}
      ${this.#engine.locksRows ? sql`for update` : sql``}`.execute(writing)
    const { seq, holder, updated, held_until, now } = rows[0] ?? {}
    return {
      seq: Number(seq),
      holder: (holder ?? null) as string | null,
      updated: Number(updated),
      held_until: held_until == null ? null : Number(held_until),
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

interface MessageRow {
  readonly seq: number
  readonly id: string
  readonly role: MessageRole
  readonly content: string
  /** The content that several conversations share. */
  readonly shared: string | null
  readonly at: WideInteger
  readonly generation: number | null
  readonly digest: Digest | null
  readonly starts_over: number | null
  readonly back_to: number | null
}

interface UseRow {
  readonly conversation: string
  readonly seq: number
  readonly call: string
  readonly tool: string
  readonly skill: string
  readonly revision: Digest
}

/** Selects the rows of a conversation. */
function ownerOf(tenant: string, conversation: string): RawBuilder<unknown> {
  return sql`tenant = ${tenant} and conversation = ${conversation}`
}

/** Returns false if the conversation already exists. */
async function insertHead(writing: Writing, tenant: string, id: string): Promise<boolean> {
  const { numAffectedRows } = await sql`insert into conversation (tenant, id, seq, updated)
    values (${tenant}, ${id}, 0, 0) on conflict do nothing`.execute(writing)
  return numAffectedRows !== 0n
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
  { id, role, content, at, skills, startsOver, backTo, uses = [] }: ConversationMessage,
): Promise<void> {
  const json = JSON.stringify(content)
  // Many conversations have the same system text.
  const text = role === 'system' ? await putText(writing, json) : null
  const row = [
    ...[tenant, conversation, seq, id, role, text === null ? json : '', text, at],
    ...[skills?.generation ?? null, skills?.digest ?? null, startsOver === true ? 1 : null, backTo ?? null],
  ]
  await sql`insert into message (tenant, conversation, ${sql.raw(OWNED_COLUMNS.message)})
    values (${sql.join(row)})`.execute(writing)
  for (const { callId, tool, skill, revision } of uses)
    await sql`insert into skill_use (tenant, conversation, ${sql.raw(OWNED_COLUMNS.skill_use)})
      values (${sql.join([tenant, conversation, seq, callId, tool, skill, revision])})`.execute(writing)
}

async function removeConversation(writing: Writing, tenant: string, conversation: string): Promise<void> {
  const owner = ownerOf(tenant, conversation)
  const used = await findTexts(writing, owner)
  await sql`delete from conversation where tenant = ${tenant} and id = ${conversation}`.execute(writing)
  for (const table of Object.keys(OWNED_COLUMNS))
    await sql`delete from ${sql.table(table)} where ${owner}`.execute(writing)
  await removeUnusedTexts(writing, used)
}

/** Returns the ids of messages in the order of their positions. */
async function readIds(
  writing: Writing,
  where: RawBuilder<unknown>,
  limit: RawBuilder<unknown> = sql``,
): Promise<readonly string[]> {
  const query = sql<{ readonly id: string }>`select id from message where ${where} order by seq ${limit}`
  return (await query.execute(writing)).rows.map(({ id }) => id)
}

/** Returns whether these messages are already stored after the position `after`. */
async function isRepeat(
  writing: Writing,
  owner: RawBuilder<unknown>,
  after: number,
  messages: readonly ConversationMessage[],
): Promise<boolean> {
  if (messages.length === 0) return false
  const stored = await readIds(writing, sql`${owner} and seq > ${after}`, sql`limit ${messages.length}`)
  return messages.every(({ id }, index) => stored[index] === id)
}

/** Whether a conversation has the messages of another one, and no others. */
async function isCopy(
  writing: Writing,
  source: RawBuilder<unknown>,
  copy: RawBuilder<unknown>,
): Promise<boolean> {
  const [from, to] = [await readIds(writing, source), await readIds(writing, copy)]
  return from.length === to.length && from.every((id, index) => id === to[index])
}

async function saveSession(
  writing: Writing,
  tenant: string,
  conversation: string,
  seq: number,
  { catalog, announced, ...state }: SessionState,
): Promise<void> {
  const texts = [JSON.stringify(catalog), JSON.stringify(announced)]
  const row = [JSON.stringify(state)]
  for (const text of texts) row.push(await putText(writing, text))
  await sql`insert into session (tenant, conversation, ${sql.raw(OWNED_COLUMNS.session)})
    values (${sql.join([tenant, conversation, seq, ...row])}) on conflict (tenant, conversation, seq)
    do update set state = excluded.state, catalog = excluded.catalog, listing = excluded.listing`.execute(
    writing,
  )
}

function toMessage(row: MessageRow, uses: readonly UseRow[]): StoredMessage {
  const { seq, id, role, at, generation, digest } = row
  return {
    ...{ seq, id, role, at: Number(at), content: JSON.parse(row.shared ?? row.content) as unknown },
    ...(generation === null || digest === null ? {} : { skills: { generation, digest } }),
    ...(uses.length === 0 ? {} : { uses: uses.map(toUse) }),
    ...(row.starts_over === 1 ? { startsOver: true } : {}),
    ...(row.back_to === null ? {} : { backTo: row.back_to }),
  }
}

function toUse({ call, tool, skill, revision }: UseRow): SkillUse {
  return { callId: call, tool, skill, revision }
}
