import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { BindableAgent, Logger, NamedTool } from '@skillstoke/core'
import { isToolResolver } from '@skillstoke/core/internal'
import { FakeClock } from '@skillstoke/core/testing'
import { verifies } from '@skillstoke/requirements'
import { afterEach, describe, expect, test } from 'vitest'
import {
  DictToolResolver,
  EventBus,
  LocalFileWatcher,
  SkillChangeEvent,
  type SkillChangeFields,
  SkillRegistry,
  SkillSyncManager,
  SkillWatcher,
  type SkillWatcherLike,
} from './index.ts'
import { DEFAULT_DEBOUNCE_MS } from './local-file-watcher.ts'

const text = (name: string, body = `Body of ${name}.`, extra = ''): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n${extra}---\n${body}\n`

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** Creates a folder that contains the given files. A test can write more files into the folder. */
function folder(files: Readonly<Record<string, string>> = {}): {
  path: string
  write: (path: string, content: string) => void
} {
  const path = mkdtempSync(join(tmpdir(), 'exo-'))
  folders.push(path)
  const write = (file: string, content: string): void => {
    mkdirSync(dirname(join(path, file)), { recursive: true })
    writeFileSync(join(path, file), content)
  }
  for (const [file, content] of Object.entries(files)) write(file, content)
  return { path, write }
}

class Agent implements BindableAgent {
  readonly tools = new Map<string, NamedTool>()
  readonly calls: string[] = []
  instructions = ''
  addTool(tool: NamedTool): void {
    if (this.tools.has(tool.name)) throw new Error(`${tool.name} is already registered`)
    this.calls.push(`add ${tool.name}`)
    this.tools.set(tool.name, tool)
  }
  removeTool(name: string): void {
    this.calls.push(`remove ${name}`)
    this.tools.delete(name)
  }
}

type Batch = readonly SkillChangeFields[]

/** A watcher for tests. Yields each batch that a test passes to `put`, and throws each error. */
class ScriptedWatcher extends SkillWatcher {
  readonly #queue: (Batch | Error | 'return')[] = []
  #wake = (): void => undefined
  #isStopped = false
  starts = 0

  put(...items: readonly (Batch | Error | 'return')[]): void {
    this.#queue.push(...items)
    this.#wake()
  }

  override async *watch(): AsyncGenerator<readonly SkillChangeEvent[], void, undefined> {
    this.starts++
    this.#isStopped = false
    for (;;) {
      const item = this.#queue.shift()
      if (item === 'return' || this.#isStopped) return
      if (item instanceof Error) throw item
      if (item !== undefined) yield item.map(fields => new SkillChangeEvent(fields))
      else
        await new Promise<void>(resolve => {
          this.#wake = resolve
        })
    }
  }

  override stop(): void {
    this.#isStopped = true
    this.#wake()
  }
}

const change = (kind: 'added' | 'modified', name: string, body = `Body of ${name}.`): SkillChangeFields => ({
  kind,
  skillName: name,
  skill: { name, description: `Does ${name}.`, body },
  sourcePath: `db://${name}`,
})
const removal = (name: string): SkillChangeFields => ({
  kind: 'removed',
  skillName: name,
  skill: null,
  sourcePath: `db://${name}`,
})

