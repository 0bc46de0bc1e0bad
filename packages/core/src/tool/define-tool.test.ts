import { describe, expect, test } from 'vitest'
import { SkillError } from '../errors.ts'
import { defineTool, defineToolBySchema, type ToolCall, withCheck } from './define-tool.ts'
import { type ToolContext, type ToolDefinition, toolSuccess } from './tool-definition.ts'

/** A tool that answers with its input. */
const echo = (): ToolDefinition =>
  defineTool({
    name: 'echo',
    description: 'Answers with its input.',
    properties: { text: { type: 'string' }, more: { type: 'object' } },
    required: ['text'],
    aliases: { words: 'text' },
    run: async input => toolSuccess(JSON.stringify(input)),
  })

describe('input of a tool', () => {
  test.each([
    ['an object', { text: 'a' }, '{"text":"a"}'],
    ['JSON text, from SDKs that do not parse it', '{"text":"a"}', '{"text":"a"}'],
    ['nothing', undefined, '{}'],
    ['null', null, '{}'],
    ['an empty text', ' ', '{}'],
    ['an accepted alias', { words: 'a' }, '{"text":"a"}'],
    ['an object without a prototype', Object.assign(Object.create(null), { text: 'a' }), '{"text":"a"}'],
  ])('the tool accepts %s', async (_name, input, expected) => {
    expect(await echo().execute(input)).toEqual({ text: expected, isError: false })
  })

  test.each([
    ['a word', 'pdf', 'the input is pdf; it must be a JSON object; the fields are "text", "more"'],
    ['a list', ['pdf'], 'the input is ["pdf"]; it must be a JSON object; the fields are "text", "more"'],
    [
      'a list as text',
      '["pdf"]',
      'the input is ["pdf"]; it must be a JSON object; the fields are "text", "more"',
    ],
    ['null as text', 'null', 'the input is null; it must be a JSON object; the fields are "text", "more"'],
    ['a number', 3, 'the input is a number; it must be a JSON object; the fields are "text", "more"'],
    [
      'JSON that was cut off',
      `{"text":"${'a'.repeat(200)}`,
      /^the input is \{"text":"a{91}\.\.\.; it must be/,
    ],
    ['another field', { txt: 'a' }, 'there is no field "txt"; the fields are "text", "more"'],
    ['another field in JSON text', '{"txt":"a"}', 'there is no field "txt"; the fields are "text", "more"'],
  ])('the tool refuses %s with a hint', async (_name, input, expected) => {
    const { text, isError } = await echo().execute(input)
    expect(isError).toBe(true)
    expect(text).toMatch(expected)
  })

  test('the input may have any field if the tool is defined by a schema, because such a tool checks its own input', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } }, $defs: {} }
    const tool = defineToolBySchema({
      name: 'own',
      description: 'Checks its input.',
      schema,
      run: async input => toolSuccess(JSON.stringify(input)),
    })
    expect(tool.inputSchema).toEqual({ ...schema, required: [], additionalProperties: true })
    expect((await tool.execute('{"b":1}')).text).toBe('{"b":1}')
  })
})

describe('a defined tool', () => {
  test('a tool is frozen, and its execute() works without `this`', async () => {
    const { execute, ...rest } = echo()
    expect(Object.isFrozen(echo())).toBe(true)
    expect(rest).toEqual({
      name: 'echo',
      description: 'Answers with its input.',
      inputSchema: echo().inputSchema,
    })
    expect((await execute({ text: 'a' })).isError).toBe(false)
  })

  test('withCheck() keeps the schema of the tool, and passes the parsed input to the check', async () => {
    const seen: unknown[] = []
    const tool = echo()
    const checked = withCheck(tool, (name, input) => {
      seen.push([name, input])
      return seen.length === 1 ? 'not now' : undefined
    })
    checked.inputSchema.properties['text'] = { type: 'integer' }
    expect(checked.inputSchema).toEqual(tool.inputSchema)
    expect(await checked.execute('{"text":"a"}')).toEqual({ text: 'not now', isError: true })
    expect(await checked.execute(undefined)).toEqual({ text: '{}', isError: false })
    expect(seen).toEqual([
      ['echo', { text: 'a' }],
      ['echo', {}],
    ])
  })

  test('the context that run() receives has no undefined or null fields', async () => {
    const calls: ToolCall[] = []
    const tool = defineTool({
      name: 'now',
      description: 'Keeps its context.',
      properties: {},
      run: async (_input, call) => {
        calls.push(call)
        return toolSuccess('done')
      },
    })
    const { signal } = new AbortController()
    for (const context of [undefined, {}, { signal: undefined, onProgress: undefined }, { signal }])
      await tool.execute({}, context)
    await tool.execute({}, { signal: null } as unknown as ToolContext)
    expect(calls).toEqual([{}, {}, {}, { signal }, {}])
  })
})

describe('a tool call', () => {
  const reason = new Error('no longer wanted')

  test('a call rejects if its signal was aborted before the call, and neither the check nor the tool runs', async () => {
    let runs = 0
    const tool = defineTool({
      name: 'count',
      description: 'Counts.',
      properties: {},
      run: async () => toolSuccess(String(++runs)),
    })
    const checked = withCheck(tool, () => String(++runs))
    for (const each of [tool, checked])
      await expect(each.execute({ unknown: 1 }, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(runs).toBe(0)
  })

  test('a call rejects immediately if its signal aborts, and a later failure of the tool is ignored', async () => {
    const { promise, reject } = Promise.withResolvers<never>()
    const tool = defineTool({ name: 'wait', description: 'Waits.', properties: {}, run: () => promise })
    const stop = new AbortController()
    const call = tool.execute({}, { signal: stop.signal })
    stop.abort(reason)
    await expect(call).rejects.toBe(reason)
    reject(new Error('too late'))
  })

  test('with endsItself, the tool completes its work after the signal aborts', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const tool = defineTool({
      name: 'write',
      description: 'Writes.',
      properties: {},
      endsItself: true,
      run: async () => {
        await promise
        return toolSuccess('written')
      },
    })
    const stop = new AbortController()
    const call = tool.execute({}, { signal: stop.signal })
    stop.abort(reason)
    resolve()
    expect((await call).text).toBe('written')
  })
})

test('a call that times out is an answer to the model, and a failure of the host is thrown', async () => {
  const fail = (code: 'TIMED_OUT' | 'CLOSED'): ToolDefinition =>
    defineTool({
      name: 'fail',
      description: 'Fails.',
      properties: {},
      run: async () => {
        throw new SkillError(code, 'no text')
      },
    })
  expect(await fail('TIMED_OUT').execute({})).toEqual({ text: 'no text', isError: true })
  await expect(fail('CLOSED').execute({})).rejects.toMatchObject({ code: 'CLOSED' })
})
