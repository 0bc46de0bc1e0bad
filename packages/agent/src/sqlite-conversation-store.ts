import { createHash } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import { type Digest, type SessionState, SkillError } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import { createStateDirectory, openWriteLock } from '@skillstoke/core/node'
import { Kysely, type Transaction } from 'kysely'
import { Migrator } from 'kysely/migration'
import { type ConversationTables, MIGRATIONS } from './conversation-schema.ts'
import {
  ConversationConflictError,
  type ConversationMessage,
  type ConversationStore,
  checkRange,
  type MessageRange,
  type MessageRole,
  type StoredMessage,
} from './conversation-store.ts'
import { findTexts, type MessageRow, putText, removeUnusedTexts, storeText } from './shared-texts.ts'
import { openSqliteDialect, whileBusy } from './sqlite-database.ts'

type Database = Kysely<ConversationTables>
type Writing = Transaction<ConversationTables>

// Maximum time that a write waits for other writers.
const BUSY_TIMEOUT_MS = 10_000

/**
 * Opens a store in an SQLite file, and creates the file if necessary. Several processes may open the same file. The
 * caller must close the store.
 * @throws {SkillError} IO_FAILED when the file cannot be opened, or was written by a newer version
 *
 * @example
 * ```ts
 * import { createOfflineModel, openConversationStore, SkillAgent } from '@skillstoke/agent'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * await using store = await openConversationStore('./conversations.sqlite')
 * const agent = new SkillAgent({ skills, model: createOfflineModel(), store })
 * await agent.conversation('chat-1').send('Hello.')
 * const stored = await store.read('local', 'chat-1')
 * console.log(stored.map(({ role }) => role)) // prints [ 'system', 'user', 'assistant' ]
 * ```
 */
export async function openConversationStore(path: string): Promise<SqliteConversationStore> {
  const file = resolve(path)
  createStateDirectory(dirname(file))
  let database: Database | undefined
  try {
    const opened: Database = new Kysely({ dialect: await openSqliteDialect(file) })
    database = opened
    const lock = await openWriteLock(dirname(file))
    try {
      await lock.run(async () => await migrate(opened))
    } finally {
      await lock.close()
    }
    return new SqliteConversationStore(opened)
  } catch (thrown) {
    await database?.destroy()
    const message = `the conversations in ${JSON.stringify(path)} cannot be opened: ${toMessage(thrown)}`
    throw new SkillError('IO_FAILED', message, { cause: thrown })
  }
}

async function migrate(db: Database): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } })
  const { error } = await whileBusy(BUSY_TIMEOUT_MS, () => migrator.migrateToLatest())
  if (error !== undefined) throw error
}

/**
 * Stores conversations in an SQLite file. Created by `openConversationStore`.
 *
 * @example
 * ```ts
 * import { openConversationStore } from '@skillstoke/agent'
 *
 * await using store = await openConversationStore('./conversations.sqlite')
 * await store.append('local', 'chat-1', 0, [{ id: 'a', role: 'user', content: 'Hello.', at: Date.now() }])
 * await store.fork('local', 'chat-1', 1, 'chat-2')
 * console.log((await store.read('local', 'chat-2', { limit: 10 })).length) // prints 1
 * ```
 */
export class SqliteConversationStore implements ConversationStore, AsyncDisposable {
  readonly #database: Database
  #isClosed = false

  constructor(database: Database) {
    this.#database = database
  }

  async append(
    tenant: string,
    conversation: string,
    expectSeq: number,
    messages: readonly ConversationMessage[],
    session?: SessionState,
  ): Promise<number> {
    return await this.#write(async writing => {
      // Starts with a write, because a write takes the lock. The reads after this write then see the newest state.
      await writing
        .insertInto('conversation')
        .values({ tenant, id: conversation, seq: 0 })
        .onConflict(conflict => conflict.doNothing())
        .execute()
      const { seq } = await writing
        .selectFrom('conversation')
        .select('seq')
        .where('tenant', '=', tenant)
        .where('id', '=', conversation)
        .executeTakeFirstOrThrow()
      const end = expectSeq + messages.length
      if (await isRepeat(writing, tenant, conversation, expectSeq, messages)) return end
      if (seq !== expectSeq) throw new ConversationConflictError(conversation, expectSeq, seq)
      if (messages.length > 0) {
        for (const [index, message] of messages.entries()) {
          const row = toRow(tenant, conversation, expectSeq + index + 1, message)
          await writing
            .insertInto('message')
            .values(await storeText(writing, row))
            .execute()
        }
        await writing
          .updateTable('conversation')
          .set({ seq: end })
          .where('tenant', '=', tenant)
          .where('id', '=', conversation)
          .execute()
      }
      if (session !== undefined) await saveSession(writing, tenant, conversation, end, session)
      return end
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
    return (await query.execute()).map(toMessageOf)
  }

