import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, headers, type NatsConnection } from '@nats-io/transport-node'
import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import { openState } from '@skillstoke/core/node'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  connectTo,
  createFolder,
  describeNumber,
  endProcess,
  follow,
  LONG,
  namesOf,
  numberOf,
  problemsOf,
  startFleet,
  startProcess,
  startServer,
  watchNumbers,
} from '../../../tests/fixtures/fleet.ts'
import { NATS_SERVER, type NatsServer } from '../../../tests/fixtures/nats-server.ts'
import { skillText } from '../../../tests/fixtures/skill-folder.ts'
import {
  createSigningKey,
  examineFleet,
  FleetConnection,
  fleetSource,
  loadSigningKey,
  prepareFleet,
  SkillPublisher,
} from './index.ts'
import { writeDocument } from './manifest.ts'
import type { ManifestSigner } from './signing.ts'

const decoder = new TextDecoder()

/** Connects to a server as other programs do. */
async function startClient(server: NatsServer): Promise<NatsConnection> {
  const nc = await connect({ servers: server.url })
  onTestFinished(async () => await nc.close())
  return nc
}

/** Replaces the uploaded file of a numbered version just before the version is committed. */
function tamperWith(nc: NatsConnection, number: number): ManifestSigner {
  const key = loadSigningKey(createSigningKey().privateKey)
  const text = skillText('maps', describeNumber(number))
  const subject = `skb.${createHash('sha256').update(text).digest('hex')}`
  const sign = async (data: Uint8Array): Promise<Uint8Array> => {
    await nc.request(subject, 'other bytes')
    return await key.sign(data)
  }
  return { publicKey: key.publicKey, sign }
}

