import { readdirSync } from 'node:fs'
import type { SkillRuntime } from '@skillstoke/core'
import { besideProcesses } from '../beside-processes.ts'
import { type Figure, type MeasureOptions, percentiles, round } from '../figure.ts'
import { openPeers, type ScriptPeer } from '../script-peers.ts'
import { callVersion, ScriptSkill } from '../script-skill.ts'

const SAVES = 100
const SAVES_WITHOUT = 40
const RELOADS = 300
const RELOADS_LARGE = 10_000
// Number of reloads for peers that start a process for each reload: these peers are slow, and their memory cannot grow.
const RESTARTS = 1_000

/** Measures the time from a save until the new code answers a call, and how much memory many reloads add. Run with `--expose-gc`. */
export async function* b7({ large }: MeasureOptions): AsyncGenerator<Figure> {
  using skill = new ScriptSkill()
  const reloads = large ? RELOADS_LARGE : RELOADS
  const peers = await openPeers(skill.plain)
  const times: Record<string, { p50: number; p99: number }> = {}
  for (const peer of peers) times[peer.name] = percentiles(await timePeer(skill, peer, SAVES))
  for (const sandbox of ['off', 'auto'] as const) {
    const skills = await skill.open(sandbox)
    await callVersion(skills)
    const { kind } = await skills.scripts.containment()
    yield {
      id: 'B7',
      what: `save to first answer of the new code, seen by events (${kind})`,
      n: SAVES,
      value: percentiles(await timeFollowed(skill, skills, SAVES)),
      unit: 'ms',
      target: '<= 80 with the settle of 20 ms',
      peers: {},
    }
    const called = { id: 'B7', what: `save to first answer, called at once (${kind})`, n: SAVES, target: '-' }
    let version = 5_000_000
    yield* besideProcesses({ ...called, peers: times }, skill.plain, () => timeSave(skill, skills, ++version))
    yield {
      id: 'B7',
      what: `the same, the next save right after the answer (${kind})`,
      n: SAVES,
      value: percentiles(await timeCalled(skill, skills, SAVES)),
      unit: 'ms',
      target: '-',
      peers: {},
    }
    await skills.close()
    const without = await skill.open(sandbox, { reserveMs: 0 })
    await callVersion(without)
    const alone = { ...called, what: `${called.what}, no process in reserve`, n: SAVES_WITHOUT, peers: {} }
    yield* besideProcesses(alone, skill.plain, () => timeSave(skill, without, ++version))
    await without.close()
  }
  const skills = await skill.open('auto')
  const own = await growth(reloads, async version => {
    skill.save(version)
    return await callVersion(skills)
  })
  const descriptors = readdirSync('/proc/self/fd').length
  await skills.close()
  const grown: Record<string, number> = {}
  const stale: Record<string, number> = {}
  for (const peer of peers) {
    const count = peer.name.startsWith('a new') ? Math.min(reloads, RESTARTS) : reloads
    const { heapKb, wrong } = await growth(count, async version => {
      skill.save(version)
      return await peer.reload()
    })
    grown[peer.name] = heapKb
    stale[peer.name] = wrong
  }
  for (const peer of peers) await peer[Symbol.asyncDispose]()
  yield {
    id: 'B7',
    what: 'heap kept per reload',
    n: reloads,
    value: { p50: own.heapKb, p99: own.heapKb },
    unit: 'KB',
    target: '0 (flat)',
    peers: grown,
  }
  yield {
    id: 'B7',
    what: 'reloads that answered from old code',
    n: reloads,
    value: { p50: own.wrong, p99: own.wrong },
    unit: 'count',
    target: '0',
    peers: stale,
  }
  yield {
    id: 'B7',
    what: 'descriptors open after all reloads, beyond those before',
    n: reloads,
    value: { p50: descriptors - own.descriptors, p99: descriptors - own.descriptors },
    unit: 'count',
    target: '0 (flat)',
    peers: {},
  }
}

async function timePeer(skill: ScriptSkill, peer: ScriptPeer, count: number): Promise<number[]> {
  await peer.reload()
  const samples: number[] = []
  for (let i = 1; i <= count; i++) {
    skill.save(i)
    const start = performance.now()
    await peer.reload()
    samples.push(performance.now() - start)
  }
  return samples
}

/** Calls the command only after the reload was reported, so that the time includes file events, settling and loading. */
async function timeFollowed(skill: ScriptSkill, skills: SkillRuntime, count: number): Promise<number[]> {
  const samples: number[] = []
  for (let i = 1; i <= count; i++) {
    const served = Promise.withResolvers<void>()
    const unsubscribe = skills.subscribe(() => served.resolve(), { phase: 'mcp' })
    skill.save(1_000_000 + i)
    const start = performance.now()
    await served.promise
    if ((await callVersion(skills)) !== 1_000_000 + i) throw new Error('old code answered')
    samples.push(performance.now() - start)
    unsubscribe()
  }
  return samples
}

async function timeCalled(skill: ScriptSkill, skills: SkillRuntime, count: number): Promise<number[]> {
  const samples: number[] = []
  for (let i = 1; i <= count; i++) samples.push(await timeSave(skill, skills, 2_000_000 + i))
  return samples
}

async function timeSave(skill: ScriptSkill, skills: SkillRuntime, version: number): Promise<number> {
  skill.save(version)
  const start = performance.now()
  if ((await callVersion(skills)) !== version) throw new Error('old code answered')
  return performance.now() - start
}

const WARM_UP = 50

/** Returns the heap growth per reload after a warm-up, and the number of reloads after which old code answered. */
async function growth(
  count: number,
  reload: (version: number) => Promise<number>,
): Promise<{ heapKb: number; wrong: number; descriptors: number }> {
  let wrong = 0
  for (let i = 0; i < WARM_UP; i++) await reload(3_000_000 + i)
  const descriptors = readdirSync('/proc/self/fd').length
  const before = heapUsed()
  for (let i = 0; i < count; i++) if ((await reload(4_000_000 + i)) !== 4_000_000 + i) wrong++
  return { heapKb: round((heapUsed() - before) / 1024 / count), wrong, descriptors }
}

function heapUsed(): number {
  for (let i = 0; i < 5; i++) globalThis.gc?.()
  return process.memoryUsage().heapUsed
}
