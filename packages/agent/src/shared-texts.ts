import { createHash } from 'node:crypto'
import { type RawBuilder, sql, type Transaction } from 'kysely'

/** Stores one copy of a text for all conversations, and returns the digest of the text. */
export async function putText(writing: Transaction<unknown>, content: string): Promise<string> {
  const digest = createHash('sha256').update(content).digest('hex')
  await sql`insert into text (digest, content) values (${digest}, ${content}) on conflict do nothing`.execute(
    writing,
  )
  return digest
}

/** Returns the digests of the texts to which rows refer. `owner` selects these rows. */
export async function findTexts(
  writing: Transaction<unknown>,
  owner: RawBuilder<unknown>,
): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly digest: string | null }>`
    select text as digest from message where ${owner}
    union select catalog from session where ${owner}
    union select listing from session where ${owner}`.execute(writing)
  return rows.flatMap(({ digest }) => digest ?? [])
}

/** Removes the texts with these digests, except texts that a conversation still uses. */
export async function removeUnusedTexts(
  writing: Transaction<unknown>,
  digests: readonly string[],
): Promise<void> {
  for (const digest of digests)
    await sql`delete from text where digest = ${digest}
      and not exists (select 1 from message where text = ${digest})
      and not exists (select 1 from session where catalog = ${digest} or listing = ${digest})`.execute(
      writing,
    )
}
