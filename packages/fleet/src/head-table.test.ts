import { digestOf, revisionOf } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import { expect, test } from 'vitest'
import { EPOCH_SUBJECT, toHeadSubject } from './fleet-subjects.ts'
import { fromStoredHeads, HeadTable, type KnownEpoch, toStoredHeads } from './head-table.ts'
import {
  type FleetDocument,
  type FleetEpoch,
  findFilesFault,
  type SkillVersion,
  writeDocument,
} from './manifest.ts'
import type { StoredMessage } from './nats-messages.ts'
import { createSigningKey, loadSigningKey, TrustedKeys } from './signing.ts'

const NO_KEYS = new TrustedKeys([])
const pair = createSigningKey()
const signer = loadSigningKey(pair.privateKey)
const KEYS = new TrustedKeys([pair.publicKey])

function versionOf(skill: string, version: number, fields: Partial<SkillVersion> = {}): SkillVersion {
  const digest = digestOf(`${skill} ${version}`, nodeHasher)
  const files = [{ path: 'SKILL.md', digest, size: 10, isExecutable: false }]
  return {
    kind: 'skill',
    channel: 'stable',
    skill,
    version,
    publishId: `${skill}-${version}`,
    publisher: 'test',
    at: '2026-11-25T00:00:00Z',
    revision: revisionOf(files, nodeHasher),
    frontmatter: { name: skill },
    skillFile: 'SKILL.md',
    files,
    ...fields,
  }
}

function subjectOf(skill: string): string {
  return toHeadSubject({ channel: 'stable', skill, isStaged: false })
}

async function messageOf(
  seq: number,
  document: FleetDocument & { skill?: string },
  fields: Partial<StoredMessage> & { readonly isSigned?: boolean } = {},
): Promise<StoredMessage> {
  const { isSigned = true, ...rest } = fields
  const data = await writeDocument(document, isSigned ? signer : undefined)
  return {
    subject: subjectOf(document.skill ?? ''),
    seq,
    at: seq * 1_000,
    data,
    isMarker: document.kind === 'removal',
    ...rest,
  }
}

function removalOf(skill: string, version: number): FleetDocument & { skill: string } {
  const { channel, publishId, publisher, at } = versionOf(skill, version)
  return { kind: 'removal', channel, skill, version, publishId, publisher, at }
}

async function epochOf(epoch: number): Promise<KnownEpoch> {
  const document: FleetEpoch = { kind: 'epoch', id: 'fleet', epoch, at: '2026-11-25T00:00:00Z' }
  return { document, data: await writeDocument(document, signer) }
}

/** Applies messages and publishes. Returns the versions by skill. */
async function versionsAfter(
  table: HeadTable,
  ...messages: readonly Promise<StoredMessage>[]
): Promise<Record<string, number>> {
  for (const message of await Promise.all(messages)) table.apply(message)
  table.publish()
  return Object.fromEntries([...table.state.heads.values()].map(head => [head.skill, head.manifest.version]))
}

test('a batch becomes visible with its last member, also if that member changes nothing', async () => {
  const table = new HeadTable(KEYS)
  const batch = { batch: { index: 0, count: 2 } }
  const { state } = table
  expect(await versionsAfter(table, messageOf(1, versionOf('maps', 1, batch)))).toEqual({})
  expect(table.state).toBe(state)
  const unknown = { ...removalOf('notes', 1), batch: { index: 1, count: 2 } }
  expect(await versionsAfter(table, messageOf(2, unknown))).toEqual({ maps: 1 })
})

test('an older version is refused and leaves the newer one, until a later version comes', async () => {
  const table = new HeadTable(KEYS)
  await versionsAfter(table, messageOf(1, versionOf('maps', 3)))
  expect(await versionsAfter(table, messageOf(2, versionOf('maps', 2)))).toEqual({ maps: 3 })
  expect([...table.state.refusals.values()]).toMatchObject([
    { reason: 'its version 2 is older than 3', seq: 2 },
  ])
  expect(await versionsAfter(table, messageOf(3, versionOf('maps', 4)))).toEqual({ maps: 4 })
  expect(table.state.refusals.size).toBe(0)
})

test('the removal of a skill that was only ever refused ends the refusal', async () => {
  const table = new HeadTable(KEYS)
  await versionsAfter(table, messageOf(1, versionOf('maps', 1), { isSigned: false }))
  expect(table.state.refusals.size).toBe(1)
  await versionsAfter(table, messageOf(2, removalOf('maps', 2)))
  expect(table.state.refusals.size).toBe(0)
})

test('with pinned keys, an empty marker removes nothing, and after a signed removal it is no fault', async () => {
  const empty = { data: new Uint8Array(), isMarker: true }
  const table = new HeadTable(KEYS)
  await versionsAfter(table, messageOf(1, versionOf('maps', 1)))
  expect(await versionsAfter(table, messageOf(2, versionOf('maps', 1), empty))).toEqual({ maps: 1 })
  expect(table.state.refusals.size).toBe(1)
  await versionsAfter(table, messageOf(3, removalOf('maps', 2)))
  expect(await versionsAfter(table, messageOf(4, removalOf('maps', 2), empty))).toEqual({})
  expect(table.state.refusals.size).toBe(0)
  // The version of the removal is still known.
  expect(await versionsAfter(table, messageOf(5, versionOf('maps', 1)))).toEqual({})
})