describe.skipIf(NATS_SERVER === undefined)('a fleet under faults', { timeout: 60_000 }, () => {
  test('a server that crashes and comes back loses nothing, and no agent goes back', async () => {
    const { server, publisher, publish } = await startFleet()
    const agents = await Promise.all([follow(server.url), follow(server.url), follow(server.url)])
    const watched = agents.map(agent => watchNumbers(agent, 'maps'))
    const crash = (async () => {
      await vi.waitFor(() => expect(watched[0]?.last()).toBeGreaterThan(5), LONG)
      await server.kill('SIGKILL')
      expect(numberOf(agents[0], 'maps')).toBeGreaterThan(5) // still served without the server
      await server.restart()
    })()
    for (let i = 1; i <= 30; i++) {
      await publish(i)
    }
    await crash
    await vi.waitFor(() => expect(agents.map(agent => numberOf(agent, 'maps'))).toEqual([30, 30, 30]), LONG)
    expect(watched.map(({ wentBack }) => wentBack())).toEqual([false, false, false])
    expect((await publisher.history('maps')).map(({ version }) => version)).toEqual(
      Array.from({ length: 30 }, (_, index) => 30 - index),
    )
  })

  test('a clock that is set back keeps neither an agent nor a publisher away', async () => {
    const { server, publish } = await startFleet()
    await publish(1)
    const agent = await follow(server.url)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 })
    onTestFinished(() => void vi.useRealTimers())
    await server.kill('SIGKILL')
    await server.restart()
    await publish(2)
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(2), LONG)
    // Also while they try to connect.
    await server.kill('SIGKILL')
    await vi.waitFor(() => expect(agent.status()[0]?.mode).toBe('polling'), LONG)
    vi.setSystemTime(Date.now() - 3_600_000)
    await server.restart()
    await publish(3)
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(3), LONG)
  })

  test('a stopped server is noticed although its connections stay open', async () => {
    const { server, fleet } = await startFleet()
    const agent = await follow(fleet)
    await vi.waitFor(() => expect(agent.status()[0]?.mode).toBe('events'), LONG)
    server.pause()
    await vi.waitFor(() => expect(agent.status()[0]).toMatchObject({ mode: 'polling' }), LONG)
    expect(agent.status()[0]?.reason).toBeDefined()
    server.resume()
    await vi.waitFor(() => expect(agent.status()[0]?.mode).toBe('events'), LONG)
  })

  test('an agent that was away sees the removal of a skill even if the marker was purged', async () => {
    const { server, folder, publisher } = await startFleet()
    const state = createFolder()
    for (const name of ['maps', 'notes']) folder.writeSkill(name)
    await publisher.publish(folder.path)
    const before = await follow(server.url, { state: state.path })
    expect(namesOf(before)).toEqual(['maps', 'notes'])
    await before.close()
    const { skills } = await publisher.remove('maps')
    const seq = skills[0]?.seq ?? 0
    const nc = await connect({ servers: server.url })
    const reply = await nc.request(
      '$JS.API.STREAM.PURGE.KV_SK',
      JSON.stringify({ filter: '$KV.SK.stable.maps' }),
    )
    await nc.close()
    expect(reply.json()).toMatchObject({ success: true, purged: 1 })
    expect(seq).toBeGreaterThan(0)
    const after = await follow(server.url, { state: state.path })
    await vi.waitFor(() => expect(namesOf(after)).toEqual(['notes']), LONG)
  })

  test('after the streams were lost, every agent keeps its skills until a mirror has filled the new epoch', async () => {
    const { server, fleet, folder, publisher, publish } = await startFleet()
    const state = createFolder()
    for (const name of ['maps', 'notes']) folder.writeSkill(name, describeNumber(7))
    await publisher.publish(folder.path)
    const agent = await follow(server.url)
    expect(numberOf(agent, 'maps')).toBe(7)
    await (await follow(server.url, { state: state.path })).close()
    await server.kill('SIGKILL')
    server.eraseData()
    await server.restart()
    // Without an epoch the agent keeps what it has.
    await vi.waitFor(async () => {
      await agent.reload()
      expect(agent.status()[0]?.lastError).toContain('stoke fleet init')
    }, LONG)
    expect(numberOf(agent, 'maps')).toBe(7)
    await vi.waitFor(async () => await prepareFleet(fleet), LONG)
    folder.remove('notes')
    expect(await publish(8)).toMatchObject({ isFilled: false })
    // An agent that knows nothing yet has nothing to lose.
    const fresh = await follow(server.url)
    await vi.waitFor(() => expect(numberOf(fresh, 'maps')).toBe(8), LONG)
    for (const each of [agent, await follow(server.url, { state: state.path })]) {
      await vi.waitFor(() => expect(problemsOf(each)).toContain('is not filled'), LONG)
      expect([numberOf(each, 'maps'), numberOf(each, 'notes')]).toEqual([7, 7])
      if (each !== agent) await each.close()
    }
    // The state of the process that saw the new epoch says the same.
    const restarted = await follow(server.url, { state: state.path })
    expect([numberOf(restarted, 'maps'), numberOf(restarted, 'notes')]).toEqual([7, 7])
    expect(await publisher.publish(folder.path, { isMirror: true })).toMatchObject({ isFilled: true })
    for (const each of [agent, restarted, fresh]) {
      await vi.waitFor(() => expect(numberOf(each, 'maps')).toBe(8), LONG)
      expect([each.current.find('notes'), problemsOf(each)]).toEqual([undefined, ''])
    }
  })

  test('agents with pinned keys refuse unsigned, wrongly signed and replayed versions, and keep the good one', async () => {
    const server = await startServer()
    const [ours, theirs] = [createSigningKey(), createSigningKey()]
    const signer = loadSigningKey(ours.privateKey)
    const trusting = connectTo({ servers: server.url, trustedKeys: [ours.publicKey] })
    await prepareFleet(trusting, { signer })
    const folder = createFolder()
    folder.writeSkill('maps', describeNumber(1))
    await new SkillPublisher(trusting, { signer }).publish(folder.path)
    const agent = await follow(trusting, {})
    expect(numberOf(agent, 'maps')).toBe(1)
    const good = await (await trusting.open()).readLast('KV_SK', '$KV.SK.stable.maps', 'leader')

    const [line] = decoder.decode(good?.data).split('\n')
    const forged = { ...JSON.parse(line ?? ''), version: 2, publishId: 'forged' }
    const nc = await startClient(server)
    const attacks: readonly [string, ManifestSigner | undefined][] = [
      ['not signed', undefined],
      ['not signed by a trusted key', loadSigningKey(theirs.privateKey)],
    ]
    for (const [reason, attacker] of attacks) {
      const document = await writeDocument(forged, attacker)
      await nc.request('$KV.SK.stable.maps', document)
      await nc.request('skv.stable.maps.2', document)
      await vi.waitFor(() => expect(problemsOf(agent)).toContain(reason), LONG)
      expect(numberOf(agent, 'maps')).toBe(1)
    }
    // The next publication replaces the forged head. It does not use the number of the forged record again.
    const signed = new SkillPublisher(trusting, { signer })
    for (let version = 2; version <= 3; version++) {
      folder.writeSkill('maps', describeNumber(100 + version))
      await signed.publish(folder.path)
    }
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(103), LONG)
    expect((await signed.history('maps')).map(({ version }) => version)).toEqual([4, 3, 1])
    // An attacker replays the first version, which is well signed.
    await nc.request('$KV.SK.stable.maps', good?.data)
    await vi.waitFor(() => expect(problemsOf(agent)).toContain('older than 4'), LONG)
    expect(numberOf(agent, 'maps')).toBe(103)
    expect((await signed.publish(folder.path)).skills).toMatchObject([{ outcome: 'published', version: 5 }])
    await vi.waitFor(() => expect(problemsOf(agent)).toBe(''), LONG)
  })

  test('a forged removal changes nothing for agents with pinned keys', async () => {
    const server = await startServer()
    const key = createSigningKey()
    const signer = loadSigningKey(key.privateKey)
    const trusting = connectTo({ servers: server.url, trustedKeys: [key.publicKey] })
    await prepareFleet(trusting, { signer })
    const folder = createFolder()
    folder.writeSkill('maps', describeNumber(1))
    const publisher = new SkillPublisher(trusting, { signer })
    await publisher.publish(folder.path)
    const agent = await follow(trusting)
    const nc = await startClient(server)
    const marker = headers()
    marker.set('KV-Operation', 'DEL')
    await nc.request('$KV.SK.stable.maps', new Uint8Array(), { headers: marker, timeout: 2_000 })
    await vi.waitFor(() => {
      expect(problemsOf(agent)).toContain('not signed')
    }, LONG)
    expect(numberOf(agent, 'maps')).toBe(1)
  })

  test('a file whose stored bytes were tampered with is never served, and comes back after a collection', async () => {
    const { server, fleet, folder, publisher, publish } = await startFleet()
    await publish(1)
    const agent = await follow(server.url)
    const tampering = new SkillPublisher(fleet, { signer: tamperWith(await startClient(server), 2) })
    folder.writeSkill('maps', describeNumber(2))
    await tampering.publish(folder.path)
    await vi.waitFor(() => expect(problemsOf(agent)).toContain('does not match its digest'), LONG)
    expect(numberOf(agent, 'maps')).toBe(1)
    const { findings } = await examineFleet(fleet)
    expect(findings).toContainEqual({
      severity: 'error',
      message: 'stable/maps: SKILL.md has other content',
      fix: 'run "stoke fleet gc", then publish this skill again',
    })
    expect(await publisher.collectGarbage()).toMatchObject({ pieces: 1, keptPieces: 1 })
    const { skills } = await publisher.publish(folder.path)
    expect(skills).toMatchObject([{ outcome: 'unchanged', version: 2 }])
    // The agent retrieves the right bytes by itself.
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(2), LONG)
  })

  test('two agents of a machine with one state directory retrieve each file once', async () => {
    const { server, publish } = await startFleet()
    const state = createFolder()
    await publish(1)
    const first = await follow(server.url, { state: state.path })
    await first.close()
    const nc = await startClient(server)
    await nc.request('$JS.API.STREAM.PURGE.SKB', '{}')
    const second = await follow(server.url, { state: state.path })
    expect((await second.load('maps')).description).toContain('Edition 1')
  })

  test('a publisher that died before its commit changed nothing, and its files are collected', async () => {
    const { fleet, folder, publisher, publish } = await startFleet()
    await publish(1)
    const agent = await follow(fleet)
    folder.writeSkill('maps', describeNumber(2))
    const abort = new AbortController()
    const reason = new Error('killed')
    const dying = publisher.publish(folder.path, {
      signal: abort.signal,
      onProgress: ({ step, done, total }) => {
        if (step === 'upload' && done === total) abort.abort(reason)
      },
    })
    await expect(dying).rejects.toBe(reason)
    await agent.reload()
    expect(numberOf(agent, 'maps')).toBe(1)
    expect(await publisher.history('maps')).toHaveLength(1)
    expect(await publisher.collectGarbage({ graceMs: 0, isDryRun: true })).toMatchObject({ pieces: 1 })
    expect(await publisher.collectGarbage({ graceMs: 0 })).toMatchObject({
      pieces: 1,
      versions: 0,
      keptPieces: 1,
    })
    expect((await publisher.publish(folder.path)).skills).toMatchObject([
      { outcome: 'published', version: 2 },
    ])
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(2), LONG)
  })

  test('a process that is killed soon after it has served a version leaves this version to the next one', async () => {
    const { server, publish } = await startFleet()
    const state = createFolder()
    await publish(1)
    for (let number = 2; number <= 4; number++) {
      const agent = startProcess(server.url, 'maps', state.path)
      await vi.waitFor(() => expect(agent.last()).toBe(number - 1), LONG)
      await publish(number)
      await vi.waitFor(() => expect(agent.last()).toBe(number), LONG)
      await sleep(3_000) // the life that is left to the process
      await endProcess(agent.child)
      await server.kill('SIGTERM')
      const offline = startProcess(server.url, 'maps', state.path)
      await vi.waitFor(() => expect(offline.last()).toBe(number), LONG)
      await endProcess(offline.child)
      await server.restart()
    }
  })

  test('of two agents with one state directory, the one that is behind stores nothing', async () => {
    const { server, publish } = await startFleet()
    const state = createFolder()
    await publish(1)
    const connection = connectTo({ servers: server.url })
    const ahead = await follow(server.url, { state: state.path })
    const behind = await follow(connection, { state: state.path })
    for (const number of [2, 3]) {
      await publish(number)
      await vi.waitFor(() => expect(numberOf(behind, 'maps')).toBe(number), LONG)
    }
    await connection.close()
    await publish(4)
    await vi.waitFor(() => expect(numberOf(ahead, 'maps')).toBe(4), LONG)
    await ahead.close()
    await behind.close()
    await server.kill('SIGTERM')
    expect(numberOf(await follow(server.url, { state: state.path }), 'maps')).toBe(4)
  })

  test('a message that was on its way for long is no sign of a restored stream', async () => {
    const { server, fleet, publish } = await startFleet()
    for (const number of [1, 2]) {
      await publish(number)
    }
    const agent = await follow(fleet)
    await vi.waitFor(() => expect(agent.status()[0]?.mode).toBe('events'), LONG)
    // The clock of the leader that stored this message was ahead.
    const nc = await startClient(server)
    const late = headers()
    late.set('Nats-Stream', 'KV_SK')
    late.set('Nats-Subject', '$KV.SK.stable.maps')
    late.set('Nats-Sequence', '2')
    late.set('Nats-Time-Stamp', new Date(Date.now() + 3_600_000).toISOString())
    const news = vi.fn()
    onTestFinished(fleet.feed.onNews(news))
    nc.publish('sk.live.SK.stable.maps', new Uint8Array(), { headers: late })
    await vi.waitFor(() => expect(news).toHaveBeenCalled())
    await agent.reload()
    expect(agent.status()[0]).toMatchObject({ mode: 'events' })
    expect(numberOf(agent, 'maps')).toBe(2)
    await publish(3)
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(3), LONG)
  })

  test('two sources with one connection continue from the state of an earlier process, without the server', async () => {
    const { server, folder, publisher } = await startFleet()
    const state = createFolder()
    const channels = ['stable', 'canary']
    const start = async (): Promise<SkillRuntime> => {
      const shared = new FleetConnection({ servers: server.url })
      const runtime = await createSkillRuntime({
        sources: channels.map(channel => fleetSource(shared, { channel, label: channel, trust: 'auto' })),
        state: await openState(state.path),
      })
      onTestFinished(async () => await shared.close())
      return runtime
    }
    const descriptions = (runtime: SkillRuntime): readonly (string | undefined)[] =>
      channels.map(channel => runtime.current.find(`${channel}/maps`)?.description)
    for (const [index, channel] of channels.entries()) {
      folder.writeSkill('maps', describeNumber(index))
      await publisher.publish(folder.path, { channel })
    }
    const before = await start()
    const served = descriptions(before)
    expect(served).toEqual(['Edition 0 of this.', 'Edition 1 of this.'])
    await before.close()
    await server.kill('SIGTERM')
    const offline = await start()
    expect(descriptions(offline)).toEqual(served)
    await server.restart()
    folder.writeSkill('maps', describeNumber(9))
    await publisher.publish(folder.path, { channel: 'canary' })
    await vi.waitFor(() => {
      expect(descriptions(offline)).toEqual(['Edition 0 of this.', 'Edition 9 of this.'])
    }, LONG)
    await offline.close()
  })

  test('a publication with a file that cannot be retrieved is served whole or not at all, also by the next process', async () => {
    const { server, fleet, folder, publisher } = await startFleet()
    const state = createFolder()
    const startOffline = async (): Promise<readonly number[]> => {
      await server.kill('SIGTERM')
      const offline = await follow(server.url, { state: state.path })
      const numbers = [numberOf(offline, 'maps'), numberOf(offline, 'notes')]
      await offline.close()
      await server.restart()
      return numbers
    }
    for (const name of ['maps', 'notes']) folder.writeSkill(name, describeNumber(1))
    await publisher.publish(folder.path)
    const before = await follow(server.url, { state: state.path })
    const tampering = new SkillPublisher(fleet, { signer: tamperWith(await startClient(server), 2) })
    for (const name of ['maps', 'notes']) folder.writeSkill(name, describeNumber(2))
    await tampering.publish(folder.path)
    await vi.waitFor(() => expect(problemsOf(before)).toContain('does not match its digest'), LONG)
    expect(problemsOf(before)).toContain('stable/notes: its publication waits for maps')
    expect([numberOf(before, 'maps'), numberOf(before, 'notes')]).toEqual([1, 1])
    await before.close()
    expect(await startOffline()).toEqual([1, 1])
    // The files come while the next process runs, and the one after it serves them without the server.
    const after = await follow(server.url, { state: state.path })
    await vi.waitFor(() => expect(problemsOf(after)).toContain('does not match its digest'), LONG)
    await vi.waitFor(async () => await publisher.collectGarbage(), LONG)
    await publisher.publish(folder.path)
    await vi.waitFor(() => expect([numberOf(after, 'maps'), numberOf(after, 'notes')]).toEqual([2, 2]), LONG)
    await after.close()
    expect(await startOffline()).toEqual([2, 2])
  })

  test('a version that was refused is served after the next start has its key', async () => {
    const server = await startServer()
    const [first, second] = [createSigningKey(), createSigningKey()]
    const admin = connectTo({ servers: server.url, trustedKeys: [first.publicKey] })
    await prepareFleet(admin, { signer: loadSigningKey(first.privateKey) })
    const [folder, state] = [createFolder(), createFolder()]
    folder.writeSkill('maps', describeNumber(1))
    await new SkillPublisher(admin, { signer: loadSigningKey(first.privateKey) }).publish(folder.path)
    const start = async (...keys: readonly string[]): Promise<SkillRuntime> =>
      await follow({ servers: server.url, trustedKeys: keys }, { state: state.path })
    const before = await start(first.publicKey)
    folder.writeSkill('maps', describeNumber(2))
    const newer = new SkillPublisher(connectTo({ servers: server.url }), {
      signer: loadSigningKey(second.privateKey),
    })
    await newer.publish(folder.path)
    await vi.waitFor(() => expect(problemsOf(before)).toContain('not signed by a trusted key'), LONG)
    expect(numberOf(before, 'maps')).toBe(1)
    await before.close()
    const after = await start(first.publicKey, second.publicKey)
    await vi.waitFor(() => expect(numberOf(after, 'maps')).toBe(2), LONG)
    await after.close()
    // A key that is no longer trusted takes its versions along, also those that are stored.
    await server.kill('SIGTERM')
    expect(namesOf(await start(first.publicKey))).toEqual([])
  })

  test('after its connection was closed, a source keeps its skills and can be closed', async () => {
    const { server, fleet, publish } = await startFleet()
    const state = createFolder()
    await publish(1)
    const agent = await follow(fleet, { state: state.path })
    expect(numberOf(agent, 'maps')).toBe(1)
    await fleet.close()
    expect(agent.status()[0]).toMatchObject({ mode: 'polling', reason: 'the connection is closed' })
    expect((await agent.load('maps')).description).toContain('Edition 1')
    await agent.close()
    const next = await follow(server.url, { state: state.path })
    expect(numberOf(next, 'maps')).toBe(1)
  })
})
