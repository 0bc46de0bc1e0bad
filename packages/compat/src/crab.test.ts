import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { verifies } from '@skillstoke/requirements'
import { afterEach, describe, expect, test } from 'vitest'
import { SkillHandler } from './index.ts'

const text = (name: string, description = `Does ${name}.`, body = `Body of ${name}.`): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n${body}\n`

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function folder(files: Readonly<Record<string, string>>): string {
  const path = mkdtempSync(join(tmpdir(), 'crab-'))
  folders.push(path)
  write(path, files)
  return path
}

function write(path: string, files: Readonly<Record<string, string>>): void {
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(path, file)), { recursive: true })
    writeFileSync(join(path, file), content)
  }
}

describe('SkillHandler.load()', () => {
  test(`SkillHandler finds skills in all folders except hidden folders, and keeps the first skill of each name ${verifies('CRAB-16', 'CRAB-01', 'CRAB-02', 'CRAB-03', 'CRAB-04', 'CRAB-05', 'CRAB-06', 'CRAB-X05', 'CRAB-X08')}`, async () => {
    const first = folder({
      'greet/SKILL.md': text('greet', 'First.'),
      'category/deep/SKILL.md': text('deep'),
      'category/deep/inner/SKILL.md': text('inner'),
      '.hidden/secret/SKILL.md': text('secret'),
      'broken/SKILL.md': '---\nname: "broken\n',
    })
    const second = folder({ 'greet/SKILL.md': text('greet', 'Second.'), 'other/SKILL.md': text('other') })
    await using handler = await SkillHandler.load([first, join(first, 'none'), second])
    expect(handler.skills().map(({ name }) => name)).toEqual(['deep', 'greet', 'inner', 'other'])
    expect(handler.runtime.current.get('greet').description).toBe('First.')
    const shadowed = handler.runtime.current.reports().find(({ status }) => status === 'shadowed')
    expect(shadowed?.diagnostics[0]?.message).toContain(`${second}/greet" is shadowed by "${first}/greet"`)
  })

  test(`load() and each later call warn once of each skill whose name an earlier folder has ${verifies('CRAB-06', 'CRAB-X07')}`, async () => {
    const first = folder({ 'greet/SKILL.md': text('greet', 'First.'), 'same/SKILL.md': text('same') })
    const second = folder({ 'greet/SKILL.md': text('greet', 'Second.'), 'same/SKILL.md': text('same') })
    const warned: unknown[] = []
    const silent = (): void => undefined
    const warn = (message: string, fields?: object): void => void warned.push([message, fields])
    const logger = { debug: silent, info: silent, warn, error: silent }
    const message = 'two folders have a skill of the same name; only one is served'
    await using handler = await SkillHandler.load([first, second], { logger })
    expect(warned).toEqual([
      [message, { skill: 'greet', ignored: `${second}/greet`, served: `${first}/greet` }],
      [message, { skill: 'same', ignored: `${second}/same`, served: `${first}/same` }],
    ])
    write(second, { 'greet/SKILL.md': text('greet', 'Third.') })
    write(first, { 'late/SKILL.md': text('late', 'First.') })
    write(second, { 'late/SKILL.md': text('late', 'Second.') })
    await handler.call({ name: '' })
    await handler.runtime.delivered()
    expect(warned.slice(2)).toEqual([
      [message, { skill: 'late', ignored: `${second}/late`, served: `${first}/late` }],
    ])
  })

  test(`add() accepts a skill that the program created, but throws if the name exists ${verifies('CRAB-07', 'CRAB-B07')}`, async () => {
    await using handler = await SkillHandler.load([folder({ 'greet/SKILL.md': text('greet') })])
    await handler.add({ name: 'added', description: 'By the program.', body: 'Do it.' })
    expect(handler.contains('added')).toBe(true)
    await expect(handler.add({ name: 'greet', description: 'x' })).rejects.toMatchObject({
      code: 'DUPLICATE_SKILL',
    })
    await handler.upsert({ name: 'added', description: 'Replaced.' })
    expect(handler.skills().map(({ name, description }) => `${name}: ${description}`)).toEqual([
      'added: Replaced.',
      'greet: Does greet.',
    ])
    expect(handler.contains('none')).toBe(false)
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        handler.upsert({ name: `many-${index}`, description: 'One of many.' }),
      ),
    )
    expect(handler.skills().filter(({ name }) => name.startsWith('many-'))).toHaveLength(20)
  })

  test(`an agent cannot reach skills outside its scope ${verifies('CRAB-B03', 'P18')}`, async () => {
    const path = folder({ 'on/SKILL.md': text('on'), 'off/SKILL.md': text('off') })
    await using handler = await SkillHandler.load([path])
    const { runtime } = handler
    const scope = { exclude: ['off'] }
    const session = runtime.session({ id: 's', scope })
    const [skill, readFile] = session.tools
    expect(session.catalog).not.toContain('off')
    expect((await skill?.execute({ name: '' }))?.text).toBe('- on: Does on.')
    for (const name of ['off', '/off', 'Does off'])
      expect((await skill?.execute({ name }))?.text).not.toContain('Body of off')
    expect((await readFile?.execute({ skill: 'off', path: 'SKILL.md' }))?.isError).toBe(true)
    expect((await session.expandSlash('/off')).skill).toBeUndefined()
    expect((await runtime.lookup('off', { scope })).kind).not.toBe('loaded')
    expect(runtime.forConversation({ scope }).search('off')).toEqual([])
  })

  test(`SkillHandler reads the optional fields of a skill, or accepts that they are missing ${verifies('CRAB-X05')}`, async () => {
    const fields = 'license: MIT\ncompatibility: any\nmetadata:\n  a: b\nallowed-tools: Read\n'
    const path = folder({ 'full/SKILL.md': `---\nname: full\ndescription: d\n${fields}---\n` })
    await using handler = await SkillHandler.load([path])
    expect(handler.runtime.current.get('full')).toMatchObject({
      license: 'MIT',
      compatibility: 'any',
      metadata: { a: 'b' },
      allowedTools: ['Read'],
    })
  })
})

