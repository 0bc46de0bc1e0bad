import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Figure, percentiles, round } from '../figure.ts'
import { nameOf, Tree } from '../tree.ts'

const STOKE = resolve('packages/cli/bin/stoke.js')
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  },
}

interface Case {
  readonly what: string
  readonly n: number
  readonly rounds: number
  readonly target: string
  readonly args: readonly string[]
  /** Called before every run that is measured. */
  readonly prepare?: () => void
  /** Whether the measurement ends when the process prints its first output, and not when it exits. */
  readonly isServer?: boolean
}

/** Measures the time from the start of a command line process until the process exits or, for a server, answers its first request. */
export async function* b16(): AsyncGenerator<Figure> {
  for (const words of [['--version'], ['--help']])
    yield await measure({
      what: `stoke ${words.join(' ')}`,
      n: 1,
      rounds: 20,
      target: '2.5 times bare node',
      args: words,
    })
  for (const n of [10, 1_000, 10_000]) {
    using tree = await Tree.make(n)
    const state = `${tree.path}-state`
    try {
      for (const each of casesOf(tree, state)) yield await measure(each)
    } finally {
      rmSync(state, { recursive: true, force: true })
    }
  }
}

function casesOf({ path, size: n }: Tree, state: string): readonly Case[] {
  const rounds = n === 10 ? 20 : n === 1_000 ? 10 : 3
  const flags = ['--root', path, '--state', state]
  const forget = (): void => rmSync(state, { recursive: true, force: true })
  const target = 'stated'
  const listTarget = n === 10 ? '4 times bare node' : n === 10_000 ? '12 times bare node' : target
  const shared = { n, rounds }
  const one = nameOf(n >> 1)
  return [
    { ...shared, what: 'list, nothing known yet', target, args: ['list', ...flags], prepare: forget },
    { ...shared, what: 'list, everything known', target: listTarget, args: ['list', ...flags] },
    { ...shared, what: 'list --json, everything known', target, args: ['list', '--json', ...flags] },
    { ...shared, what: 'why of a skill', target, args: ['why', one, ...flags] },
    { ...shared, what: 'show of a skill', target, args: ['show', one, ...flags] },
    { ...shared, what: 'mcp -> answer of initialize', target, args: ['mcp', ...flags], isServer: true },
  ]
}

/** Measures one command line and bare Node alternately, so that other load on the machine affects both. */
async function measure({ what, n, rounds, target, args, prepare, isServer }: Case): Promise<Figure> {
  const bare: number[] = []
  const own: number[] = []
  // Two warm-up runs. The first run fills the file cache of the system, and the second run fills the cache for compiled code.
  if (prepare === undefined) for (let i = 0; i < 2; i++) await run([STOKE, ...args], isServer)
  for (let i = 0; i < rounds; i++) {
    bare.push(await run(['-e', '0']))
    prepare?.()
    own.push(await run([STOKE, ...args], isServer))
  }
  const value = percentiles(own)
  const peer = percentiles(bare)
  const peers = { 'bare node': peer, 'ratio to bare node': round(value.p50 / peer.p50) }
  return { id: 'B16', what, n, value, unit: 'ms', target, peers }
}

async function run(args: readonly string[], isServer = false): Promise<number> {
  const start = performance.now()
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  if (isServer) {
    child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`)
    await once(child.stdout, 'data')
  }
  child.stdout.resume()
  const answered = performance.now()
  child.stdin.end()
  await ended
  return isServer ? answered - start : performance.now() - start
}
