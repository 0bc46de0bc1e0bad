import { setTimeout as delay } from 'node:timers/promises'
import type { Figure, MeasureOptions } from '../figure.ts'
import { openPeers } from '../script-peers.ts'
import { callVersion, ScriptSkill } from '../script-skill.ts'

const CALLERS = 20
const EDIT_EVERY_MS = 50
const EDITS = 200
const EDITS_LARGE = 2_000

interface Outcome {
  readonly calls: number
  /** Number of failed calls. */
  readonly failed: number
  /** Number of calls that ran outdated code: a save had replaced this code before the call began. */
  readonly stale: number
  readonly isLast: boolean
}

/** Measures the calls of many callers while code is edited faster than it loads. */
export async function* b9({ large }: MeasureOptions): AsyncGenerator<Figure> {
  using skill = new ScriptSkill()
  const edits = large ? EDITS_LARGE : EDITS
  const skills = await skill.open('auto')
  await callVersion(skills)
  const own = await measure(skill, edits, () => callVersion(skills))
  await skills.close()
  const peers: Record<string, Outcome> = {}
  for (const peer of await openPeers(skill.plain)) {
    peers[peer.name] = await measure(skill, EDITS, peer.reload)
    await peer[Symbol.asyncDispose]()
  }
  const of = (read: (outcome: Outcome) => number): Record<string, number> =>
    Object.fromEntries(Object.entries(peers).map(([name, outcome]) => [name, read(outcome)]))
  const figure = (what: string, target: string, read: (outcome: Outcome) => number): Figure => ({
    id: 'B9',
    what,
    n: own.calls,
    value: { p50: read(own), p99: read(own) },
    unit: 'count',
    target,
    peers: of(read),
  })
  yield figure(
    `calls answered, ${CALLERS} callers, ${edits} edits every ${EDIT_EVERY_MS} ms (peers: ${EDITS})`,
    '-',
    ({ calls }) => calls,
  )
  yield figure('calls that failed', '0', ({ failed }) => failed)
  yield figure('calls that answered from old code', '0', ({ stale }) => stale)
  yield figure('the last edit is live at the end (1 = yes)', '1', ({ isLast }) => Number(isLast))
}

async function measure(skill: ScriptSkill, edits: number, call: () => Promise<number>): Promise<Outcome> {
  let [saved, calls, failed, stale] = [0, 0, 0, 0]
  let isOver = false
  skill.save(0)
  await call()
  const caller = async (): Promise<void> => {
    while (!isOver) {
      const atLeast = saved
      try {
        if ((await call()) < atLeast) stale++
      } catch {
        failed++
      }
      calls++
      await delay(1)
    }
  }
  const callers = Array.from({ length: CALLERS }, caller)
  for (let version = 1; version <= edits; version++) {
    skill.save(version)
    saved = version
    await delay(EDIT_EVERY_MS)
  }
  isOver = true
  await Promise.all(callers)
  return { calls, failed, stale, isLast: (await call()) === edits }
}
