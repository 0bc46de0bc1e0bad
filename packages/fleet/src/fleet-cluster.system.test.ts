import { expect, test, vi } from 'vitest'
import {
  connectTo,
  createFolder,
  describeNumber,
  follow,
  LONG,
  numberOf,
  watchNumbers,
} from '../../../tests/fixtures/fleet.ts'
import { NATS_SERVER, NatsCluster, type NatsServer } from '../../../tests/fixtures/nats-server.ts'
import { prepareFleet, SkillPublisher } from './index.ts'

test.skipIf(NATS_SERVER === undefined)(
  'three servers: publishing goes on after the leader crashes, and agents of a stopped server move to another',
  async () => {
    await using cluster = await NatsCluster.start()
    const fleet = connectTo({ servers: cluster.urls })
    // At once: the servers of a fresh cluster have elected no leaders yet.
    const { steps } = await prepareFleet(fleet, { replicas: 3 })
    expect(steps).toHaveLength(6)
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
    const findLeader = async (): Promise<NatsServer | undefined> => {
      const leader = (await (await fleet.open()).describeStream('KV_SK'))?.cluster?.leader
      return cluster.servers.find(({ port }) => `n${port}` === leader)
    }
    const crashed = await findLeader()
    await crashed?.kill('SIGKILL')
    await publish(2)
    await expectAll(2)
    await crashed?.restart()
    await publish(3)
    await expectAll(3)
    const stopped = await vi.waitFor(async () => {
      const leader = await findLeader()
      expect(leader).toBeDefined()
      return leader
    }, LONG)
    stopped?.pause()
    try {
      await publish(4)
      await expectAll(4)
    } finally {
      stopped?.resume()
    }
    expect(watched.map(({ wentBack }) => wentBack())).toEqual([false, false, false])
    expect(await publisher.history('maps')).toHaveLength(4)
  },
  60_000,
)
