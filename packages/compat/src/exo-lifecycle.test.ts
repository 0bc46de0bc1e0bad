import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BindableAgent, NamedTool } from '@skillstoke/core'
import { FakeClock } from '@skillstoke/core/testing'
import { verifies } from '@skillstoke/requirements'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  EventBus,
  type ExoSkill,
  LocalFileWatcher,
  SkillRegistry,
  SkillSyncManager,
  type SkillWatcherLike,
} from './index.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'exo-lifecycle-'))
  write('pdf')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, body = 'Body.'): void {
  mkdirSync(join(folder, name), { recursive: true })
  writeFileSync(
    join(folder, name, 'SKILL.md'),
    `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`,
  )
}

class Agent implements BindableAgent {
  readonly tools = new Set<string>()
  instructions = ''
  addTool(tool: NamedTool): unknown {
    return this.tools.add(tool.name)
  }
  removeTool(name: string): void {
    this.tools.delete(name)
  }
}

const never = (): Promise<never> => new Promise(() => undefined)
const tools = { resolve: ({ name }: { readonly name: string }): NamedTool[] => [{ name: `${name}_tool` }] }

describe('stop()', () => {
  const hanging: readonly (readonly [string, SkillWatcherLike])[] = [
    [
      'stop() never resolves',
      {
        watch: async function* () {
          yield await never()
        },
        stop: never,
      },
    ],
    [
      'return() never resolves',
      {
        watch: () => ({
          [Symbol.asyncIterator]: () => ({ next: never, return: never }),
        }),
        stop: () => undefined,
      },
    ],
    [
      'ready never resolves',
      {
        watch: async function* () {
          yield await never()
        },
        stop: () => undefined,
        ready: never(),
      },
    ],
  ]
  test.each(hanging)(
    `stop() resolves, and stops all other watchers, if %s in one watcher ${verifies('EXO-19')}`,
    async (_, watcher) => {
      await using registry = new SkillRegistry()
      const clock = new FakeClock()
      const manager = new SkillSyncManager(registry, {}, { clock })
      manager.addWatcher(watcher)
      const isStopped = Promise.withResolvers<void>()
      manager.addWatcher({
        watch: async function* () {
          await isStopped.promise
          yield []
        },
        stop: () => isStopped.resolve(),
      })
      const started = manager.start()
      // The last watcher never becomes ready, so `start()` is pending until the manager stops.
      if (watcher.ready === undefined) await started
      const stopped = manager.stop()
      await isStopped.promise.catch(() => undefined)
      await clock.advance(5_000)
      await Promise.all([stopped, started])
    },
  )

  test(`stop() ends an iteration of a watcher immediately, even before the first call of next() ${verifies('EXO-12', 'EXO-32')}`, async () => {
    const watcher = new LocalFileWatcher(folder)
    const batches = watcher.watch()
    watcher.stop()
    expect(await batches.next()).toEqual({ done: true, value: undefined })
  })

  test(`stop() ends a pending start(), and the manager can be started again ${verifies('EXO-19')}`, async () => {
    await using registry = new SkillRegistry()
    const manager = new SkillSyncManager(registry, {})
    let running = 0
    manager.addWatcher({
      watch: async function* () {
        running++
        await never()
        yield []
      },
      stop: () => undefined,
    })
    await Promise.all([manager.start(), manager.stop()])
    expect(running).toBe(0)
    void manager.start()
    const stopped = manager.stop()
    await Promise.all([manager.start(), stopped])
    expect(running).toBe(1)
  })
})

