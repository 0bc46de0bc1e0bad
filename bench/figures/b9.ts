import { setTimeout as delay } from 'node:timers/promises'
import type { Figure, MeasureOptions } from '../figure.ts'
import { queryString } from '../script-peers.ts'
import { callVersion, ScriptSkill } from '../script-skill.ts'

const CALLERS = 20
const EDIT_EVERY_MS = 50
const EDITS = 200
const EDITS_LARGE = 2_000

interface Outcome {
  readonly calls: number
  /** Calls that failed. */
  readonly failed: number
  /** Calls that answered from code that was older than the newest save before they began. */
  readonly stale: number
  readonly last: number
}

/** Many callers while the code is edited faster than it loads. */
export async function* b9({ large }: MeasureOptions): AsyncGenerator<Figure> {
  using skill = new ScriptSkill()
  const edits = large ? EDITS_LARGE : EDITS
  const skills = await skill.open('auto')
  await callVersion(skills)
  const own = await measure(skill, edits, () => callVersion(skills))
  await skills.close()
  const peer = queryString(skill.plain)
  const imported = await measure(skill, edits, peer.reload)
  const figure = (what: string, value: number, target: string, of: number): Figure => ({
    id: 'B9',
    what,
    n: own.calls,
    value: { p50: value, p99: value },
    unit: 'count',
    target,
    peers: { 'import with a query string': of },
  })
  yield figure(
    `failed calls of ${CALLERS} callers, ${edits} edits every ${EDIT_EVERY_MS} ms`,
    own.failed,
    '0',
    imported.failed,
  )
  yield figure('calls that answered from old code', own.stale, '0', imported.stale)
  yield figure(
    'the last edit is live at the end (1 = yes)',
    Number(own.last === edits),
    '1',
    Number(imported.last === edits),
  )
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
  return { calls, failed, stale, last: await call() }
}
