import { tool as langchainTool } from '@langchain/core/tools'
import { tool as openaiTool, RunContext } from '@openai/agents'
import {
  createAuthorTools,
  createSkillRuntime,
  type SkillRuntime,
  type ToolDefinition,
} from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

const folder = new TemporaryFolder()
const reason = new Error('the user has left')
let skills: SkillRuntime
let sessions = 0

beforeAll(async () => {
  folder.writeSkill('pdf', { body: 'Fill in the form.' })
  skills = await createSkillRuntime({
    sources: [directory(folder.path, { label: 'skills', writable: true })],
    review: { agentWrites: 'live' },
  })
})

afterAll(async () => {
  await skills.close()
  folder[Symbol.dispose]()
})

const listTools = (id: string): readonly ToolDefinition[] => [
  ...skills.session({ id: `${id}-${++sessions}` }).tools,
  ...createAuthorTools(skills.writer()),
]

const CALLS: readonly (readonly [string, object, string])[] = [
  ['skill', { name: 'pdf' }, 'Fill in the form.'],
  ['read_skill_file', { skill: 'pdf', path: 'SKILL.md' }, 'name: pdf'],
  ['write_skill_file', { skill_name: 'pdf', relative_path: 'a.md', content: 'A.' }, 'Written: '],
  ['reload_skills', {}, 'Skills reloaded. 1 skill(s) now active.'],
]

describe.each(CALLS)('%s', (name, input, expected) => {
  const find = (id: string): ToolDefinition => {
    const found = listTools(id).find(tool => tool.name === name)
    if (found === undefined) throw new Error(`no tool ${name}`)
    return found
  }

  test('a LangChain agent calls our tool twice in each of two conversations', async () => {
    for (const id of ['one', 'two']) {
      const { description, inputSchema, execute } = find(id)
      const tool = langchainTool(async (given, { signal }) => (await execute(given, { signal })).text, {
        name,
        description,
        schema: inputSchema,
      })
      for (let round = 1; round <= 2; round++) expect(await tool.invoke(input)).toContain(expected)
      await expect(tool.invoke({ wrong: 1 })).rejects.toThrow('schema')
      await expect(tool.invoke(input, { signal: AbortSignal.abort(reason) })).rejects.toThrow()
    }
  })

  test('an OpenAI Agents tool from the SDK factory accepts the JSON text that a model sends', async () => {
    const { description, inputSchema, execute } = find('openai')
    const tool = openaiTool({
      name,
      description,
      parameters: { ...inputSchema, additionalProperties: true },
      strict: false,
      execute: async (given, _context, details) => (await execute(given, { signal: details?.signal })).text,
    })
    const context = new RunContext()
    for (let round = 1; round <= 2; round++)
      expect(await tool.invoke(context, JSON.stringify(input))).toContain(expected)
    expect(await tool.invoke(context, '{"wrong":1}')).toContain('there is no field "wrong"')
    // Makes the same call on a hand-written tool object, which does not parse JSON text.
    expect((await execute(JSON.stringify(input))).text).toContain(expected)
  })
})
