import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import { FakeClock } from '../testing/fake-clock.ts'
import { DEFAULT_SETTLE, NO_SETTLE, Settle, type SettleWait, settleOf } from './settle.ts'

test(`the wait for a single change ends 20 ms after its last hint ${verifies('P24')}`, async () => {
  const clock = new FakeClock()
  const settle = new Settle(DEFAULT_SETTLE, clock)
  expect(settle.remainingMs()).toBe(0)
  settle.hint('pdf')
  await clock.advance(15)
  settle.hint('pdf')
  expect(settle.remainingMs()).toBe(20)
  await clock.advance(20)
  expect(settle.remainingMs()).toBe(0)
})

test(`the wait ends 80 ms after the last hint if several skills changed or one skill got very many hints ${verifies('P24')}`, () => {
  const several = new Settle(DEFAULT_SETTLE, new FakeClock())
  several.hint('pdf')
  several.hint('maps')
  expect(several.remainingMs()).toBe(80)
  const many = new Settle(DEFAULT_SETTLE, new FakeClock())
  for (let i = 0; i < 17; i++) many.hint('pdf')
  expect(many.remainingMs()).toBe(80)
})

test('a wait ends after at most 2 s, or after at most 30 s if a known writer works', async () => {
  const clock = new FakeClock()
  const settle = new Settle(DEFAULT_SETTLE, clock)
  for (let waited = 0; waited < 1_990; waited += 10) {
    settle.hint('pdf')
    await clock.advance(10)
  }
  expect(settle.isOverdue).toBe(false)
  expect(settle.remainingMs()).toBeLessThanOrEqual(10)
  await clock.advance(10)
  expect(settle.isOverdue).toBe(true)
  // If a known writer is detected during a burst, the burst continues while this writer pauses.
  settle.noteBusy()
  expect(settle.isOverdue).toBe(false)
  await clock.advance(28_000)
  expect(settle.isOverdue).toBe(true)
})

test('reset() begins a new burst', async () => {
  const clock = new FakeClock()
  const settle = new Settle(DEFAULT_SETTLE, clock)
  settle.hint('pdf')
  settle.hint('maps')
  settle.reset()
  expect(settle.remainingMs()).toBe(0)
  settle.hint('pdf')
  expect(settle.remainingMs()).toBe(20)
})

describe('Settle', () => {
  const everything = (settle: Settle): SettleWait => ({
    order: settle.order,
    isWhole: false,
    concerns: () => true,
  })

  test('a wait includes only areas that got a hint before the wait began', async () => {
    const clock = new FakeClock()
    const settle = new Settle(DEFAULT_SETTLE, clock)
    settle.hint('pdf')
    const wait = everything(settle)
    await clock.advance(15)
    settle.hint('maps')
    expect([settle.remainingMs(wait), settle.remainingMs()]).toEqual([5, 80])
    await clock.advance(5)
    const taken = settle.take([wait])
    expect([...taken.areas.keys(), ...taken.held]).toEqual(['pdf', 'maps'])
    expect([settle.isAwaited(wait), settle.isOpen]).toEqual([false, true])
  })

  test('a wait also includes every area whose last hint came at least 80 ms ago', async () => {
    const clock = new FakeClock()
    const settle = new Settle(DEFAULT_SETTLE, clock)
    const wait = { ...everything(settle), concerns: () => false }
    settle.hint('pdf')
    await clock.advance(79)
    settle.hint('maps')
    expect([...settle.take([wait]).areas.keys()]).toEqual([])
    await clock.advance(1)
    expect([...settle.take([wait]).areas.keys()]).toEqual(['pdf'])
  })

  test('a wait treats two edits as separate even if the second edit happens during a scan', async () => {
    const clock = new FakeClock()
    const settle = new Settle(DEFAULT_SETTLE, clock)
    for (let edit = 0; edit < 5; edit++) {
      for (let event = 0; event < 8; event++) settle.hint('pdf')
      await clock.advance(settle.remainingMs())
      const taken = settle.take()
      for (let event = 0; event < 8; event++) settle.hint('pdf')
      settle.reopen(['pdf'], taken)
      expect(settle.remainingMs()).toBe(20)
    }
  })

  test('a wait continues while a known writer works', () => {
    const clock = new FakeClock()
    const settle = new Settle(DEFAULT_SETTLE, clock)
    const wait = everything(settle)
    settle.hint('pdf')
    settle.hint('maps')
    settle.noteBusy()
    expect(settle.remainingMs(wait)).toBe(80)
  })

  test('a wait for an area ends when the area is published, or 2 s after its first hint', async () => {
    const clock = new FakeClock()
    const settle = new Settle(DEFAULT_SETTLE, clock)
    settle.hint('pdf')
    const wait = everything(settle)
    for (let at = 0; at < 2_000; at += 20) {
      await clock.advance(20)
      const taken = settle.take([wait])
      expect(taken.isOverdue).toBe(at === 1_980)
      settle.reopen(['pdf'], taken)
      expect(settle.isAwaited(wait)).toBe(true)
    }
  })
})

