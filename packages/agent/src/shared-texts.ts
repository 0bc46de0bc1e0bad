import { createHash } from 'node:crypto'
import type { Insertable, Transaction } from 'kysely'
import type { ConversationTables } from './conversation-schema.ts'

type Writing = Transaction<ConversationTables>

/** Stores one copy of a text for all conversations, and returns the digest of the text. */
export async function putText(writing: Writing, content: string): Promise<string> {
  const digest = createHash('sha256').update(content).digest('hex')
  await writing
    .insertInto('text')
    .values({ digest, content })
    .onConflict(conflict => conflict.doNothing())
    .execute()
  return digest
}

/** A new row of the message table. */
export type NewMessageRow = Insertable<ConversationTables['message']>

/** Moves a system text into the shared table, because many conversations have the same system text. */
export async function storeText(writing: Writing, row: NewMessageRow): Promise<NewMessageRow> {
  return row.role === 'system' ? { ...row, content: '', text: await putText(writing, row.content) } : row
}

/** Returns the digests of the texts that a conversation refers to. */
export async function findTexts(
  writing: Writing,
  tenant: string,
  conversation: string,
): Promise<readonly string[]> {
  const rows = await writing
    .selectFrom('message')
    .select('text as digest')
    .where('tenant', '=', tenant)
    .where('conversation', '=', conversation)
    .union(
      writing
        .selectFrom('session')
        .select('catalog as digest')
        .where('tenant', '=', tenant)
        .where('conversation', '=', conversation),
    )
    .execute()
  return rows.flatMap(({ digest }) => digest ?? [])
}

/** Removes the texts with these digests, except texts that a conversation still uses. */
export async function removeUnusedTexts(writing: Writing, digests: readonly string[]): Promise<void> {
  for (const digest of digests)
    await writing
      .deleteFrom('text')
      .where('digest', '=', digest)
      .where(query =>
        query.not(query.exists(query.selectFrom('message').select('seq').where('text', '=', digest))),
      )
      .where(query =>
        query.not(query.exists(query.selectFrom('session').select('seq').where('catalog', '=', digest))),
      )
      .execute()
}
