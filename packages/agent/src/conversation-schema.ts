import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** The tables of a conversation store. JSON is stored as text, and times are milliseconds since the epoch. */
const SCHEMA = [
  // `seq` is the position of the last message, and `updated` its time. The process `holder` may append until `held_until`.
  sql`create table conversation (
    tenant text not null, id text not null, seq integer not null, updated bigint not null,
    holder text, held_until bigint,
    primary key (tenant, id))`,
  // System texts, catalogs and lists of announced skills. Most conversations have the same ones.
  sql`create table text (digest text primary key, content text not null)`,
  // If `text` is set, the message has the content of that text. `starts_over` is 1 for the first message after a compaction.
  sql`create table message (
    tenant text not null, conversation text not null, seq integer not null, id text not null, role text not null,
    content text not null, text text references text (digest), at bigint not null,
    generation integer, digest text, starts_over integer,
    primary key (tenant, conversation, seq), unique (tenant, conversation, id))`,
  // The states of sessions, without catalog and list. Each change of a state adds a row.
  sql`create table session (
    tenant text not null, conversation text not null, seq integer not null, state text not null,
    catalog text not null references text (digest), listing text not null references text (digest),
    primary key (tenant, conversation, seq))`,
  // Tool calls that skills answered, with the revision that answered.
  sql`create table skill_use (
    tenant text not null, conversation text not null, seq integer not null,
    call text not null, tool text not null, skill text not null, revision text not null,
    primary key (tenant, conversation, seq, call))`,
  // With these three, the store can check whether a text is still used without scanning all messages.
  sql`create index message_text on message (text) where text is not null`,
  sql`create index session_catalog on session (catalog)`,
  sql`create index session_listing on session (listing)`,
  sql`create index skill_use_skill on skill_use (tenant, skill)`,
  sql`create index conversation_updated on conversation (tenant, updated)`,
]

/** The columns that belong to one message of a conversation, by table, without the names of tenant and conversation. */
export const OWNED_COLUMNS = {
  message: 'seq, id, role, content, text, at, generation, digest, starts_over, back_to',
  session: 'seq, state, catalog, listing',
  skill_use: 'seq, call, tool, skill, revision',
} as const

/** Migrations, keyed by name, in the order in which they are applied. A published migration is never changed. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '2026-11-26-conversations': {
    async up(database: Kysely<unknown>): Promise<void> {
      for (const statement of SCHEMA) await statement.execute(database)
    },
  },
  '2026-11-27-back-to': {
    async up(database: Kysely<unknown>): Promise<void> {
      await sql`alter table message add column back_to integer`.execute(database)
    },
  },
}
