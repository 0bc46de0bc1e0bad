import { connect, headers, type NatsConnection } from '@nats-io/transport-node'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  connectTo,
  createFolder,
  describeNumber,
  follow,
  LONG,
  namesOf,
  numberOf,
  problemsOf,
  startFleet,
  startServer,
} from '../../../tests/fixtures/fleet.ts'
import { NATS_SERVER, type NatsServer, OLDEST_NATS_SERVER } from '../../../tests/fixtures/nats-server.ts'
import type { TemporaryFolder } from '../../../tests/fixtures/skill-folder.ts'
import {
  createSigningKey,
  examineFleet,
  type FleetConnection,
  loadSigningKey,
  type ManifestSigner,
  prepareFleet,
  SkillPublisher,
} from './index.ts'
import { SequenceConflict } from './nats-messages.ts'

const HEAD = '$KV.SK.stable.maps'

interface SignedFleet {
  readonly server: NatsServer
  readonly key: { readonly privateKey: string; readonly publicKey: string }
  readonly signer: ManifestSigner
  /** Trusts the key. */
  readonly fleet: FleetConnection
  readonly folder: TemporaryFolder
  readonly publisher: SkillPublisher
  /** Publishes the skill "maps" with a number in its description. */
  readonly publish: (number: number) => Promise<void>
  /** Sends messages as a program that may write every subject. */
  readonly nc: NatsConnection
}

/** Starts a server with an empty fleet whose documents are signed. */
async function startSignedFleet(key: SignedFleet['key'] = createSigningKey()): Promise<SignedFleet> {
  const server = await startServer()
  const signer = loadSigningKey(key.privateKey)
  const fleet = connectTo({ servers: server.url, trustedKeys: [key.publicKey] })
  await prepareFleet(fleet, { signer })
  const [folder, publisher] = [createFolder(), new SkillPublisher(fleet, { signer })]
  const publish = async (number: number): Promise<void> => {
    folder.writeSkill('maps', describeNumber(number))
    await publisher.publish(folder.path)
  }
  const nc = await connect({ servers: server.url })
  onTestFinished(async () => await nc.close())
  return { server, key, signer, fleet, folder, publisher, publish, nc }
}

async function readHead(fleet: FleetConnection, subject: string = HEAD): Promise<Uint8Array> {
  const stored = await (await fleet.open()).readLast('KV_SK', subject, 'leader')
  if (stored === undefined) throw new Error(`there is no message ${subject}`)
  return stored.data
}

async function findingsOf(fleet: FleetConnection): Promise<string> {
  const { findings } = await examineFleet(fleet)
  return findings
    .filter(({ message }) => !/signatures are not checked|use 3 in production/.test(message))
    .map(({ message, fix = '' }) => `${message}; ${fix}`)
    .join('\n')
}

/** Writes a marker without a document. */
async function writeMarker(nc: NatsConnection, subject: string): Promise<void> {
  const marker = headers()
  marker.set('KV-Operation', 'DEL')
  await nc.request(subject, new Uint8Array(), { headers: marker, timeout: 2_000 })
}

const VERSIONS = [
  { version: 'newest', program: NATS_SERVER, count: 501, committed: 500 },
  { version: 'oldest', program: OLDEST_NATS_SERVER, count: 3, committed: 1 },
] as const

