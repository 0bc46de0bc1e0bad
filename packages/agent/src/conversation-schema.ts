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
    /** The fields `conversation` and `seal` of the state, as JSON. */
    identity: string
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

const SCHEMA = [
  sql`create table conversation (
    tenant text not null, id text not null, seq integer not null, updated bigint not null,
    holder text, held_until bigint,
    primary key (tenant, id))`,
  sql`create table text (digest text primary key, content text not null)`,
  sql`create table listing (digest text primary key, announced text not null)`,
  sql`create table message (
    tenant text not null, conversation text not null, seq integer not null, id text not null, role text not null,
    content text not null, text text references text (digest), at bigint not null,
    generation integer, digest text, starts_over integer,
    primary key (tenant, conversation, seq), unique (tenant, conversation, id))`,
  sql`create table session (
    tenant text not null, conversation text not null, seq integer not null, generation text not null,
    listing text not null references listing (digest), catalog text not null references text (digest),
    ledger text not null, seen text not null, identity text not null,
    primary key (tenant, conversation, seq))`,
  sql`create table skill_use (
    tenant text not null, conversation text not null, seq integer not null,
    call text not null, tool text not null, skill text not null, revision text not null,
    primary key (tenant, conversation, seq, call))`,
  // With these two, the store can check whether a text is still used without scanning all messages.
  sql`create index message_text on message (text) where text is not null`,
  sql`create index session_catalog on session (catalog)`,
  sql`create index skill_use_skill on skill_use (tenant, skill)`,
  sql`create index conversation_updated on conversation (tenant, updated)`,
]

/** Migrations, keyed by name, in the order in which they are applied. A published migration is never changed. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '2026-11-26-conversations': {
    async up(database: Kysely<unknown>): Promise<void> {
      for (const statement of SCHEMA) await statement.execute(database)
    },
  },
}
