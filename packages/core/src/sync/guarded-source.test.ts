import { describe, expect, test } from 'vitest'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import { MemorySource } from '../source/memory-source.ts'
import type { SkillSource, SourceWatch } from '../source/skill-source.ts'

const fail = (): never => {
  throw new Error('a fault')
}
const reject = (): Promise<never> => Promise.reject(new Error('a fault'))

/** A source whose method with the given name always fails. */
class FaultySource extends MemorySource {
  constructor(faults: Partial<SkillSource>, watchFaults: Partial<SourceWatch> = {}) {
    super({ label: 'faulty' }, [{ name: 'weak', description: 'Does it.', body: 'First.' }])
    const watch = (onHint: (area: string) => void): SourceWatch => ({
      ...super.watch(onHint),
      ...watchFaults,
    })
    Object.assign(this, { watch, ...faults })
  }
}

const sources: Readonly<Record<string, () => FaultySource>> = {
  state: () => new FaultySource({ state: fail }),
  watch: () => new FaultySource({ watch: fail }),
  mark: () => new FaultySource({ mark: fail }),
  findNotSkills: () => new FaultySource({ findNotSkills: reject }),
  'versions.current': () =>
    new FaultySource({ versions: { current: fail, follows: reject, describeChange: reject } }),
  'watch.stop': () => new FaultySource({}, { stop: fail }),
  'watch.hasHints': () => new FaultySource({}, { hasHints: fail }),
  'watch.drain': () => new FaultySource({}, { drain: reject }),
  'watch.isBusy': () => new FaultySource({}, { isBusy: reject }),
}

describe.each(Object.keys(sources))('a source whose %s fails', method => {
  test('the runtime still reads the source, logs its failure once, and serves all other sources', async () => {
    const errors: unknown[] = []
    const logger = {
      ...{ debug: () => undefined, info: () => undefined, warn: () => undefined },
      error: (_: string, data?: object) => void errors.push(data),
    }
    const good = new MemorySource({ label: 'good' }, [{ name: 'pdf', description: 'Reads.', body: 'One.' }])
    const faulty = sources[method]?.() as FaultySource
    const skills = await createSkillRuntime({ sources: [faulty, good], logger })
    const session = skills.session({ id: 'chat' })
    for (const body of ['Two.', 'Three.']) {
      good.put({ name: 'pdf', description: 'Reads.', body })
      faulty.put({ name: 'weak', description: 'Does it.', body })
      await session.offer()
      expect((await skills.load('pdf')).body).toBe(body)
      expect((await skills.load('weak')).body).toBe(body)
    }
    expect(skills.status().map(({ label }) => label)).toEqual(['faulty', 'good'])
    expect((await skills.why('nothing')).steps.length).toBeGreaterThan(0)
    await skills.close()
    expect(errors).toEqual([{ source: 'faulty', method, error: 'a fault' }])
  })
})