describe.each(VERSIONS)('a publication in several commits on the $version server', parts => {
  const { version, program, count, committed } = parts
  test.skipIf(program === undefined)(
    'is served only after its last commit',
    { timeout: 120_000 },
    async () => {
      const { server, folder, publisher } = await startFleet({ version })
      const names = Array.from({ length: count }, (_, index) => `skill-${String(index).padStart(3, '0')}`)
      const publish = async (number: number, signal?: AbortSignal, onProgress?: (done: number) => void) => {
        for (const name of names) folder.writeSkill(name, describeNumber(number))
        return await publisher.publish(folder.path, {
          ...(signal === undefined ? {} : { signal }),
          onProgress: ({ step, done }) => (step === 'commit' ? onProgress?.(done) : undefined),
        })
      }
      const editionsOf = (agent: Awaited<ReturnType<typeof follow>>): ReadonlySet<number> =>
        new Set(names.map(name => numberOf(agent, name)))
      await publish(1)
      const agent = await follow(server.url)
      const seen = new Set<string>()
      agent.subscribe(() => void seen.add([...editionsOf(agent)].join()))
      expect(editionsOf(agent)).toEqual(new Set([1]))
      const abort = new AbortController()
      const reason = new Error('killed')
      const dying = publish(2, abort.signal, done => {
        if (done === committed) abort.abort(reason)
      })
      await expect(dying).rejects.toBe(reason)
      await agent.reload()
      expect(editionsOf(agent)).toEqual(new Set([1]))
      // A new agent knows no earlier versions of the heads that wait.
      const fresh = await follow(server.url, { retrieval: 'on-load' })
      expect(namesOf(fresh)).toHaveLength(count - committed)
      expect(problemsOf(fresh)).toContain('for the rest of the publication')
      expect(await findingsOf(connectTo({ servers: server.url }))).toContain(
        'the rest of the publication is missing',
      )
      await expect(
        publisher.promote({ from: 'stable', to: 'canary' }, { names: ['skill-000'] }),
      ).rejects.toMatchObject({ code: 'SKILL_INVALID' })
      // The files are unchanged, but no agent serves what was committed.
      const report = await publish(2)
      expect(report.skills.every(({ outcome }) => outcome === 'published')).toBe(true)
      await vi.waitFor(() => expect(editionsOf(agent)).toEqual(new Set([2])), LONG)
      expect([...seen].filter(each => each.includes(','))).toEqual([])
      expect((await publish(2)).skills.every(({ outcome }) => outcome === 'unchanged')).toBe(true)
      expect(editionsOf(await follow(server.url, { retrieval: 'on-load' }))).toEqual(new Set([2]))
    },
  )
})

