import { setTimeout as delay } from 'node:timers/promises'
import { besideProcesses } from '../beside-processes.ts'
import { type Figure, type MeasureOptions, percentiles } from '../figure.ts'
import { openPeers } from '../script-peers.ts'
import { callVersion, ScriptSkill } from '../script-skill.ts'

const CALLS = 1_000
const STARTS = 30

/** Measures two calls of a command: one when its process already runs, and one that has to start the process. */
export async function* b8(_options: MeasureOptions): AsyncGenerator<Figure> {
  using skill = new ScriptSkill()
  const peers: Record<string, { p50: number; p99: number }> = {}
  for (const peer of await openPeers(skill.plain)) {
    if (peer.name === 'a new worker') peers[peer.name] = percentiles(await time(STARTS, peer.reload))
    await peer[Symbol.asyncDispose]()
  }
  for (const sandbox of ['off', 'auto'] as const) {
    const skills = await skill.open(sandbox)
    const { kind } = await skills.scripts.containment()
    await time(50, () => callVersion(skills))
    yield {
      id: 'B8',
      what: `call of a command, process there (${kind})`,
      n: CALLS,
      value: percentiles(await time(CALLS, () => callVersion(skills))),
      unit: 'ms',
      target: '<= 0.5',
      peers: {},
    }
    await skills.close()
    for (const reserveMs of [180_000, 0]) {
      // Idle processes end immediately, so every call needs a new process.
      const cold = await skill.open(sandbox, { idleMs: 1, reserveMs })
      await callVersion(cold)
      const without = reserveMs === 0 ? ', none in reserve' : ''
      const what = `call of a command, process started for it (${kind})${without}`
      yield* besideProcesses({ id: 'B8', what, n: STARTS, target: '<= 45', peers }, skill.plain, async () => {
        await delay(50)
        const [took = Number.NaN] = await time(1, () => callVersion(cold))
        return took
      })
      await cold.close()
    }
  }
}

async function time(count: number, work: () => Promise<unknown>): Promise<number[]> {
  const samples: number[] = []
  for (let i = 0; i < count; i++) {
    const start = performance.now()
    await work()
    samples.push(performance.now() - start)
  }
  return samples
}
