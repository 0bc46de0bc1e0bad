import { Validator } from '@cfworker/json-schema'
import {
  createAuthorTools,
  type SkillRuntime,
  type ToolDefinition,
  type ToolInputSchema,
} from '@skillstoke/core'
import { Ajv } from 'ajv'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openScripts } from './fixtures/scripts.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

const folder = new TemporaryFolder()
let skills: SkillRuntime
let sessions = 0

beforeAll(async () => {
  folder.writeSkill('git')
  folder.write(
    'git/scripts/a.ts',
    `import { defineCommand } from 'skillstoke/command'
    export const log = defineCommand({ name: 'log', description: 'Logs.',
      input: { type: 'object', properties: { path: { $ref: '#/$defs/path' } }, $defs: { path: { type: 'string' } } },
      run: ({ path }) => path })
    export const plain = defineCommand({ name: 'plain', description: 'Takes nothing.', run: () => 'done' })`,
  )
  skills = await openScripts(folder.path, { source: { writable: true } })
})

afterAll(async () => {
  await skills.close()
  folder[Symbol.dispose]()
})

/** For each tool name, an input that the schema of the tool accepts. */
const INPUTS: Readonly<Record<string, object>> = {
  skill: { name: 'git' },
  read_skill_file: { skill: 'git', path: 'SKILL.md', offset: 3 },
  run_skill_command: { skill: 'git', command: 'log', input: { path: 'a' } },
  run_skill_script: { skill: 'git', path: 'scripts/b.py', args: ['a'] },
  write_skill_file: { skill_name: 'a', relative_path: 'SKILL.md', content: '' },
  reload_skills: {},
  skill_reload: { name: 'git' },
  skill_unload: { name: 'git' },
  git__log: { path: 'a' },
  git__plain: {},
}

function listTools(id: string): readonly ToolDefinition[] {
  return [
    ...skills.session({ id: `${id}-${++sessions}` }).tools,
    ...createAuthorTools(skills.writer()),
    ...skills.adminTools(),
    ...skills.commandTools(),
  ]
}

/** Yields every object in a schema, because a host could modify each of these objects. */
function* objectsIn(value: unknown): Generator<object, void, undefined> {
  if (typeof value !== 'object' || value === null) return
  yield value
  for (const inner of Object.values(value)) yield* objectsIn(inner)
}

function spoil(schema: object): void {
  for (const each of [...objectsIn(schema)])
    if (Array.isArray(each)) each.push('spoilt')
    else Object.assign(each, { type: 'null', __absolute_uri__: 'spoilt' })
}

describe('the schema of a tool', () => {
  test('every tool has an input in this test', () => {
    expect(
      listTools('names')
        .map(({ name }) => name)
        .sort(),
    ).toEqual(Object.keys(INPUTS).sort())
    expect(skills.tools().map(({ name }) => name)).toEqual(
      listTools('names')
        .slice(0, 4)
        .map(({ name }) => name),
    )
  })

  // The strictest limits of the SDKs and their providers.
  test.each(Object.keys(INPUTS))('%s: every host accepts the name and description of the tool', name => {
    const tool = listTools('limits').find(each => each.name === name)
    expect(tool?.name).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/)
    expect(tool?.description).toMatch(/^\S[^\n]{0,1022}\S$/)
    expect(Object.isFrozen(tool)).toBe(true)
  })

  test.each(Object.keys(INPUTS))('%s: the schema is complete, plain JSON without frozen objects', name => {
    const schema = listTools('plain').find(tool => tool.name === name)?.inputSchema
    expect(schema).toMatchObject({
      type: 'object',
      properties: expect.any(Object),
      required: expect.any(Array),
    })
    expect(typeof schema?.additionalProperties).toBe('boolean')
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema)
    for (const each of objectsIn(schema)) {
      expect(Object.isExtensible(each)).toBe(true)
      expect([Object.prototype, Array.prototype]).toContain(Object.getPrototypeOf(each))
    }
  })

  // In each of two conversations, two validators check each schema twice. A validator may modify or keep the schema
  // object.
  test.each(Object.keys(INPUTS))('%s: validators can use the schema repeatedly', name => {
    const ajv = new Ajv()
    for (const id of ['one', 'two']) {
      const tool = listTools(id).find(each => each.name === name)
      for (let round = 1; round <= 2; round++) {
        const schema = tool?.inputSchema as ToolInputSchema
        expect(new Validator({ ...schema }).validate(INPUTS[name]), `${id} ${round}`).toMatchObject({
          valid: true,
        })
        expect(new Validator(schema).validate(INPUTS[name]), `${id} ${round}`).toMatchObject({ valid: true })
        expect(new Validator(schema).validate({ [name]: 1 }).valid).toBe(name === 'git__log')
        expect(ajv.validate(tool?.inputSchema as ToolInputSchema, INPUTS[name])).toBe(true)
      }
    }
  })

  test.each(Object.keys(INPUTS))('%s: each reader gets a separate copy of the schema', async name => {
    const [one, two] = ['one', 'two'].map(id => listTools(id).find(tool => tool.name === name))
    const before = JSON.stringify(one?.inputSchema)
    for (const tool of [one, two]) spoil(tool?.inputSchema ?? {})
    for (const tool of [one, two, listTools('three').find(each => each.name === name)])
      expect(JSON.stringify(tool?.inputSchema)).toBe(before)
    expect(await one?.execute({ nothing: 1 })).toMatchObject({ isError: name !== 'git__log' })
  })

  test('each call that lists commands returns new copies of the command schemas', async () => {
    const before = JSON.stringify(skills.scripts.list())
    const { command } = await skills.scripts.execute('git.log', { path: 'a' })
    spoil(command.inputSchema)
    for (const each of skills.scripts.list()) spoil(each.inputSchema)
    for (const { commands } of skills.scripts.status()) for (const each of commands) spoil(each.inputSchema)
    spoil(skills.scripts.find('git.log')?.inputSchema ?? {})
    expect(JSON.stringify(skills.scripts.list())).toBe(before)
    expect((await skills.scripts.execute('git.log', { path: 'b' })).value).toBe('b')
  })
})
