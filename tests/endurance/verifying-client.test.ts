import { setTimeout as sleep } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type Skill, SkillsClient, SkillVerificationError } from '@modelcontextprotocol/client/ext/skills'
import { revisionOf } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import type { SkillFile } from '@skillstoke/core/source'
import { GENERATION_META_KEY, REVISION_META_KEY } from '@skillstoke/mcp'
import { expect, test } from 'vitest'
import { type DevProcess, startDev } from '../fixtures/dev.ts'
import { skillText, TemporaryFolder } from '../fixtures/skill-folder.ts'

const EDIT_EVERY_MS = 20
const EDITS_PER_SERIES = 40
const SERIES = 15

/** Writes files that carry the revision number, so that a mixture of two revisions is detectable. */
function writeRevision(folder: TemporaryFolder, number: number): void {
  folder.write('pdf/references/a.md', `a of ${number}`)
  folder.write(
    'pdf/SKILL.md',
    skillText('pdf', { description: `Revision ${number}.`, body: `Body of ${number}.` }),
  )
}

const URI = 'skill://pdf/SKILL.md'
const VERSIONS = ['2025-11-25', '2026-07-28'] as const

interface Seen {
  verified: number
  mismatches: number
  others: number
  readonly revisions: Set<unknown>
}

test('with series of edits every 20 ms, each answer to a verifying client comes from exactly the revision that the answer names', async () => {
  using folder = new TemporaryFolder()
  using state = new TemporaryFolder()
  writeRevision(folder, 0)
  await using dev = await startDev({ root: folder.path, state: state.path, args: ['--no-agent'] })
  const clients = await Promise.all(VERSIONS.map(version => connect(dev, version)))

  let edits = 0
  const all = clients.map((): Seen => ({ verified: 0, mismatches: 0, others: 0, revisions: new Set() }))
  const countConflicts = (): number =>
    all.reduce((sum, { mismatches, others }) => sum + mismatches + others, 0)
  // The test proves nothing unless some edits happen during a read.
  for (let series = 1; series <= SERIES || countConflicts() === 0; series++) {
    let isEditing = true
    const reading = clients.map(async (client, index) => {
      const seen = all[index] as Seen
      while (isEditing) await readOnce(client, seen)
      const { verified } = seen
      await readOnce(client, seen)
      // Without edits, each read is of one revision.
      expect(seen.verified).toBe(verified + 1)
    })
    for (let edit = 0; edit < EDITS_PER_SERIES; edit++) {
      writeRevision(folder, ++edits)
      await sleep(EDIT_EVERY_MS)
    }
    isEditing = false
    await Promise.all(reading)
  }
  const stale = await Promise.all(
    clients.map(async client => (await new SkillsClient(client).get(URI)).skill),
  )
  writeRevision(folder, ++edits)
  await dev.client.reload()

  // Entries that clients read during the edits are now out of date. One new request gets the current entry.
  for (const [index, client] of clients.entries()) {
    const skills = new SkillsClient(client)
    await expect(skills.read(stale[index] as Skill)).rejects.toBeInstanceOf(SkillVerificationError)
    const { skill } = await skills.get(URI)
    expect((await skills.read(skill)).body).toBe(`Body of ${edits}.\n`)
    expect((await skills.read(skill, 'references/a.md')).text).toBe(`a of ${edits}`)
    await client.close()
  }
  for (const { revisions } of all) expect(revisions.size).toBeGreaterThanOrEqual(SERIES)
}, 300_000)

async function connect(dev: DevProcess, version: (typeof VERSIONS)[number]): Promise<Client> {
  const mode = version === '2026-07-28' ? 'auto' : 'legacy'
  const client = new Client({ name: 'verifier', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(
    new StreamableHTTPClientTransport(dev.mcpUrl, {
      requestInit: { headers: { authorization: `Bearer ${dev.token}` } },
    }),
  )
  expect(client.getNegotiatedProtocolVersion()).toBe(version)
  return client
}

async function readOnce(client: Client, seen: Seen): Promise<void> {
  const skills = new SkillsClient(client)
  const { skill } = await skills.get(URI)
  const revision = revisionNamedBy(skill)
  seen.revisions.add(revision)
  expect(revisionMadeOf(skill)).toBe(revision)
  for (const file of skill.resources as { uri: string; digest: string }[]) {
    const { contents } = await client.readResource({ uri: file.uri })
    const [content] = contents as { text: string; _meta: Record<string, string> }[]
    expect(content?._meta[GENERATION_META_KEY]).toMatch(/^sha256:/)
    // The bytes of a revision match the entry of the revision. The bytes that a client read may also match the next
    // revision.
    const digest = `sha256:${nodeHasher.sha256(content?.text ?? '')}`
    if (content?._meta[REVISION_META_KEY] === revision) expect(digest).toBe(file.digest)
    else if (digest !== file.digest) seen.others++
  }
  try {
    const { frontmatter, body } = await skills.read(skill)
    expect(body).toBe(`Body of ${/\d+/.exec(String(frontmatter?.['description']))?.[0]}.\n`)
    seen.verified++
  } catch (thrown) {
    if (!(thrown instanceof SkillVerificationError)) throw thrown
    seen.mismatches++
  }
}

function revisionNamedBy(skill: Skill): unknown {
  return (skill['_meta'] as Record<string, unknown>)[REVISION_META_KEY]
}

/** Computes the revision from a list of files. */
function revisionMadeOf({ resources }: Skill): string {
  const files = (resources as { uri: string; digest: string; size: number }[]).map(
    ({ uri, digest, size }) => ({
      path: decodeURIComponent(uri.replace('skill://pdf/', '')),
      digest: digest as SkillFile['digest'],
      size,
      isExecutable: false,
    }),
  )
  return revisionOf(files, nodeHasher)
}
