import { describe, expect, test } from 'vitest'
import { portableHasher, silentLogger } from '../host.ts'
import { SkillRegistry } from '../registry/skill-registry.ts'
import { EMPTY_CONTENTS } from '../skill/source-contents.ts'
import { DEFAULT_SETTLE, type SettlePolicy } from '../source/settle.ts'
import type {
  SkillSource,
  SourceHint,
  SourceReadContext,
  SourceReading,
  SourceWatch,
} from '../source/skill-source.ts'
import { MemorySkillStore } from '../store/memory-skill-store.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { SourceSync } from './source-sync.ts'

/**
 * A source of a host, such as a database or a remote service. The source records the time and the depth of each scan.
 */
class NotingSource implements SkillSource {
  readonly label = 'remote'
  readonly origin = 'remote://'
  readonly trust = 'auto'
  readonly settle: Partial<SettlePolicy>
  readonly reads: string[] = []
  readonly #clock: FakeClock
  sweepMs = 1_000_000
  /** The value of `final` for each scan. */
  readonly finals: boolean[] = []
  busy = false
  unsettled: readonly string[] = []
  tell: (hint: SourceHint) => void = () => undefined
  onRead: () => Promise<void> | void = () => undefined

  constructor(clock: FakeClock, settle: Partial<SettlePolicy>) {
    this.#clock = clock
    this.settle = settle
  }

  async read({ depth, final }: SourceReadContext): Promise<SourceReading> {
    this.finals.push(final)
    this.reads.push(`${this.#clock.monotonic()} ${depth}`)
    await this.onRead()
    return { contents: { ...EMPTY_CONTENTS }, settled: true, unsettled: this.unsettled }
  }

  mark(): void {
    this.reads.push('marked')
  }

  watch(onHint: (hint: SourceHint) => void): SourceWatch {
    this.tell = onHint
    return {
      stop: () => undefined,
      isBusy: async () => this.busy,
      concerns: (area, location) => area === location,
    }
  }

  state(): { mode: 'events'; sweepMs: number } {
    return { mode: 'events', sweepMs: this.sweepMs }
  }
}

interface Options {
  readonly rehashMs?: number
  readonly settle?: Partial<SettlePolicy>
}

interface Harness {
  readonly clock: FakeClock
  readonly source: NotingSource
  readonly sync: SourceSync
}

function open({ rehashMs = 1_000_000_000, settle = {} }: Options = {}): Harness {
  const clock = new FakeClock()
  const source = new NotingSource(clock, settle)
  const store = new MemorySkillStore({ clock })
  const registry = new SkillRegistry({ store, clock })
  registry.addSource(source)
  const sync = new SourceSync({
    source,
    registry,
    store,
    hasher: portableHasher,
    clock,
    logger: silentLogger,
    settle: DEFAULT_SETTLE,
    rehashMs,
    readsOnRequest: true,
  })
  return { clock, source, sync }
}

async function start({ clock, sync, source }: Harness): Promise<void> {
  const started = sync.start()
  await clock.advance(0)
  await started
  source.reads.length = 0
}

test('a source with only read() and state() is read at the start, on reload() and when a skill is loaded', async () => {
  const reads: string[] = []
  const clock = new FakeClock()
  const store = new MemorySkillStore({ clock })
  const source: SkillSource = {
    label: 'rows',
    origin: 'db://rows',
    trust: 'auto',
    read: async ({ depth }) => {
      reads.push(depth)
      return { contents: EMPTY_CONTENTS, settled: true }
    },
    state: () => ({ mode: 'manual' }),
  }
  const registry = new SkillRegistry({ store, clock })
  registry.addSource(source)
  const rest = { hasher: portableHasher, logger: silentLogger, settle: DEFAULT_SETTLE, rehashMs: 1 }
  const sync = new SourceSync({ source, registry, store, clock, readsOnRequest: false, ...rest })
  await sync.start()
  await sync.reload()
  await sync.refresh('pdf')
  await sync.recapture('pdf')
  expect(reads).toEqual(['full', 'full', 'full', 'full'])
  await sync.close()
})

