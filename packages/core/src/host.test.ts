import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { LATE, LONGEST_TIMER_MS, systemClock, waitAtMost } from './host.ts'

const DAY_MS = 86_400_000

describe('systemClock.after()', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  })

  afterEach(() => {
    vi.useRealTimers()
  })

  test('with a delay of Infinity, starts no timer and never calls the callback', () => {
    const callback = vi.fn()
    const cancel = systemClock.after(Infinity, callback)
    expect(vi.getTimerCount()).toBe(0)
    cancel()
    vi.advanceTimersByTime(100 * DAY_MS)
    expect(callback).not.toHaveBeenCalled()
  })

  test('supports delays that are longer than `setTimeout` allows', () => {
    const callback = vi.fn()
    systemClock.after(2 * LONGEST_TIMER_MS + 10, callback)
    vi.advanceTimersByTime(2 * LONGEST_TIMER_MS + 9)
    expect(callback).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(callback).toHaveBeenCalledOnce()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('a long delay can be cancelled after its first timer has ended', () => {
    const callback = vi.fn()
    const cancel = systemClock.after(2 * LONGEST_TIMER_MS, callback, { background: true })
    vi.advanceTimersByTime(LONGEST_TIMER_MS + 1)
    cancel()
    expect(vi.getTimerCount()).toBe(0)
    vi.advanceTimersByTime(LONGEST_TIMER_MS)
    expect(callback).not.toHaveBeenCalled()
  })

  test('waitAtMost() waits until the work is done if the limit is Infinity or 3,000,000,000 ms', async () => {
    for (const limitMs of [Infinity, 3e9]) {
      const work = Promise.withResolvers<string>()
      const outcome = waitAtMost(systemClock, limitMs, work.promise)
      await vi.advanceTimersByTimeAsync(DAY_MS)
      work.resolve('done')
      expect(await outcome).toBe('done')
    }
    const late = waitAtMost(systemClock, 5, new Promise(() => undefined))
    await vi.advanceTimersByTimeAsync(5)
    expect(await late).toBe(LATE)
  })
})
