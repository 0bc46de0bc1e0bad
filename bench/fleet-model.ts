// node bench/fleet-model.ts [agents]: calculates what a fleet costs, from constants that B19 measured. Prints a table and its
// assumptions. The result is a calculation and not a measurement: no test has run 100,000 agents.

/** Measured constants, each with its origin. */
const MEASURED = {
  /** Processor time of a server for one message that it delivers to one agent: B19, 500 and 2,000 agents. */
  deliveryMicroseconds: 17,
  /** Memory of a server for one connection without TLS. */
  connectionKilobytes: 52,
  /** Bytes of one head on its way to an agent, with the manifest of five files. */
  headBytes: 1_300,
  /** Bytes of the changed files of one publication. */
  changedBytes: 7_100,
  /** Bytes of a beat on its way to an agent. */
  beatBytes: 300,
  /** Processor time of a server for one direct get. */
  directGetMicroseconds: 53,
  /** Bytes of all files of 1,000 skills. */
  allFilesBytes: 30_900_000,
} as const

/** Assumptions of the model. */
const ASSUMED = {
  /** Memory of a connection with TLS, as a multiple of one without. */
  tlsFactor: 2,
  agentsPerServer: 10_000,
  agentsPerHost: 100,
  probeSeconds: 30,
  reportSeconds: 20,
  coresPerServer: 8,
} as const

interface Shape {
  readonly name: string
  /** Connections at the servers of the cluster. */
  readonly connections: number
  /** Servers of the cluster. */
  readonly servers: number
}

const agents = Number(process.argv[2] ?? 100_000)
if (!Number.isInteger(agents) || agents < 1) throw new Error(`${process.argv[2]} is not a number of agents`)
const hosts = Math.ceil(agents / ASSUMED.agentsPerHost)
const shapes: readonly Shape[] = [
  { name: 'flat', connections: agents, servers: Math.max(3, Math.ceil(agents / ASSUMED.agentsPerServer)) },
  { name: 'leaf per host', connections: hosts, servers: 3 },
]

const rows = shapes.map(({ name, connections, servers }) => {
  const perServer = connections / servers
  const cpuMs = (perServer * MEASURED.deliveryMicroseconds) / 1_000
  return {
    shape: name,
    servers,
    'connections per server': Math.round(perServer),
    'memory per server (MB)': Math.round(
      (perServer * MEASURED.connectionKilobytes * ASSUMED.tlsFactor) / 1_000,
    ),
    'CPU per publication and server (ms)': Math.round(cpuMs),
    'the same on all cores (ms)': Math.round(cpuMs / ASSUMED.coresPerServer),
    'sent per publication, heads (MB)': toMegabytes(connections * MEASURED.headBytes),
    'sent per publication, with files (MB)': toMegabytes(
      connections * (MEASURED.headBytes + MEASURED.changedBytes),
    ),
    'beats (MB/s)': toMegabytes(connections * MEASURED.beatBytes),
    'cores for beats': round((connections * MEASURED.deliveryMicroseconds) / 1e6),
    'cores for probes': round(
      ((connections / ASSUMED.probeSeconds) * 2 * MEASURED.directGetMicroseconds) / 1e6,
    ),
    'reports per second': Math.round(agents / ASSUMED.reportSeconds),
    'cold start of all agents, heads of 1,000 skills (GB)': round(
      (connections * 1_000 * MEASURED.headBytes) / 1e9,
    ),
    'cold start of all agents, all files (GB)': round((connections * MEASURED.allFilesBytes) / 1e9),
  }
})

console.log(`${agents} agents`)
for (const name of Object.keys(rows[0] ?? {}) as (keyof (typeof rows)[number])[])
  console.log(`  ${name.padEnd(54)}${rows.map(row => String(row[name]).padStart(16)).join('')}`)
console.log('measured:', MEASURED)
console.log('assumed:', ASSUMED)

function toMegabytes(bytes: number): number {
  return round(bytes / 1e6)
}

function round(value: number): number {
  return Number(value.toPrecision(2))
}