describe('SkillHandler.call()', () => {
  test(`the skill tool returns the newest body and the folder of a skill ${verifies('CRAB-08', 'CRAB-11', 'CRAB-13', 'CRAB-X01', 'CRAB-B06')}`, async () => {
    const path = folder({ 'greet/SKILL.md': text('greet') })
    await using handler = await SkillHandler.load([path])
    expect(await handler.call({ name: 'greet' })).toBe(`Body of greet.\n\nSkill directory: ${path}/greet`)
    write(path, { 'greet/SKILL.md': text('greet', undefined, 'Newest.'), 'new/SKILL.md': text('new') })
    expect(await handler.call('{"name": "greet"}')).toContain('Newest.')
    expect(await handler.call({ name: 'new' })).toContain('Body of new.')
  })

  test(`the skill tool checks the scope, then looks for the exact name, and then searches by words ${verifies('CRAB-09', 'CRAB-10', 'CRAB-12', 'CRAB-15', 'CRAB-X02', 'CRAB-B01', 'P18')}`, async () => {
    const path = folder({
      'greet/SKILL.md': text('greet', 'Says hello to colleagues.'),
      'secret/SKILL.md': text('secret', 'Hello from the vault.'),
    })
    await using handler = await SkillHandler.load([path])
    const scope = { skills: ['greet'] }
    expect(await handler.call({ name: 'secret' }, scope)).toBe('skill not available: secret')
    expect(await handler.call({ name: '../greet' }, scope)).toBe('invalid skill name: ../greet')
    expect(await handler.call({ name: 'a\\b' })).toBe('invalid skill name: a\\b')
    expect(await handler.call({ name: '' }, scope)).toBe('greet: Says hello to colleagues.')
    expect(await handler.call({}, { skills: [] })).toBe(
      'greet: Says hello to colleagues.\nsecret: Hello from the vault.',
    )
    expect(await handler.call({ name: 'HELLO' }, scope)).toBe('greet: Says hello to colleagues.')
    expect(await handler.call({ name: 'olleagu' })).toBe('greet: Says hello to colleagues.')
    expect(await handler.call({ name: 'nothing like it' })).toBe('no skills found')
    expect(await handler.call('{"name": ')).toMatch(/^invalid arguments: /)
    expect(await handler.call(null)).toBe('invalid arguments: null is not an object; send { "name": "..." }')
    expect(await handler.call({ name: 42 })).toBe('invalid arguments: "name" is 42; it must be text')
    write(path, { 'bad/SKILL.md': '---\nname: bad\n---\n' })
    expect(await handler.call({ name: 'bad' })).toMatch(
      /^failed to parse skill: the skill has no description/,
    )
  })

  test(`the names in a scope are names, and not patterns ${verifies('CRAB-15')}`, async () => {
    const path = folder({ 'greet/SKILL.md': text('greet'), 'gr*t/SKILL.md': text('gr*t') })
    await using handler = await SkillHandler.load([path])
    const namesIn = (...skills: string[]): string[] => handler.skills({ skills }).map(({ name }) => name)
    expect([namesIn('*'), namesIn('gr*t'), namesIn('g.eet'), namesIn('greet')]).toEqual([
      [],
      ['gr*t'],
      [],
      ['greet'],
    ])
    const scope = { skills: ['gr*'] }
    expect(await handler.call({ name: 'greet' }, scope)).toBe('skill not available: greet')
    expect(await handler.call({ name: '' }, scope)).toBe('no skills found')
    expect(await handler.resolveSlash('/greet', scope)).toBe('/greet')
    expect(handler.renderResources(scope)).toBe('')
    for (const skills of [[''], 'greet', [1]])
      await expect(handler.call({ name: 'greet' }, { skills } as never)).rejects.toThrow(
        'list names of skills, or use [] for all skills',
      )
  })

  test(`SkillHandler finds nested skills and skills whose folder is named differently, but no deleted skills ${verifies('CRAB-B02', 'CRAB-B03')}`, async () => {
    const path = folder({
      'category/deep/SKILL.md': text('deep'),
      'folder/SKILL.md': text('real-name'),
      'gone/SKILL.md': text('gone'),
    })
    await using handler = await SkillHandler.load([path])
    expect(await handler.call({ name: 'deep' })).toContain('Body of deep.')
    expect(await handler.call({ name: 'folder' })).toContain('Body of real-name.')
    rmSync(join(path, 'gone'), { recursive: true })
    expect(await handler.call({ name: '' })).toBe('deep: Does deep.\nreal-name: Does real-name.')
    expect(await handler.call({ name: 'gone' })).toBe('no skills found')
  })

  test(`a SKILL.md with Windows line ends is read completely ${verifies('CRAB-B05')}`, async () => {
    const crlf = '---\nname: win\ndescription: d\nlicense: l\ncompatibility: xyz\n---\nFirst line.\n'
    const path = folder({ 'win/SKILL.md': crlf.replaceAll('\n', '\r\n') })
    await using handler = await SkillHandler.load([path])
    expect(handler.runtime.current.get('win').compatibility).toBe('xyz')
    expect(await handler.call({ name: 'win' })).toMatch(/^First line\.\n\n/)
  })
})

test(`slash commands and the resource block contain only skills in the scope ${verifies('CRAB-14', 'CRAB-15', 'CRAB-X04')}`, async () => {
  const path = folder({ 'greet/SKILL.md': text('greet'), 'secret/SKILL.md': text('secret', '<b> & more') })
  await using handler = await SkillHandler.load([path])
  const scope = { skills: ['greet'] }
  expect(await handler.resolveSlash('/greet Ada', scope)).toBe(
    'Ada\n\n<skill name="greet">\nBody of greet.\n</skill>',
  )
  expect(await handler.resolveSlash('/secret', scope)).toBe('/secret')
  expect(handler.renderResources(scope)).toMatch(/^<resources>\n.*\n- greet: Does greet\.\n<\/resources>$/)
  expect(handler.renderResources()).toContain('- secret: &lt;b&gt; &amp; more')
})
