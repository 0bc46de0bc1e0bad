import { connect } from '@nats-io/transport-node'
import { createSkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import { RemoteSource, type TreeFetcher } from '@skillstoke/core/source'
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
  startAgent,
  startFleet,
  startServer,
} from '../../../tests/fixtures/fleet.ts'
import { NatsProxy } from '../../../tests/fixtures/nats-proxy.ts'
import { NATS_SERVER, type NatsServer, OLDEST_NATS_SERVER } from '../../../tests/fixtures/nats-server.ts'
import { skillText } from '../../../tests/fixtures/skill-folder.ts'
import type { FleetFinding } from './examine-messages.ts'
import { toAgentSubject } from './fleet-subjects.ts'
import {
  createSigningKey,
  examineFleet,
  type FleetConnection,
  FleetReporter,
  FleetStatus,
  LivePublisher,
  loadSigningKey,
  type ManifestSigner,
  type PublishReport,
  prepareFleet,
  SkillPublisher,
} from './index.ts'
import { prepareEpoch } from './prepare-epoch.ts'

const DAY_MS = 86_400_000

/** Sends a request to the server, as an administrator with other tools does. */
async function request(server: NatsServer, subject: string, payload: string): Promise<void> {
  const nc = await connect({ servers: server.url })
  await nc.request(subject, payload)
  await nc.close()
}

/** Returns the findings about files that a version needs and the servers do not have. */
async function findLostFiles(fleet: FleetConnection): Promise<readonly FleetFinding[]> {
  return (await examineFleet(fleet)).findings.filter(({ message }) => message.endsWith('has no content'))
}

/** Returns a way to a server on which it is some days later. What the server stores has its own time. */
async function startLater(server: NatsServer, daysAhead: number): Promise<NatsProxy> {
  const proxy = await NatsProxy.start(server.port)
  onTestFinished(async () => await proxy[Symbol.asyncDispose]())
  proxy.daysAhead = daysAhead
  return proxy
}

/** Moves the clock of this process. Timers go on as before. */
function moveClock(ms: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms })
  onTestFinished(() => void vi.useRealTimers())
}

/** Reports as an agent that never has the files of a coming publication. */
async function reportOfSilentAgent(fleet: FleetConnection): Promise<{ readonly end: () => void }> {
  const engine = await fleet.open()
  const digest = `sha256:${'0'.repeat(64)}`
  const names = { host: 'h', agent: 'silent', instance: 'one', channel: 'stable' }
  const state = { pid: 1, digest, skills: 0, held: 0, generation: { number: 1, digest }, seq: 1, at: 1 }
  const subject = toAgentSubject('h', 'silent')
  engine.send({ subject, data: new TextEncoder().encode(JSON.stringify({ ...names, ...state, errors: [] })) })
  await vi.waitFor(async () => expect((await new FleetStatus(fleet).read()).agents).toHaveLength(1), LONG)
  return { end: () => engine.send({ subject, data: new Uint8Array(), isMarker: true }) }
}