describe('SourceSync', () => {
  test('a burst of hints causes one scan after the last hint of the burst', async () => {
    const it = open()
    await start(it)
    for (let i = 0; i < 5; i++) {
      it.source.tell({ area: 'pdf' })
      await it.clock.advance(10)
    }
    await it.clock.advance(100)
    expect(it.source.reads).toEqual(['60 hinted'])
    await it.sync.close()
  })

  test('the settle times of a source have priority over the settle times of the runtime', async () => {
    const it = open({ settle: { settleMs: 300 } })
    await start(it)
    it.source.tell({ area: 'pdf' })
    await it.clock.advance(299)
    expect(it.source.reads).toEqual([])
    await it.clock.advance(1)
    expect(it.source.reads).toEqual(['300 hinted'])
    await it.sync.close()
  })

  test('all hints during a scan together cause one more scan', async () => {
    const it = open()
    await start(it)
    const { promise, resolve } = Promise.withResolvers<void>()
    it.source.onRead = () => promise
    it.source.tell({ area: 'pdf' })
    await it.clock.advance(30)
    it.source.tell({ area: 'pdf' })
    it.source.tell({ area: 'pdf' })
    it.source.onRead = (): void => undefined
    resolve()
    await it.clock.advance(100)
    expect(it.source.reads).toHaveLength(2)
    await it.sync.close()
  })

  test.each([
    ['reload()', (sync: SourceSync) => sync.reload()],
    ['refresh()', (sync: SourceSync) => sync.refresh('pdf')],
  ])('a call of %s during a scan waits for the next scan', async (_, call) => {
    const it = open()
    await start(it)
    const { promise, resolve } = Promise.withResolvers<void>()
    it.source.onRead = () => promise
    const ended: string[] = []
    void call(it.sync).then(() => ended.push('first'))
    await it.clock.advance(0)
    const goOn = Promise.withResolvers<void>()
    it.source.onRead = () => goOn.promise
    void call(it.sync).then(() => ended.push('second'))
    resolve()
    await it.clock.advance(0)
    expect(ended).toEqual(['first'])
    goOn.resolve()
    await it.clock.advance(0)
    expect(ended).toEqual(['first', 'second'])
    await it.sync.close()
  })

  test('a source is swept at its interval, and rehashed at the rehash interval', async () => {
    const it = open({ rehashMs: 2_500 })
    it.source.sweepMs = 1_000
    await start(it)
    await it.clock.advance(3_500)
    expect(it.source.reads).toEqual(['1000 full', '2000 full', '3000 rehash'])
    await it.sync.close()
  })

  test('a failing source is retried after 1, 2, 4 ... at most 60 seconds, and a success resets the delay to 1 second', async () => {
    const it = open()
    await start(it)
    it.source.onRead = () => {
      throw new Error('unreachable')
    }
    const failing = it.sync.reload()
    await it.clock.advance(0)
    await failing
    expect(it.sync.status()).toMatchObject({ lastError: 'unreachable', retryMs: 1_000 })
    await it.clock.advance(200_000)
    const times = it.source.reads.map(read => Number(read.split(' ')[0]))
    expect(times).toEqual([0, 1_000, 3_000, 7_000, 15_000, 31_000, 63_000, 123_000, 183_000])
    it.source.onRead = (): void => undefined
    await it.clock.advance(60_000)
    expect(it.sync.status().lastError).toBeUndefined()
    it.source.onRead = () => {
      throw new Error('again')
    }
    const again = it.sync.reload()
    await it.clock.advance(0)
    await again
    expect(it.sync.status().retryMs).toBe(1_000)
    await it.sync.close()
  })

  test('a scan begins when the writer pauses, and is not published if the writer starts again during the scan', async () => {
    const it = open()
    await start(it)
    it.source.finals.length = 0
    // Simulates several git checkouts in quick succession. Between two checkouts, git releases its lock for a moment.
    for (let at = 0; at < 6_000; at += 10) {
      it.source.busy = at % 100 < 90
      it.source.tell({ area: `skill-${at}` })
      await it.clock.advance(10)
    }
    expect(it.source.finals).not.toContain(true)
    let begun = 0
    it.source.onRead = () => {
      it.source.busy = ++begun === 1
    }
    it.source.busy = false
    it.source.tell({ area: 'pdf' })
    await it.clock.advance(300)
    expect(begun).toBe(1)
    await it.clock.advance(300)
    expect(begun).toBe(1)
    it.source.busy = false
    await it.clock.advance(300)
    expect(begun).toBe(2)
    await it.sync.close()
  })

  test('an unsettled folder is read again, and only callers that need this folder wait, for at most 2 s', async () => {
    const it = open()
    await start(it)
    it.source.tell({ area: 'pdf' })
    it.source.unsettled = ['pdf']
    const ended: string[] = []
    void it.sync.fresh().then(() => ended.push('fresh'))
    void it.sync.refresh('pdf').then(() => ended.push('pdf'))
    void it.sync.refresh('maps').then(() => ended.push('maps'))
    await it.clock.advance(1_990)
    expect(ended).toEqual(['maps'])
    await it.clock.advance(10)
    expect(ended.toSorted()).toEqual(['fresh', 'maps', 'pdf'])
    const { length } = it.source.reads
    await it.clock.advance(5_000)
    expect(it.source.reads).toHaveLength(length)
    await it.sync.close()
  })

  test('close() ends all scans and timers of a source', async () => {
    const it = open()
    await start(it)
    it.source.tell({ area: 'pdf' })
    const closed = it.sync.close()
    await it.clock.advance(0)
    await closed
    const reads = it.source.reads.length
    await it.sync.reload()
    await it.clock.advance(1_000_000)
    expect(it.source.reads).toHaveLength(reads)
  })
})

test('a hinted scan does not schedule a new sweep', async () => {
  const planned: number[] = []
  const { clock, source, sync } = open({ settle: { settleMs: 0, burstMs: 0 } })
  const after = clock.after.bind(clock)
  clock.after = (delayMs, callback) => {
    if (delayMs > 100_000) planned.push(delayMs)
    return after(delayMs, callback)
  }
  await sync.start()
  for (let i = 0; i < 10; i++) {
    source.tell({ area: 'pdf' })
    await clock.advance(10)
  }
  expect(source.reads.length).toBeGreaterThan(5)
  expect(planned).toHaveLength(1)
  await sync.close()
})
