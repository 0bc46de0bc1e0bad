import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createSkillRuntime, MemorySource, type SkillRuntime } from '../index.ts'
import type { ModelCallSkills, SkillUse } from '../tool/skill-use.ts'

let source: MemorySource
let skills: SkillRuntime
let uses: SkillUse[]

beforeEach(async () => {
  source = new MemorySource({ label: 'mine' }, [
    { name: 'refund', description: 'Refunds.', body: 'Use form ONE.', files: { 'a.md': 'A.' } },
  ])
  skills = await createSkillRuntime({ sources: [source] })
  uses = []
  skills.events.on('skill:used', use => void uses.push(use))
})
afterEach(async () => await skills.close())

describe('skill:used', () => {
  test('names skill, revision, tool, call and conversation of each successful tool call', async () => {
    const session = skills.session({ id: 'chat-1' })
    const [load, read] = session.tools
    const { revision } = skills.current.get('refund')
    await load?.execute({ name: 'refund' }, { callId: 'call-1' })
    await read?.execute({ skill: 'refund', path: 'a.md' })
    await load?.execute({ name: 'unknown' }, { callId: 'call-2' })
    await load?.execute({ name: '' }, { callId: 'call-3' })
    const shared = { skill: 'refund', revision, by: 'model', conversation: 'chat-1' }
    expect(uses).toEqual([
      { ...shared, tool: 'skill', callId: 'call-1' },
      { ...shared, tool: 'read_skill_file' },
    ])
  })

  test('reports a slash command as a use by the user, with and without a session', async () => {
    const { revision } = skills.current.get('refund')
    await skills.session({ id: 'chat-1' }).expandSlash('/refund 1042')
    await skills.expandSlash('/refund 1042')
    await skills.expandSlash('/unknown')
    expect(uses).toEqual([
      { skill: 'refund', revision, by: 'user', conversation: 'chat-1' },
      { skill: 'refund', revision, by: 'user' },
    ])
  })
})

test('skill:missed reports each search without a match, and neither a list nor a match', async () => {
  const misses: object[] = []
  skills.events.on('skill:missed', miss => void misses.push(miss))
  const describeUnknownSkill = (query: string): string => `no ${query}`
  for (const [id, options] of [
    ['chat-1', {}],
    ['chat-2', { describeUnknownSkill }],
  ] as const) {
    const [load] = skills.session({ id, ...options }).tools
    for (const name of ['refund', '', 'quantum physics']) await load?.execute({ name })
  }
  await skills.tools()[0]?.execute({ name: 'vat' })
  expect(misses).toEqual([
    { query: 'quantum physics', conversation: 'chat-1' },
    { query: 'quantum physics', conversation: 'chat-2' },
    { query: 'vat' },
  ])
})

describe('skills:offered', () => {
  const edit = (body: string): void => source.put({ name: 'refund', description: 'Refunds.', body })
  let calls: ModelCallSkills[]

  beforeEach(() => {
    calls = []
    skills.events.on('skills:offered', call => void calls.push(call))
  })

  test('reports before each model call what the model has, also if there is nothing new', async () => {
    const session = skills.session({ id: 'chat-1' })
    const { revision } = skills.current.get('refund')
    await session.offer()
    await session.expandSlash('/refund')
    edit('Use form TWO.')
    const offer = await session.offer()
    offer?.commit()
    await session.update()
    const { number, digest } = skills.current
    const shared = { conversation: 'chat-1', isPrefixKept: true, generation: number, digest }
    const loaded = [{ name: 'refund', revision }]
    const notice = { tokens: offer?.tokens, skills: ['refund'] }
    expect(calls).toEqual([
      { ...shared, generation: number - 1, digest: calls[0]?.digest, skills: [] },
      { ...shared, skills: loaded, notice },
      { ...shared, skills: loaded },
    ])
    expect(calls[0]?.digest).not.toBe(digest)
  })

  test('reports the generation that a conversation with applyAt "turn" was told, not the newest', async () => {
    const session = skills.session({ id: 'chat-1', applyAt: 'turn' })
    session.beginTurn()
    await session.update()
    edit('Use form TWO.')
    await skills.fresh()
    await session.update()
    session.beginTurn()
    await session.update()
    const { number } = skills.current
    expect(calls.map(({ generation }) => generation)).toEqual([number - 1, number - 1, number])
  })

  test('says that the prefix is lost after a new catalog and after rebase()', async () => {
    const session = skills.session({ id: 'chat-1', delivery: 'rebuild' })
    await session.update()
    source.put({ name: 'vat', description: 'Taxes.' })
    await session.update()
    await session.update()
    await session.rebase()
    await session.update()
    await session.update()
    expect(calls.map(({ isPrefixKept }) => isPrefixKept)).toEqual([true, false, true, false, true])
  })

  test('says that a resumed conversation keeps its prefix, unless its scope no longer allows the catalog', async () => {
    const resume = skills.session({ id: 'chat-1' }).state()
    await skills.session({ id: 'chat-1', resume }).update()
    await skills.session({ id: 'chat-1', resume, scope: { exclude: ['refund'] } }).update()
    expect(calls.map(({ isPrefixKept }) => isPrefixKept)).toEqual([true, false])
  })
})

describe('usageOf()', () => {
  test('returns the number of uses, and the newest use with its revision', async () => {
    expect(skills.usageOf('refund')).toBeUndefined()
    const before = Date.now()
    const [load] = skills.tools()
    await load?.execute({ name: 'refund' })
    source.put({ name: 'refund', description: 'Refunds.', body: 'Use form TWO.' })
    await skills.session({ id: 'chat-1' }).tools[0]?.execute({ name: 'refund' })
    expect(skills.usageOf('refund')).toEqual({
      count: 2,
      lastAt: expect.any(Number),
      revision: skills.current.get('refund').revision,
      conversation: 'chat-1',
    })
    expect(skills.usageOf('refund')?.lastAt).toBeGreaterThanOrEqual(before)
  })
})