describe.skipIf(NATS_SERVER === undefined)('publishing to a fleet', { timeout: 60_000 }, () => {
  test('the status works without the stream of reports', async () => {
    const { server, fleet, publish } = await startFleet()
    await publish(1)
    await request(server, '$JS.API.STREAM.DELETE.KV_AG', '')
    const report = await new FleetStatus(fleet).read()
    expect(report).toMatchObject({ skills: [{ name: 'maps', version: 1 }], agents: [] })
  })

  test('a publication waits until all agents have its files, and agents that start meanwhile retrieve them too', async () => {
    const { server, fleet, folder, publisher, publish } = await startFleet()
    await publish(1)
    const silent = await reportOfSilentAgent(fleet)
    folder.writeSkill('maps', describeNumber(2))
    const waits: number[] = []
    const publishing = publisher.publish(folder.path, {
      prefetchMs: 25_000,
      onProgress: ({ step, total }) => void (step === 'prefetch' && waits.push(total)),
    })
    await vi.waitFor(() => expect(waits).toContain(1), LONG)
    const { runtime, source } = await startAgent(server.url)
    await using reporter = new FleetReporter(source, { runtime, agent: 'late' })
    await vi.waitFor(() => expect(reporter.report.prefetched).toBeDefined(), LONG)
    expect(numberOf(runtime, 'maps')).toBe(1)
    await vi.waitFor(() => expect(waits).toContain(2), LONG)
    silent.end()
    expect((await publishing).skills).toMatchObject([{ outcome: 'published', version: 2 }])
    await vi.waitFor(() => expect(numberOf(runtime, 'maps')).toBe(2), LONG)
    await vi.waitFor(() => expect(reporter.report.prefetched).toBeUndefined(), LONG)
  })

  test('without the files on all agents, nothing is committed, and the error names the agents', async () => {
    const { fleet, folder, publisher, publish } = await startFleet()
    await publish(1)
    await reportOfSilentAgent(fleet)
    folder.writeSkill('maps', describeNumber(2))
    await expect(publisher.publish(folder.path, { prefetchMs: 1 })).rejects.toMatchObject({
      code: 'TIMED_OUT',
      message: expect.stringContaining('h/silent; nothing was committed'),
      data: { agents: ['h/silent'] },
    })
    expect(await publisher.history('maps')).toHaveLength(1)
    // A removal needs no files.
    folder.remove('maps')
    folder.writeSkill('notes')
    await publisher.publish(folder.path)
    folder.writeSkill('maps', describeNumber(1))
    const options = { prefetchMs: 1, names: ['notes'] }
    expect((await publisher.publish(folder.path, options)).skills).toMatchObject([{ outcome: 'unchanged' }])
  })

  test('without a trusted key, nothing is published to a signed fleet', async () => {
    const server = await startServer()
    const [ours, theirs] = [createSigningKey(), createSigningKey()]
    const signer = loadSigningKey(ours.privateKey)
    const trusting = connectTo({ servers: server.url, trustedKeys: [ours.publicKey] })
    await prepareFleet(trusting, { signer })
    const folder = createFolder()
    folder.writeSkill('maps')
    const attempts = [
      new SkillPublisher(trusting),
      new SkillPublisher(connectTo({ servers: server.url })),
      new SkillPublisher(trusting, { signer: loadSigningKey(theirs.privateKey) }),
    ]
    for (const publisher of attempts)
      await expect(publisher.publish(folder.path)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    const signed = new SkillPublisher(trusting, { signer })
    expect((await signed.publish(folder.path)).skills).toMatchObject([{ version: 1 }])
    // A head that agents refuse can be removed.
    await request(server, '$KV.SK.stable.notes', 'not a document')
    const agent = await follow(trusting)
    expect(problemsOf(agent)).toContain('stable.notes')
    expect((await signed.remove('notes')).skills).toMatchObject([{ outcome: 'removed' }])
    await vi.waitFor(() => expect(problemsOf(agent)).toBe(''), LONG)
  })

  test('a fleet that was open can be signed later, and its versions go on', async () => {
    const { server, folder, publisher, publish } = await startFleet()
    for (const number of [1, 2, 3]) await publish(number)
    const open = await follow(server.url)
    const key = createSigningKey()
    const signer = loadSigningKey(key.privateKey)
    const trusting = connectTo({ servers: server.url, trustedKeys: [key.publicKey] })
    const { steps } = await prepareFleet(trusting, { signer })
    expect(steps.find(({ part }) => part === 'epoch')?.outcome).toBe('changed')
    const agent = await follow(trusting)
    expect(agent.current.list()).toEqual([])
    const signed = new SkillPublisher(trusting, { signer })
    expect((await signed.publish(folder.path)).skills).toMatchObject([{ outcome: 'published', version: 4 }])
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(3), LONG)
    folder.writeSkill('maps', describeNumber(4))
    await signed.publish(folder.path)
    await vi.waitFor(() => expect([agent, open].map(each => numberOf(each, 'maps'))).toEqual([4, 4]), LONG)
    expect(problemsOf(open)).toBe('')
    expect((await publisher.history('maps')).map(({ version }) => version)).toEqual([5, 4, 3, 2, 1])
    expect((await prepareFleet(trusting, { signer })).steps.map(({ outcome }) => outcome)).not.toContain(
      'changed',
    )
    // Nobody takes the signature away by accident.
    await expect(
      prepareFleet(connectTo({ servers: server.url }), { isNewEpoch: true }),
    ).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })

  test('a key is replaced by publishing with the new one while both are trusted', async () => {
    const server = await startServer()
    const [first, second] = [createSigningKey(), createSigningKey()]
    const trust = (...keys: readonly string[]): FleetConnection =>
      connectTo({ servers: server.url, trustedKeys: keys })
    const old = trust(first.publicKey)
    const folder = createFolder()
    for (const name of ['maps', 'notes']) folder.writeSkill(name, describeNumber(1))
    const signer = loadSigningKey(first.privateKey)
    await prepareFleet(old, { signer })
    await new SkillPublisher(old, { signer }).publish(folder.path)
    const agent = await follow(trust(first.publicKey, second.publicKey))
    const both = trust(first.publicKey, second.publicKey)
    const newer = { signer: loadSigningKey(second.privateKey) }
    await prepareFleet(both, newer)
    const publisher = new SkillPublisher(both, newer)
    folder.writeSkill('maps', describeNumber(2))
    expect((await publisher.publish(folder.path)).skills).toMatchObject([
      { name: 'maps', outcome: 'published', version: 2 },
      { name: 'notes', outcome: 'published', version: 2 },
    ])
    expect((await publisher.publish(folder.path)).skills).toMatchObject([
      { outcome: 'unchanged' },
      { outcome: 'unchanged' },
    ])
    const after = await follow(trust(second.publicKey))
    expect(namesOf(after)).toEqual(['maps', 'notes'])
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(2), LONG)
    expect([problemsOf(agent), problemsOf(after)]).toEqual(['', ''])
  })

  test('what every agent would refuse is not published', async () => {
    const { server, folder, publisher } = await startFleet()
    folder.writeSkill('maps')
    folder.write('maps/data/a.md', 'lower case')
    folder.write('maps/data/A.md', 'upper case')
    folder.writeSkill('notes')
    const report = await publisher.publish(folder.path)
    expect(report.skills).toMatchObject([{ name: 'notes', outcome: 'published' }])
    expect(report.refused).toMatchObject([{ name: 'maps', reason: expect.stringContaining('only in case') }])
    const agent = await follow(server.url)
    expect([namesOf(agent), problemsOf(agent)]).toEqual([['notes'], ''])
  })

  test('secret files are not published, and a skill that includes them is refused', async () => {
    const { server, folder, publisher } = await startFleet()
    folder.writeSkill('maps')
    folder.write('maps/.env', 'TOKEN=1')
    folder.writeSkill('notes')
    folder.write('notes/key.pem', '-----BEGIN PRIVATE KEY-----\nMIIE\n')
    const included = directory(folder.path, { reading: { secretFiles: 'include' } })
    await using runtime = await createSkillRuntime({ sources: [included] })
    const { refused } = await publisher.publish(runtime)
    expect(refused).toMatchObject([
      { name: 'maps', reason: expect.stringContaining('".env" usually holds a secret') },
      { name: 'notes', reason: expect.stringContaining('"key.pem" holds a secret') },
    ])
    expect((await publisher.publish(folder.path)).refused).toEqual([])
    const agent = await follow(server.url)
    expect(agent.current.list().map(({ files }) => files.map(({ path }) => path))).toEqual([
      ['SKILL.md'],
      ['SKILL.md'],
    ])
  })

  test('nothing is promoted from a channel without skills', async () => {
    const { publisher } = await startFleet()
    await expect(publisher.promote({ from: 'typo', to: 'stable' })).rejects.toMatchObject({
      code: 'SKILL_NOT_FOUND',
    })
  })

  test('each rollback goes further back', async () => {
    const { server, publisher, publish } = await startFleet()
    for (const number of [1, 2, 3]) await publish(number)
    const agent = await follow(server.url)
    for (const number of [2, 1]) {
      await publisher.rollback('maps')
      await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(number), LONG)
    }
    await expect(publisher.rollback('maps')).rejects.toMatchObject({ code: 'REVISION_NOT_FOUND' })
  })

  test('a live publisher takes back neither rollbacks nor removals of others, unless they are forced', async () => {
    const { server, folder, publisher, publish } = await startFleet()
    for (const number of [1, 2]) await publish(number)
    folder.writeSkill('notes')
    await publisher.publish(folder.path)
    await publisher.rollback('maps')
    await publisher.remove('notes')
    await using runtime = await createSkillRuntime({ sources: [directory(folder.path, { trust: 'auto' })] })
    const reports: PublishReport[] = []
    const live = new LivePublisher(publisher, runtime, { onReport: report => reports.push(report) })
    await live.settled()
    await live.close()
    expect(reports.map(({ skills }) => skills.map(({ name, outcome }) => [name, outcome]))).toEqual([
      [
        ['maps', 'rolled-back'],
        ['notes', 'rolled-back'],
      ],
    ])
    const agent = await follow(server.url)
    expect([namesOf(agent), numberOf(agent, 'maps')]).toEqual([['maps'], 1])
    await publisher.publish(runtime, { isForced: true, names: ['maps'] })
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(2), LONG)
    // A removal by a mirror ends when the folder is back.
    await using mirror = new LivePublisher(publisher, runtime, { isMirror: true })
    folder.writeSkill('more')
    await vi.waitFor(() => expect(namesOf(agent)).toEqual(['maps', 'more']), LONG)
    folder.remove('more')
    await vi.waitFor(() => expect(namesOf(agent)).toEqual(['maps']), LONG)
    folder.writeSkill('more')
    await vi.waitFor(() => expect(namesOf(agent)).toEqual(['maps', 'more']), LONG)
    await mirror.settled()
  })

  test('files that were taken back stay so after later versions and a removal by a mirror, until they are forced or promoted', async () => {
    const { server, folder, publisher, publish } = await startFleet()
    const expectOutcome = async (outcome: string, number: number): Promise<void> =>
      expect((await publish(number)).skills).toContainEqual(
        expect.objectContaining({ name: 'maps', outcome }),
      )
    for (const number of [1, 2]) await publish(number)
    await publisher.rollback('maps')
    await publish(3)
    await expectOutcome('rolled-back', 2)
    await using runtime = await createSkillRuntime({ sources: [directory(folder.path, { trust: 'auto' })] })
    await using live = new LivePublisher(publisher, runtime)
    folder.writeSkill('notes')
    const agent = await follow(server.url)
    await vi.waitFor(() => expect(namesOf(agent)).toEqual(['maps', 'notes']), LONG)
    await live.close()
    expect(numberOf(agent, 'maps')).toBe(3)
    folder.remove('maps')
    await publisher.publish(folder.path, { isMirror: true })
    await expectOutcome('rolled-back', 2)
    await expectOutcome('published', 3)
    folder.writeSkill('maps', describeNumber(2))
    await publisher.publish(folder.path, { isForced: true })
    for (const number of [3, 2]) await expectOutcome('published', number)
    await publisher.remove('maps')
    await publish(4)
    await expectOutcome('rolled-back', 2)
    await expectOutcome('published', 3) // the skill did not have these files when it was removed
    folder.writeSkill('maps', describeNumber(2))
    await publisher.publish(folder.path, { channel: 'canary' })
    await publisher.promote({ from: 'canary', to: 'stable' }, { names: ['maps'] })
    for (const number of [3, 2]) await expectOutcome('published', number)
  })

  test.each([
    { how: 'a publication', options: {} },
    { how: 'a publication with an expected version', options: { expect: 3 } },
  ])('$how uploads lost files, and brings nothing back that a rollback took away', async ({ options }) => {
    const { server, fleet, folder, publisher, publish } = await startFleet()
    folder.write('maps/atlas.txt', 'The same in each version.')
    for (const number of [1, 2]) await publish(number)
    await publisher.rollback('maps')
    await request(server, '$JS.API.STREAM.PURGE.SKB', '{}')
    const report = await publisher.publish(folder.path, options)
    expect(report.skills).toMatchObject([{ outcome: 'rolled-back', version: 3 }])
    // Of the two lost files, the folder has one.
    expect(await findLostFiles(fleet)).toHaveLength(1)
    const agent = await follow(server.url, { retrieval: 'on-load' })
    expect(numberOf(agent, 'maps')).toBe(1)
  })

  test('a live publisher keeps a rollback while a new epoch has no lists yet', async () => {
    const { server, fleet, folder, publisher, publish } = await startFleet()
    for (const number of [1, 2]) await publish(number)
    await publisher.rollback('maps')
    const agent = await follow(server.url)
    await using runtime = await createSkillRuntime({ sources: [directory(folder.path, { trust: 'auto' })] })
    const reports: PublishReport[] = []
    const onReport = (report: PublishReport): void => void reports.push(report)
    await using live = new LivePublisher(publisher, runtime, { isMirror: true, onReport })
    await live.settled()
    await prepareEpoch(fleet, await fleet.open(), { isNewEpoch: true, isMissing: false })
    // The head is signed anew in this epoch, with the content that it had.
    await vi.waitFor(() => expect(reports.at(-1)?.skills).toMatchObject([{ version: 4 }]), LONG)
    await live.settled()
    await prepareFleet(fleet)
    await agent.reload()
    await vi.waitFor(() => expect(problemsOf(agent)).toBe(''), LONG)
    expect(numberOf(agent, 'maps')).toBe(1)
  })

  test('several administrators prepare a fleet at the same time, and a name may be given twice', async () => {
    const server = await startServer()
    const fleet = connectTo({ servers: server.url })
    const reports = await Promise.all(Array.from({ length: 5 }, async () => await prepareFleet(fleet)))
    expect(new Set(reports.map(({ epoch }) => epoch)).size).toBe(1)
    const folder = createFolder()
    folder.writeSkill('maps')
    const publisher = new SkillPublisher(fleet)
    const names = ['maps', 'maps']
    expect((await publisher.publish(folder.path, { names })).skills).toHaveLength(1)
    expect((await publisher.promote({ from: 'stable', to: 'canary' }, { names })).skills).toHaveLength(1)
  })

  test('a mirror removes nothing while a source is not read yet', async () => {
    const { folder, publisher, server } = await startFleet()
    for (const name of ['local/maps', 'remote/notes']) folder.writeSkill(name)
    for (const part of ['local', 'remote']) await publisher.publish(folder.at(part))
    const agent = await follow(server.url)
    expect(namesOf(agent)).toEqual(['maps', 'notes'])
    const answer = Promise.withResolvers<void>()
    const fetcher: TreeFetcher = {
      restore: async () => undefined,
      fetch: async () => {
        await answer.promise
        return { tree: { version: '1', files: [] } }
      },
    }
    const remote = new RemoteSource(fetcher, { label: 'far', origin: 'far:away', firstWaitMs: 0 })
    const sources = [directory(folder.at('local'), { trust: 'auto' }), remote]
    await using runtime = await createSkillRuntime({ sources })
    await expect(publisher.publish(runtime, { isMirror: true })).rejects.toMatchObject({
      code: 'SOURCE_MISSING',
      message: expect.stringContaining('far could not be read yet'),
    })
    await using live = new LivePublisher(publisher, runtime, { isMirror: true })
    folder.writeSkill('local/maps', describeNumber(2))
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(2), LONG)
    expect(namesOf(agent)).toEqual(['maps', 'notes'])
    answer.resolve()
    await vi.waitFor(() => expect(namesOf(agent)).toEqual(['maps']), LONG)
    await live.settled()
  })

  test('a mirror keeps a skill that may be in a folder that cannot be read', async () => {
    const { folder, publisher } = await startFleet()
    folder.write('a/SKILL.md', skillText('maps'))
    folder.writeSkill('notes')
    await publisher.publish(folder.path)
    folder.write('a/SKILL.md', '---\nname: maps\ndescription: [\n---\n')
    folder.remove('notes')
    folder.writeSkill('other')
    const report = await publisher.publish(folder.path, { isMirror: true })
    expect(report.skills.map(({ name, outcome }) => [name, outcome])).toEqual([
      ['maps', 'kept'],
      ['notes', 'kept'],
      ['other', 'published'],
    ])
    expect(report.refused).toHaveLength(1)
    folder.write('a/SKILL.md', skillText('maps'))
    const mended = await publisher.publish(folder.path, { isMirror: true })
    expect(mended.skills).toMatchObject([
      { name: 'maps', outcome: 'unchanged' },
      { name: 'notes', outcome: 'removed' },
      { name: 'other', outcome: 'unchanged' },
    ])
  })

  test('a live publisher fills a fleet that was lost, and goes on after a callback has thrown', async () => {
    const { server, fleet, folder, publisher } = await startFleet()
    folder.writeSkill('maps', describeNumber(1))
    await using runtime = await createSkillRuntime({ sources: [directory(folder.path, { trust: 'auto' })] })
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    onTestFinished(() => warned.mockRestore())
    const fault = new Error('a fault of the host')
    const fail = (): void => {
      throw fault
    }
    const options = { isMirror: true, onReport: fail, onError: fail }
    await using live = new LivePublisher(publisher, runtime, options)
    await live.settled()
    expect(warned).toHaveBeenCalledWith(fault)
    const agent = await follow(server.url)
    expect(numberOf(agent, 'maps')).toBe(1)
    await server.kill('SIGKILL')
    server.eraseData()
    await server.restart()
    await vi.waitFor(async () => await prepareFleet(fleet), LONG)
    // Nothing has changed in the folder.
    await vi.waitFor(async () => expect(await publisher.history('maps')).toHaveLength(1), LONG)
    folder.writeSkill('maps', describeNumber(2))
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(2), LONG)
  })

  test('a live publisher does not wait for the end of its pause when the servers are back', async () => {
    const server = await startServer()
    const folder = createFolder()
    folder.writeSkill('maps')
    const runtime = await createSkillRuntime({ sources: [directory(folder.path, { trust: 'auto' })] })
    onTestFinished(async () => await runtime.close())
    const fleet = connectTo({ servers: server.url })
    const pauses: number[] = []
    const reports: PublishReport[] = []
    const live = new LivePublisher(new SkillPublisher(fleet), runtime, {
      onError: (_thrown, retryMs) => void pauses.push(retryMs),
      onReport: report => void reports.push(report),
    })
    onTestFinished(async () => await live.close())
    await vi.waitFor(() => expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000]), LONG)
    await prepareFleet(connectTo({ servers: server.url }))
    await vi.waitFor(() => expect(reports).toHaveLength(1), { timeout: 6_000 })
  })

  test('a collection beside a publisher that uses old files again removes none that a version needs', async () => {
    const { server, fleet, folder, publisher } = await startFleet()
    const later = await startLater(server, 14)
    // Every file but the published one has no user, and is old enough to be collected.
    for (let number = 0; number < 12; number++) {
      folder.writeSkill('maps', describeNumber(number))
      await publisher.publish(folder.path)
    }
    const collector = new SkillPublisher(connectTo({ servers: later.url }))
    const renewer = new SkillPublisher(connectTo({ servers: later.url }))
    let removed = 0
    for (let number = 0; number < 12; number++) {
      folder.writeSkill('maps', describeNumber(number))
      const collections = [0, 1].map(async () => await collector.collectGarbage({ keepVersions: 0 }))
      const [, ...reports] = await Promise.all([renewer.publish(folder.path), ...collections])
      for (const { pieces } of reports) removed += pieces
      expect(await findLostFiles(fleet)).toEqual([])
    }
    expect(removed).toBeGreaterThan(0)
  })

  test('a rollback to old files keeps them from a collection before its commit', async () => {
    const { fleet, server, folder, publisher } = await startFleet()
    for (const number of [1, 2]) {
      folder.writeSkill('maps', describeNumber(number))
      await publisher.publish(folder.path)
    }
    const published = Date.now()
    await vi.waitFor(() => expect(Date.now() - published).toBeGreaterThan(1_000), LONG)
    const key = loadSigningKey(createSigningKey().privateKey)
    // The signature is the last step before the commit. Only what was stored since the publication is young then.
    const collectFirst: ManifestSigner = {
      publicKey: key.publicKey,
      sign: async data => {
        const collector = new SkillPublisher(connectTo({ servers: server.url }))
        const graceMs = Date.now() - published - 500
        expect(await collector.collectGarbage({ keepVersions: 0, graceMs })).toMatchObject({ versions: 1 })
        return await key.sign(data)
      },
    }
    const later = await startLater(server, 14)
    await new SkillPublisher(connectTo({ servers: later.url }), { signer: collectFirst }).rollback('maps')
    expect(await findLostFiles(fleet)).toEqual([])
    expect(numberOf(await follow(server.url), 'maps')).toBe(1)
  })

  test('a new epoch is a time of the servers, not of the clock of this machine', async () => {
    const fleet = connectTo({ servers: (await startServer()).url })
    const before = Date.now()
    moveClock(8 * DAY_MS)
    expect((await prepareFleet(fleet)).epoch).toBeLessThan(before + DAY_MS)
    expect((await prepareFleet(fleet, { isNewEpoch: true })).epoch).toBeLessThan(before + DAY_MS)
  })

  test('a collection asks the servers for the time, not the clock of its machine', async () => {
    const { fleet, folder, publisher, publish } = await startFleet()
    await publish(1)
    await publish(2)
    const key = loadSigningKey(createSigningKey().privateKey)
    // The files of the next version are stored, and the version is not committed yet.
    const collectFirst: ManifestSigner = {
      publicKey: key.publicKey,
      sign: async data => {
        moveClock(8 * DAY_MS)
        expect(await publisher.collectGarbage({ keepVersions: 0 })).toMatchObject({ pieces: 0 })
        vi.useRealTimers()
        return await key.sign(data)
      },
    }
    folder.writeSkill('maps', describeNumber(3))
    await new SkillPublisher(fleet, { signer: collectFirst }).publish(folder.path)
    expect(await findLostFiles(fleet)).toEqual([])
    moveClock(-8 * DAY_MS)
    expect(await publisher.collectGarbage({ keepVersions: 0, graceMs: 0 })).toMatchObject({ pieces: 2 })
    expect(await findLostFiles(fleet)).toEqual([])
  })

  test.skipIf(OLDEST_NATS_SERVER === undefined)(
    'on a server that does not tell its time, a collection removes what is older than the newest file',
    async () => {
      const { fleet, publisher, publish } = await startFleet({ version: 'oldest' })
      await publish(1)
      await publish(2)
      await publish(3)
      moveClock(8 * DAY_MS)
      expect(await publisher.collectGarbage({ keepVersions: 0 })).toMatchObject({ pieces: 0 })
      expect(await publisher.collectGarbage({ keepVersions: 0, graceMs: 0 })).toMatchObject({ pieces: 2 })
      await publish(1) // renews what is left of it
      expect(await findLostFiles(fleet)).toEqual([])
    },
  )

  test('a collection passes documents that are not valid', async () => {
    const { server, folder, publisher } = await startFleet()
    folder.writeSkill('maps')
    await publisher.publish(folder.path)
    await request(server, 'skv.stable.maps.9', 'not a document')
    await request(server, '$KV.SK.stable.notes', 'not a document')
    expect(await publisher.collectGarbage({ graceMs: 0 })).toMatchObject({ pieces: 0, keptPieces: 1 })
  })

  test('a publication uploads files that the servers have lost, without a new version', async () => {
    const { server, fleet, folder, publisher } = await startFleet()
    folder.writeSkill('maps')
    await publisher.publish(folder.path)
    await request(server, '$JS.API.STREAM.PURGE.SKB', '{}')
    expect(await findLostFiles(fleet)).toMatchObject([{ fix: 'publish this skill again' }])
    const report = await publisher.publish(folder.path)
    expect(report.skills).toMatchObject([{ outcome: 'unchanged', version: 1 }])
    expect(report.uploadedBytes).toBeGreaterThan(0)
    expect(await findLostFiles(fleet)).toEqual([])
    const agent = await follow(server.url)
    expect(namesOf(agent)).toEqual(['maps'])
  })
})
