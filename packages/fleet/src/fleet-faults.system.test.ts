import { createHash } from 'node:crypto'
import { connect, headers } from '@nats-io/transport-node'
import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import { openState } from '@skillstoke/core/node'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { NATS_SERVER, NatsCluster, NatsServer } from '../../../tests/fixtures/nats-server.ts'
import { skillText, TemporaryFolder } from '../../../tests/fixtures/skill-folder.ts'
import {
  createSigningKey,
  FleetConnection,
  type FleetConnectionOptions,
  type FleetSourceOptions,
  fleetSource,
  loadSigningKey,
  prepareFleet,
  SkillPublisher,
} from './index.ts'

const LONG = { timeout: 25_000, interval: 50 }

describe.skipIf(NATS_SERVER === undefined)('a fleet under faults', { timeout: 60_000 }, () => {
  async function startServer(config?: string): Promise<NatsServer> {
    const server = await NatsServer.start(config === undefined ? {} : { config })
    onTestFinished(async () => await server[Symbol.asyncDispose]())
    return server
  }

  function connectTo(options: FleetConnectionOptions): FleetConnection {
    const fleet = new FleetConnection(options)
    onTestFinished(async () => await fleet.close())
    return fleet
  }

  function createFolder(): TemporaryFolder {
    const folder = new TemporaryFolder()
    onTestFinished(() => folder[Symbol.dispose]())
    return folder
  }

  async function follow(
    target: FleetConnection | string,
    options: FleetSourceOptions & { readonly state?: string } = {},
  ): Promise<SkillRuntime> {
    const { state, ...rest } = options
    const source = fleetSource(target, { trust: 'auto', ...rest })
    const runtime = await createSkillRuntime({
      sources: [source],
      ...(state === undefined ? {} : { state: await openState(state) }),
    })
    onTestFinished(async () => await runtime.close())
    return runtime
  }

  /** Records every body that an agent serves, and fails if the agent goes back to an earlier number. */
  function watchNumbers(
    agent: SkillRuntime,
    name: string,
  ): { readonly last: () => number; readonly wentBack: () => boolean } {
    let [last, back] = [-1, false]
    agent.subscribe(async () => {
      const number = numberOf(agent, name)
      if (number < last) back = true
      last = number
    })
    return { last: () => last, wentBack: () => back }
  }

  /** The number in the description. */
  function numberOf(agent: SkillRuntime, name: string): number {
    return Number(/\d+/.exec(agent.current.find(name)?.description ?? '')?.[0] ?? -1)
  }

  const describeNumber = (number: number): { description: string } => ({
    description: `Edition ${number} of this.`,
  })

  test('a server that crashes and comes back loses nothing, and no agent goes back', async () => {
    const server = await startServer()
    const fleet = connectTo({ servers: server.url })
    await prepareFleet(fleet)
    const folder = createFolder()
    const publisher = new SkillPublisher(fleet)
    const agents = await Promise.all([follow(server.url), follow(server.url), follow(server.url)])
    const watched = agents.map(agent => watchNumbers(agent, 'maps'))
    const crash = (async () => {
      await vi.waitFor(() => expect(watched[0]?.last()).toBeGreaterThan(5), LONG)
      await server.kill('SIGKILL')
      expect(numberOf(agents[0], 'maps')).toBeGreaterThan(5) // still served without the server
      await server.restart()
    })()
    for (let i = 1; i <= 30; i++) {
      folder.writeSkill('maps', describeNumber(i))
      await publisher.publish(folder.path)
    }
    await crash
    await vi.waitFor(() => expect(agents.map(agent => numberOf(agent, 'maps'))).toEqual([30, 30, 30]), LONG)
    expect(watched.map(({ wentBack }) => wentBack())).toEqual([false, false, false])
    expect((await publisher.history('maps')).map(({ version }) => version)).toEqual(
      Array.from({ length: 30 }, (_, index) => 30 - index),
    )
  })

  test('a stopped server is noticed although its connections stay open', async () => {
    const server = await startServer()
    const fleet = connectTo({ servers: server.url })
    await prepareFleet(fleet)
    const agent = await follow(fleet)
    await vi.waitFor(() => expect(agent.status()[0]?.mode).toBe('events'), LONG)
    server.pause()
    await vi.waitFor(() => expect(agent.status()[0]).toMatchObject({ mode: 'polling' }), LONG)
    expect(agent.status()[0]?.reason).toBeDefined()
    server.resume()
    await vi.waitFor(() => expect(agent.status()[0]?.mode).toBe('events'), LONG)
  })

  test('three servers: publishing goes on after the leader crashes, and agents of a stopped server move to another', async () => {
    await using cluster = await NatsCluster.start()
    const fleet = connectTo({ servers: cluster.urls })
    await vi.waitFor(async () => await prepareFleet(fleet, { replicas: 3 }), LONG)
    const folder = createFolder()
    const publisher = new SkillPublisher(fleet)
    const agents = await Promise.all(
      [0, 1, 2].map(async first => {
        const own = [...cluster.urls.slice(first), ...cluster.urls.slice(0, first)]
        return await follow(connectTo({ servers: own }))
      }),
    )
    const watched = agents.map(agent => watchNumbers(agent, 'maps'))
    const publish = async (number: number): Promise<void> => {
      folder.writeSkill('maps', describeNumber(number))
      await publisher.publish(folder.path)
    }
    const expectAll = async (number: number): Promise<void> =>
      await vi.waitFor(
        () => expect(agents.map(agent => numberOf(agent, 'maps'))).toEqual([number, number, number]),
        LONG,
      )
    await publish(1)
    await expectAll(1)
    const leader = (await (await fleet.open()).describeStream('KV_SK'))?.cluster?.leader
    const crashed = cluster.servers.find(({ port }) => `n${port}` === leader)
    await crashed?.kill('SIGKILL')
    await publish(2)
    await expectAll(2)
    await crashed?.restart()
    await publish(3)
    await expectAll(3)
    cluster.servers[0]?.pause()
    try {
      await publish(4)
      await expectAll(4)
    } finally {
      cluster.servers[0]?.resume()
    }
    expect(watched.map(({ wentBack }) => wentBack())).toEqual([false, false, false])
    expect(await publisher.history('maps')).toHaveLength(4)
  })

  test('an agent that was away sees the removal of a skill even if the marker was purged', async () => {
    const server = await startServer()
    const fleet = connectTo({ servers: server.url })
    await prepareFleet(fleet)
    const [folder, state] = [createFolder(), createFolder()]
    for (const name of ['maps', 'notes']) folder.writeSkill(name)
    const publisher = new SkillPublisher(fleet)
    await publisher.publish(folder.path)
    const before = await follow(server.url, { state: state.path })
    expect(before.current.list().map(({ name }) => name)).toEqual(['maps', 'notes'])
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
    await vi.waitFor(() => expect(after.current.list().map(({ name }) => name)).toEqual(['notes']), LONG)
  })

  test('after the streams were lost, a new epoch brings every agent to the newly published skills', async () => {
    const server = await startServer()
    const fleet = connectTo({ servers: server.url })
    await prepareFleet(fleet)
    const folder = createFolder()
    for (const name of ['maps', 'notes']) folder.writeSkill(name, describeNumber(7))
    await new SkillPublisher(fleet).publish(folder.path)
    const agent = await follow(server.url)
    expect(numberOf(agent, 'maps')).toBe(7)
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
    folder.writeSkill('maps', describeNumber(8))
    await new SkillPublisher(fleet).publish(folder.path)
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(8), LONG)
    expect(agent.current.find('notes')).toBeUndefined()
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

    const open = connectTo({ servers: server.url })
    const attacks: readonly [string, () => Promise<unknown>][] = [
      ['not signed', async () => await new SkillPublisher(open).publish(folder.path)],
      [
        'not signed by a trusted key',
        async () =>
          await new SkillPublisher(open, { signer: loadSigningKey(theirs.privateKey) }).publish(folder.path),
      ],
    ]
    for (const [index, [reason, attack]] of attacks.entries()) {
      folder.writeSkill('maps', describeNumber(50 + index))
      await attack()
      await vi.waitFor(() => {
        const told = agent.current
          .sources()
          .flatMap(({ diagnostics }) => diagnostics.map(({ message }) => message))
        expect(told.join()).toContain(reason)
      }, LONG)
      expect(numberOf(agent, 'maps')).toBe(1)
    }
    // An administrator repairs the head with a newer signed version, and then an attacker replays the first one.
    folder.writeSkill('maps', describeNumber(2))
    const nc = await connect({ servers: server.url })
    onTestFinished(async () => await nc.close())
    await nc.request('$JS.API.STREAM.PURGE.KV_SK', JSON.stringify({ filter: '$KV.SK.stable.maps' }))
    await nc.request('$JS.API.STREAM.PURGE.SKV', JSON.stringify({ filter: 'skv.stable.maps.*' }))
    const signed = new SkillPublisher(trusting, { signer })
    for (let version = 1; version <= 3; version++) {
      folder.writeSkill('maps', describeNumber(100 + version))
      await signed.publish(folder.path)
    }
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(103), LONG)
    await nc.request('$KV.SK.stable.maps', good?.data)
    await vi.waitFor(() => {
      const told = agent.current
        .sources()
        .flatMap(({ diagnostics }) => diagnostics.map(({ message }) => message))
      expect(told.join()).toContain('older than 3')
    }, LONG)
    expect(numberOf(agent, 'maps')).toBe(103)
  })

  test('a forged removal and a tampered file change nothing for agents with pinned keys', async () => {
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
    const nc = await connect({ servers: server.url })
    onTestFinished(async () => await nc.close())
    const marker = headers()
    marker.set('KV-Operation', 'DEL')
    await nc.request('$KV.SK.stable.maps', new Uint8Array(), { headers: marker, timeout: 2_000 })
    await vi.waitFor(() => {
      const told = agent.current
        .sources()
        .flatMap(({ diagnostics }) => diagnostics.map(({ message }) => message))
      expect(told.join()).toContain('not signed')
    }, LONG)
    expect(numberOf(agent, 'maps')).toBe(1)
  })

  test('a file whose stored bytes were tampered with is never served, and the earlier version stays', async () => {
    const server = await startServer()
    const fleet = connectTo({ servers: server.url })
    await prepareFleet(fleet)
    const folder = createFolder()
    folder.writeSkill('maps', describeNumber(1))
    const publisher = new SkillPublisher(fleet)
    await publisher.publish(folder.path)
    const agent = await follow(server.url)
    const hex = createHash('sha256')
      .update(skillText('maps', describeNumber(2)))
      .digest('hex')
    const nc = await connect({ servers: server.url })
    onTestFinished(async () => await nc.close())
    await nc.request(`skb.${hex}`, skillText('maps', describeNumber(666)))
    folder.writeSkill('maps', describeNumber(2))
    await publisher.publish(folder.path)
    await vi.waitFor(() => {
      const told = agent.current
        .sources()
        .flatMap(({ diagnostics }) => diagnostics.map(({ message }) => message))
      expect(told.join()).toContain('does not match its digest')
    }, LONG)
    expect(numberOf(agent, 'maps')).toBe(1)
    // When the right bytes are there, the agent retrieves them by itself.
    await nc.request(`skb.${hex}`, skillText('maps', describeNumber(2)))
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(2), LONG)
  })

  test('two agents of a machine with one state directory retrieve each file once', async () => {
    const server = await startServer()
    const fleet = connectTo({ servers: server.url })
    await prepareFleet(fleet)
    const [folder, state] = [createFolder(), createFolder()]
    folder.writeSkill('maps', describeNumber(1))
    await new SkillPublisher(fleet).publish(folder.path)
    const first = await follow(server.url, { state: state.path })
    await first.close()
    const nc = await connect({ servers: server.url })
    onTestFinished(async () => await nc.close())
    await nc.request('$JS.API.STREAM.PURGE.SKB', '{}')
    const second = await follow(server.url, { state: state.path })
    expect((await second.load('maps')).description).toContain('Edition 1')
  })

  test('a publisher that died before its commit changed nothing, and its files are collected', async () => {
    const server = await startServer()
    const fleet = connectTo({ servers: server.url })
    await prepareFleet(fleet)
    const folder = createFolder()
    folder.writeSkill('maps', describeNumber(1))
    const publisher = new SkillPublisher(fleet)
    await publisher.publish(folder.path)
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
})
