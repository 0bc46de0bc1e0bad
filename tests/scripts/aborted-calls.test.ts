import type { SkillRuntime, ToolDefinition } from '@skillstoke/core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { commandText, countScriptProcesses, openScripts } from '../fixtures/scripts.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

const reason = new Error('the user has left')
const folder = new TemporaryFolder()
let skills: SkillRuntime
let lines: string[]
let calls = 0

const tool = (name: string): ToolDefinition => {
  const tools = [
    ...skills.session({ id: `s${++calls}` }).tools,
    ...skills.adminTools(),
    ...skills.commandTools(),
  ]
  const found = tools.find(each => each.name === name)
  if (found === undefined) throw new Error(`no tool ${name}`)
  return found
}

beforeAll(async () => {
  folder.writeSkill('skills/slow')
  folder.write(
    'skills/slow/scripts/a.ts',
    commandText(
      'wait',
      `context.log('begun ' + input.id)
       await new Promise(resolve => context.signal.addEventListener('abort', resolve))`,
    ),
  )
  folder.write('skills/slow/scripts/wait.sh', 'echo begun $1\nsleep 1000\n')
  skills = await openScripts(folder.at('skills'), { workspace: folder.at('work') })
  await skills.review.grant('slow', ['exec'])
  await skills.scripts.ready()
  skills.events.on('command:line', ({ text }) => void lines.push(text))
  skills.events.on('command:started', () => void lines.push('started'))
})

beforeEach(() => {
  lines = []
})

afterAll(async () => {
  await skills.close()
  folder[Symbol.dispose]()
})

const INPUTS: Readonly<Record<string, object>> = {
  run_skill_command: { skill: 'slow', command: 'wait', input: { id: 'a' } },
  slow__wait: { id: 'a' },
  run_skill_script: { skill: 'slow', path: 'scripts/wait.sh', args: ['a'] },
  skill_reload: { name: 'slow' },
  skill_unload: { name: 'slow' },
}

test.each(Object.entries(INPUTS))(
  '%s does nothing if its signal is aborted before the call',
  async (name, input) => {
    const changes: string[] = []
    const unsubscribe = skills.scripts.subscribe(({ skill }) => void changes.push(skill))
    await expect(tool(name).execute(input, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    unsubscribe()
    expect([lines, changes]).toEqual([[], []])
    expect(skills.scripts.list().map(({ id }) => id)).toEqual(['slow.wait'])
  },
)

describe.each(Object.entries(INPUTS).slice(0, 3))('%s', (name, input) => {
  test('an abort while the script runs rejects the call and ends the script', async () => {
    const stop = new AbortController()
    const ended = Promise.withResolvers<void>()
    const off = [
      skills.events.on('command:line', ({ text }) => void (text === 'begun a' && stop.abort(reason))),
      skills.events.on('command:finished', () => ended.resolve()),
    ]
    await expect(tool(name).execute(input, { signal: stop.signal })).rejects.toBe(reason)
    await ended.promise
    for (const each of off) each()
  })

  test('an abort while the call waits for the skill rejects the call, and no script starts', async () => {
    const stop = new AbortController()
    const call = tool(name).execute(input, { signal: stop.signal })
    stop.abort(reason)
    await expect(call).rejects.toBe(reason)
    // The aborted call must have ended by the time a later call is answered.
    await tool('skill').execute({ name: 'slow' })
    await skills.fresh()
    expect(lines).toEqual([])
  })
})

test('an abort while the code of the skill loads rejects the call', async () => {
  folder.writeSkill('skills/stuck')
  folder.write(
    'skills/stuck/scripts/a.ts',
    commandText('go', 'return 1', 'await new Promise(() => setInterval(() => {}, 1000))'),
  )
  await skills.reload()
  const before = countScriptProcesses()
  const stop = new AbortController()
  const call = tool('run_skill_command').execute({ skill: 'stuck', command: 'go' }, { signal: stop.signal })
  await expect.poll(countScriptProcesses).toBeGreaterThan(before)
  stop.abort(reason)
  await expect(call).rejects.toBe(reason)
  expect(lines).toEqual([])
})

test.each(['skill_reload', 'skill_unload'])('an abort rejects a running %s call', async name => {
  const stop = new AbortController()
  const call = tool(name).execute({ name: 'slow' }, { signal: stop.signal })
  stop.abort(reason)
  await expect(call).rejects.toBe(reason)
  // The aborted call has ended, so the skill can be reloaded as usual.
  expect(await tool('skill_reload').execute({ name: 'slow' })).toMatchObject({ isError: false })
  expect(skills.scripts.list('slow').map(({ id }) => id)).toEqual(['slow.wait'])
})
