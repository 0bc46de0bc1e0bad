import { type Figure, percentiles, round } from './figure.ts'
import { openBareProcesses } from './script-peers.ts'

/**
 * Alternately measures `work` and the start of a bare process, so that other load on the machine affects both. Yields the times of `work`. Then yields one percentage per bare process: the median of `work` divided by the median of that process.
 * @param work resolves with its own duration in milliseconds
 * @param path module that the processes load
 */
export async function* besideProcesses(
  { peers, ...figure }: Pick<Figure, 'id' | 'what' | 'n' | 'target' | 'peers'>,
  path: string,
  work: () => Promise<number>,
): AsyncGenerator<Figure> {
  const bare = openBareProcesses(path)
  const own: number[] = []
  const others = new Map<string, number[]>(bare.map(({ name }) => [name, []]))
  for (let i = 0; i < figure.n; i++) {
    own.push(await work())
    for (const { name, reload } of bare) {
      const start = performance.now()
      await reload()
      others.get(name)?.push(performance.now() - start)
    }
  }
  for (const peer of bare) await peer[Symbol.asyncDispose]()
  const value = percentiles(own)
  const times = Object.fromEntries([...others].map(([name, samples]) => [name, percentiles(samples)]))
  yield { ...figure, value, unit: 'ms', peers: { ...peers, ...times } }
  for (const [name, { p50 }] of Object.entries(times)) {
    const share = round((100 * value.p50) / p50)
    yield {
      ...figure,
      what: `${figure.what} : ${name}`,
      value: { p50: share, p99: share },
      unit: '%',
      target: name === 'a new process' ? '50' : '-',
      peers: {},
    }
  }
}
