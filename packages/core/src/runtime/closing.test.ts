import { expect, test } from 'vitest'
import type { Logger } from '../host.ts'
import type { ScriptRunner } from '../script/script-runner.ts'
import { MemorySource } from '../source/memory-source.ts'
import type { SourceReadContext, SourceReading } from '../source/skill-source.ts'
import { MemorySkillStore } from '../store/memory-skill-store.ts'
import { createSkillRuntime } from './create-skill-runtime.ts'

class UnclosableSource extends MemorySource {
  close(): Promise<void> {
    return Promise.reject(new Error(`${this.label} cannot be closed`))
  }
}

/** Creates parts that record when they are closed. */
function createParts(): { closed: string[]; store: MemorySkillStore; runner: ScriptRunner; logger: Logger } {
  const closed: string[] = []
  const store = new MemorySkillStore()
  store.close = async () => void closed.push('store')
  const runner = { close: async () => void closed.push('runner'), mayRun: () => false } as never
  const log = (level: string) => (message: string, data?: object) =>
    void closed.push(`${level}: ${message}: ${String(data && 'error' in data ? data.error : '')}`)
  return {
    ...{ closed, store, runner },
    logger: { debug: () => undefined, info: () => undefined, warn: log('warn'), error: log('error') },
  }
}

test('close() makes running calls reject with CLOSED, so that they do not return an old state', async () => {
  class SlowSource extends MemorySource {
    readonly begun = Promise.withResolvers<void>()
    readonly goOn = Promise.withResolvers<void>()
    #count = 0

    override async read(context: SourceReadContext): Promise<SourceReading> {
      if (this.#count++ > 0) {
        this.begun.resolve()
        await this.goOn.promise
      }
      return await super.read(context)
    }
  }
  const source = new SlowSource({ label: 'a' }, [{ name: 'pdf', description: 'Reads.', body: 'One.' }])
  const skills = await createSkillRuntime({ sources: [source] })
  source.put({ name: 'pdf', description: 'Reads.', body: 'Two.' })
  const calls = [skills.fresh(), skills.reload(), skills.load('pdf')]
  const settled = Promise.allSettled(calls)
  await source.begun.promise
  const closing = skills.close()
  source.goOn.resolve()
  await closing
  expect((await settled).map(each => (each.status === 'rejected' ? each.reason.code : each.value))).toEqual([
    'CLOSED',
    'CLOSED',
    'CLOSED',
  ])
})

test('close() still closes the store and the runner when a source cannot be closed', async () => {
  const { closed, store, runner, logger } = createParts()
  const sources = ['a', 'b'].map(label => new UnclosableSource({ label }, []))
  const skills = await createSkillRuntime({ sources, scripts: runner, logger, state: { store } })
  await expect(skills.close()).rejects.toThrow('a cannot be closed')
  expect(closed).toEqual([
    'error: another part could not be closed: Error: b cannot be closed',
    'runner',
    'store',
  ])
})

test('createSkillRuntime() throws the cause of a failed start, even if closing the parts fails too', async () => {
  const { closed, store, runner, logger } = createParts()
  const source = new UnclosableSource({ label: 'a' }, [{ name: 'x', description: '', body: '' }])
  const starting = createSkillRuntime({
    ...{ sources: [source], scripts: runner, logger, state: { store } },
    onInvalid: 'throw',
  })
  await expect(starting).rejects.toMatchObject({ code: 'SKILL_INVALID' })
  expect(closed.at(-1)).toMatch(/^error: a runtime that failed to start could not be closed/)
})
