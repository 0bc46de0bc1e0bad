import { jetstream } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import { FleetConnection, fleetSource } from '@skillstoke/fleet'

// node bench/fleet-child.ts <client> <url> <agents>: connects agents of one kind, sends "ready" to the parent process, and
// answers each message of the parent with the milliseconds from each publication until each agent served it.

/** A mark in a description: the monotonic time of the publication in nanoseconds. */
const MARK = /at (\d+)/

const [client, url, count] = process.argv.slice(2) as [keyof typeof CLIENTS, string, string]
const samples: number[] = []

const CLIENTS = {
  /** A whole runtime with its own connection, as a process of its own would have. */
  async skillstoke(): Promise<void> {
    const fleet = new FleetConnection({ servers: url })
    const source = fleetSource(fleet, { trust: 'auto', firstWaitMs: 60_000 })
    const runtime: SkillRuntime = await createSkillRuntime({ sources: [source] })
    let last = ''
    runtime.subscribe(() => {
      const text = runtime.current.find('skill-0')?.description ?? ''
      if (text !== last) note(text)
      last = text
    })
  },
  /** The heads alone, without a runtime and without files, as the other client reads them. */
  async heads(): Promise<void> {
    const { feed } = new FleetConnection({ servers: url })
    await feed.reload()
    let last = ''
    const show = async (): Promise<void> => {
      await feed.settle()
      const [head] = [...feed.state.heads.values()].filter(({ skill }) => skill === 'skill-0')
      const text = String(head?.manifest.frontmatter['description'])
      if (text !== last) note(text)
      last = text
    }
    feed.onNews(() => void show())
  },
  /** What tutorials show: one watch of the bucket for each agent. */
  async 'kv.watch'(): Promise<void> {
    const nc = await connect({ servers: url, maxReconnectAttempts: -1, timeout: 30_000 })
    const bucket = await new Kvm(jetstream(nc, { timeout: 30_000 })).open('SK')
    const changes = await bucket.watch({ key: 'stable.>' })
    void (async () => {
      for await (const entry of changes) note(entry.string())
    })()
  },
}

function note(text: string): void {
  const started = MARK.exec(text)?.[1]
  if (started !== undefined) samples.push(Number(process.hrtime.bigint() - BigInt(started)) / 1e6)
}

await Promise.all(Array.from({ length: Number(count) }, () => CLIENTS[client]()))
process.on('message', () => process.send?.({ samples: samples.splice(0) }))
process.send?.('ready')
