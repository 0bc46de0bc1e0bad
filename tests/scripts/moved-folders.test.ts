import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { createSkillRuntime } from '@skillstoke/core'
import { directory, nodeHasher, openSkillStore } from '@skillstoke/core/node'
import { childProcesses } from '@skillstoke/scripts'
import { describe, expect, test } from 'vitest'
import { commandText, openScripts } from '../fixtures/scripts.ts'
import { skillText, TemporaryFolder } from '../fixtures/skill-folder.ts'

const BROKEN_TEXT = '---\nname: [t\n'
const BROKEN_CODE = '{{ import "skillstoke/command"'

describe('a moved folder', () => {
  test('a moved skill keeps the last good text, even if a broken text is saved at the same moment', async () => {
    for (const target of ['t2', 'deeper/t']) {
      using folder = new TemporaryFolder()
      folder.writeSkill('t', { body: 'Good.' })
      mkdirSync(folder.at('deeper'))
      await using skills = await openScripts(folder.path)
      renameSync(folder.at('t'), folder.at(target))
      writeFileSync(folder.at(target, 'SKILL.md'), BROKEN_TEXT)
      await skills.fresh()
      expect(await skills.readBody(skills.current.get('t'))).toBe('Good.')
      expect(skills.current.reports()).toMatchObject([{ name: 't', location: target, status: 'broken' }])
      writeFileSync(folder.at(target, 'SKILL.md'), skillText('t', { body: 'Mended.' }))
      await skills.fresh()
      expect(await skills.readBody(skills.current.get('t'))).toBe('Mended.')
    }
  })

  test('a moved skill keeps the last good code, whether a broken save comes before or after the move', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('t')
    folder.write('t/scripts/go.js', commandText('go', 'return "good"'))
    await using skills = await openScripts(folder.path)
    const call = async (): Promise<unknown> => (await skills.scripts.execute('t.go')).value
    expect(await call()).toBe('good')
    renameSync(folder.at('t'), folder.at('t2'))
    expect(await call()).toBe('good')
    writeFileSync(folder.at('t2/scripts/go.js'), BROKEN_CODE)
    expect(await call()).toBe('good')
    renameSync(folder.at('t2'), folder.at('t3'))
    expect(await call()).toBe('good')
    expect(skills.scripts.status()[0]?.problems[0]).toMatchObject({ path: 'scripts/go.js', line: 1 })
    folder.write('t3/scripts/go.js', commandText('go', 'return "mended"'))
    expect(await call()).toBe('mended')
  })

  test('a revoke also takes effect in code that started before its folder was moved', async () => {
    using folder = new TemporaryFolder()
    const fields = 'metadata:\n  capabilities: env:TOKEN'
    folder.write('t/SKILL.md', `---\nname: t\ndescription: Does t.\n${fields}\n---\nRun it.\n`)
    folder.write('t/scripts/go.js', commandText('go', 'return process.env.TOKEN'))
    await using skills = await openScripts(folder.path, { env: { ...process.env, TOKEN: 'of-the-host' } })
    await skills.review.grant('t', ['env:TOKEN'])
    const call = async (): Promise<unknown> => (await skills.scripts.execute('t.go')).value
    expect(await call()).toBe('[redacted TOKEN]')
    renameSync(folder.at('t'), folder.at('t2'))
    expect(await call()).toBe('[redacted TOKEN]')
    await skills.review.revoke('t', ['env:TOKEN'])
    await expect(call()).rejects.toMatchObject({ code: 'SCRIPT_REFUSED' })
    folder.write('t2/scripts/go.js', commandText('go', 'return "newer"'))
    await expect(call()).rejects.toMatchObject({ code: 'SCRIPT_REFUSED' })
  })

  test('if another folder takes over the name of a skill, calls never run the code of the former folder', async () => {
    using folder = new TemporaryFolder()
    for (const location of ['a', 'b']) folder.write(`${location}/SKILL.md`, skillText('t', {}))
    folder.write('a/scripts/go.js', commandText('go', 'return "of a"'))
    folder.write('b/scripts/go.js', BROKEN_CODE)
    await using skills = await openScripts(folder.path)
    const call = async (): Promise<unknown> => (await skills.scripts.execute('t.go')).value
    expect(await call()).toBe('of a')
    await skills.review.disable('skills/a')
    expect(skills.current.get('t').location).toBe('b')
    await expect(call()).rejects.toMatchObject({ code: 'COMMAND_NOT_FOUND' })
    folder.write('b/scripts/go.js', commandText('go', 'return "of b"'))
    expect(await call()).toBe('of b')
  })

  test('if a skill is moved and broken in one step, its last good code still runs, even after a restart', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/t')
    folder.write('skills/t/scripts/go.js', commandText('go', 'return "good"'))
    const open = async (): ReturnType<typeof createSkillRuntime> =>
      await createSkillRuntime({
        sources: [directory(folder.at('skills'))],
        tuning: { hasher: nodeHasher },
        state: { store: await openSkillStore(folder.at('state')) },
        scripts: childProcesses(),
      })
    {
      await using skills = await open()
      expect((await skills.scripts.execute('t.go')).value).toBe('good')
      renameSync(folder.at('skills/t'), folder.at('skills/t2'))
      folder.write('skills/t2/scripts/go.js', BROKEN_CODE)
      expect((await skills.scripts.execute('t.go')).value).toBe('good')
    }
    await using skills = await open()
    expect((await skills.scripts.execute('t.go')).value).toBe('good')
  })

  test.each(['auto', 'polling', 'off'] as const)(
    'a moved skill is found by its name with watching %s',
    async watching => {
      using folder = new TemporaryFolder()
      folder.writeSkill('a/t')
      mkdirSync(folder.at('b'))
      await using skills = await openScripts(folder.path, { source: { watching } })
      for (const [from, to] of [
        ['a/t', 'b/t'],
        ['b/t', 'b/other'],
      ] as const) {
        renameSync(folder.at(from), folder.at(to))
        expect((await skills.load('t')).location).toBe(to)
      }
    },
  )
})

