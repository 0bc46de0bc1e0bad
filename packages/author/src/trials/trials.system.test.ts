import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { resolveModel, SkillAgent } from '@skillstoke/agent'
import { createSkillRuntime, MemorySource, type SkillRuntime } from '@skillstoke/core'
import { describe, expect, test } from 'vitest'
import { type ChatReply, OpenAiServer } from '../../../../tests/fixtures/openai-server.ts'
import { TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'
import { readSkillTests } from '../evals/read-skill-tests.ts'
import type { SkillTests } from '../evals/skill-tests.ts'
import { renderAnswerReport } from './answer-report.ts'
import { type AnswerOptions, type AnswerTrials, runAnswerTrials } from './answer-trials.ts'
import { estimateTrials } from './estimate-trials.ts'
import { toInterval } from './interval.ts'
import { openTrialStore, type TrialStore } from './trial-store.ts'
import { type AskedModel, runTriggerTrials, type TriggerTrials } from './trigger-trials.ts'

function readTests(yaml: string): SkillTests {
  return readSkillTests('tax', [{ path: 'evals/tests.yaml', text: yaml }])
}

const TESTS = readTests('fires:\n  - load tax now\n  - load tone now\nsilent:\n  - load nothing\n')

/** A model that loads the skill that a message names, and otherwise answers with what it was told last. */
function reply(
  _call: number,
  { messages }: { readonly messages: readonly { role: string; content: unknown }[] },
): ChatReply {
  const last = messages.at(-1)
  const text = JSON.stringify(last?.content)
  const name = last?.role === 'user' ? /load (\w+) now/.exec(text)?.[1] : undefined
  if (name !== undefined) return { kind: 'tool', name: 'skill', input: { name } }
  const isJudge = text.includes('expectation')
  return { kind: 'text', text: isJudge ? (text.includes('tax body') ? 'PASS' : 'FAIL') : `It says ${text}` }
}

interface Stage extends AsyncDisposable {
  readonly skills: SkillRuntime
  readonly source: MemorySource
  readonly server: OpenAiServer
  readonly store: TrialStore
  agent(): SkillAgent
  run(tests?: SkillTests, asked?: Partial<AskedModel>, options?: object): Promise<TriggerTrials>
}

const toSkill = (
  name: string,
  body = `The ${name} body.`,
): { name: string; description: string; body: string } => ({
  name,
  description: `About ${name}.`,
  body,
})

async function open(answer = reply): Promise<Stage> {
  const source = new MemorySource({ label: 'mine' }, [toSkill('tax'), toSkill('tone')])
  const skills = await createSkillRuntime({ sources: [source] })
  const server = await OpenAiServer.start(answer)
  const model = resolveModel({ model: 'test', baseUrl: server.baseUrl })
  const store = await openTrialStore(':memory:')
  const agent = (): SkillAgent => new SkillAgent({ skills, model, maxRetries: 0 })
  const signal = new AbortController().signal
  return {
    ...{ skills, source, server, store, agent },
    run: async (tests = TESTS, asked = {}, options = {}) =>
      await runTriggerTrials(
        tests,
        { agent: agent(), model: 'test', ...asked },
        { store, signal, ...options },
      ),
    [Symbol.asyncDispose]: async () => {
      store.close()
      await server[Symbol.asyncDispose]()
      await skills.close()
    },
  }
}

describe('runTriggerTrials()', () => {
  test('counts the loads of the session, and ends a turn with the first load', async () => {
    await using it = await open()
    const { trials, passed, total, spent } = await it.run()
    expect(
      trials.map(({ message, loads, runs, others, passed: isPassed }) => [
        message,
        loads,
        runs,
        others,
        isPassed,
      ]),
    ).toEqual([
      ['load tax now', 1, 1, [], true],
      ['load tone now', 0, 1, ['tone'], false],
      ['load nothing', 0, 1, [], true],
    ])
    expect([passed, total, spent.calls, it.server.requests.length]).toEqual([2, 3, 3, 3])
  })

  test('an edit of a body, and a new test, ask nothing again; another description asks all', async () => {
    await using it = await open()
    await it.run()
    it.source.put(toSkill('tax', 'Another body.'))
    await it.skills.reload()
    expect((await it.run()).spent.calls).toBe(0)
    const more = readTests(
      'fires:\n  - load tax now\n  - load tone now\n  - say it\nsilent:\n  - load nothing\n',
    )
    expect(await it.run(more)).toMatchObject({ known: 3, spent: { calls: 1 } })
    it.source.put({ ...toSkill('tax'), description: 'Taxes.' })
    await it.skills.reload()
    expect((await it.run(more)).known).toBe(0)
  })

  test('repeats each message, and gives an interval', async () => {
    await using it = await open()
    const { trials, interval } = await it.run(TESTS, { repeats: 3 })
    expect(trials.map(({ loads, runs }) => `${loads}/${runs}`)).toEqual(['3/3', '0/3', '0/3'])
    expect(interval).toEqual(toInterval(6, 9))
  })

  test('sends a message that two sections have only once', async () => {
    await using it = await open()
    const twice = readTests('fires: [load tax now, a]\nsilent: [load tax now]\n')
    const { trials, known, spent } = await it.run(twice, { repeats: 2 })
    expect(trials.map(({ loads, runs, passed }) => [loads, runs, passed])).toEqual([
      [2, 2, true],
      [0, 2, false],
      [2, 2, false],
    ])
    expect([known, spent.calls]).toEqual([0, 4])
  })

  test('keeps no answer to another catalog than the one at the start', async () => {
    let change = (): void => undefined
    await using it = await open((call, request) => {
      if (call === 2) change()
      return reply(call, request)
    })
    change = () => it.source.put({ ...toSkill('tax'), description: 'Taxes.' })
    const changed = await it.run(TESTS, {}, { concurrency: 1 })
    expect(changed).toMatchObject({ stopped: 'failed', total: 1, spent: { calls: 2 } })
    expect(String(changed.error)).toContain('the skills changed')
  })

  test('a cap of dollars ends the run if the model reports no tokens', async () => {
    await using it = await open(() => ({ kind: 'text', text: 'No.', isUncounted: true }))
    const caps = { price: { input: 1, output: 1 }, maxCost: 1, concurrency: 1 }
    const { stopped, error, spent } = await it.run(TESTS, {}, caps)
    expect([stopped, String(error), spent.calls]).toEqual([
      'failed',
      expect.stringContaining('reports no tokens'),
      1,
    ])
  })

  test('ends at the cap, and keeps what was measured', async () => {
    await using it = await open()
    const capped = await it.run(TESTS, {}, { maxCalls: 1 })
    expect(capped).toMatchObject({ stopped: 'calls', total: 1, spent: { calls: 1 } })
    expect(await it.run()).toMatchObject({ known: 1, total: 3 })
    // Conversations that run at the same time count, too.
    const more = readTests(`fires: [${Array.from({ length: 9 }, (_, index) => `say ${index}`).join()}]`)
    expect((await it.run(more, {}, { maxCalls: 3 })).spent.calls).toBe(3)
  })

  test('an aborted run, and a run whose server fails, keep what was measured', async () => {
    await using it = await open()
    const end = new AbortController()
    const onProgress = ({ done }: { readonly done: number }): void => {
      if (done === 1) end.abort()
    }
    expect(await it.run(TESTS, {}, { signal: end.signal, concurrency: 1, onProgress })).toMatchObject({
      stopped: 'aborted',
      total: 1,
    })
    await it.server[Symbol.asyncDispose]()
    expect(await it.run()).toMatchObject({ stopped: 'failed', known: 1, total: 1, error: expect.any(Error) })
  })
})

describe('runAnswerTrials()', () => {
  const TESTS_OF_ANSWERS = readTests(
    'ask:\n  - message: load tax now\n    expect:\n      - contains: the TAX body\n      - loads: tax\n      - judge: tells the body\n  - message: load nothing\n    expect:\n      - matches: "^Never"\n',
  )
  const ask = async (it: Stage, options: Partial<AnswerOptions> = {}): Promise<AnswerTrials> => {
    const without = new SkillAgent({ ...it.agent().options, scope: { exclude: ['tax'] } })
    const columns = [
      { name: 'without', agent: without },
      { name: 'served', agent: it.agent() },
    ]
    const judge = resolveModel({ model: 'test', baseUrl: it.server.baseUrl })
    const { signal } = new AbortController()
    return await runAnswerTrials(TESTS_OF_ANSWERS, {
      ...{ columns, judge, model: 'test', store: it.store, signal },
      ...options,
    })
  }

  test('compares columns, and asks a judge that sees only the answer and the expectation', async () => {
    await using it = await open()
    const trials = await ask(it)
    expect(trials.rows.map(({ cells }) => cells.map(({ passed, runs }) => `${passed}/${runs}`))).toEqual([
      ['0/1', '1/1'],
      ['0/1', '0/1'],
    ])
    expect(trials.rows[0]?.cells[0]?.failures).toContain('did not load "tax"')
    expect(renderAnswerReport(trials)).toContain('1 of 1 pass')
    expect(trials.spent.calls).toBe(it.server.requests.length)
  })

  test('asks neither about a known answer nor its judge again', async () => {
    await using it = await open()
    const first = await ask(it)
    const again = await ask(it)
    expect(again).toMatchObject({ rows: first.rows, spent: { calls: 0 } })
  })

  test('counts the calls of the judge, and a further call in a turn, before they are made', async () => {
    await using it = await open()
    const all = (await ask(it)).spent.calls
    for (let maxCalls = 0; maxCalls < all; maxCalls++) {
      await using other = await open()
      const capped = await ask(other, { maxCalls })
      expect([capped.stopped, capped.spent.calls, other.server.requests.length]).toEqual([
        'calls',
        maxCalls,
        maxCalls,
      ])
      const cells = capped.rows.flatMap(row => row.cells)
      expect(cells.every(({ runs, passed }) => passed <= runs && runs <= 1)).toBe(true)
    }
  })

  test('an abort while the judge thinks keeps the answers', async () => {
    const end = new AbortController()
    await using it = await open((call, request) => {
      const isJudge = JSON.stringify(request.messages).includes('expectation')
      if (!isJudge || end.signal.aborted) return reply(call, request)
      end.abort()
      return { kind: 'stall' }
    })
    const { stopped, rows } = await ask(it, { signal: end.signal, concurrency: 1 })
    expect(stopped).toBe('aborted')
    expect(rows.map(({ cells }) => cells.map(({ runs }) => runs))).toEqual([
      [0, 0],
      [1, 1],
    ])
    const rest = await ask(it)
    expect([rest.stopped, rest.spent.calls]).toEqual([undefined, 2])
  })

  test('the estimate counts the first call of each answer, and each question to the judge', async () => {
    await using it = await open()
    const judge = resolveModel({ model: 'test', baseUrl: it.server.baseUrl })
    const asked = { columns: [{ name: 'served', agent: it.agent() }], judge, model: 'test' }
    const options = { store: it.store, countTokens: (text: string) => text.length }
    expect(estimateTrials(TESTS_OF_ANSWERS, asked, options)).toMatchObject({ calls: 3, known: 0 })
    // Two calls about the first message, one about the second, and none for the judge.
    await ask(it, { ...asked, maxCalls: 3, concurrency: 1 })
    expect(estimateTrials(TESTS_OF_ANSWERS, asked, options)).toMatchObject({ calls: 1, known: 2 })
    await ask(it, asked)
    expect(estimateTrials(TESTS_OF_ANSWERS, asked, options)).toMatchObject({ calls: 0, known: 3 })
  })

  test('runs with a small cap come to an end', async () => {
    await using it = await open()
    const more = readTests(
      `ask: [${Array.from({ length: 6 }, (_, n) => `{ message: load tax now ${n}, expect: [{ loads: tax }] }`).join()}]`,
    )
    const columns = [{ name: 'served', agent: it.agent() }]
    const judge = resolveModel({ model: 'test', baseUrl: it.server.baseUrl })
    const { signal } = new AbortController()
    const capped = { columns, judge, model: 'test', store: it.store, signal, maxCalls: 4 }
    const runs: (readonly [number, string | undefined])[] = []
    for (let round = 0; round < 4; round++) {
      const { known, stopped } = await runAnswerTrials(more, capped)
      runs.push([known, stopped])
    }
    // Each answer takes two calls.
    expect(runs).toEqual([
      [0, 'calls'],
      [2, 'calls'],
      [4, undefined],
      [6, undefined],
    ])
  })

  test('an edit of a body, and another judge, ask again; a test that is added does not', async () => {
    await using it = await open()
    await ask(it)
    it.source.put({ ...toSkill('tax'), files: { 'evals/tests.yaml': 'fires:\n  - Do it.\n' } })
    await it.skills.reload()
    expect((await ask(it)).spent.calls).toBe(0)
    const judge = resolveModel({ model: 'other', baseUrl: it.server.baseUrl })
    expect((await ask(it, { judge })).spent.calls).toBe(2)
    it.source.put(toSkill('tax', 'The new tax body.'))
    await it.skills.reload()
    const edited = await ask(it)
    // Without the skill, its text changes nothing: two answers and one judgement.
    expect(edited.known).toBe(3)
    expect(edited.rows[0]?.cells[1]?.text).toContain('The new tax body.')
  })

  test('with a price, each cell has its cost, and a cap of dollars ends the run', async () => {
    await using it = await open()
    const price = { input: 1_000_000, output: 0 }
    const [cell] = (await ask(it, { price })).rows[1]?.cells ?? []
    expect(cell?.cost).toBeGreaterThan(0)
    await using other = await open()
    const capped = await ask(other, { price, maxCost: 1 })
    expect([capped.stopped, capped.spent.calls]).toEqual(['cost', 1])
  })

  test('a pattern that takes too long does not match', async () => {
    await using it = await open(() => ({ kind: 'text', text: `${'a'.repeat(60)}!` }))
    const hostile = readTests('ask: [{ message: a, expect: [{ matches: "^(a+)+$" }] }]')
    const columns = [{ name: 'served', agent: it.agent() }]
    const judge = resolveModel({ model: 'test', baseUrl: it.server.baseUrl })
    const { signal } = new AbortController()
    const { rows } = await runAnswerTrials(hostile, {
      columns,
      judge,
      model: 'test',
      store: it.store,
      signal,
    })
    expect(rows[0]?.cells[0]).toMatchObject({ runs: 1, passed: 0 })
  })

  test('one report shows several skills', async () => {
    await using it = await open()
    const trials = await ask(it)
    const html = renderAnswerReport(trials, { ...trials, skill: '<tone>' })
    expect(html.match(/<h2>.*?<\/h2>/g)).toEqual(['<h2>tax</h2>', '<h2>&lt;tone&gt;</h2>'])
    expect(html.match(/<!doctype html>/g)).toHaveLength(1)
  })
})

test('openTrialStore() keeps the score of each revision, the newest first', async () => {
  const store = await openTrialStore(':memory:')
  const score = { skill: 'tax', model: 'test', total: 20 }
  store.keepScore({ ...score, revision: 'sha256:a' as const, passed: 14, at: '2026-01-01' })
  store.keepScore({ ...score, revision: 'sha256:b' as const, passed: 19, at: '2026-01-02' })
  store.keepScore({ ...score, revision: 'sha256:a' as const, passed: 15, at: '2026-01-03' })
  expect(store.listScores('tax').map(({ revision, passed }) => [revision, passed])).toEqual([
    ['sha256:a', 15],
    ['sha256:b', 19],
  ])
  store.close()
})

test('openTrialStore() works in memory and says why if the file cannot be used', async () => {
  const store = await openTrialStore(`${import.meta.filename}/tests.sqlite`)
  expect(store.fault).toMatch(/EEXIST|ENOTDIR/)
  store.keepRun('k', {
    loaded: ['tax'],
    called: [],
    text: '',
    calls: 1,
    inputTokens: 1,
    outputTokens: 1,
    ms: 1,
  })
  expect(store.findRun('k')?.loaded).toEqual(['tax'])
  store.close()
})

test('openTrialStore() waits for another process that creates the file', async () => {
  using folder = new TemporaryFolder()
  const path = folder.at('tests.sqlite')
  const code = `
    import { parentPort } from 'node:worker_threads'
    const { DatabaseSync } = await import('node:sqlite')
    const database = new DatabaseSync(${JSON.stringify(path)})
    database.exec('BEGIN EXCLUSIVE; CREATE TABLE other (a)')
    parentPort.postMessage('locked')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
    database.exec('COMMIT')
    database.close()`
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`))
  await once(worker, 'message')
  using store = await openTrialStore(path)
  expect(store.fault).toBeUndefined()
  await once(worker, 'exit')
})

test('toInterval() is the score interval: eight of ten is 49 to 94 percent', () => {
  expect(toInterval(8, 10).map(each => Math.round(each * 100))).toEqual([49, 94])
  expect(toInterval(0, 0)).toEqual([0, 1])
})
