import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type Figure, type MeasureOptions, percentiles, round } from '../figure.ts'
import type { ServerUsage } from '../mcp-server-child.ts'
import { nameOf, Tree } from '../tree.ts'

const CLIENTS = 200
const SKILLS = 100
/** The skills that are edited and read. Each client follows one of them. */
const HOT_SKILLS = 5
const SINGLE_EDITS = 30
const EDIT_EVERY_MS = 50
const WARM_UP_MS = 5_000
const MAX_PAUSE_MS = 1_000
const MAX_WAIT_MS = 10_000
const SERVERS = ['skillstoke', 'loadSkills'] as const
type ServerName = (typeof SERVERS)[number]
type Era = '2026-07-28' | '2025-11-25'

interface Outcome {
  /** Time from a save until all clients that follow the skill have been told and have read the new text. */
  readonly convergence: number[]
  /** Time of one `resources/read` during continuous edits. */
  readonly reads: number[]
  /** Answers that were older than a save that had finished before the request. */
  readonly stale: number
  readonly failed: number
  /** Clients that did not get the last text after continuous edits. */
  readonly left: number
  readonly notifications: number
  readonly heapAdded: number
  readonly residentAdded: number
  readonly processorMs: number
}

/** Measures servers with 200 clients while skills are edited, beside a server on the catalog of the MCP SDK. */
export async function* b18({ large }: MeasureOptions): AsyncGenerator<Figure> {
  const seconds = large ? 120 : 20
  const outcomes = {} as Record<ServerName, Outcome>
  for (const server of SERVERS) outcomes[server] = await measure(server, seconds * 1_000)
  // The catalog of the SDK has no sessions, so its clients of 2025-11-25 get no notifications.
  const older = await measure('skillstoke', seconds * 1_000, '2025-11-25')
  const { skillstoke: own, loadSkills: peer } = outcomes
  const common = { id: 'B18', n: CLIENTS }
  const both = (value: number): Figure['value'] => ({ p50: round(value), p99: round(value) })
  const figure = (
    what: string,
    unit: Figure['unit'],
    target: string,
    read: (outcome: Outcome) => Figure['value'],
  ): Figure => ({
    ...{ ...common, what, unit, target, value: read(own) },
    peers: { 'clients of 2025-11-25': read(older), loadSkills: read(peer) },
  })
  yield figure('from a save until every follower has read the new text', 'ms', '-', ({ convergence }) =>
    percentiles(convergence),
  )
  yield figure('resources/read, an edit every 50 ms', 'ms', '-', ({ reads }) => percentiles(reads))
  yield figure('reads', 'count', '-', ({ reads }) => both(reads.length))
  yield figure('stale answers', 'count', '0', ({ stale }) => both(stale))
  yield figure('failed reads', 'count', '0', ({ failed }) => both(failed))
  yield figure('clients without the last text', 'count', '0', ({ left }) => both(left))
  yield figure('notifications per edit and follower', 'count', '-', ({ notifications }) =>
    both(notifications),
  )
  yield figure(`heap added by ${seconds} s of edits`, 'MB', '0', each => both(each.heapAdded / 1e6))
  yield figure(`resident memory added by ${seconds} s of edits`, 'MB', '-', each =>
    both(each.residentAdded / 1e6),
  )
  yield figure(`processor time of the server in ${seconds} s`, 'ms', '-', each => both(each.processorMs))
}

async function measure(name: ServerName, loadMs: number, era: Era = '2026-07-28'): Promise<Outcome> {
  using tree = await Tree.make(SKILLS)
  await using server = await Server.start(name, tree)
  const followers = await Promise.all(
    Array.from({ length: CLIENTS }, (_, index) => Follower.connect(server.url, index % HOT_SKILLS, era)),
  )
  let edits = 0
  const save = (skill: number): string => {
    const mark = `mark ${String(++edits).padStart(6, '0')}`
    tree.save(skill, mark)
    return mark
  }
  const convergence: number[] = []
  for (let i = 0; i < SINGLE_EDITS; i++) {
    const skill = i % HOT_SKILLS
    const start = performance.now()
    const mark = save(skill)
    await Promise.all(followers.filter(each => each.skill === skill).map(each => each.follow(mark)))
    convergence.push(performance.now() - start)
    await delay(300)
  }

  await underLoad(followers, save, WARM_UP_MS) // until all code is compiled
  const before = await server.usage()
  const toldBefore = followers.reduce((sum, each) => sum + each.told, 0)
  const editsBefore = edits
  const { reads, stale, failed, last } = await underLoad(followers, save, loadMs)
  const told = followers.reduce((sum, each) => sum + each.told, 0) - toldBefore
  const ended = await Promise.allSettled(followers.map(each => each.follow(last[each.skill] ?? '')))
  const after = await server.usage()
  for (const each of followers) await each.close()
  return {
    ...{ convergence, reads, stale, failed },
    left: ended.filter(({ status }) => status === 'rejected').length,
    notifications: told / ((edits - editsBefore) * (CLIENTS / HOT_SKILLS)),
    heapAdded: after.heap - before.heap,
    residentAdded: after.resident - before.resident,
    processorMs: after.processorMs - before.processorMs,
  }
}