describe.each(['auto', 'polling', 'off'] as const)(
  'a read right after a save, with watching %s',
  watching => {
    test('every way to read skills returns the saved files', async () => {
      using folder = new TemporaryFolder()
      folder.writeSkill('category/first')
      await using skills = await openScripts(folder.path, { source: { watching } })
      const session = skills.session({ id: 'one' })
      const doors = { session: session.tools, stateless: skills.tools() }
      let round = 0
      for (const [door, tools] of Object.entries(doors)) {
        const call = async (input: unknown): Promise<string> =>
          (await tools.find(({ name }) => name === 'skill')?.execute(input))?.text ?? ''
        const make = (): string => {
          const name = `later-${door}-${++round}`
          folder.writeSkill(`category/${name}`, { description: `Does word${round} for ${door}.` })
          return name
        }
        const listed = make()
        expect(await call({})).toContain(listed)
        const named = make()
        expect(await call({ name: named })).toContain(`Instructions of ${named}`)
        const searched = make()
        expect(await call({ name: `something with word${round} for you` })).toContain(searched)
        const slashed = make()
        const expand =
          door === 'session' ? session.expandSlash.bind(session) : skills.expandSlash.bind(skills)
        expect((await expand(`/${slashed} now`)).text).toContain(`Instructions of ${slashed}`)
        const read = make()
        const reader = tools.find(({ name }) => name === 'read_skill_file')
        expect((await reader?.execute({ skill: read, path: 'SKILL.md' }))?.text).toContain(`name: ${read}`)
        const commanded = make()
        folder.write(`category/${commanded}/scripts/go.js`, commandText('go', 'return "went"'))
        expect((await skills.scripts.execute(`${commanded}.go`)).value).toBe('went')
      }
    })
  },
)

test('handlers that subscribe later get no events for existing skills', async () => {
  using folder = new TemporaryFolder()
  for (const name of ['a', 'b']) {
    folder.writeSkill(name)
    folder.write(
      `${name}/scripts/go.js`,
      commandText('go', 'return 1', 'await new Promise(resolve => setTimeout(resolve, 50))'),
    )
  }
  await using skills = await openScripts(folder.path)
  const heard: string[] = []
  skills.events.on('skill:added', ({ skill }) => void heard.push(skill.name))
  await skills.scripts.ready()
  await skills.delivered()
  expect(heard).toEqual([])
  folder.writeSkill('c')
  await skills.fresh()
  await skills.delivered()
  expect(heard).toEqual(['c'])
})
