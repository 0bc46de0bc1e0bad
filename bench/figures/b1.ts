import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import watcher from '@parcel/watcher'
import { createSkillRuntime, type Skill } from '@skillstoke/core'
import { directory, nodeHasher, openSkillStore } from '@skillstoke/core/node'
import { watch } from 'chokidar'
import { type Figure, type MeasureOptions, percentiles } from '../figure.ts'
import { nameOf, Tree } from '../tree.ts'

const SAVES = 200

/** Measures the time from the end of a save until the current generation has the new revision. */
export async function* b1({ large }: MeasureOptions): AsyncGenerator<Figure> {
  for (const size of large ? [10, 1_000, 10_000, 100_000] : [10, 1_000, 10_000]) {
    using tree = await Tree.make(size, size > 50_000)
    const peers =
      size === 10_000
        ? {
            'chokidar 6, event only': await chokidar(tree),
            '@parcel/watcher, event only': await parcel(tree),
          }
        : {}
    yield {
      id: 'B1',
      what: 'save -> visible in every reader, default settle',
      n: size,
      value: percentiles(await skillstoke(tree, undefined)),
      unit: 'ms',
      target: 'p50 <= 30, p99 <= 150',
      peers,
    }
    yield {
      id: 'B1',
      what: 'save -> visible in every reader, settleMs 0',
      n: size,
      value: percentiles(await skillstoke(tree, 0)),
      unit: 'ms',
      target: 'p50 <= 2',
      peers,
    }
  }
}

async function skillstoke(tree: Tree, settleMs: number | undefined): Promise<number[]> {
  const state = `${tree.path}-state`
  await using skills = await createSkillRuntime({
    sources: [directory(tree.path, { label: 'bench' })],
    tuning: { hasher: nodeHasher, ...(settleMs === undefined ? {} : { settle: { settleMs } }) },
    state: { store: await openSkillStore(state) },
  })
  let isSeen = (_skill: Skill | undefined): boolean => false
  let wanted = ''
  let seen = (): void => undefined
  skills.subscribe(({ generation }) => {
    if (isSeen(generation.find(wanted))) seen()
  })
  return await measureSaves(tree, (index, save) => {
    wanted = nameOf(index)
    const before = skills.current.get(wanted).revision
    isSeen = skill => skill !== undefined && skill.revision !== before
    return new Promise(resolve => {
      const start = save()
      seen = () => resolve(performance.now() - start)
    })
  })
}

async function chokidar(tree: Tree): Promise<{ p50: number; p99: number }> {
  const watching = watch(tree.path, { ignoreInitial: true })
  await new Promise<void>(resolve => watching.once('ready', () => resolve()))
  const figure = await timeEvents(tree, onEvent => void watching.on('change', onEvent))
  await watching.close()
  return figure
}

async function parcel(tree: Tree): Promise<{ p50: number; p99: number }> {
  let onEvent = (): void => undefined
  const subscription = await watcher.subscribe(tree.path, () => onEvent(), { backend: 'inotify' })
  const figure = await timeEvents(tree, listener => (onEvent = listener))
  await subscription.unsubscribe()
  return figure
}

/** Measures the time from the end of a save until a watcher emits its event. */
async function timeEvents(
  tree: Tree,
  listen: (onEvent: () => void) => void,
): Promise<{ p50: number; p99: number }> {
  let seen = (): void => undefined
  listen(() => seen())
  const measure = (_index: number, save: () => number): Promise<number> =>
    new Promise(resolve => {
      const start = save()
      seen = () => resolve(performance.now() - start)
    })
  return percentiles(await measureSaves(tree, measure))
}

/** Saves the skills one after the other. `measure` calls `save` and resolves with the milliseconds until the save was seen. */
async function measureSaves(
  tree: Tree,
  measure: (index: number, save: () => number) => Promise<number>,
): Promise<number[]> {
  const samples: number[] = []
  // Keeps the process alive, because a file watch alone would let it exit.
  const alive = setInterval(() => undefined, 60_000)
  for (let i = 0; i < SAVES; i++) {
    const index = (i * 7919) % tree.size
    const text = readFileSync(tree.fileOf(index), 'utf8').replace(/^# .*$/m, `# ${i} ${Math.random()}`)
    await setTimeout(5 + (i % 30))
    samples.push(
      await measure(index, () => {
        writeFileSync(tree.fileOf(index), text)
        return performance.now()
      }),
    )
  }
  clearInterval(alive)
  return samples.slice(10)
}
