import { AsyncLocalStorage } from 'node:async_hooks'
import { verifies } from '@skillstoke/requirements'
import { expect, test } from 'vitest'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import { FileSource } from '../source/file-source.ts'
import { NO_SETTLE } from '../source/settle.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { InProcessEventBus, type SkillEvents } from './event-bus.ts'

const batch = (generation: number): SkillEvents['skills:batch'] => ({
  generation,
  digest: 'sha256:0',
  changes: [],
})

test('emit() calls handlers in order and awaits each handler', async () => {
  const bus = new InProcessEventBus()
  const told: string[] = []
  bus.on('skills:batch', async () => {
    await Promise.resolve()
    told.push('first')
  })
  const off = bus.on('skills:batch', () => void told.push('second'))
  await bus.emit('skills:batch', batch(1))
  off()
  await bus.emit('skills:batch', batch(2))
  expect(told).toEqual(['first', 'second', 'first'])
})

test('emit() calls a synchronous handler in the async context of its caller, even while another emit() waits', async () => {
  const context = new AsyncLocalStorage<number>()
  const bus = new InProcessEventBus()
  const told: unknown[] = []
  bus.on('skills:batch', ({ generation }) => void told.push([generation, context.getStore()]))
  await Promise.all([1, 2, 3].map(each => context.run(each, () => bus.emit('skills:batch', batch(each)))))
  expect(told).toEqual([1, 2, 3].map(each => [each, each]))
})

test('emit() calls all handlers even if one handler throws, and reports the error', async () => {
  const errors: unknown[] = []
  const bus = new InProcessEventBus({
    onHandlerError: (error, name) => void errors.push([String(error), name]),
  })
  const told: number[] = []
  bus.on('skills:batch', () => {
    throw new Error('sync')
  })
  bus.on('skills:batch', async () => {
    throw new Error('async')
  })
  bus.on('skills:batch', ({ generation }) => void told.push(generation))
  await bus.emit('skills:batch', batch(1))
  expect(told).toEqual([1])
  expect(errors).toEqual([
    ['Error: sync', 'skills:batch'],
    ['Error: async', 'skills:batch'],
  ])
})

test('emit() calls the remaining handlers even if the error hook throws', async () => {
  const bus = new InProcessEventBus({
    onHandlerError: () => {
      throw new Error('the hook')
    },
  })
  const told: number[] = []
  bus.on('skills:batch', ({ generation }) => {
    told.push(generation)
    throw new Error('the handler')
  })
  for (const generation of [1, 2, 3]) await bus.emit('skills:batch', batch(generation))
  expect(told).toEqual([1, 2, 3])
})

test('emit() stops waiting for a slow handler, and later delivers the events that the handler missed, in order', async () => {
  const clock = new FakeClock()
  const errors: unknown[] = []
  const bus = new InProcessEventBus({
    clock,
    onHandlerError: error => void errors.push(error),
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  const slow: number[] = []
  const other: number[] = []
  bus.on('skills:batch', async ({ generation }) => {
    slow.push(generation)
    await promise
  })
  bus.on('skills:batch', ({ generation }) => void other.push(generation))
  const first = bus.emit('skills:batch', batch(1))
  await clock.advance(999)
  expect(other).toEqual([])
  await clock.advance(1)
  await first
  await bus.emit('skills:batch', batch(2))
  await bus.emit('skills:batch', batch(3))
  expect(other).toEqual([1, 2, 3])
  expect(slow).toEqual([1])
  expect(errors).toHaveLength(1)
  resolve()
  await clock.advance(0)
  expect(slow).toEqual([1, 2, 3])
})

test(`a runtime emits one event per change, then one event per problem, then the batch ${verifies('P34')}`, async () => {
  const text = (name: string): string => `---\nname: ${name}\ndescription: Does ${name}.\n---\nx`
  const fileSystem = new MemoryFileSystem({
    '/one/a/SKILL.md': text('a'),
    '/one/b/SKILL.md': text('b'),
    '/two/x/SKILL.md': text('x'),
  })
  const sources = ['one', 'two'].map(label => new FileSource({ fileSystem, root: `/${label}`, label }))
  await using skills = await createSkillRuntime({ sources, tuning: { settle: NO_SETTLE } })
  await skills.delivered()
  const told: string[] = []
  skills.events.on('skill:added', ({ skill }) => void told.push(`added ${skill.name}`))
  skills.events.on(
    'skill:modified',
    ({ oldSkill, newSkill, changed }) =>
      void told.push(
        `modified ${newSkill.name} ${oldSkill.revision !== newSkill.revision} ${changed.join()}`,
      ),
  )
  skills.events.on('skill:removed', ({ skill }) => void told.push(`removed ${skill.name}`))
  skills.events.on('skill:shadowed', ({ name, source }) => void told.push(`shadowed ${name} of ${source}`))
  skills.events.on(
    'skill:error',
    ({ name, serving }) => void told.push(`error ${name} ${serving !== undefined}`),
  )
  skills.events.on('skills:batch', ({ changes }) => void told.push(`batch of ${changes.length}`))
  fileSystem.write('/one/a/SKILL.md', '---\nbroken')
  fileSystem.write('/one/c/SKILL.md', text('c'))
  fileSystem.remove('/one/b')
  await skills.reload()
  await skills.delivered()
  fileSystem.write('/two/c/SKILL.md', `${text('c')}\nAnother.`)
  await skills.reload()
  await skills.delivered()
  fileSystem.write('/one/a/SKILL.md', `${text('a')}\nmore`)
  await skills.reload()
  await skills.delivered()
  expect(told).toEqual([
    'added c',
    'removed b',
    'error a true',
    'batch of 2',
    'shadowed c of two',
    'batch of 0',
    'modified a true body',
    'batch of 1',
  ])
})