test('a snapshot within an epoch removes what is gone, and does not go back', async () => {
  const table = new HeadTable(KEYS)
  await versionsAfter(table, messageOf(1, versionOf('maps', 3)), messageOf(2, versionOf('notes', 1)))
  const [seven, eight] = await Promise.all([epochOf(7), epochOf(8)])
  const first = table.startSnapshot(seven)
  await versionsAfter(first, messageOf(1, versionOf('maps', 3)))
  const same = first.startSnapshot(eight)
  expect(await versionsAfter(same, messageOf(1, versionOf('maps', 1)))).toEqual({ maps: 1 })
  const next = same.startSnapshot(eight)
  expect(await versionsAfter(next, messageOf(1, versionOf('notes', 5)))).toEqual({ notes: 5 })
  const older = next.startSnapshot(eight)
  expect(await versionsAfter(older, messageOf(1, versionOf('notes', 4)))).toEqual({ notes: 5 })
  expect(
    await versionsAfter(older.startSnapshot(await epochOf(9)), messageOf(1, versionOf('notes', 1))),
  ).toEqual({
    notes: 1,
  })
})

test('only a message that is newer than the known one of its subject shows that a stream went back', async () => {
  const table = new HeadTable(KEYS)
  await versionsAfter(table, messageOf(4, versionOf('maps', 1)), messageOf(9, versionOf('notes', 1)))
  const late = await messageOf(3, versionOf('maps', 1), { at: 3_000 })
  expect(table.isBehind(late)).toBe(false)
  // The clocks of two leaders differ, so a later message of another subject may have an earlier time.
  expect(table.isBehind({ ...late, at: 4_000, seq: 4 })).toBe(false)
  expect(table.isBehind({ ...late, at: 5_000 })).toBe(true)
  expect(table.isBehind({ ...late, at: 5_000, seq: 10 })).toBe(false)
  expect(table.isBehind({ ...late, subject: EPOCH_SUBJECT })).toBe(true)
})

test('stored heads are the served ones, and are read again from the start after a refusal or a failure', async () => {
  const table = new HeadTable(KEYS).startSnapshot(await epochOf(1))
  await versionsAfter(table, messageOf(1, versionOf('maps', 1)), messageOf(2, versionOf('notes', 1)))
  const [maps] = table.state.heads.values()
  const stored = toStoredHeads(table.state, [])
  expect(stored).toMatchObject({ seq: 2, heads: [{ seq: 1 }, { seq: 2 }] })
  expect(fromStoredHeads(stored, KEYS)?.heads).toEqual(table.state.heads)
  await versionsAfter(table, messageOf(3, versionOf('maps', 2)))
  const newer = table.state.heads.get(subjectOf('maps'))
  if (maps === undefined || newer === undefined) throw new Error('the head is missing')
  const replaced = fromStoredHeads(toStoredHeads(table.state, [{ head: newer, before: maps }]), KEYS)
  expect(replaced?.seq).toBe(0)
  expect(replaced?.heads.get(subjectOf('maps'))?.manifest.version).toBe(1)
  const left = fromStoredHeads(toStoredHeads(table.state, [{ head: newer, before: undefined }]), KEYS)
  expect(left?.heads.has(subjectOf('maps'))).toBe(false)
})

test('stored heads are checked with the keys of the next process', async () => {
  const open = new HeadTable(NO_KEYS).startSnapshot(await epochOf(1))
  await versionsAfter(
    open,
    messageOf(1, versionOf('maps', 1)),
    messageOf(2, versionOf('notes', 1), { isSigned: false }),
  )
  const restored = fromStoredHeads(toStoredHeads(open.state, []), KEYS)
  expect([...(restored?.heads.values() ?? [])].map(({ skill }) => skill)).toEqual(['maps'])
  expect(restored).toMatchObject({ seq: 0 })
  expect(restored?.refusals.get(subjectOf('notes'))?.reason).toBe('it is not signed')
  // Without a trusted epoch, the heads belong to another fleet.
  const other = new TrustedKeys([createSigningKey().publicKey])
  expect(fromStoredHeads(toStoredHeads(open.state, []), other)).toBeUndefined()
})

test('after a message with another epoch, a table accepts nothing', async () => {
  const table = new HeadTable(KEYS).startSnapshot(await epochOf(1))
  await versionsAfter(table, messageOf(1, versionOf('maps', 5)))
  const { document, data } = await epochOf(2)
  const epoch = messageOf(2, document, { subject: EPOCH_SUBJECT, data })
  expect(await versionsAfter(table, epoch, messageOf(3, versionOf('maps', 1)))).toEqual({ maps: 5 })
  expect(table.state.refusals.size).toBe(0)
  expect(table).toMatchObject({ seq: 1, newEpoch: { seq: 2 } })
  table.forgetNewEpoch()
  expect(table.newEpoch).toBeUndefined()
})

test('a published state stays as it is while later messages are applied', async () => {
  const table = new HeadTable(KEYS)
  await versionsAfter(table, messageOf(1, versionOf('maps', 1)), messageOf(2, removalOf('notes', 3)))
  const { state } = table
  await versionsAfter(table, messageOf(3, versionOf('maps', 2)), messageOf(4, versionOf('notes', 4)))
  expect(state.seq).toBe(2)
  expect(state.heads.get(subjectOf('maps'))?.manifest.version).toBe(1)
  expect(state.others.get(subjectOf('notes'))).toMatchObject({ version: 3 })
})

test.each([
  [['.GIT/config'], 'never belongs to a skill'],
  [['a/HEAD', 'a/objects/b', 'a/refs/c'], 'is part of a git repository'],
  [['.idea/workspace.xml'], 'never belongs to a skill'],
  [['.env'], 'usually holds a secret'],
])('an agent refuses a version with the files %j, which no other source would read', (paths, reason) => {
  const digest = digestOf('x', nodeHasher)
  const files = ['SKILL.md', ...paths].map(path => ({ path, digest, size: 1, isExecutable: false }))
  expect(findFilesFault(files)).toContain(reason)
})
