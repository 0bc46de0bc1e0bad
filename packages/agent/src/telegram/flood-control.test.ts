import { describe, expect, test } from 'vitest'
import { type FloodPatience, isRefusal, withFloodControl } from './flood-control.ts'

const PATIENCE: FloodPatience = { signal: new AbortController().signal, graceMs: 0 }
const flood = (seconds: number): object => ({ error_code: 429, parameters: { retry_after: seconds } })

/** Returns a function that throws each failure once, and then returns the number of calls. */
function failWith(...failures: readonly unknown[]): { call: () => Promise<number>; calls: number } {
  const tried = {
    calls: 0,
    call: async (): Promise<number> => {
      const failure = failures[tried.calls++]
      if (failure !== undefined) throw failure
      return tried.calls
    },
  }
  return tried
}

describe('withFloodControl()', () => {
  test('repeats the call as often as Telegram demands it', async () => {
    const { call } = failWith(...Array.from({ length: 10 }, () => flood(0.001)))
    expect(await withFloodControl(call, PATIENCE)).toBe(11)
  })

  test('never calls before the demanded time is over', async () => {
    const times: number[] = []
    const { call } = failWith(flood(0.05))
    await withFloodControl(async () => {
      times.push(performance.now())
      return await call()
    }, PATIENCE)
    // A timer of Node may fire one millisecond early.
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(49)
  })

  test.each([
    ['a refusal', { error_code: 400, description: 'Bad Request: message text is empty' }],
    ['a blocked bot', { error_code: 403, description: 'Forbidden: bot was blocked by the user' }],
    ['an error of another kind', new TypeError('no')],
    ['a thrown text', 'no'],
  ])('throws %s at once', async (_, failure) => {
    const tried = failWith(failure)
    await expect(withFloodControl(tried.call, PATIENCE)).rejects.toBe(failure)
    expect(tried.calls).toBe(1)
  })

  test('gives up at once if it is closed and the demanded time is longer than the grace time', async () => {
    const closing = new AbortController()
    const failure = flood(3_600)
    const tried = failWith(failure)
    const result = withFloodControl(tried.call, { signal: closing.signal, graceMs: 1_000 })
    closing.abort()
    await expect(result).rejects.toBe(failure)
    expect(tried.calls).toBe(1)
  })

  test('waits for the rest of the demanded time if it is closed and the grace time is longer', async () => {
    const { call } = failWith(flood(0.02))
    expect(await withFloodControl(call, { signal: AbortSignal.abort(), graceMs: 1_000 })).toBe(2)
  })
})

test('isRefusal() compares the description', () => {
  expect(isRefusal({ description: 'Bad Request: BOT_COMMANDS_TOO_MUCH' }, 'BOT_COMMANDS_TOO_MUCH')).toBe(true)
  expect(isRefusal({ description: 'Bad Request' }, 'BOT_COMMANDS_TOO_MUCH')).toBe(false)
  expect(isRefusal(undefined, 'BOT_COMMANDS_TOO_MUCH')).toBe(false)
})