  async readSession(tenant: string, conversation: string): Promise<SessionState | undefined> {
    this.#assertOpen()
    const row = await this.#database
      .selectFrom('session')
      .innerJoin('listing', 'listing.digest', 'session.listing')
      .leftJoin('text', 'text.digest', 'session.catalog')
      .select(['session.generation', 'session.ledger', 'session.seen', 'listing.announced'])
      .select('text.content as catalog')
      .where('session.tenant', '=', tenant)
      .where('session.conversation', '=', conversation)
      .orderBy('session.seq', 'desc')
      .limit(1)
      .executeTakeFirst()
    if (row === undefined) return undefined
    // A session state of format version 1 has no catalog.
    const frozen = row.catalog === null ? undefined : (JSON.parse(row.catalog) as SessionState['catalog'])
    return {
      ...(frozen === undefined ? { version: 1 } : { version: 2, catalog: frozen }),
      generation: row.generation as Digest,
      announced: JSON.parse(row.announced) as SessionState['announced'],
      ledger: JSON.parse(row.ledger) as SessionState['ledger'],
      seen: JSON.parse(row.seen) as SessionState['seen'],
    }
  }

  async fork(tenant: string, conversation: string, atSeq: number, newConversation: string): Promise<void> {
    await this.#write(async writing => {
      // Starts with a write to take the lock, as `append()` does.
      const { numInsertedOrUpdatedRows } = await writing
        .insertInto('conversation')
        .values({ tenant, id: newConversation, seq: 0 })
        .onConflict(conflict => conflict.doNothing())
        .executeTakeFirstOrThrow()
      const target = await writing
        .selectFrom('conversation')
        .select('seq')
        .where('tenant', '=', tenant)
        .where('id', '=', newConversation)
        .executeTakeFirstOrThrow()
      if (numInsertedOrUpdatedRows === 0n) throw new ConversationConflictError(newConversation, 0, target.seq)
      const source = await writing
        .selectFrom('message')
        .select(({ fn }) => fn.max('seq').as('seq'))
        .where('tenant', '=', tenant)
        .where('conversation', '=', conversation)
        .where('seq', '<=', atSeq)
        .executeTakeFirst()
      await writing
        .updateTable('conversation')
        .set({ seq: source?.seq ?? 0 })
        .where('tenant', '=', tenant)
        .where('id', '=', newConversation)
        .execute()
      for (const table of ['message', 'session'] as const) {
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
    await this.#write(async writing => {
      const used = await findTexts(writing, tenant, conversation)
      await writing
        .deleteFrom('conversation')
        .where('tenant', '=', tenant)
        .where('id', '=', conversation)
        .execute()
      for (const table of ['message', 'session'] as const)
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
    })
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
    return await whileBusy(BUSY_TIMEOUT_MS, () => this.#database.transaction().execute(work))
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new SkillError('CLOSED', 'the conversation store is closed')
  }
}

/** Whether the same messages are already stored after position `after`. */
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
    catalog: state.catalog === undefined ? null : await putText(writing, JSON.stringify(state.catalog)),
    ledger: JSON.stringify(state.ledger),
    seen: JSON.stringify(state.seen),
  }
  await writing
    .insertInto('session')
    .values({ tenant, conversation, seq, ...row })
    .onConflict(conflict => conflict.columns(['tenant', 'conversation', 'seq']).doUpdateSet(row))
    .execute()
}

function toRow(tenant: string, conversation: string, seq: number, message: ConversationMessage): MessageRow {
  const { id, role, content, at, skills } = message
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
  }
}

function toMessageOf(row: MessageRow & { readonly textContent: string | null }): StoredMessage {
  const { seq, id, role, at, generation, digest } = row
  const content = row.textContent ?? row.content
  return {
    seq,
    id,
    role: role as MessageRole,
    content: JSON.parse(content) as unknown,
    at,
    ...(generation === null || digest === null ? {} : { skills: { generation, digest: digest as Digest } }),
  }
}