interface LoadResult extends Pick<Outcome, 'stale' | 'failed' | 'reads'> {
  /** The last mark of each skill. */
  readonly last: readonly string[]
}

async function underLoad(
  followers: readonly Follower[],
  save: (skill: number) => string,
  durationMs: number,
): Promise<LoadResult> {
  const last: string[] = []
  const reads: number[] = []
  let [stale, failed, count] = [0, 0, 0]
  const timer = setInterval(() => {
    const skill = count++ % HOT_SKILLS
    last[skill] = save(skill)
  }, EDIT_EVERY_MS)
  const end = performance.now() + durationMs
  await Promise.all(
    followers.map(async follower => {
      while (performance.now() < end) {
        await delay(Math.random() * MAX_PAUSE_MS)
        const saved = last[follower.skill] ?? ''
        const start = performance.now()
        const mark = await follower.read().catch(() => undefined)
        if (mark === undefined) failed++
        else {
          reads.push(performance.now() - start)
          if (mark < saved) stale++
        }
      }
    }),
  )
  clearInterval(timer)
  return { reads, stale, failed, last }
}

/** A client that follows one skill. */
class Follower {
  readonly skill: number
  /** Number of notifications so far. */
  told = 0
  readonly #client: Client
  #wake: () => void = () => undefined

  private constructor(client: Client, skill: number) {
    this.#client = client
    this.skill = skill
  }

  static async connect(url: URL, skill: number, era: Era): Promise<Follower> {
    const mode = era === '2026-07-28' ? 'auto' : 'legacy'
    const client = new Client({ name: 'bench', version: '0' }, { versionNegotiation: { mode } })
    await client.connect(new StreamableHTTPClientTransport(url))
    const follower = new Follower(client, skill)
    client.setNotificationHandler('notifications/resources/updated', () => {
      follower.told++
      follower.#wake()
    })
    if (era === '2025-11-25') await client.subscribeResource({ uri: follower.#uri })
    else await client.listen({ resourcesListChanged: true, resourceSubscriptions: [follower.#uri] })
    return follower
  }

  get #uri(): string {
    return `skill://${nameOf(this.skill)}/SKILL.md`
  }

  /** Returns the mark of the newest text. */
  async read(): Promise<string> {
    const { contents } = await this.#client.readResource({ uri: this.#uri }, { cacheMode: 'refresh' })
    const text = contents.map(content => ('text' in content ? content.text : '')).join('')
    return /mark \d{6}/.exec(text)?.[0] ?? ''
  }

  /** Reads after each notification until the text has a mark. Rejects after ten seconds without this text. */
  async follow(mark: string): Promise<void> {
    const end = performance.now() + MAX_WAIT_MS
    let told = this.told
    while ((await this.read().catch(() => '')) < mark) {
      if (told === this.told) {
        const woken = new Promise<void>(resolve => {
          this.#wake = resolve
        })
        await Promise.race([woken, delay(Math.max(0, end - performance.now()), undefined, { ref: false })])
      }
      told = this.told
      if (performance.now() >= end) throw new Error(`the client has no ${mark}`)
    }
  }

  async close(): Promise<void> {
    await this.#client.close()
  }
}

/** A server in its own process. */
class Server implements AsyncDisposable {
  readonly url: URL
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.url = new URL(`http://127.0.0.1:${port}/mcp`)
  }

  static async start(name: string, tree: Tree): Promise<Server> {
    const program = new URL('../mcp-server-child.ts', import.meta.url)
    const child = fork(program, [name, tree.path], { execArgv: ['--expose-gc'] })
    const [port] = (await once(child, 'message')) as [number]
    return new Server(child, port)
  }

  async usage(): Promise<ServerUsage> {
    this.#child.send('usage')
    const [usage] = (await once(this.#child, 'message')) as [ServerUsage]
    return usage
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill()
    await once(this.#child, 'exit')
  }
}
