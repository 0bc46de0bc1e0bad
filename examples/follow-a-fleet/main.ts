// Two machines with their own state: one edits a skill, and the running agent of the other follows at its next step. Then
// the servers crash, and the agent keeps its skills, also after its own restart.
// Run it with `npx node examples/follow-a-fleet/main.ts`. It needs nats-server 2.12 or newer: on the path, or named by the
// environment variable NATS_SERVER.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { renderSkillText } from '@skillstoke/core'
import {
  createSigningKey,
  FleetConnection,
  FleetStatus,
  loadSigningKey,
  prepareFleet,
  SkillPublisher,
} from '@skillstoke/fleet'

const base = await mkdtemp(join(tmpdir(), 'skillstoke-example-'))
const port = await findFreePort()
const url = `nats://127.0.0.1:${port}`
const server = startServer()

/** The key of the publisher. Agents know only the public half. */
const { privateKey, publicKey } = createSigningKey()

async function save(body: string): Promise<void> {
  const folder = join(base, 'laptop/refunds')
  await mkdir(folder, { recursive: true })
  const description = 'How refunds are decided. Use when money is asked back.'
  await writeFile(join(folder, 'SKILL.md'), renderSkillText({ name: 'refunds', description, body }))
}

/** The other machine: a process with its own state folder, which prints what its conversation is told. */
function startAgent(): { readonly process: ChildProcess; next(): Promise<string> } {
  const program = fileURLToPath(new URL('agent.ts', import.meta.url))
  const child = spawn(process.execPath, [program, url, publicKey, join(base, 'machine-2')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return { process: child, next: async () => String((await lines.next()).value) }
}

await using fleet = new FleetConnection({ servers: url, trustedKeys: [publicKey] })
const signer = loadSigningKey(privateKey)
for (let attempt = 0; ; attempt++)
  try {
    await prepareFleet(fleet, { signer })
    break
  } catch (thrown) {
    if (attempt === 100) throw thrown
    await new Promise(resolve => setTimeout(resolve, 50)) // the server is still starting
  }
const publisher = new SkillPublisher(fleet, { signer, publisher: 'ada@laptop' })

await save('Refund within 30 days.')
await publisher.publish(join(base, 'laptop'))
const agent = startAgent()
assert.equal(await agent.next(), 'serves refunds: Refund within 30 days.')

await save('Refund within 14 days.')
await publisher.publish(join(base, 'laptop'), { note: 'new law' })
const told = await agent.next()
console.log('the running agent was told:', told)
assert.match(told, /refunds/)
assert.equal(await agent.next(), 'serves refunds: Refund within 14 days.')

const status = new FleetStatus(fleet)
let { agents } = await status.read()
while (agents[0]?.state !== 'current') ({ agents } = await status.read()) // a report may be 200 ms old
console.log('agents:', agents.map(({ host, agent: name, state }) => `${host}/${name} ${state}`).join(', '))

// Without the servers, the other machine restarts with what it had.
agent.process.stdin?.end()
await once(agent.process, 'exit')
await publisher.rollback('refunds')
server.kill('SIGKILL')
await once(server, 'exit')
const restarted = startAgent()
assert.equal(await restarted.next(), 'serves refunds: Refund within 14 days.')
restarted.process.stdin?.end()
await once(restarted.process, 'exit')

// When the servers are back, nothing that was acknowledged is lost.
const again = startServer()
const followed = startAgent()
let line = await followed.next()
while (!line.includes('30 days')) line = await followed.next()
console.log('after the crash:', line)
followed.process.stdin?.end()
await once(followed.process, 'exit')
await fleet.close()
again.kill('SIGTERM')
await once(again, 'exit')
await rm(base, { recursive: true })
console.log('the running agent followed, and kept its skills without the servers')

function startServer(): ChildProcess {
  const args = ['-js', '-sd', join(base, 'server'), '-a', '127.0.0.1', '-p', String(port)]
  const child = spawn(process.env['NATS_SERVER'] ?? 'nats-server', args, { stdio: 'ignore' })
  child.once('error', ({ message }) => {
    console.error(`nats-server cannot be started: ${message}; install it, or name it with NATS_SERVER`)
    process.exit(1)
  })
  return child
}

async function findFreePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>(resolve => probe.listen(0, '127.0.0.1', resolve))
  const { port: free } = probe.address() as { port: number }
  await new Promise(resolve => probe.close(resolve))
  return free
}