/** A manager with one scripted watcher. A test that sees the events of a batch knows that the manager has handled the batch, because events are emitted last. */
async function manage(
  options: Partial<ConstructorParameters<typeof SkillSyncManager>[2]> & {
    readonly registry?: SkillRegistry
    readonly tools?: ConstructorParameters<typeof SkillSyncManager>[1]
  } = {},
) {
  const { registry = new SkillRegistry(), tools = {}, ...rest } = options
  const watcher = new ScriptedWatcher()
  const told: string[] = []
  const eventBus = new EventBus()
  let wake = (): void => undefined
  for (const name of ['skill:added', 'skill:modified', 'skill:removed']) {
    eventBus.on(name, payload => {
      const skill = (payload['skill'] ?? payload['new_skill']) as { name: string; usage: string }
      told.push(`${name} ${skill.name}`)
      wake()
    })
  }
  const clock = new FakeClock()
  const logged: string[] = []
  const note = (message: string, data?: Readonly<Record<string, unknown>>): void =>
    void logged.push(
      data?.['delayMs'] === undefined ? message : `${message} ${JSON.stringify(data['delayMs'])}`,
    )
  const logger: Logger = { debug: () => undefined, info: () => undefined, warn: note, error: note }
  const manager = new SkillSyncManager(registry, tools, { eventBus, clock, logger, ...rest })
  manager.addWatcher(watcher)
  return {
    registry,
    manager,
    watcher,
    eventBus,
    told,
    clock,
    logged,
    /** Waits until `count` events were reported. */
    until: async (count: number): Promise<void> => {
      while (told.length < count) {
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    },
  }
}

describe('SkillChangeEvent', () => {
  test(`a SkillChangeEvent is immutable, and its field "skill" is null only if the skill was removed ${verifies('EXO-10', 'EXO-44')}`, () => {
    const event = new SkillChangeEvent(change('added', 'pdf'))
    expect(event).toMatchObject({ kind: 'added', skillName: 'pdf', sourcePath: 'db://pdf' })
    expect(() => {
      ;(event as { kind: string }).kind = 'removed'
    }).toThrow(TypeError)
    expect(new SkillChangeEvent(removal('pdf')).skill).toBeNull()
    expect(() => new SkillChangeEvent({ ...change('modified', 'pdf'), skill: null })).toThrow(
      'the event "modified" of "pdf" has no skill; only "removed" events may omit it',
    )
  })
})

test(`DictToolResolver accepts one tool or several tools per skill, and returns no tools for unknown skills ${verifies('EXO-14', 'EXO-15', 'EXO-44')}`, () => {
  const [a, b] = [{ name: 'a' }, { name: 'b' }]
  const resolver = new DictToolResolver({ one: a, two: [a, b] })
  expect([isToolResolver(resolver), isToolResolver({ resolve: () => [] }), isToolResolver({})]).toEqual([
    true,
    true,
    false,
  ])
  expect(resolver.resolve({ name: 'one' })).toEqual([a])
  expect(resolver.resolve({ name: 'two' })).toEqual([a, b])
  expect(resolver.resolve({ name: 'constructor' })).toEqual([])
})

describe('EventBus', () => {
  test(`emit() calls handlers in order, waits for slow handlers, and continues after a handler that throws ${verifies('EXO-05', 'EXO-39', 'EXO-40', 'EXO-X12')}`, async () => {
    const errors: unknown[] = []
    const bus = new EventBus({ onHandlerError: error => errors.push(error) })
    const told: string[] = []
    const counts = { added: 0 }
    bus.on('skill:added', async () => {
      await Promise.resolve()
      told.push('slow')
    })
    const off = bus.on('skill:added', () => {
      throw new Error('no')
    })
    bus.on('skill:added', () => void told.push('last'))
    bus.on('skill:added', () => void counts.added++)
    await bus.emit('skill:added', {})
    off()
    await bus.emit('skill:added', {})
    expect(told).toEqual(['slow', 'last', 'slow', 'last'])
    expect([errors.length, counts.added]).toEqual([1, 2])
  })
})

describe('SkillRegistry', () => {
  test(`the registry loads folders on demand, and returns each skill with its instructions ${verifies('EXO-01', 'EXO-06', 'EXO-X02', 'EXO-X04')}`, async () => {
    const local = folder({
      'pdf/SKILL.md': text(
        'pdf',
        'Read it.',
        'tool_list: \'{"files": ["read"]}\'\ntype: agent\nactive: "False"\n',
      ),
      'tools/deep/skill.md': '---\nNAME: deep\nDesc: The short one.\nActive: FALSE\n---\nDeep.\n',
    })
    await using registry = new SkillRegistry()
    registry.registerSource(local.path)
    expect(registry.listNames()).toEqual([])
    await registry.loadAll()
    expect(registry.listNames()).toEqual(['deep', 'pdf'])
    expect(registry.get('pdf')).toEqual({
      name: 'pdf',
      description: 'Does pdf.',
      usage: 'Read it.',
      toolList: { files: ['read'] },
      skillType: 'agent',
      active: false,
      path: join(local.path, 'pdf/SKILL.md'),
    })
    expect(registry.get('deep')).toMatchObject({
      description: 'The short one.',
      active: false,
      toolList: {},
    })
    const copy = registry.skills
    copy.clear()
    expect(registry.skills.size).toBe(2)
    expect(() => registry.get('unknown')).toThrow("Skill 'unknown' not found")
    local.write('pdf/SKILL.md', text('pdf', 'Newer.'))
    expect(registry.get('pdf').usage).toBe('Read it.')
    await registry.loadAll()
    expect(registry.get('pdf').usage).toBe('Newer.')
  })

  test(`search() looks in names and descriptions, and can filter by type and by whether a skill is active ${verifies('EXO-X05', 'EXO-06')}`, async () => {
    const local = folder({
      'pdf/SKILL.md': text('pdf', '', 'type: agent\n'),
      'maps/SKILL.md': text('maps', '', 'active: false\n'),
    })
    await using registry = new SkillRegistry().registerSource(local.path)
    await registry.loadAll()
    const names = (options: Parameters<SkillRegistry['search']>[0]): string[] =>
      registry.search(options).map(({ name }) => name)
    expect(names({ query: 'OES PD' })).toEqual(['pdf'])
    expect(names({})).toEqual(['maps', 'pdf'])
    expect(names({ skillType: 'agent' })).toEqual(['pdf'])
    expect(names({ activeOnly: true })).toEqual(['pdf'])
  })

  test(`if two skills have the same name, conflictStrategy keeps the first, keeps the last or throws ${verifies('EXO-X01', 'EXO-06')}`, async () => {
    const [a, b] = [
      folder({ 'pdf/SKILL.md': text('pdf', 'A') }),
      folder({ 'pdf/SKILL.md': text('pdf', 'B') }),
    ]
    const load = async (conflictStrategy?: 'keep_first' | 'keep_last' | 'raise'): Promise<string> => {
      await using registry = new SkillRegistry(conflictStrategy === undefined ? {} : { conflictStrategy })
      registry.registerSource(a.path).registerSource(b.path)
      await registry.loadAll()
      return registry.get('pdf').usage
    }
    expect([await load(), await load('keep_first'), await load('keep_last')]).toEqual(['A', 'A', 'B'])
    await expect(load('raise')).rejects.toThrow("Duplicate skill 'pdf' (conflict_strategy=raise)")
    expect(() => new SkillRegistry({ conflictStrategy: 'other' as never })).toThrow(
      'conflictStrategy is "other"; use one of keep_first, keep_last, raise',
    )
  })

  test(`loadAll() rejects if a folder is missing, but not if a SKILL.md is broken ${verifies('EXO-X04', 'EXO-B09', 'EXO-X03')}`, async () => {
    const local = folder({ 'pdf/SKILL.md': text('pdf') })
    await using registry = new SkillRegistry().registerSource(join(local.path, 'none'))
    await expect(registry.loadAll()).rejects.toThrow(
      `Skill source directory not found: ${join(local.path, 'none')}`,
    )
    writeFileSync(join(local.path, 'pdf/SKILL.md'), Buffer.from([0xff, 0xfe, 0x00]))
    local.write('good/SKILL.md', text('good'))
    local.write('bare/SKILL.md', 'No frontmatter.')
    await using second = new SkillRegistry().registerSource(local.path)
    await second.loadAll()
    expect(second.listNames()).toEqual(['bare', 'good'])
    expect(second.get('bare').usage).toBe('No frontmatter.')
  })
})

describe('SkillSyncManager', () => {
  test(`passes a batch from the registry to tools, instructions and events, in this order ${verifies(
    'P34',
    'EXO-08',
    'EXO-16',
    'EXO-21',
    'EXO-22',
    'EXO-23',
    'EXO-24',
    'EXO-25',
    'EXO-39',
    'EXO-43',
    'EXO-44',
    'EXO-B13',
  )}`, async () => {
    const order: string[] = []
    const it = await manage({
      tools: { pdf: { name: 'read_pdf' }, maps: [{ name: 'route' }, { name: 'zoom' }] },
      instructionsBuilder: skills => {
        order.push(`instructions ${skills.map(({ name }) => name).join()}`)
        return ['Skills:', ...skills.map(skill => `- **${skill.name}**: ${skill.description}`)].join('\n')
      },
    })
    const agent = new Agent()
    agent.instructions = 'Be kind.'
    await it.manager.bindAgent(agent)
    order.length = 0
    it.eventBus.on('skill:added', ({ skill }) => {
      const { name } = skill as { name: string }
      order.push(`event ${name} ${it.registry.listNames().join()} ${[...agent.tools.keys()].join()}`)
    })
    await it.manager.start()
    it.watcher.put([change('added', 'pdf'), change('added', 'maps')])
    await it.until(2)
    expect(order).toEqual([
      'instructions maps,pdf',
      'event maps maps,pdf route,zoom,read_pdf',
      'event pdf maps,pdf route,zoom,read_pdf',
    ])
    expect(it.registry.get('pdf').usage).toBe('Body of pdf.')
    expect(agent.instructions).toBe('Be kind.\n\nSkills:\n- **maps**: Does maps.\n- **pdf**: Does pdf.')

    const modified = Promise.withResolvers<Readonly<Record<string, unknown>>>()
    it.eventBus.on('skill:modified', payload => modified.resolve(payload))
    it.watcher.put([change('modified', 'pdf', 'Newer.'), removal('maps')])
    await it.until(4)
    expect(await modified.promise).toMatchObject({
      old_skill: { name: 'pdf', usage: 'Body of pdf.' },
      new_skill: { name: 'pdf', usage: 'Newer.' },
    })
    expect([...agent.tools.keys()]).toEqual(['read_pdf'])
    expect(it.registry.listNames()).toEqual(['pdf'])
    expect(it.told).toEqual([
      'skill:added maps',
      'skill:added pdf',
      'skill:removed maps',
      'skill:modified pdf',
    ])
    await it.manager.stop()
    await it.registry.close()
  })

  test(`a manager needs no bus and no builder, and accepts any resolver ${verifies('EXO-14', 'EXO-16', 'EXO-39')}`, async () => {
    await using registry = new SkillRegistry()
    const seen: string[] = []
    const added = Promise.withResolvers<void>()
    const resolver = {
      resolve: (skill: { name: string; usage: string }): NamedTool[] => {
        seen.push(`${skill.name} ${skill.usage}`)
        return [{ name: 'tool' }]
      },
    }
    await using manager = new SkillSyncManager(registry, resolver)
    const watcher = new ScriptedWatcher()
    manager.addWatcher(watcher)
    const agent = new Agent()
    agent.addTool = tool => {
      agent.tools.set(tool.name, tool)
      added.resolve()
    }
    await manager.bindAgent(agent)
    await manager.start()
    watcher.put([change('added', 'pdf')])
    await added.promise
    expect(seen).toEqual(['pdf Body of pdf.'])
  })

  test(`a manager can be stopped and started again, and disposing of a manager stops it ${verifies('EXO-12', 'EXO-17', 'EXO-19', 'EXO-20', 'EXO-B12', 'EXO-44')}`, async () => {
    const it = await manage()
    {
      await using manager = it.manager
      expect(it.watcher.starts).toBe(0)
      await manager.start()
      await manager.start()
      expect(() => manager.addWatcher(new ScriptedWatcher())).toThrow('add watchers before start()')
      it.watcher.put([change('added', 'pdf')])
      await it.until(1)
    }
    expect(it.watcher.starts).toBe(1)
    await it.manager.stop()
    await it.manager.start()
    it.watcher.put([change('added', 'maps')])
    await it.until(2)
    expect([it.watcher.starts, it.registry.listNames()]).toEqual([2, ['maps', 'pdf']])
    await it.manager.stop()
    await it.registry.close()
  })

  test(`a failing watcher is retried after delays that grow until the watcher succeeds ${verifies('EXO-26', 'EXO-28', 'EXO-B03', 'EXO-X10', 'P25')}`, async () => {
    const it = await manage()
    const other = new ScriptedWatcher()
    it.manager.addWatcher(other)
    await it.manager.start()
    it.watcher.put(new Error('1'), new Error('2'), new Error('3'))
    other.put([change('added', 'from-the-other')])
    await it.until(1)
    await it.clock.advance(1_000)
    await it.clock.advance(2_000)
    expect(it.watcher.starts).toBe(3)
    await it.clock.advance(3_999)
    expect(it.watcher.starts).toBe(3)
    it.watcher.put([change('added', 'pdf')])
    await it.clock.advance(1)
    await it.until(2)
    it.watcher.put(new Error('4'))
    await it.clock.advance(1_000)
    expect(it.watcher.starts).toBe(5)
    expect(it.logged.filter(line => line.includes('is retried'))).toEqual(
      [1_000, 2_000, 4_000, 1_000].map(delay => `a watcher failed and is retried ${delay}`),
    )
    it.watcher.put('return')
    await it.clock.advance(100_000)
    expect(it.watcher.starts).toBe(5)
    await it.manager.stop()
    await it.registry.close()
  })

  test(`every event of a batch is emitted, even if the bus, the resolver or the builder throws ${verifies('EXO-B01', 'EXO-27', 'P26')}`, async () => {
    const fail = (what: string) => (): never => {
      throw new Error(what)
    }
    const it = await manage({
      tools: { resolve: fail('resolver') },
      instructionsBuilder: fail('builder'),
    })
    it.eventBus.on('skill:added', fail('handler'))
    await it.manager.bindAgent(new Agent())
    await it.manager.start()
    it.watcher.put([change('added', 'a'), change('added', 'b'), change('added', 'c')])
    it.watcher.put([change('added', 'd')])
    await it.until(4)
    expect(it.registry.listNames()).toEqual(['a', 'b', 'c', 'd'])
    expect(it.watcher.starts).toBe(1)
    await it.manager.stop()
    await it.registry.close()
  })

  test(`if a skill is removed, a shadowed skill of the same name is served instead ${verifies('EXO-B07')}`, async () => {
    const [a, b] = [
      folder({ 'pdf/SKILL.md': text('pdf', 'A') }),
      folder({ 'pdf/SKILL.md': text('pdf', 'B') }),
    ]
    const registry = new SkillRegistry().registerSource(a.path).registerSource(b.path)
    await registry.loadAll()
    const it = await manage({ registry })
    await it.manager.start()
    it.watcher.put([{ ...removal('pdf'), sourcePath: join(a.path, 'pdf/SKILL.md') }])
    await it.until(1)
    expect([it.told, registry.get('pdf').usage]).toEqual([['skill:modified pdf'], 'B'])
    await it.manager.stop()
    await registry.close()
  })

  test(`the instructions builder gets only active skills, and an unbound agent is not updated ${verifies('EXO-B08', 'EXO-18')}`, async () => {
    const it = await manage({ instructionsBuilder: skills => skills.map(({ name }) => name).join() })
    const [bound, unbound] = [new Agent(), new Agent()]
    await it.manager.bindAgent(bound)
    await it.manager.bindAgent(unbound)
    await it.manager.unbindAgent(unbound)
    await it.manager.unbindAgent(new Agent())
    await it.manager.start()
    const inactive = { ...change('added', 'off'), skill: { name: 'off', description: 'x', active: false } }
    it.watcher.put([change('added', 'on'), inactive])
    await it.until(2)
    expect([bound.instructions, unbound.instructions]).toEqual(['on', ''])
    expect(it.registry.get('off').active).toBe(false)
    await it.manager.stop()
    await it.registry.close()
  })

  test(`the manager gives agents only tools that the program passed, never a tool from a skill's folder ${verifies('EXO-07')}`, async () => {
    const local = folder({ 'pdf/SKILL.md': text('pdf'), 'pdf/scripts/tool.ts': 'export const tool = 1' })
    await using registry = new SkillRegistry().registerSource(local.path)
    await registry.loadAll()
    await using manager = new SkillSyncManager(registry, {})
    const agent = new Agent()
    await manager.bindAgent(agent)
    expect(agent.calls).toEqual([])
    await using mapped = new SkillSyncManager(new SkillRegistry(), { pdf: { name: 'read_pdf' } })
    await mapped.bindAgent(agent)
    expect(agent.calls).toEqual([])
  })

  test(`a shadowed skill keeps its instructions, even if many batches follow before the skill is served ${verifies('EXO-B07')}`, async () => {
    const [a, b] = [
      folder({ 'pdf/SKILL.md': text('pdf', 'A') }),
      folder({ 'pdf/SKILL.md': text('pdf', 'B') }),
    ]
    const registry = new SkillRegistry().registerSource(a.path).registerSource(b.path)
    await registry.loadAll()
    const it = await manage({ registry })
    await it.manager.start()
    it.watcher.put([change('added', 'other')])
    await it.until(1)
    it.watcher.put([{ ...removal('pdf'), sourcePath: join(a.path, 'pdf/SKILL.md') }])
    await it.until(2)
    expect(registry.get('pdf').usage).toBe('B')
    await it.manager.stop()
    await registry.close()
  })

  test('an invalid event is skipped, and the other events of its batch are applied', async () => {
    const it = await manage()
    const batches: unknown[] = [
      [
        { kind: 'added', skillName: 'x' },
        null,
        { ...change('added', 'y'), skillName: 'z' },
        change('added', 'ok'),
      ],
    ]
    it.manager.addWatcher({
      watch: async function* () {
        yield* batches as (readonly SkillChangeFields[])[]
      },
      stop: () => undefined,
    })
    await it.manager.start()
    await it.until(1)
    expect(it.registry.listNames()).toEqual(['ok'])
    for (const wrong of [null, {}, { watch: 1 }])
      expect(() => new SkillSyncManager(it.registry, {}).addWatcher(wrong as never)).toThrow(
        'needs the methods',
      )
    await it.manager.stop()
    await it.registry.close()
  })

  test(`two managers can share a registry, and a manager whose start failed can start again ${verifies('EXO-19')}`, async () => {
    const local = folder()
    const missing = join(local.path, 'later')
    const registry = new SkillRegistry().registerSource(local.path)
    const [one, two] = [await manage({ registry }), await manage({ registry })]
    await Promise.all([one.manager.start(), two.manager.start()])
    one.watcher.put([change('added', 'a')])
    two.watcher.put([change('added', 'b')])
    await one.until(2)
    expect(registry.listNames()).toEqual(['a', 'b'])
    await Promise.all([one.manager.stop(), two.manager.stop()])
    await registry.close()

    const strict = new SkillRegistry().registerSource(missing)
    const late = await manage({ registry: strict })
    await expect(strict.loadAll()).rejects.toThrow('Skill source directory not found')
    await expect(late.manager.start()).rejects.toMatchObject({ code: 'SOURCE_MISSING' })
    mkdirSync(missing)
    await late.manager.start()
    expect(late.watcher.starts).toBe(1)
    await late.manager.stop()
    await strict.close()
  })

  test(`stop() of a manager waits until each watcher has cleaned up ${verifies('EXO-19')}`, async () => {
    const it = await manage()
    let isClean = false
    const gate = Promise.withResolvers<void>()
    it.manager.addWatcher({
      watch: async function* () {
        try {
          yield []
          await gate.promise
        } finally {
          await new Promise(resolve => setImmediate(resolve))
          isClean = true
        }
      },
      stop: () => gate.resolve(),
    })
    await it.manager.start()
    await it.manager.stop()
    expect(isClean).toBe(true)
    const stopped = it.manager.start()
    await it.manager.stop()
    await stopped
    await it.registry.close()
  })

  test(`any object with watch() and stop() is a watcher, and the class SkillWatcher is abstract ${verifies('EXO-04', 'EXO-13')}`, async () => {
    const it = await manage()
    const plain: SkillWatcherLike = {
      watch: async function* () {
        yield [change('added', 'plain')]
      },
      stop: () => undefined,
    }
    it.manager.addWatcher(plain)
    await it.manager.start()
    await it.until(1)
    expect(it.registry.listNames()).toEqual(['plain'])
    await it.manager.stop()
    await it.registry.close()
    // @ts-expect-error an abstract class cannot be instantiated
    expect(() => new SkillWatcher().watch()).toThrow(TypeError)
  })
})

describe('LocalFileWatcher', () => {
  test(`by default, LocalFileWatcher waits until no file has changed for 500 ms ${verifies('EXO-29')}`, () => {
    expect(DEFAULT_DEBOUNCE_MS).toBe(500)
  })

  const next = async (batches: AsyncIterator<readonly SkillChangeEvent[]>): Promise<string[]> => {
    const { value } = await batches.next()
    return (value as readonly SkillChangeEvent[]).map(({ kind, skillName }) => `${kind} ${skillName}`)
  }

  test(`LocalFileWatcher reports new, edited and deleted skills in batches ${verifies('EXO-02', 'EXO-11', 'EXO-29', 'EXO-30', 'EXO-31', 'EXO-44', 'EXO-X08', 'EXO-X09')}`, async () => {
    const local = folder({ 'b/SKILL.md': text('b'), 'c/SKILL.md': text('c'), 'd/SKILL.md': text('d') })
    const watcher = new LocalFileWatcher(local.path, { debounceMs: 500 })
    const batches = watcher.watch()
    const first = next(batches)
    await watcher.ready
    local.write('b/reference.md', 'not a text of a skill')
    local.write('z/SKILL.md', text('z'))
    local.write('a/deep/down/skill.md', text('a'))
    local.write('d/SKILL.md', text('d', 'Newer.'))
    rmSync(join(local.path, 'c'), { recursive: true })
    expect(await first).toEqual(['added a', 'added z', 'removed c', 'modified d'])
    local.write('b/SKILL.md', `${text('b')}\n\n`)
    local.write('d/SKILL.md', '---\nname: "d\n---\n')
    renameSync(join(local.path, 'z'), join(local.path, 'y'))
    expect(await next(batches)).toEqual(['modified z'])
    watcher.stop()
    expect((await batches.next()).done).toBe(true)
  })

  test(`after stop(), a new watch() of LocalFileWatcher first reports the changes since stop() ${verifies('EXO-12', 'EXO-32', 'EXO-B02', 'EXO-B12')}`, async () => {
    const local = folder({ 'a/SKILL.md': text('a') })
    const watcher = new LocalFileWatcher(local.path, { debounceMs: 20 })
    const batches = watcher.watch()
    const first = next(batches)
    await watcher.ready
    local.write('b/SKILL.md', text('b'))
    expect(await first).toEqual(['added b'])
    watcher.stop()
    expect((await batches.next()).done).toBe(true)
    local.write('c/SKILL.md', text('c'))
    const again = watcher.watch()
    expect(await next(again)).toEqual(['added c'])
    watcher.stop()
    await again.next()
  })

  test(`LocalFileWatcher waits for a folder that does not exist yet ${verifies('EXO-B09')}`, async () => {
    const local = folder()
    const watcher = new LocalFileWatcher(join(local.path, 'later'), { debounceMs: 20 })
    const batches = watcher.watch()
    const first = next(batches)
    await watcher.ready
    local.write('later/a/SKILL.md', text('a'))
    expect(await first).toEqual(['added a'])
    watcher.stop()
    await batches.next()
    expect(() => new LocalFileWatcher(local.path, { debounceMs: -1 })).toThrow('debounceMs is -1')
  })
})

test(`with a local watcher, an edit of a SKILL.md changes the skill, its tools and the instructions of the agent ${verifies('EXO-01', 'EXO-41', 'EXO-45')}`, async () => {
  const local = folder({ 'pdf/SKILL.md': text('pdf') })
  await using registry = new SkillRegistry().registerSource(local.path)
  await registry.loadAll()
  const eventBus = new EventBus()
  await using manager = new SkillSyncManager(registry, { maps: { name: 'route' } }, { eventBus })
  manager.addWatcher(new LocalFileWatcher(local.path, { debounceMs: 20 }))
  const agent = new Agent()
  await manager.bindAgent(agent)
  await manager.start()
  const added = new Promise(resolve => eventBus.on('skill:added', resolve))
  local.write('maps/SKILL.md', text('maps'))
  await added
  expect(registry.listNames()).toEqual(['maps', 'pdf'])
  expect([...agent.tools.keys()]).toEqual(['route'])
  const modified = new Promise(resolve => eventBus.on('skill:modified', resolve))
  local.write('pdf/SKILL.md', text('pdf', 'Newer.'))
  await modified
  expect(registry.get('pdf')).toMatchObject({ usage: 'Newer.', path: join(local.path, 'pdf/SKILL.md') })
})
