import { digestOf, revisionOf } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import { expect, test } from 'vitest'
import type { KnownEpoch } from './feed-state.ts'
import { EPOCH_SUBJECT, toAnnouncementSubject, toHeadSubject, toStatementSubject } from './fleet-subjects.ts'
import { fromStoredHeads, toStoredHeads } from './head-storage.ts'
import { HeadTable } from './head-table.ts'
import {
  type Announcement,
  type ChannelList,
  type FleetDocument,
  type FleetEpoch,
  findFilesFault,
  readDocument,
  type SkillVersion,
  writeDocument,
} from './manifest.ts'
import type { StoredMessage } from './nats-messages.ts'
import { createSigningKey, loadSigningKey, NO_KEYS, TrustedKeys } from './signing.ts'

const pair = createSigningKey()
const signer = loadSigningKey(pair.privateKey)
const KEYS = new TrustedKeys([pair.publicKey])

function versionOf(skill: string, version: number, fields: Partial<SkillVersion> = {}): SkillVersion {
  const digest = digestOf(`${skill} ${version}`, nodeHasher)
  const files = [{ path: 'SKILL.md', digest, size: 10, isExecutable: false }]
  return {
    kind: 'skill',
    fleet: 'fleet',
    epoch: 1,
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
  return toHeadSubject({ channel: 'stable', skill })
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
  const { fleet, epoch, channel, publishId, publisher, at } = versionOf(skill, version)
  return { kind: 'removal', fleet, epoch, channel, skill, version, publishId, publisher, at }
}

async function epochOf(epoch: number, id: string = 'fleet'): Promise<KnownEpoch> {
  const document: FleetEpoch = { kind: 'epoch', id, epoch, at: '2026-11-25T00:00:00Z' }
  return { document, data: await writeDocument(document, signer) }
}

/** Returns an empty table of the first epoch. */
async function tableWith(keys: TrustedKeys): Promise<HeadTable> {
  return new HeadTable(keys).startSnapshot(await epochOf(1))
}

/** The message with the list of the channel. */
async function listAt(seq: number, epoch: number, skills: ChannelList['skills'], fleet: string = 'fleet') {
  const fields = { fleet, epoch, channel: 'stable', publishId: 'p', publisher: 'test', at: '' }
  return await messageOf(
    seq,
    { kind: 'list', ...fields, skills },
    { subject: toStatementSubject({ kind: 'list', channel: 'stable' }) },
  )
}

function partOf(
  index: number,
  count: number,
  isSplit?: true,
): Pick<SkillVersion, 'publishId' | 'publication'> {
  return { publishId: 'p', publication: { index, count, ...(isSplit === undefined ? {} : { isSplit }) } }
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

test('a publication becomes visible with its last head, also if that head changes nothing', async () => {
  const table = await tableWith(KEYS)
  table.publish()
  expect(await versionsAfter(table, messageOf(1, versionOf('maps', 1, partOf(0, 2))))).toEqual({})
  expect(table.isCutShort).toBe(true)
  const unknown = { ...removalOf('notes', 1), ...partOf(1, 2) }
  expect(await versionsAfter(table, messageOf(2, unknown))).toEqual({ maps: 1 })
  expect(table.isCutShort).toBe(false)
})

test('if one head of a publication is refused, the others keep their earlier versions until it is replaced', async () => {
  const table = await tableWith(KEYS)
  await versionsAfter(table, messageOf(1, versionOf('maps', 1)), messageOf(2, versionOf('notes', 1)))
  const forged = messageOf(4, versionOf('notes', 2, partOf(1, 2)), { isSigned: false })
  expect(await versionsAfter(table, messageOf(3, versionOf('maps', 2, partOf(0, 2))), forged)).toEqual({
    maps: 1,
    notes: 1,
  })
  expect(table.state.isComplete).toBe(false)
  expect(await versionsAfter(table, messageOf(5, versionOf('notes', 3)))).toEqual({ maps: 2, notes: 3 })
  expect(table.state.isComplete).toBe(true)
})

test('a forged head does not take a head out of its publication', async () => {
  const table = await tableWith(KEYS)
  await versionsAfter(table, messageOf(1, versionOf('maps', 1)), messageOf(2, versionOf('notes', 1)))
  await versionsAfter(table, messageOf(3, versionOf('maps', 2, partOf(0, 3))))
  const forged = messageOf(6, versionOf('maps', 9), { isSigned: false })
  const others = [
    messageOf(4, versionOf('notes', 2, partOf(1, 3))),
    messageOf(5, versionOf('more', 1, partOf(2, 3))),
  ]
  expect(await versionsAfter(table, ...others, forged)).toEqual({ maps: 2, notes: 2, more: 1 })
  const split = table.startSnapshot(await epochOf(1))
  const messages = [
    messageOf(7, versionOf('maps', 3, partOf(0, 2, true))),
    messageOf(8, versionOf('maps', 9), { isSigned: false }),
  ]
  expect(await versionsAfter(split, ...messages)).toEqual({ maps: 2, notes: 2, more: 1 })
  const fields = { fleet: 'fleet', epoch: 1, channel: 'stable', publishId: 'p', publisher: 'test', at: '' }
  const end = messageOf(
    9,
    { kind: 'publication', ...fields, count: 2 },
    { subject: toStatementSubject({ kind: 'publication', publishId: 'p' }) },
  )
  expect(await versionsAfter(split, end)).toMatchObject({ maps: 3 })
  expect(split.state.refusals.get(subjectOf('maps'))).toMatchObject({ seq: 8 })
})

test('a publication in several commits counts only after its end, also in a snapshot', async () => {
  const before = await tableWith(KEYS)
  await versionsAfter(before, messageOf(1, versionOf('maps', 1)))
  const common = { fleet: 'fleet', epoch: 1, channel: 'stable', publishId: 'p', publisher: 'test', at: '' }
  const end = messageOf(
    9,
    { kind: 'publication', ...common, count: 2 },
    { subject: toStatementSubject({ kind: 'publication', publishId: 'p' }) },
  )
  for (const table of [before, before.startSnapshot(await epochOf(1))]) {
    const heads = [versionOf('maps', 2, partOf(0, 2, true)), versionOf('notes', 1, partOf(1, 2, true))]
    const messages = heads.map(async (head, index) => await messageOf(4 + index, head))
    expect(await versionsAfter(table, ...messages)).toEqual({ maps: 1 })
    expect(table.subjectCount).toBe(2)
    const forged = messageOf(8, readDocument((await end).data, KEYS), {
      subject: toStatementSubject({ kind: 'publication', publishId: 'q' }),
    })
    expect(await versionsAfter(table, forged)).toEqual({ maps: 1 })
    expect(await versionsAfter(table, end)).toEqual({ maps: 2, notes: 1 })
  }
})

test('a publication that was given up never counts, also in a snapshot', async () => {
  const before = await tableWith(KEYS)
  await versionsAfter(before, messageOf(1, versionOf('maps', 1)))
  const fields = { fleet: 'fleet', epoch: 1, channel: 'stable', publishId: 'p', publisher: 'test', at: '' }
  const statement = { kind: 'publication', ...fields, count: 2, isGivenUp: true } as const
  for (const table of [before, before.startSnapshot(await epochOf(1))]) {
    const head = messageOf(4, versionOf('maps', 2, partOf(0, 2, true)))
    const end = messageOf(5, statement, {
      subject: toStatementSubject({ kind: 'publication', publishId: 'p' }),
    })
    expect(await versionsAfter(table, head, end)).toEqual({ maps: 1 })
    expect(table.state.refusals.size).toBe(0)
  }
})

test.each([
  { index: -1, count: 2 },
  { index: 2, count: 2 },
  { index: 0.5, count: 2 },
])('a head at position $index of $count is refused', async publication => {
  const { data } = await messageOf(1, versionOf('maps', 1, { publication }))
  expect(() => readDocument(data, KEYS)).toThrow('its publication is not valid')
})

test('an older version is refused and leaves the newer one, until a later version comes', async () => {
  const table = await tableWith(KEYS)
  await versionsAfter(table, messageOf(1, versionOf('maps', 3)))
  expect(await versionsAfter(table, messageOf(2, versionOf('maps', 2)))).toEqual({ maps: 3 })
  expect([...table.state.refusals.values()]).toMatchObject([
    { reason: 'its version 2 is older than 3', seq: 2 },
  ])
  expect(await versionsAfter(table, messageOf(3, versionOf('maps', 4)))).toEqual({ maps: 4 })
  expect(table.state.refusals.size).toBe(0)
})

test('the removal of a skill that was only ever refused ends the refusal', async () => {
  const table = await tableWith(KEYS)
  await versionsAfter(table, messageOf(1, versionOf('maps', 1), { isSigned: false }))
  expect(table.state.refusals.size).toBe(1)
  await versionsAfter(table, messageOf(2, removalOf('maps', 2)))
  expect(table.state.refusals.size).toBe(0)
})

test('with pinned keys, an empty marker removes nothing, and after a signed removal it is no fault', async () => {
  const empty = { data: new Uint8Array(), isMarker: true }
  const table = await tableWith(KEYS)
  await versionsAfter(table, messageOf(1, versionOf('maps', 1)))
  expect(await versionsAfter(table, messageOf(2, versionOf('maps', 1), empty))).toEqual({ maps: 1 })
  expect(table.state.refusals.size).toBe(1)
  await versionsAfter(table, messageOf(3, removalOf('maps', 2)))
  expect(await versionsAfter(table, messageOf(4, removalOf('maps', 2), empty))).toEqual({})
  expect(table.state.refusals.size).toBe(0)
  // The version of the removal is still known.
  expect(await versionsAfter(table, messageOf(5, versionOf('maps', 1)))).toEqual({})
})

test('without keys, a snapshot within an epoch removes what is gone, and does not go back', async () => {
  const table = await tableWith(NO_KEYS)
  await versionsAfter(table, messageOf(1, versionOf('maps', 3)), messageOf(2, versionOf('notes', 1)))
  const first = table.startSnapshot(await epochOf(1))
  expect(await versionsAfter(first, messageOf(1, versionOf('maps', 3)))).toEqual({ maps: 3 })
  const same = first.startSnapshot(await epochOf(1))
  expect(await versionsAfter(same, messageOf(1, versionOf('maps', 1)))).toEqual({ maps: 3 })
  // A whole channel does not disappear without its list.
  const empty = same.startSnapshot(await epochOf(1))
  expect(await versionsAfter(empty)).toEqual({ maps: 3 })
  expect(await versionsAfter(empty.startSnapshot(await epochOf(2)), listAt(1, 2, {}))).toEqual({})
})

test('with keys, only a signed removal takes a skill that the stream does not contain any more', async () => {
  const table = await tableWith(KEYS)
  await versionsAfter(
    table,
    messageOf(1, versionOf('maps', 3)),
    messageOf(2, versionOf('notes', 1)),
    messageOf(3, removalOf('old', 5)),
  )
  const purged = table.startSnapshot(await epochOf(1))
  expect(await versionsAfter(purged, messageOf(2, versionOf('notes', 1)))).toEqual({ maps: 3, notes: 1 })
  expect(purged).toMatchObject({ subjectCount: 1, state: { isComplete: false } })
  // Neither the purged version nor the purged removal can be replaced by an earlier document.
  const replayed = [messageOf(6, versionOf('maps', 2)), messageOf(7, versionOf('old', 4))]
  expect(await versionsAfter(purged, ...replayed)).toEqual({ maps: 3, notes: 1 })
  expect(await versionsAfter(purged, messageOf(8, removalOf('maps', 4)))).toEqual({ notes: 1 })
})

test('an announcement counts at its subject with a trusted signature, until another message replaces it', async () => {
  const table = await tableWith(KEYS)
  const fields = { fleet: 'fleet', epoch: 1, channel: 'stable', publishId: 'p', publisher: 'test', at: '' }
  const subject = toAnnouncementSubject('stable')
  const announcement: Announcement = { kind: 'announcement', ...fields, files: versionOf('maps', 1).files }
  const attacks: readonly Promise<StoredMessage>[] = [
    messageOf(3, announcement, { subject, isSigned: false }),
    messageOf(5, { ...announcement, fleet: 'other' }, { subject }),
    messageOf(7, announcement, { subject: toAnnouncementSubject('canary') }),
    messageOf(9, versionOf('maps', 1), { subject }),
    messageOf(11, removalOf('maps', 1), { subject, data: new Uint8Array() }),
  ]
  for (const attack of attacks) {
    const { seq } = await attack
    expect(await versionsAfter(table, messageOf(seq - 1, announcement, { subject }))).toEqual({})
    expect(table.state.announcements.get(subject)?.publishId).toBe('p')
    expect(await versionsAfter(table, attack)).toEqual({})
    expect(table.state.announcements.has((await attack).subject)).toBe(false)
    expect(table.state.refusals.size).toBe(0)
  }
})

test('a head counts only in its fleet, its epoch and at its place', async () => {
  const table = await tableWith(KEYS)
  const heads: readonly [Promise<StoredMessage>, string | undefined][] = [
    [messageOf(1, versionOf('maps', 1, { fleet: 'other' })), 'it belongs to another fleet'],
    [messageOf(2, versionOf('maps', 1), { subject: subjectOf('notes') }), 'it belongs to stable/maps'],
    [messageOf(4, versionOf('maps', 1), { subject: '$KV.SK.stable.=6Daps' }), undefined],
    [messageOf(5, versionOf('maps', 1), { subject: '$KV.SK.canary.maps' }), 'it belongs to stable/maps'],
  ]
  for (const [message, reason] of heads) {
    expect(await versionsAfter(table, message)).toEqual({})
    expect(table.state.refusals.get((await message).subject)?.reason).toBe(reason)
  }
})

test('a new epoch changes a channel only with its list, which decides about heads of earlier epochs', async () => {
  const table = await tableWith(KEYS)
  const skills = ['maps', 'notes', 'old']
  const stored = skills.map(async (skill, index) => await messageOf(index + 1, versionOf(skill, 7)))
  await versionsAfter(table, ...stored)
  const before = { maps: 7, notes: 7, old: 7 }
  const next = table.startSnapshot(await epochOf(2))
  const restored = [messageOf(1, versionOf('maps', 3)), messageOf(2, versionOf('notes', 6))]
  expect(await versionsAfter(next, ...restored, messageOf(3, versionOf('new', 1, { epoch: 2 })))).toEqual(
    before,
  )
  expect(next.state.awaited).toEqual(new Set(['stable']))
  // The list of another epoch says nothing.
  expect(await versionsAfter(next, listAt(8, 1, {}))).toEqual(before)
  expect(await versionsAfter(next, listAt(9, 2, { maps: 3, notes: 5, new: 1 }))).toEqual({
    maps: 3,
    notes: 7,
    new: 1,
  })
  expect(next.state.refusals.get(subjectOf('notes'))?.reason).toContain(
    'the list of epoch 2 does not name it',
  )
  // What is signed in this epoch is not replaced by what the list names.
  await versionsAfter(next, messageOf(10, versionOf('maps', 4, { epoch: 2 })))
  expect(await versionsAfter(next, messageOf(11, versionOf('maps', 3)))).toMatchObject({ maps: 4 })
  expect(await versionsAfter(next, messageOf(12, removalOf('new', 8)))).toMatchObject({ new: 1 })
  expect(await versionsAfter(next, messageOf(13, versionOf('constructor', 1)))).toMatchObject({ maps: 4 })
})

test('a channel that waits for its list continues to wait in the next process', async () => {
  const table = await tableWith(NO_KEYS)
  await versionsAfter(table, messageOf(1, versionOf('maps', 7)))
  const moved = table.startSnapshot(await epochOf(1, 'moved'))
  const head = messageOf(1, versionOf('maps', 1, { fleet: 'moved' }))
  expect(await versionsAfter(moved, head)).toEqual({ maps: 7 })
  const stored = fromStoredHeads(toStoredHeads(moved.state, []), NO_KEYS)
  if (stored === undefined) throw new Error('nothing is stored')
  const resumed = new HeadTable(NO_KEYS)
  resumed.resume(stored)
  expect(resumed.seq).toBe(0)
  resumed.publish()
  expect(resumed.state.isComplete).toBe(false)
  expect(await versionsAfter(resumed, head)).toEqual({ maps: 7 })
  expect(await versionsAfter(resumed, listAt(2, 1, { maps: 1 }, 'moved'))).toEqual({ maps: 1 })
})

test('only a message that is newer than the known one of its subject shows that a stream went back', async () => {
  const table = await tableWith(KEYS)
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
  const table = await tableWith(KEYS)
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
