import { createSkillRuntime, MemorySource, type SkillRuntime, type SkillSession } from '@skillstoke/core'
import { childProcesses } from '@skillstoke/scripts'
import { afterAll, beforeAll, expect, test } from 'vitest'

const script = (command: string): string => `import { defineCommand } from 'skillstoke/command'
export const ${command} = defineCommand({
  name: '${command}',
  description: 'Names the ${command}.',
  input: { type: 'object', properties: { year: { type: 'integer' } }, required: ['year'], additionalProperties: false },
  run: ({ year }) => '${command} of ' + year,
})
`

const source = new MemorySource({ label: 'mine' }, [
  {
    name: 'calendar',
    description: 'Use for dates.',
    fields: { 'allowed-tools': 'Read' },
    files: { 'scripts/day.js': script('day') },
  },
  { name: 'clock', description: 'Use for times.', files: { 'scripts/hour.js': script('hour') } },
])
let skills: SkillRuntime

beforeAll(async () => {
  skills = await createSkillRuntime({ sources: [source], scripts: childProcesses() })
})
afterAll(async () => {
  await skills.close()
})

const load = async ({ tools }: SkillSession, name: string): Promise<string | undefined> =>
  (await tools[0]?.execute({ name }))?.text

test('the commands of loaded skills are tools with schemas, and the answer of the load announces them', async () => {
  using session = skills.session({ id: 'one', commandTools: true })
  expect(session.commandTools()).toEqual([])
  expect(await load(session, 'calendar')).toContain('from the next turn on, each is also a tool')
  session.beginTurn()
  const [day, ...others] = session.commandTools()
  expect(day).toMatchObject({ name: 'calendar__day', inputSchema: { required: ['year'] } })
  expect(others).toEqual([])
  expect(await day?.execute({ year: 2026 })).toMatchObject({ text: 'day of 2026', skill: 'calendar' })
  expect(await day?.execute({})).toMatchObject({ isError: true })
})

test('a stored conversation has the tools of the skills that it loaded', async () => {
  using before = skills.session({ id: 'two', commandTools: true })
  await load(before, 'clock')
  using after = skills.session({ id: 'two', commandTools: true, resume: before.state() })
  expect(after.commandTools().map(({ name }) => name)).toEqual(['clock__hour'])
})

test('without the option there are no such tools, and nothing announces them', async () => {
  using session = skills.session({ id: 'three' })
  expect(await load(session, 'calendar')).not.toContain('next turn')
  expect(session.commandTools()).toEqual([])
})

test('a skill that restricts tools may still use its own commands, and no others', async () => {
  using session = skills.session({ id: 'four', commandTools: true, allowedTools: 'enforce' })
  await load(session, 'clock')
  await load(session, 'calendar')
  session.beginTurn()
  const [day, hour] = session.commandTools()
  await load(session, 'calendar')
  expect(await day?.execute({ year: 2026 })).toMatchObject({ text: 'day of 2026' })
  expect(await hour?.execute({ year: 2026 })).toMatchObject({
    isError: true,
    text: expect.stringContaining('"clock__hour" may not be called'),
  })
})
