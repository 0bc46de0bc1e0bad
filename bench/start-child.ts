import { createHash, hash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readdirSync, readlinkSync, readSync, watch } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createSkillRuntime } from '@skillstoke/core'
import { directory, nodeHasher, openSkillStore } from '@skillstoke/core/node'
import { load } from 'js-yaml'
import type { Start } from './starts.ts'

// node bench/start-child.ts <start> <tree> [state directory]: measures one start in its own process and prints it as JSON.

const [name, tree, state] = process.argv.slice(2) as [keyof typeof STARTS, string, string | undefined]

const STARTS = {
  /** Starts the runtime. Returns when the first generation exists and all watches are set. */
  async runtime() {
    await using stack = new AsyncDisposableStack()
    const store = state === undefined ? undefined : await openSkillStore(state)
    if (store !== undefined) stack.defer(async () => await store.close())
    const start = await measure(async () => {
      const skills = await createSkillRuntime({
        sources: [directory(tree, { label: 'bench' })],
        tuning: { hasher: nodeHasher },
        ...(store === undefined ? {} : { state: { store } }),
      })
      stack.defer(async () => await skills.close())
      return skills.current.list().length
    })
    console.log(JSON.stringify(start))
  },
  /** Runs a plain script that makes the same system calls as a cold start. The script lists, opens, verifies, reads, hashes and watches everything. */
  async plain() {
    const buffer = Buffer.allocUnsafe(65_536)
    const watchers: unknown[] = []
    const visit = (folder: string): number => {
      let found = 0
      watchers.push(watch(folder, { persistent: false }, () => undefined))
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        const path = `${folder}/${entry.name}`
        if (entry.isDirectory()) found += visit(path)
        else {
          const file = openSync(path, 'r')
          fstatSync(file)
          readlinkSync(`/proc/self/fd/${file}`)
          const length = readSync(file, buffer, 0, buffer.length, 0)
          hash('sha256', buffer.subarray(0, length))
          closeSync(file)
          if (entry.name === 'SKILL.md') found++
        }
      }
      return found
    }
    console.log(JSON.stringify(await measure(() => visit(tree))))
    process.exit()
  },
  /** Reads and parses only the SKILL.md files, as most programs do. Watches nothing. */
  async texts() {
    const start = await measure(async () => {
      const names = await readdir(tree)
      await Promise.all(
        names.map(async each => {
          const text = await readFile(join(tree, each, 'SKILL.md'), 'utf8')
          load(text.slice(4, text.indexOf('\n---', 4)))
          createHash('sha256').update(text).digest('hex')
        }),
      )
      return names.length
    })
    console.log(JSON.stringify(start))
  },
}

await STARTS[name]()

async function measure(work: () => number | Promise<number>): Promise<Start> {
  let last = busyMs()
  let longestBlockMs = 0
  let isRunning = true
  const tick = (): void => {
    const now = busyMs()
    longestBlockMs = Math.max(longestBlockMs, now - last)
    last = now
    if (isRunning) setImmediate(tick)
  }
  setImmediate(tick)
  const cpu = process.cpuUsage()
  const begin = performance.now()
  const skills = await work()
  const ms = performance.now() - begin
  const { user, system } = process.cpuUsage(cpu)
  isRunning = false
  return {
    ms,
    cpuMs: (user + system) / 1_000,
    longestBlockMs,
    skills,
    residentMB: process.memoryUsage().rss / 1e6,
  }
}

/** Returns the processor time of this thread in milliseconds. */
function busyMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
