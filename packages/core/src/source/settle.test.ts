import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import { FakeClock } from '../testing/fake-clock.ts'
import { DEFAULT_SETTLE, NO_SETTLE, Settle, type SettleWait, settleOf } from './settle.ts'

test(`a lone change waits for 20 ms of quiet, counted from its last hint ${verifies('P24')}`, async () => {
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

test(`several skills, or very many hints of one, wait for 80 ms ${verifies('P24')}`, () => {
  const several = new Settle(DEFAULT_SETTLE, new FakeClock())
  several.hint('pdf')
  several.hint('maps')
  expect(several.remainingMs()).toBe(80)
  const many = new Settle(DEFAULT_SETTLE, new FakeClock())
  for (let i = 0; i < 17; i++) many.hint('pdf')
  expect(many.remainingMs()).toBe(80)
})

test('however long it goes on, nobody waits more than 2 s, or 30 s while a known writer works', async () => {
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
  // Once it was seen in a burst, its pauses do not count as its end.
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

describe('a wait', () => {
  const everything = (settle: Settle): SettleWait => ({
    order: settle.order,
    isWhole: false,
    concerns: () => true,
  })

  test('is for areas that were hinted before it', async () => {
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

  test('takes along what has rested for as long as a burst ends', async () => {
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

  test('does not take two edits for a burst because a reading met the second', async () => {
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

  test('goes on while a known writer works', () => {
    const clock = new FakeClock()
    const settle = new Settle(DEFAULT_SETTLE, clock)
    const wait = everything(settle)
    settle.hint('pdf')
    settle.hint('maps')
    settle.noteBusy()
    expect(settle.remainingMs(wait)).toBe(80)
  })

  test('goes on for an area that a reading could not show, and its time counts from the first hint', async () => {
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

test('after a reading that could show nothing, every wait is for everything', async () => {
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

test('settleOf() takes the values of the source first, and no longest wait cuts its quiet time short', () => {
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
