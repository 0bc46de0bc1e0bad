import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { findNatsServer } from '../../../scripts/nats-server.ts'
import { NatsServer } from '../../../tests/fixtures/nats-server.ts'
import { TemporaryFolder } from '../../../tests/fixtures/skill-folder.ts'
import {
  FleetConnection,
  FleetReporter,
  type FleetSource,
  type FleetSourceOptions,
  FleetStatus,
  fleetSource,
  LivePublisher,
  prepareFleet,
  SkillPublisher,
} from './index.ts'

// Every test runs on the newest server, and on the oldest supported one.
describe.each(['newest', 'oldest'] as const)('on the %s server', version => {
  describe.skipIf(findNatsServer(version) === undefined)('', () => {
    let server: NatsServer
    let fleet: FleetConnection
    let folder: TemporaryFolder
    let publisher: SkillPublisher
    const sources = new WeakMap<SkillRuntime, FleetSource>()

    beforeAll(async () => {
      server = await NatsServer.start({ version })
    })
    afterAll(async () => await server[Symbol.asyncDispose]())
    beforeEach(async () => {
      await server.kill('SIGTERM')
      server.eraseData()
      await server.restart()
      fleet = new FleetConnection({ servers: server.url })
      await prepareFleet(fleet)
      folder = new TemporaryFolder()
      publisher = new SkillPublisher(fleet)
      onTestFinished(async () => {
        await fleet.close()
        folder[Symbol.dispose]()
      })
    })

    async function follow(
      options: FleetSourceOptions = {},
      target: Parameters<typeof fleetSource>[0] = server.url,
    ): Promise<SkillRuntime> {
      const source = fleetSource(target, { trust: 'auto', ...options })
      const runtime = await createSkillRuntime({ sources: [source] })
      onTestFinished(async () => await runtime.close())
      sources.set(runtime, source)
      return runtime
    }

    function reportOf(runtime: SkillRuntime, agent: string, host: string): FleetReporter {
      const source = sources.get(runtime)
      if (source === undefined) throw new Error('this runtime follows no fleet')
      return new FleetReporter(source, { runtime, agent, host, sandbox: 'none' })
    }

    const names = (runtime: SkillRuntime): readonly string[] => runtime.current.list().map(({ name }) => name)

    test('publishes a folder, which a running agent sees without a reload', async () => {
      const agent = await follow()
      expect(names(agent)).toEqual([])
      folder.writeSkill('maps', { body: 'Use the atlas.' })
      folder.write(
        'maps/data/big.bin',
        new Uint8Array(700_000).map((_, index) => index % 251),
      )
      const report = await publisher.publish(folder.path)
      expect(report.skills).toMatchObject([{ name: 'maps', outcome: 'published', version: 1 }])
      await vi.waitFor(() => expect(names(agent)).toEqual(['maps']))
      const skill = agent.current.get('maps')
      expect(skill.revision).toBe(report.skills[0]?.revision)
      expect((await agent.load('maps')).body).toContain('Use the atlas.')
      expect((await agent.readFile(skill, 'data/big.bin')).length).toBe(700_000)

      folder.writeSkill('maps', { body: 'Use the globe.' })
      expect((await publisher.publish(folder.path)).skills).toMatchObject([
        { version: 2, previousVersion: 1 },
      ])
      await vi.waitFor(async () => expect((await agent.load('maps')).body).toContain('globe'))
      expect((await publisher.publish(folder.path)).skills).toMatchObject([
        { outcome: 'unchanged', version: 2 },
      ])
    })

    test('removes, rolls back, and lists all versions', async () => {
      const agent = await follow()
      for (const body of ['One.', 'Two.', 'Three.']) {
        folder.writeSkill('maps', { body })
        await publisher.publish(folder.path, { note: body })
      }
      await publisher.rollback('maps', { version: 1 })
      await vi.waitFor(async () => expect((await agent.load('maps')).body).toContain('One.'))
      await publisher.remove('maps')
      await vi.waitFor(() => expect(names(agent)).toEqual([]))
      await publisher.rollback('maps', { version: 2 })
      await vi.waitFor(async () => expect((await agent.load('maps')).body).toContain('Two.'))
      const history = await publisher.history('maps')
      expect(
        history.map(each => [each.version, each.kind, 'rollbackOf' in each ? each.rollbackOf : undefined]),
      ).toEqual([
        [6, 'skill', 2],
        [5, 'removal', undefined],
        [4, 'skill', 1],
        [3, 'skill', undefined],
        [2, 'skill', undefined],
        [1, 'skill', undefined],
      ])
    })

    test('promotes a channel, and keeps channels apart', async () => {
      const [stable, canary] = [await follow(), await follow({ channel: 'canary' })]
      folder.writeSkill('maps', { body: 'New.' })
      folder.writeSkill('notes')
      await publisher.publish(folder.path, { channel: 'canary' })
      await vi.waitFor(() => expect(names(canary)).toEqual(['maps', 'notes']))
      expect(names(stable)).toEqual([])
      const report = await publisher.promote({ from: 'canary', to: 'stable' }, { names: ['maps'] })
      expect(report).toMatchObject({ channel: 'stable', skills: [{ name: 'maps', version: 1 }] })
      await vi.waitFor(() => expect(names(stable)).toEqual(['maps']))
      expect((await publisher.history('maps'))[0]).toMatchObject({
        promotedFrom: { channel: 'canary', version: 1 },
      })
      const again = await publisher.promote({ from: 'canary', to: 'stable' })
      expect(again.skills.map(({ name, outcome }) => [name, outcome])).toEqual([
        ['maps', 'unchanged'],
        ['notes', 'published'],
      ])
    })

    test('uploads files again that the servers have lost', async () => {
      folder.writeSkill('maps')
      const { uploadedBytes } = await publisher.publish(folder.path)
      await (await fleet.open()).deleteMessage('SKB', 1)
      const again = await publisher.publish(folder.path)
      expect(again).toMatchObject({ skills: [{ outcome: 'unchanged', version: 1 }], uploadedBytes })
      expect((await publisher.publish(folder.path)).uploadedBytes).toBe(0)
    })

    test('with a wait, a version is committed after all agents have its files', async () => {
      const agent = await follow({}, fleet)
      await using reporter = reportOf(agent, 'one', 'here')
      folder.writeSkill('maps', { body: 'Old.' })
      await publisher.publish(folder.path)
      await vi.waitFor(() => expect(names(agent)).toEqual(['maps']))
      await vi.waitFor(async () => expect((await new FleetStatus(fleet).read()).agents).toHaveLength(1))
      folder.writeSkill('maps', { body: 'New.' })
      const prefetched: unknown[] = []
      const { skills } = await publisher.publish(folder.path, {
        prefetchMs: 20_000,
        onProgress: ({ step, done }) =>
          void (step === 'prefetch' && done === 1 && prefetched.push(reporter.report.prefetched)),
      })
      expect(skills).toMatchObject([{ name: 'maps', version: 2 }])
      expect(prefetched).toEqual([expect.any(String)])
      await vi.waitFor(async () => expect((await agent.load('maps')).body).toContain('New.'))
    })

    test('the status shows which agent serves what', async () => {
      const agent = await follow({}, fleet)
      const held = await follow({ trust: 'review' }, fleet)
      await using first = reportOf(agent, 'one', 'a')
      await using second = reportOf(held, 'two', 'b')
      folder.writeSkill('maps')
      await publisher.publish(folder.path)
      folder.writeSkill('maps', { body: 'Newer.' })
      await publisher.publish(folder.path, { note: 'newer text' })
      const status = new FleetStatus(fleet)
      await vi.waitFor(async () => {
        const report = await status.read()
        expect(report.digest).toBe(first.report.digest)
        expect(report.agents.map(each => [each.host, each.agent, each.state])).toEqual([
          ['a', 'one', 'current'],
          ['b', 'two', 'held'],
        ])
        expect(report.skills).toMatchObject([{ name: 'maps', version: 2, note: 'newer text' }])
        expect(report.agents[0]).toMatchObject({
          sandbox: 'none',
          skills: 1,
          digest: report.digest,
          errors: [],
        })
        // Servers before 2.10 republish messages without their time.
        if (version === 'newest') expect(report.agents[0]?.lagMs).toBeLessThan(5_000)
      })
      await second.close()
      await vi.waitFor(async () => expect((await status.read()).agents.map(each => each.host)).toEqual(['a']))
    })

    test('a live publisher follows a folder, keeps rollbacks, and mirrors removals', async () => {
      const agent = await follow()
      folder.writeSkill('maps', { body: 'One.' })
      folder.writeSkill('notes')
      await using runtime = await createSkillRuntime({ sources: [directory(folder.path, { trust: 'auto' })] })
      await using live = new LivePublisher(publisher, runtime, { isMirror: true })
      await live.settled()
      await vi.waitFor(() => expect(names(agent)).toEqual(['maps', 'notes']))
      folder.writeSkill('maps', { body: 'Two.' })
      await vi.waitFor(async () => expect((await agent.load('maps')).body).toContain('Two.'))
      await publisher.rollback('maps')
      await vi.waitFor(async () => expect((await agent.load('maps')).body).toContain('One.'))
      folder.remove('notes')
      await vi.waitFor(() => expect(names(agent)).toEqual(['maps']))
      await live.settled()
      expect((await agent.load('maps')).body).toContain('One.')
      folder.writeSkill('maps', { body: 'Three.' })
      await vi.waitFor(async () => expect((await agent.load('maps')).body).toContain('Three.'))
    })

    test('two racing publishers never lose a version', async () => {
      const other = new FleetConnection({ servers: server.url })
      onTestFinished(async () => await other.close())
      using theirs = new TemporaryFolder()
      let conflicts = 0
      const publishAll = async (to: SkillPublisher, from: TemporaryFolder, word: string): Promise<void> => {
        for (let i = 0; i < 20; i++) {
          from.writeSkill('maps', { body: `${word} ${i}` })
          for (;;)
            try {
              await to.publish(from.path)
              break
            } catch (thrown) {
              if ((thrown as { code?: string }).code !== 'CHANGED_SINCE_READ') throw thrown
              conflicts++
            }
        }
      }
      await Promise.all([
        publishAll(publisher, folder, 'ours'),
        publishAll(new SkillPublisher(other), theirs, 'theirs'),
      ])
      const history = await publisher.history('maps')
      expect(history.map(each => each.version)).toEqual(Array.from({ length: 40 }, (_, index) => 40 - index))
      expect(conflicts).toBeGreaterThan(0)
    })
  })
})