describe('start()', () => {
  const writeInner = (n: number): void => {
    mkdirSync(join(folder, 'pdf', 'inner'), { recursive: true })
    writeFileSync(join(folder, 'pdf', 'inner', 'SKILL.md'), `---\nname: inner\ndescription: ${n}\n---\n`)
  }
  const writeWithProgram = (n: number): void => {
    write('pdf', `Body ${n}.`)
    writeFileSync(join(folder, 'pdf', `run-${n}.sh`), `echo ${n}\n`, { mode: 0o755 })
  }
  const changes: readonly (readonly [string, string, (n: number) => void])[] = [
    ['of instructions', 'pdf', n => write('pdf', `Body ${n}.`)],
    ['of a skill with an executable file', 'pdf', writeWithProgram],
    ['of a nested skill with findings', 'inner', writeInner],
  ]
  test.each(changes)(
    `a change %s is reported once, before, during and after a stop ${verifies('EXO-12', 'EXO-19', 'EXO-B02')}`,
    async (_, name, change) => {
      change(0)
      await using registry = new SkillRegistry().registerSource(folder)
      await registry.loadAll()
      const eventBus = new EventBus()
      const told: string[] = []
      eventBus.on('skill:modified', ({ newSkill }) => {
        const { name, description, usage } = newSkill as ExoSkill
        told.push(`${name}: ${description} ${usage}`)
      })
      const manager = new SkillSyncManager(registry, {}, { eventBus })
      const watcher = new LocalFileWatcher(folder, { debounceMs: 10 })
      let batches = 0
      let onBatch = (): void => undefined
      manager.addWatcher({
        origin: watcher.origin,
        ready: watcher.ready,
        stop: () => watcher.stop(),
        async *watch() {
          for await (const batch of watcher.watch()) {
            yield batch
            batches++ // the manager has applied the batch when it requests the next batch
            onBatch()
          }
        },
      })
      const nextBatch = async (): Promise<void> => {
        const before = batches
        while (batches === before) await new Promise<void>(resolve => (onBatch = resolve))
      }
      await manager.start()
      for (const n of [1, 3, 5]) {
        const applied = nextBatch()
        change(n)
        await applied
        await manager.stop()
        await manager.start()
        await manager.stop()
        change(n + 1)
        const again = nextBatch()
        await manager.start()
        await again
      }
      await manager.stop()
      await registry.loadAll()
      const own = told.filter(each => each.startsWith(`${name}:`))
      expect([own.length, new Set(own).size]).toEqual([6, 6])
    },
  )
})

describe('bindAgent()', () => {
  test(`if bindAgent() and unbindAgent() are called without waiting, the last call takes effect ${verifies('EXO-18', 'EXO-B06')}`, async () => {
    await using registry = new SkillRegistry().registerSource(folder)
    await registry.loadAll()
    const manager = new SkillSyncManager(registry, tools)
    const [unbound, bound] = [new Agent(), new Agent()]
    await Promise.all([
      manager.bindAgent(unbound),
      manager.bindAgent(bound),
      manager.unbindAgent(unbound),
      manager.unbindAgent(bound),
      manager.bindAgent(bound),
    ])
    write('maps')
    await registry.loadAll()
    expect([[...unbound.tools], [...bound.tools].sort()]).toEqual([[], ['maps_tool', 'pdf_tool']])
    await Promise.all([manager.bindAgent(unbound), manager.unbindAgent(bound)])
    expect([[...unbound.tools].sort(), [...bound.tools]]).toEqual([['maps_tool', 'pdf_tool'], []])
  })

  test(`bindAgent() and updates do not wait for another agent whose addTool never resolves ${verifies('EXO-27')}`, async () => {
    await using registry = new SkillRegistry().registerSource(folder)
    await registry.loadAll()
    const eventBus = new EventBus()
    const clock = new FakeClock()
    const instructionsBuilder = (skills: readonly { readonly name: string }[]): string =>
      skills.map(({ name }) => name).join()
    const manager = new SkillSyncManager(registry, tools, { eventBus, clock, instructionsBuilder })
    manager.addWatcher(new LocalFileWatcher(folder, { debounceMs: 10 }))
    const [hung, other] = [new Agent(), new Agent()]
    hung.addTool = never
    const binding = manager.bindAgent(hung)
    await registry.open()
    await clock.advance(1_000)
    await binding
    await manager.bindAgent(other)
    await manager.start()
    // The registry uses real timers, so this test would time out if the manager waited for the agent that hangs.
    for (const name of ['maps', 'zip']) {
      const added = new Promise(resolve => eventBus.on('skill:added', resolve))
      write(name)
      await added
      expect(other.tools).toContain(`${name}_tool`)
      expect(other.instructions).toContain(name)
    }
    await manager.stop()
  }, 20_000)
})