describe.skipIf(NATS_SERVER === undefined)(
  'two publications in several commits',
  { timeout: 120_000 },
  () => {
    test('that overlap: the first one fails whole, because its last commit is refused', async () => {
      const { server, folder, publisher } = await startFleet()
      const names = Array.from({ length: 600 }, (_, index) => `skill-${String(index).padStart(3, '0')}`)
      const write = (number: number): void => {
        for (const name of names) folder.writeSkill(name, describeNumber(number))
      }
      write(1)
      await publisher.publish(folder.path)
      const agent = await follow(server.url, { retrieval: 'on-load' })
      const paused = connectTo({ servers: server.url })
      const engine = await paused.open()
      const [reached, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const storeAll = engine.storeAll.bind(engine)
      engine.storeAll = async messages => {
        if (messages.length === 101) {
          reached.resolve()
          await goOn.promise
        }
        return await storeAll(messages)
      }
      write(2)
      const first = new SkillPublisher(paused).publish(folder.path)
      const failure = expect(first).rejects.toMatchObject({ code: 'CHANGED_SINCE_READ' })
      await reached.promise
      write(3)
      const abort = new AbortController()
      const reason = new Error('killed')
      const onProgress = ({ step, done }: { readonly step: string; readonly done: number }): void => {
        if (step === 'commit' && done === 500) abort.abort(reason)
      }
      const second = publisher.publish(folder.path, { signal: abort.signal, onProgress })
      await expect(second).rejects.toBe(reason)
      goOn.resolve()
      await failure
      await agent.reload()
      expect(new Set(names.map(name => numberOf(agent, name)))).toEqual(new Set([1]))
      await publisher.publish(folder.path)
      await vi.waitFor(
        () => expect(new Set(names.map(name => numberOf(agent, name)))).toEqual(new Set([3])),
        LONG,
      )
      expect(problemsOf(agent)).toBe('')
    })

    test('before a key is replaced: removals and ends are signed anew, and nothing is refused', async () => {
      const { server, signer, folder, publisher } = await startSignedFleet()
      const names = Array.from({ length: 501 }, (_, index) => `skill-${String(index).padStart(3, '0')}`)
      for (const name of names) folder.writeSkill(name)
      await publisher.publish(folder.path)
      const small = createFolder()
      small.writeSkill('skill-000', describeNumber(2))
      await publisher.publish(small.path, { isMirror: true })
      const next = createSigningKey()
      const newer = { signer: loadSigningKey(next.privateKey) }
      const both = connectTo({ servers: server.url, trustedKeys: [signer.publicKey, next.publicKey] })
      const agent = await follow(both, { retrieval: 'on-load' })
      await prepareFleet(both, newer)
      await new SkillPublisher(both, newer).publish(small.path)
      await agent.reload()
      expect([namesOf(agent), problemsOf(agent)]).toEqual([['skill-000'], ''])
      const onlyNew = connectTo({ servers: server.url, trustedKeys: [next.publicKey] })
      const after = await follow(onlyNew, { retrieval: 'on-load' })
      expect([namesOf(after), problemsOf(after)]).toEqual([['skill-000'], ''])
      expect(await findingsOf(onlyNew)).not.toMatch(/again|not signed by the key/)
    })
  },
)

describe.skipIf(NATS_SERVER === undefined)('a mirror in several commits', { timeout: 120_000 }, () => {
  test('that ended midway is completed by the next one, or by single removals', async () => {
    const { server, folder, publisher } = await startFleet()
    const names = Array.from({ length: 602 }, (_, index) => `skill-${String(index).padStart(3, '0')}`)
    for (const name of names) folder.writeSkill(name)
    await publisher.publish(folder.path)
    const agent = await follow(server.url, { retrieval: 'on-load' })
    const small = createFolder()
    small.writeSkill('skill-000')
    const abort = new AbortController()
    const reason = new Error('killed')
    const onProgress = ({ step, done }: { readonly step: string; readonly done: number }): void => {
      if (step === 'commit' && done === 500) abort.abort(reason)
    }
    const dying = publisher.publish(small.path, { isMirror: true, signal: abort.signal, onProgress })
    await expect(dying).rejects.toBe(reason)
    await agent.reload()
    expect(namesOf(agent)).toHaveLength(602)
    const findings = await findingsOf(connectTo({ servers: server.url }))
    expect(findings).toContain('remove these skills again, or publish again with --mirror')
    expect(findings).not.toContain('publish these skills again')
    await expect(
      publisher.promote({ from: 'stable', to: 'canary' }, { names: ['skill-001'] }),
    ).rejects.toMatchObject({ code: 'SKILL_INVALID' })
    await publisher.remove('skill-001')
    await vi.waitFor(() => expect(namesOf(agent)).toHaveLength(601), LONG)
    await publisher.publish(small.path, { isMirror: true })
    await vi.waitFor(() => expect(namesOf(agent)).toEqual(['skill-000']), LONG)
  })
})

describe.skipIf(NATS_SERVER === undefined)('the signatures of a fleet', { timeout: 60_000 }, () => {
  test('a head counts only at the one subject of its place, and only in its fleet', async () => {
    const { server, key, fleet, publisher, publish, nc } = await startSignedFleet()
    await publish(1)
    const old = await readHead(fleet)
    await publish(2)
    const agent = await follow(fleet)
    const other = await startSignedFleet(key)
    for (const number of [5, 6, 7, 8]) await other.publish(number)
    const attacks: readonly [subject: string, data: Uint8Array, finding: string][] = [
      ['$KV.SK.stable.=6Daps', old, 'messages of other programs, which no agent reads: $KV.SK.stable.=6Daps'],
      [HEAD, await readHead(other.fleet), 'it belongs to another fleet; publish this skill again'],
      ['skv.stable.=6Daps.1', old, 'SKV has messages of other programs, which no agent reads'],
      ['skv.stable.maps.8', await readHead(other.fleet), 'skv.stable.maps.8 (it belongs to another fleet)'],
    ]
    for (const [subject, data, finding] of attacks) {
      await nc.request(subject, data)
      await agent.reload()
      expect(numberOf(agent, 'maps'), subject).toBe(2)
      const fresh = connectTo({ servers: server.url, trustedKeys: [key.publicKey] })
      expect(await findingsOf(fresh), subject).toContain(finding)
    }
    expect((await publisher.history('maps')).map(each => each.version)).toEqual([2, 1])
    await expect(publisher.rollback('maps', { version: 8 })).rejects.toMatchObject({
      code: 'REVISION_NOT_FOUND',
    })
  })

  test('no purge and no rollup takes a skill away', async () => {
    const { server, key, fleet, folder, publish, publisher, nc } = await startSignedFleet()
    for (const name of ['maps', 'notes']) folder.writeSkill(name, describeNumber(1))
    await publisher.publish(folder.path)
    const state = createFolder()
    const trusting = { servers: server.url, trustedKeys: [key.publicKey] }
    const agent = await follow(trusting, { state: state.path })
    await nc.request('$JS.API.STREAM.PURGE.KV_SK', JSON.stringify({ filter: HEAD }))
    const rollup = headers()
    rollup.set('Nats-Rollup', 'sub')
    await nc.request('$KV.SK.stable.notes', await readHead(fleet, '$KV.SK.stable.notes'), {
      headers: rollup,
      timeout: 2_000,
    })
    await agent.reload()
    expect(namesOf(agent)).toEqual(['maps', 'notes'])
    await agent.close()
    const next = await follow(trusting, { state: state.path })
    await next.reload()
    expect(namesOf(next)).toEqual(['maps', 'notes'])
    // What is published later still arrives.
    await publish(2)
    await vi.waitFor(() => expect(numberOf(next, 'maps')).toBe(2), LONG)
    await publisher.remove('maps')
    await vi.waitFor(() => expect(namesOf(next)).toEqual(['notes']), LONG)
  })

  test('a refused head and an unsigned marker keep the earlier versions, also across a new epoch and a new key', async () => {
    const { server, key, signer, fleet, folder, publisher, nc } = await startSignedFleet()
    const next = createSigningKey()
    const newer = { signer: loadSigningKey(next.privateKey) }
    for (const name of ['maps', 'notes', 'old']) folder.writeSkill(name, describeNumber(1))
    await publisher.publish(folder.path)
    await publisher.remove('old')
    folder.remove('old')
    const trustedKeys = [key.publicKey, next.publicKey]
    const agent = await follow(connectTo({ servers: server.url, trustedKeys }))
    await nc.request(HEAD, 'forged')
    await writeMarker(nc, '$KV.SK.stable.notes')
    const before = (await prepareFleet(fleet, { signer })).epoch ?? 0
    const report = await prepareFleet(fleet, { signer, isNewEpoch: true })
    expect(report.steps).toContainEqual(
      expect.objectContaining({ part: 'list of stable', detail: '2 skills' }),
    )
    const onlyNew = connectTo({ servers: server.url, trustedKeys: [next.publicKey] })
    for (const each of [onlyNew, connectTo({ servers: server.url })])
      await expect(prepareFleet(each, newer)).rejects.toMatchObject({
        message: expect.stringContaining('trust this key, too'),
      })
    const both = connectTo({ servers: server.url, trustedKeys })
    const signed = await prepareFleet(both, newer)
    expect(signed).toMatchObject({ epoch: report.epoch })
    expect(signed.epoch).toBeGreaterThan(before)
    // The removal and the list.
    expect(signed.steps).toContainEqual(
      expect.objectContaining({ part: 'removals', detail: '2 signed anew' }),
    )
    await vi.waitFor(() => expect(problemsOf(agent)).toContain(HEAD), LONG)
    await agent.reload()
    expect(namesOf(agent)).toEqual(['maps', 'notes'])
    const advice = await findingsOf(both)
    expect(advice).toContain(`${HEAD}: it is not signed; publish this skill again`)
    expect(advice).toContain('its removal is not signed, so agents keep the skill; publish this skill again')
    expect(advice).not.toContain('old')
    // Only the new key is trusted from now on. The removal is still one.
    await new SkillPublisher(both, newer).publish(folder.path)
    await vi.waitFor(() => expect(problemsOf(agent)).toBe(''), LONG)
    const last = connectTo({ servers: server.url, trustedKeys: [next.publicKey] })
    const after = await follow(last)
    expect([namesOf(after), problemsOf(after)]).toEqual([['maps', 'notes'], ''])
    expect(await findingsOf(last)).not.toContain('publish this skill again')
  })

  test('a new cluster with the same address takes over with its signed list, and never by being empty', async () => {
    const { server, signer, fleet, folder, publisher } = await startSignedFleet()
    for (const name of ['maps', 'notes']) folder.writeSkill(name, describeNumber(1))
    await publisher.publish(folder.path)
    const agent = await follow(connectTo({ servers: server.url, trustedKeys: [signer.publicKey] }))
    await server.kill('SIGKILL')
    server.eraseData()
    await server.restart()
    await vi.waitFor(async () => await prepareFleet(fleet, { signer }), LONG)
    folder.remove('notes')
    folder.writeSkill('maps', describeNumber(2))
    await publisher.publish(folder.path)
    await vi.waitFor(() => expect(problemsOf(agent)).toContain('is not filled'), LONG)
    expect([numberOf(agent, 'maps'), numberOf(agent, 'notes')]).toEqual([1, 1])
    // A person who publishes from several folders says that all of them are there.
    const { steps } = await prepareFleet(fleet, { signer, isNewEpoch: true })
    expect(steps).toContainEqual(expect.objectContaining({ part: 'list of stable', detail: '1 skills' }))
    await vi.waitFor(() => expect([namesOf(agent), numberOf(agent, 'maps')]).toEqual([['maps'], 2]), LONG)
    expect(problemsOf(agent)).toBe('')
  })

  test('a new key keeps rollbacks and removals, and doctor names what only the old key signed', async () => {
    const { server, key, signer, publish, folder, publisher } = await startSignedFleet()
    for (const number of [1, 2]) await publish(number)
    folder.writeSkill('notes')
    await publisher.publish(folder.path)
    await publisher.rollback('maps')
    await publisher.remove('notes')
    await publisher.promote({ from: 'stable', to: 'canary' })
    const next = createSigningKey()
    const newer = { signer: loadSigningKey(next.privateKey) }
    const both = connectTo({ servers: server.url, trustedKeys: [signer.publicKey, next.publicKey] })
    await prepareFleet(both, newer)
    const onlyNew = connectTo({ servers: server.url, trustedKeys: [next.publicKey] })
    expect(await findingsOf(onlyNew)).toContain(
      `${HEAD}: it is not signed by a trusted key; publish this skill again`,
    )
    await new SkillPublisher(both, newer).publish(folder.path)
    expect(await findingsOf(both)).toContain(
      `$KV.SK.canary.maps: not signed by the key of the epoch, ${next.publicKey}; check these skills, then publish or promote`,
    )
    await new SkillPublisher(both, newer).promote({ from: 'stable', to: 'canary' })
    expect(await findingsOf(both)).not.toContain(key.publicKey)
    expect(await findingsOf(both)).not.toContain('not signed by')
    const after = await follow(onlyNew)
    expect([numberOf(after, 'maps'), namesOf(after)]).toEqual([1, ['maps']])
    // The records of the old key still tell what was taken back.
    const later = await new SkillPublisher(onlyNew, newer).publish(folder.path)
    expect(later.skills.map(({ name, outcome }) => [name, outcome])).toEqual([
      ['maps', 'rolled-back'],
      ['notes', 'rolled-back'],
    ])
  })

  test.each(['skill', 'removal'] as const)(
    'an old signed %s that is stored again does not come into the list of a new epoch',
    async kind => {
      const { server, key, signer, fleet, publisher, publish, nc } = await startSignedFleet()
      await publish(1)
      if (kind === 'removal') await publisher.remove('maps')
      const old = await readHead(fleet)
      for (const number of [2, 3]) await publish(number)
      const trusting = { servers: server.url, trustedKeys: [key.publicKey] }
      const agent = await follow(trusting)
      const marker = headers()
      if (kind === 'removal') marker.set('KV-Operation', 'DEL')
      await nc.request(HEAD, old, { headers: marker, timeout: 2_000 })
      // This connection knows no newer head.
      expect(await findingsOf(connectTo(trusting))).toMatch(/maps: its version \d is older than \d/)
      await prepareFleet(fleet, { signer, isNewEpoch: true })
      await vi.waitFor(() => expect(problemsOf(agent)).toContain('the list of epoch'), LONG)
      expect(numberOf(agent, 'maps')).toBe(3)
      await publish(4)
      await vi.waitFor(() => expect([numberOf(agent, 'maps'), problemsOf(agent)]).toEqual([4, '']), LONG)
      expect(await findingsOf(connectTo(trusting))).toBe('')
    },
  )

  test('a signed removal never expires, and one without a signature does', async () => {
    const readHeaders = async (nc: NatsConnection): Promise<string> => {
      const reply = await nc.request('$JS.API.STREAM.MSG.GET.KV_SK', JSON.stringify({ last_by_subj: HEAD }))
      const { message } = reply.json<{ message: { hdrs: string } }>()
      return Buffer.from(message.hdrs, 'base64').toString()
    }
    const signed = await startSignedFleet()
    await signed.publish(1)
    await signed.publisher.remove('maps')
    expect(await readHeaders(signed.nc)).toContain('KV-Operation: DEL')
    expect(await readHeaders(signed.nc)).not.toContain('Nats-TTL')
    const { server, publish, publisher } = await startFleet()
    const nc = await connect({ servers: server.url })
    onTestFinished(async () => await nc.close())
    await publish(1)
    await publisher.remove('maps')
    expect(await readHeaders(nc)).toContain('Nats-TTL')
  })

  test('a removal that agents refuse is not published again, and can be signed', async () => {
    const { server, fleet, folder, publisher } = await startFleet()
    for (const name of ['maps', 'notes']) folder.writeSkill(name)
    await publisher.publish(folder.path)
    await publisher.remove('maps')
    folder.remove('maps')
    const key = createSigningKey()
    const signer = loadSigningKey(key.privateKey)
    const trusting = connectTo({ servers: server.url, trustedKeys: [key.publicKey] })
    const { epoch } = await prepareFleet(fleet)
    expect((await prepareFleet(trusting, { signer })).epoch).toBe(epoch)
    const signed = new SkillPublisher(trusting, { signer })
    await signed.publish(folder.path)
    expect(await findingsOf(trusting)).toContain(
      `${HEAD}: it is not signed; run "stoke fleet remove maps --channel stable" if the skill was removed on purpose`,
    )
    await signed.remove('maps')
    expect(await findingsOf(trusting)).not.toContain(HEAD)
  })
})

describe.skipIf(NATS_SERVER === undefined)('a commit without an answer', { timeout: 60_000 }, () => {
  test('is awaited while the servers refuse it and no head differs yet', async () => {
    const { fleet, folder, publisher } = await startFleet()
    folder.writeSkill('maps', describeNumber(1))
    const engine = await fleet.open()
    const storeAll = engine.storeAll.bind(engine)
    let attempts = 0
    engine.storeAll = async messages => {
      if (++attempts === 1) throw new SequenceConflict()
      return await storeAll(messages)
    }
    const { skills } = await publisher.publish(folder.path)
    expect(skills).toMatchObject([{ outcome: 'published', version: 1 }])
    expect(attempts).toBe(2)
  })

  test('is recognised although another publisher has replaced one of its heads', async () => {
    const { server, fleet, folder } = await startFleet()
    for (const name of ['maps', 'notes']) folder.writeSkill(name, describeNumber(1))
    const key = loadSigningKey(createSigningKey().privateKey)
    const lines: Uint8Array[] = []
    // The signature is the last step before the commit. The same commit is made here, and its answer is lost.
    const sign = async (line: Uint8Array): Promise<Uint8Array> => {
      const value = await key.sign(line)
      lines.push(
        Buffer.concat([
          line,
          Buffer.from(`\n${key.publicKey} ${Buffer.from(value).toString('base64url')}\n`),
        ]),
      )
      if (lines.length < 2) return value
      const subjects = lines.map(
        each => `$KV.SK.stable.${JSON.parse(each.toString().split('\n')[0] ?? '').skill}`,
      )
      const messages = lines.map((data, index) => ({ subject: subjects[index] ?? '', data, expectedSeq: 0 }))
      await (await fleet.open()).storeAll(messages)
      const other = createFolder()
      other.writeSkill('maps', describeNumber(2))
      await new SkillPublisher(connectTo({ servers: server.url }), { signer: key }).publish(other.path)
      return value
    }
    const report = await new SkillPublisher(fleet, { signer: { publicKey: key.publicKey, sign } }).publish(
      folder.path,
    )
    expect(report.skills).toMatchObject([
      { name: 'maps', outcome: 'published', version: 1 },
      { name: 'notes', outcome: 'published', version: 1 },
    ])
    expect((await new SkillPublisher(fleet).history('maps')).map(({ version }) => version)).toEqual([2, 1])
    const agent = await follow(server.url)
    expect([numberOf(agent, 'maps'), numberOf(agent, 'notes')]).toEqual([2, 1])
  })
})
