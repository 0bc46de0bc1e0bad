import { expect, test } from 'vitest'
import { FakeClock } from '../testing/fake-clock.ts'
import { EventTrust } from './event-trust.ts'

function makeTrust(): { trust: EventTrust; clock: FakeClock } {
  const clock = new FakeClock()
  const trust = new EventTrust({
    ...{ watching: 'auto', reconcileMs: 30_000, pollMs: 2_000, clock, canWatch: true },
    findFault: () => undefined,
    findUnwatched: () => undefined,
  })
  return { trust, clock }
}

test('while sweeps find nothing, the interval of sweeps grows up to a limit', async () => {
  const { trust, clock } = makeTrust()
  const seen: unknown[] = []
  for (let i = 0; i < 6; i++) {
    const { sweepMs = 0 } = trust.state()
    seen.push(sweepMs)
    await clock.advance(sweepMs)
    trust.noteAnnounced()
  }
  expect(seen).toEqual([30_000, 60_000, 120_000, 120_000, 120_000, 120_000])
})

test('if requests start several sweeps in quick succession, the sweeps count as one sweep', () => {
  const { trust } = makeTrust()
  for (let i = 0; i < 6; i++) trust.noteAnnounced()
  expect(trust.state().sweepMs).toBe(60_000)
})

test('sweeps become frequent again after a change without an event, or after a watch broke', async () => {
  const { trust, clock } = makeTrust()
  trust.noteAnnounced()
  trust.noteUnannounced()
  expect(trust.state()).toMatchObject({ mode: 'degraded', sweepMs: 2_000 })
  await clock.advance(300_000)
  expect(trust.state()).toEqual({ mode: 'events', sweepMs: 30_000 })
  trust.noteAnnounced()
  trust.noteFault('the watch broke')
  trust.forgetFault()
  expect(trust.state().sweepMs).toBe(30_000)
})
