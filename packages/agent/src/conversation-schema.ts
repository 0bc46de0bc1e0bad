import { type ColumnType, type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** A 64-bit integer. The driver of PostgreSQL returns it as text. */
type WideInteger = ColumnType<number | string, number, number>

/** Tables of a conversation store. JSON is stored as text, and times are stored as milliseconds since the epoch. */
export interface ConversationTables {
  conversation: {
    tenant: string
    id: string
    /** Position (`seq`) of the last message in the conversation. */
    seq: number
    /** Wall time of the last message. */
    updated: WideInteger
    /** The process that may append until `held_until`. Null if the conversation is not claimed. */
    holder: string | null
    held_until: ColumnType<number | string | null, number | null, number | null>
  }
  message: {
    tenant: string
    conversation: string
    seq: number
    id: string
    role: string
    /** Content as JSON. Empty if the text of the message is stored in the table `text`. */
    content: string
    /** Digest of the shared system text. Null if `content` contains the text. */
    text: string | null
    at: WideInteger
    generation: number | null
    digest: string | null
    /** 1 for the first message after a compaction, otherwise null. */
    starts_over: number | null
  }
  /** Tool calls that skills answered, with the revision that answered. */
  skill_use: {
    tenant: string
    conversation: string
    /** Position of the message with the answer. */
    seq: number
    call: string
    tool: string
    skill: string
    revision: string
  }
  /** State of a session after message number `seq`. Each change of the session state adds a row to this table. */
  session: {
    tenant: string
    conversation: string
    seq: number
    generation: string
    listing: string
    /** Digest of the catalog. */
    catalog: string
    ledger: string
    seen: string
    /** The fields `conversation` and `seal` of the state, as JSON. Null in rows of earlier versions. */
    identity: string | null
  }
  /** Lists of announced skills, keyed by the SHA-256 of their JSON. Most conversations have the same list. */
  listing: {
    digest: string
    announced: string
  }
  /** System texts and catalogs, keyed by the SHA-256 of their JSON. Most conversations have the same texts. */
  text: {
    digest: string
    content: string
  }
}

/** Migrations, keyed by name, in the order in which they are applied. A published migration is never changed. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '2026-11-22-conversations': {
    async up(database: Kysely<unknown>): Promise<void> {
      await database.schema
        .createTable('conversation')
        .addColumn('tenant', 'text', column => column.notNull())
        .addColumn('id', 'text', column => column.notNull())
        .addColumn('seq', 'integer', column => column.notNull())
        .addPrimaryKeyConstraint('conversation_key', ['tenant', 'id'])
        .execute()
      await database.schema
        .createTable('message')
        .addColumn('tenant', 'text', column => column.notNull())
        .addColumn('conversation', 'text', column => column.notNull())
        .addColumn('seq', 'integer', column => column.notNull())
        .addColumn('id', 'text', column => column.notNull())
        .addColumn('role', 'text', column => column.notNull())
        .addColumn('content', 'text', column => column.notNull())
        // SQLite stores 64-bit integers in any case; PostgreSQL needs the wide type.
        .addColumn('at', 'bigint', column => column.notNull())
        .addColumn('generation', 'integer')
        .addColumn('digest', 'text')
        .addPrimaryKeyConstraint('message_key', ['tenant', 'conversation', 'seq'])
        .addUniqueConstraint('message_id', ['tenant', 'conversation', 'id'])
        .execute()
      await database.schema
        .createTable('listing')
        .addColumn('digest', 'text', column => column.primaryKey())
        .addColumn('announced', 'text', column => column.notNull())
        .execute()
      await database.schema
        .createTable('session')
        .addColumn('tenant', 'text', column => column.notNull())
        .addColumn('conversation', 'text', column => column.notNull())
        .addColumn('seq', 'integer', column => column.notNull())
        .addColumn('generation', 'text', column => column.notNull())
        .addColumn('listing', 'text', column => column.notNull().references('listing.digest'))
        .addColumn('ledger', 'text', column => column.notNull())
        .addColumn('seen', 'text', column => column.notNull())
        .addPrimaryKeyConstraint('session_key', ['tenant', 'conversation', 'seq'])
        .execute()
    },
  },
  '2026-11-23-texts-once': {
    async up(database: Kysely<unknown>): Promise<void> {
      await database.schema
        .createTable('text')
        .addColumn('digest', 'text', column => column.primaryKey())
        .addColumn('content', 'text', column => column.notNull())
        .execute()
      await database.schema
        .alterTable('message')
        .addColumn('text', 'text', column => column.references('text.digest'))
        .execute()
      await database.schema
        .alterTable('session')
        .addColumn('catalog', 'text', column => column.references('text.digest'))
        .execute()
      // With this index, the store can check whether a text is still used without scanning all messages.
      await database.schema
        .createIndex('message_text')
        .on('message')
        .column('text')
        .where(sql.ref('text'), 'is not', null)
        .execute()
      await database.schema.createIndex('session_catalog').on('session').column('catalog').execute()
    },
  },
  '2026-11-25-claims-and-uses': {
    async up(database: Kysely<unknown>): Promise<void> {
      const alter = database.schema.alterTable('conversation')
      await alter.addColumn('updated', 'bigint', column => column.notNull().defaultTo(0)).execute()
      await alter.addColumn('holder', 'text').execute()
      await alter.addColumn('held_until', 'bigint').execute()
      await database.schema.alterTable('message').addColumn('starts_over', 'integer').execute()
      await sql`update conversation set updated = coalesce((
        select max(message.at) from message
        where message.tenant = conversation.tenant and message.conversation = conversation.id), 0)`.execute(
        database,
      )
      await database.schema
        .createTable('skill_use')
        .addColumn('tenant', 'text', column => column.notNull())
        .addColumn('conversation', 'text', column => column.notNull())
        .addColumn('seq', 'integer', column => column.notNull())
        .addColumn('call', 'text', column => column.notNull())
        .addColumn('tool', 'text', column => column.notNull())
        .addColumn('skill', 'text', column => column.notNull())
        .addColumn('revision', 'text', column => column.notNull())
        .addPrimaryKeyConstraint('skill_use_key', ['tenant', 'conversation', 'seq', 'call'])
        .execute()
      await database.schema
        .createIndex('skill_use_skill')
        .on('skill_use')
        .columns(['tenant', 'skill'])
        .execute()
      await database.schema
        .createIndex('conversation_updated')
        .on('conversation')
        .columns(['tenant', 'updated'])
        .execute()
    },
  },
  '2026-11-25-identity': {
    async up(database: Kysely<unknown>): Promise<void> {
      await database.schema.alterTable('session').addColumn('identity', 'text').execute()
    },
  },
}
