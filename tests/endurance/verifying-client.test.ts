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
/** After a series of edits, the writer pauses for as long, so that a client can read all files of one revision. */
const EDITS_PER_SERIES = 40
const DURATION_MS = 30_000
const MIN_EDITS = DURATION_MS / EDIT_EVERY_MS / 6
const MIN_REVISIONS = DURATION_MS / 2_000 / 3
const MIN_READS = 20
const MIN_VERIFIED = 5

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
  reads: number
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
  let ticks = 0
  const timer = setInterval(() => {
    if (Math.floor(ticks++ / EDITS_PER_SERIES) % 2 === 0) writeRevision(folder, ++edits)
  }, EDIT_EVERY_MS)
  const end = performance.now() + DURATION_MS
  // A slow machine needs more time for the same number of edits and reads.
  const isEnough = ({ reads, verified, revisions }: Seen): boolean =>
    edits > MIN_EDITS && revisions.size > MIN_REVISIONS && reads > MIN_READS && verified > MIN_VERIFIED
  const all = await Promise.all(
    clients.map(async client => {
      const seen: Seen = { reads: 0, verified: 0, mismatches: 0, others: 0, revisions: new Set() }
      while (performance.now() < end || !isEnough(seen)) await readOnce(client, seen)
      return seen
    }),
  )
  const stale = await Promise.all(
    clients.map(async client => (await new SkillsClient(client).get(URI)).skill),
  )
  writeRevision(folder, ++edits)
  clearInterval(timer)
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
  expect(edits).toBeGreaterThan(MIN_EDITS)
  // The test proves nothing unless some edits happen during a read.
  expect(all.reduce((sum, { mismatches, others }) => sum + mismatches + others, 0)).toBeGreaterThan(0)
  for (const { reads, verified, revisions } of all) {
    // Each answer contains a complete folder or no folder.
    expect(revisions.size).toBeGreaterThan(MIN_REVISIONS)
    expect(reads).toBeGreaterThan(MIN_READS)
    expect(verified).toBeGreaterThan(MIN_VERIFIED)
  }
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
    seen.reads++
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