describe('Settle with a caller', () => {
  interface Kit {
    readonly clock: FakeClock
    readonly settle: Settle
    /** Hints areas. */
    readonly save: (...areas: string[]) => void
    readonly ask: (isMine?: (area: string) => boolean) => SettleWait
    /** Returns how many milliseconds a wait takes while `write` is called every `everyMs`. */
    readonly wait: (asked: SettleWait, everyMs: number, write: (count: number) => void) => Promise<number>
  }

  function open(): Kit {
    const clock = new FakeClock()
    const settle = new Settle(DEFAULT_SETTLE, clock)
    return {
      clock,
      settle,
      save: (...areas) => {
        for (const area of areas) settle.hint(area)
      },
      ask: (concerns = () => true) => ({
        order: settle.order,
        since: settle.moment,
        isWhole: false,
        concerns,
      }),
      wait: async (asked, everyMs, write) => {
        const begunAt = clock.monotonic()
        for (let ms = 1; settle.remainingMs(asked) > 0; ms++) {
          await clock.advance(1)
          if (ms % everyMs === 0) write(ms / everyMs)
        }
        return clock.monotonic() - begunAt
      },
    }
  }

  test('if the same skills are saved again and again, the wait of a caller ends in the first pause after 80 ms', async () => {
    const { settle, save, ask, wait } = open()
    save('pdf', 'maps')
    const asked = ask()
    expect(await wait(asked, 50, () => save('pdf', 'maps'))).toBe(80)
    const taken = settle.take([asked])
    expect([[...taken.areas.keys()], [...taken.held]]).toEqual([['pdf', 'maps'], []])
  })

  test.each([
    [30, 80],
    [35, 90],
    [50, 80],
    [75, 95],
  ])(
    'if a save comes every %i ms, the wait of a caller ends between two saves',
    async (everyMs, expected) => {
      const { save, ask, wait } = open()
      save('pdf', 'maps')
      expect(await wait(ask(), everyMs, () => save('pdf', 'maps'))).toBe(expected)
    },
  )

  test('the wait of a caller ends even if each save changes the parent folder and another skill', async () => {
    const { settle, save, ask, wait } = open()
    save('', 'skill-0')
    const asked = ask()
    expect(await wait(asked, 50, count => save('', `skill-${count}`))).toBe(80)
    const taken = settle.take([asked])
    expect([[...taken.areas.keys()], [...taken.held]]).toEqual([['', 'skill-0', 'skill-1'], []])
  })

  test('the wait of a caller ends 80 ms after the last save', async () => {
    const { clock, save, ask, wait } = open()
    save('pdf', 'maps')
    await clock.advance(30)
    expect(await wait(ask(), 1_000, () => undefined)).toBe(50)
  })

  test('the wait of a caller lasts until a batch of writes ends, and includes all skills of the batch', async () => {
    const { clock, settle, save, ask, wait } = open()
    save('skill-a')
    await clock.advance(1)
    const asked = ask()
    const batch = (count: number): void => {
      if (count <= 100) save(`skill-${count}`)
    }
    expect(await wait(asked, 5, batch)).toBe(500 + 80)
    const taken = settle.take([asked])
    expect([taken.areas.size, taken.held.size]).toEqual([101, 0])
  })

  test('the wait of a caller continues during short pauses of a batch', async () => {
    const { save, ask, wait } = open()
    save('skill-a', 'skill-b')
    const asked = ask()
    // The writer is busy for 100 ms and then pauses for 60 ms, five times.
    const batch = (count: number): void => {
      if (count <= 160 && count % 32 < 20) save(`skill-${count}`)
    }
    expect(await wait(asked, 5, batch)).toBe(5 * (4 * 32 + 19) + 80 + 65)
  })

  test('the wait of a caller continues while the files of one folder are written one after the other', async () => {
    const { save, ask, wait } = open()
    for (let i = 0; i < 20; i++) save('pdf')
    expect(await wait(ask(), 10, count => (count <= 50 ? save('pdf') : undefined))).toBe(500 + 80)
  })

  test('the wait of a caller ends after 2 s even if a batch continues', async () => {
    const { save, ask, wait } = open()
    save('skill-a', 'skill-b')
    expect(await wait(ask(), 5, count => save(`skill-${count}`))).toBe(2_000)
  })

  test('the wait of a caller continues during the pauses of a known writer', async () => {
    const { clock, settle, save, ask } = open()
    save('pdf', 'maps')
    const asked = ask()
    for (let i = 0; i < 4; i++) {
      await clock.advance(50)
      save('pdf', 'maps')
    }
    settle.noteBusy()
    expect(settle.remainingMs(asked)).toBe(80)
  })

  test('the wait of a caller ends in a pause of the writer even if the previous scan could publish nothing', async () => {
    const { settle, save, ask, wait } = open()
    save('pdf', 'maps')
    const asked = ask()
    const again = (): void => save('pdf', 'maps')
    await wait(asked, 50, again)
    settle.retryWhole(settle.take([asked]))
    expect(await wait(asked, 50, again)).toBe(20)
  })

  test('a wait for one skill includes the skills that were saved with it, except skills that are still being written', async () => {
    const { clock, settle, save, ask } = open()
    save('pdf', 'maps', 'mail')
    const asked = ask(area => area === 'pdf')
    await clock.advance(10)
    save('mail')
    await clock.advance(settle.remainingMs(asked))
    const taken = settle.take([asked])
    expect([[...taken.areas.keys()], [...taken.held]]).toEqual([['pdf', 'maps'], ['mail']])
  })

  test('a wait for a single edit ignores a skill that is saved a moment later', async () => {
    const { clock, settle, save, ask } = open()
    save('pdf')
    const asked = ask()
    await clock.advance(10)
    save('maps')
    expect(settle.remainingMs(asked)).toBe(10)
  })
})

