import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createSkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import { NO_SETTLE } from '@skillstoke/core/source'
import { FleetConnection, fleetSource, prepareFleet, SkillPublisher } from '@skillstoke/fleet'
import { findFreePort, NatsServer } from '../../tests/fixtures/nats-server.ts'
import { skillText, TemporaryFolder } from '../../tests/fixtures/skill-folder.ts'
import { type Figure, type MeasureOptions, percentiles, round } from '../figure.ts'

const PROCESSES = 3
const PUBLICATIONS = 25
const LEAST_PAUSE_MS = 200
/** All agents share the processor of one machine. A longer pause keeps them from being always busy. */
const PAUSE_PER_AGENT_MS = 1.5
const AGENTS = [50, 500, 2_000]
const COLD_SKILLS = 1_000
const MAX_WAIT_MS = 20_000
/** The server accepts 1,000 consumers on a stream. */
const MAX_WATCHES = 1_000
/** `/proc/<pid>/stat` counts in hundredths of a second. */
const TICK_MS = 10

type Client = 'skillstoke' | 'heads' | 'kv.watch'

interface Outcome {
  readonly samples: readonly number[]
  readonly delivered: number
  readonly processorMs: number
  readonly bytes: number
}

/** Measures a fleet on one NATS server with up to 2,000 agents, beside agents with one watch each. */
export async function* b19(_options: MeasureOptions): AsyncGenerator<Figure> {
  for (const agents of AGENTS) {
    const own = await measure('skillstoke', agents)
    const heads = await measure('heads', agents)
    const watch = agents <= MAX_WATCHES ? await measure('kv.watch', agents) : undefined
    const common = { id: 'B19', n: agents }
    const peers = (read: (outcome: Outcome) => Figure['value']): Figure['peers'] => ({
      'heads without files': read(heads),
      ...(watch === undefined ? {} : { 'kv.watch': read(watch) }),
    })
    const figure = (
      what: string,
      unit: Figure['unit'],
      target: string,
      read: (outcome: Outcome) => Figure['value'],
    ): Figure => ({ ...common, what, unit, target, value: read(own), peers: peers(read) })
    const both = (value: number): Figure['value'] => ({ p50: round(value), p99: round(value) })
    yield figure('from the start of a publication until an agent serves it', 'ms', '-', ({ samples }) =>
      percentiles(samples),
    )
    yield figure('publications that an agent served', '%', '100', ({ delivered }) => both(delivered))
    yield figure('processor time of the server for one publication', 'ms', '-', each =>
      both(each.processorMs),
    )
    yield figure('bytes that the server sent for one publication', 'KB', '-', each =>
      both(each.bytes / 1_000),
    )
  }
  yield* measureColdStart()
}

async function measure(client: Client, agents: number): Promise<Outcome> {
  const monitor = await findFreePort()
  await using server = await NatsServer.start({
    config: `http: "127.0.0.1:${monitor}"\nmax_connections: 10000`,
  })
  await using fleet = new FleetConnection({ servers: server.url })
  await prepareFleet(fleet)
  using folder = new TemporaryFolder()
  const sources = [directory(folder.path, { trust: 'auto' })]
  await using laptop = await createSkillRuntime({ sources, tuning: { settle: NO_SETTLE } })
  const publisher = new SkillPublisher(fleet)
  const publish = async (): Promise<void> => {
    folder.write(
      'skill-0/SKILL.md',
      skillText('skill-0', { description: `Published at ${process.hrtime.bigint()}.` }),
    )
    await laptop.reload()
    await publisher.publish(laptop)
  }
  for (let i = 1; i < 5; i++) folder.write(`skill-0/resources/${i}.md`, `${'resource '.repeat(600)}${i}\n`)
  await publish()
  const children = await Promise.all(
    Array.from({ length: PROCESSES }, (_, index) => {
      const share = Math.floor(agents / PROCESSES) + (index < agents % PROCESSES ? 1 : 0)
      return startChild(client, server.url, share)
    }),
  )
  try {
    await delay(1_000)
    await Promise.all(children.map(takeSamples))
    const before = { processorMs: processorMsOf(server.pid), bytes: await sentBytes(monitor) }
    for (let i = 0; i < PUBLICATIONS; i++) {
      const next = delay(Math.max(LEAST_PAUSE_MS, agents * PAUSE_PER_AGENT_MS))
      await publish()
      await next
    }
    const samples: number[] = []
    const wanted = agents * PUBLICATIONS
    const end = performance.now() + MAX_WAIT_MS
    while (samples.length < wanted && performance.now() < end) {
      await delay(200)
      for (const child of children) samples.push(...(await takeSamples(child)))
    }
    return {
      samples,
      delivered: (samples.length / wanted) * 100,
      processorMs: (processorMsOf(server.pid) - before.processorMs) / PUBLICATIONS,
      bytes: ((await sentBytes(monitor)) - before.bytes) / PUBLICATIONS,
    }
  } finally {
    for (const child of children) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  }
}

async function* measureColdStart(): AsyncGenerator<Figure> {
  await using server = await NatsServer.start()
  await using fleet = new FleetConnection({ servers: server.url })
  await prepareFleet(fleet)
  using folder = new TemporaryFolder()
  for (let i = 0; i < COLD_SKILLS; i++) {
    folder.writeSkill(`skill-${i}`, { body: `Body ${i}. ${'word '.repeat(200)}` })
    for (let file = 0; file < 4; file++)
      folder.write(`skill-${i}/resources/${file}.md`, `${i} ${file} ${'text '.repeat(1_000)}`)
  }
  const started = performance.now()
  await new SkillPublisher(fleet).publish(folder.path)
  const publishMs = performance.now() - started
  const times: Record<string, number[]> = { ahead: [], 'on-load': [] }
  for (const retrieval of ['ahead', 'on-load'] as const)
    for (let run = 0; run < 5; run++) {
      const at = performance.now()
      const source = fleetSource(server.url, { trust: 'auto', retrieval, firstWaitMs: 60_000 })
      await using runtime = await createSkillRuntime({ sources: [source] })
      if (runtime.current.list().length !== COLD_SKILLS) throw new Error('the start was not complete')
      times[retrieval]?.push(performance.now() - at)
    }
  const common = { id: 'B19', n: COLD_SKILLS, unit: 'ms', target: '-' } as const
  const value = { p50: round(publishMs), p99: round(publishMs) }
  yield { ...common, what: 'first publication of all skills, 5 files each', value, peers: {} }
  yield {
    ...common,
    what: 'first start of an agent with all files (ahead)',
    value: percentiles(times['ahead'] ?? []),
    peers: { 'without files (on-load)': percentiles(times['on-load'] ?? []) },
  }
}

async function startChild(client: Client, url: string, agents: number): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, '../fleet-child.ts'), [client, url, String(agents)])
  await once(child, 'message')
  return child
}

async function takeSamples(child: ChildProcess): Promise<readonly number[]> {
  child.send('take')
  const [{ samples }] = (await once(child, 'message')) as [{ readonly samples: readonly number[] }]
  return samples
}

function processorMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

async function sentBytes(monitor: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${monitor}/varz`)
  return ((await response.json()) as { readonly out_bytes: number }).out_bytes
}
