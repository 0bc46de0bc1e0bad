import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import type { Figure, MeasureOptions } from './figure.ts'
import { b1 } from './figures/b1.ts'
import { b2 } from './figures/b2.ts'
import { b3 } from './figures/b3.ts'
import { b4 } from './figures/b4.ts'
import { b5 } from './figures/b5.ts'
import { b6 } from './figures/b6.ts'
import { b7 } from './figures/b7.ts'
import { b8 } from './figures/b8.ts'
import { b9 } from './figures/b9.ts'
import { b10 } from './figures/b10.ts'
import { b11 } from './figures/b11.ts'
import { b12 } from './figures/b12.ts'
import { b13 } from './figures/b13.ts'
import { b14 } from './figures/b14.ts'
import { b15 } from './figures/b15.ts'
import { b16 } from './figures/b16.ts'
import { b17 } from './figures/b17.ts'
import { b18 } from './figures/b18.ts'
import { b19 } from './figures/b19.ts'
import { b20 } from './figures/b20.ts'
import { b21 } from './figures/b21.ts'

// npm run bench -- [B1 B3 ...] [--json] [--large]
// Each benchmark runs in its own process, so that no benchmark inherits memory or compiled code from another.

type Measure = (options: MeasureOptions) => AsyncGenerator<Figure>
const BENCHMARKS: Readonly<Record<string, Measure>> = {
  B1: b1,
  B2: b2,
  B3: b3,
  B4: b4,
  B5: b5,
  B6: b6,
  B7: b7,
  B8: b8,
  B9: b9,
  B10: b10,
  B11: b11,
  B12: b12,
  B13: b13,
  B14: b14,
  B15: b15,
  B16: b16,
  B17: b17,
  B18: b18,
  B19: b19,
  B20: b20,
  B21: b21,
}

const args = process.argv.slice(2)
const asJson = args.includes('--json')
const options: MeasureOptions = { large: args.includes('--large') }
const child = args.includes('--child')
const named = args.filter(arg => !arg.startsWith('--')).map(arg => arg.toUpperCase())
const unknown = named.filter(id => BENCHMARKS[id] === undefined)

if (args.includes('--help')) {
  console.log(
    'npm run bench -- [B1 B3 ...] [--json] [--large]\n\n--json   print one line of JSON per figure\n--large  also run B1 and B4 with 100,000 skills, B7 with 10,000 reloads, B9 with 2,000 edits, B15 with 100,000 reloads, B18 with 120 s of edits',
  )
} else if (unknown.length > 0) {
  console.error(
    `error: there is no benchmark ${unknown.join(', ')}; use ${Object.keys(BENCHMARKS).join(', ')}`,
  )
  process.exitCode = 2
} else if (child) {
  for await (const figure of (BENCHMARKS[named[0] ?? ''] as Measure)(options)) {
    console.log(JSON.stringify({ ...figure, machine: describeMachine() }))
  }
} else {
  for (const id of named.length > 0 ? named : Object.keys(BENCHMARKS)) runChild(id)
}

function runChild(id: string): void {
  if (!asJson) console.log(`\n${id}`)
  const flags = ['--expose-gc', import.meta.filename, id, '--child', ...(options.large ? ['--large'] : [])]
  const run = spawnSync(process.execPath, flags, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  if (run.status !== 0) process.exitCode = 1
  for (const line of run.stdout.split('\n').filter(Boolean))
    console.log(asJson ? line : toRow(JSON.parse(line) as Figure))
}

function toRow({ what, n, value, unit, target, peers }: Figure): string {
  const own = `  ${what.padEnd(56)} n ${String(n).padStart(6)}  p50 ${value.p50} ${unit}  p99 ${value.p99} ${unit}  (target ${target})`
  const others = Object.entries(peers).map(
    ([name, peer]) => `    ${name}: ${typeof peer === 'number' ? peer : `p50 ${peer.p50}, p99 ${peer.p99}`}`,
  )
  return [own, ...others].join('\n')
}

function describeMachine(): string {
  const [cpu] = cpus()
  let model = cpu?.model ?? 'unknown processor'
  try {
    model = /model name\s*: (.*)/.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1] ?? model
  } catch {
    // Only Linux has /proc/cpuinfo; on other systems, use the processor model that Node reports.
  }
  return `${cpus().length} x ${model}, ${Math.round(totalmem() / 2 ** 30)} GB, ${process.platform} ${release()}, Node ${process.versions.node}`
}