test('if a scan could publish nothing, every later wait includes all areas', async () => {
  const clock = new FakeClock()
  const settle = new Settle(DEFAULT_SETTLE, clock)
  const wait: SettleWait = { order: 0, isWhole: false, concerns: () => false }
  settle.hint('pdf')
  settle.hint('')
  expect(settle.remainingMs(wait)).toBe(0)
  settle.retryWhole(settle.take([wait]))
  await clock.advance(60)
  settle.hint('')
  expect(settle.remainingMs(wait)).toBe(80)
  await clock.advance(80)
  expect([...settle.take([wait]).areas.keys()]).toEqual(['pdf', ''])
  expect(settle.isOpen).toBe(false)
})

test('settleOf() prefers the values of the source, and never returns a maxWaitMs below the quiet time of the source', () => {
  expect(settleOf(undefined, DEFAULT_SETTLE)).toEqual(DEFAULT_SETTLE)
  expect(settleOf({ settleMs: 5, maxWaitMs: 50 }, DEFAULT_SETTLE)).toEqual({
    ...DEFAULT_SETTLE,
    settleMs: 5,
    maxWaitMs: 50,
  })
  expect(settleOf({ settleMs: 500 }, NO_SETTLE)).toEqual({
    settleMs: 500,
    burstMs: 500,
    maxWaitMs: 500,
    maxBusyMs: 500,
  })
})
