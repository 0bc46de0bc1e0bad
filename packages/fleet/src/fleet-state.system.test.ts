import { cpSync, readdirSync, statSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import {
  createFolder,
  describeNumber,
  follow,
  LONG,
  numberOf,
  startFleet,
  watchNumbers,
} from '../../../tests/fixtures/fleet.ts'
import { NATS_SERVER } from '../../../tests/fixtures/nats-server.ts'

/** Bytes of all packs of a state directory. */
function sizeOfPacks(state: string): number {
  const folder = `${state}/store`
  const packs = readdirSync(folder).filter(name => !name.startsWith('index.db'))
  return packs.reduce((sum, name) => sum + statSync(`${folder}/${name}`).size, 0)
}

describe.skipIf(NATS_SERVER === undefined)('the state of an agent', { timeout: 60_000 }, () => {
  test('grows at each publication by a small part of all heads', async () => {
    const { server, fleet, folder, publish } = await startFleet()
    for (let index = 0; index < 300; index++) folder.writeSkill(`skill-${index}`)
    await publish(0)
    const [state, other] = [createFolder(), createFolder()]
    await (await follow(server.url, { state: state.path })).close()
    await fleet.feed.reload()
    const heads = [...fleet.feed.state.heads.values()]
    const headBytes = heads.reduce((sum, { data }) => sum + data.length, 0)
    const before = sizeOfPacks(state.path)
    for (let number = 1; number <= 8; number++) {
      await publish(number)
      const agent = await follow(server.url, { state: state.path })
      await agent.reload()
      await agent.close()
    }
    expect(sizeOfPacks(state.path) - before).toBeLessThan(headBytes)
    // Nothing of it is needed to start with all skills, also without the server.
    cpSync(state.path, other.path, { recursive: true })
    await server.kill('SIGTERM')
    const agent = await follow(server.url, { state: other.path })
    expect(agent.current.list()).toHaveLength(301)
    expect(numberOf(agent, 'maps')).toBe(8)
  })

  test('is not served after a start while the servers have something newer', async () => {
    const { server, folder, publisher, publish } = await startFleet()
    const [state, outdated] = [createFolder(), createFolder()]
    await publish(1)
    await (await follow(server.url, { state: state.path })).close()
    // As after a kill while the disk was full: the state is older than what the process served.
    cpSync(state.path, outdated.path, { recursive: true })
    await publish(2)
    const agent = await follow(server.url, { state: outdated.path })
    expect(numberOf(agent, 'maps')).toBe(2)
    await agent.close()

    await server.kill('SIGTERM')
    const offline = await follow(server.url, { state: outdated.path })
    const watched = watchNumbers(offline, 'maps')
    expect(numberOf(offline, 'maps')).toBe(2)
    await vi.waitFor(() => expect(offline.status()[0]?.reason).toContain('no connection'), LONG)
    await server.restart()
    folder.writeSkill('maps', describeNumber(3))
    await publisher.publish(folder.path)
    await vi.waitFor(() => expect(numberOf(offline, 'maps')).toBe(3), LONG)
    expect(watched.wentBack()).toBe(false)
  })
})
