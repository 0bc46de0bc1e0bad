import { createOfflineModel } from '@skillstoke/agent'
import type { ToolProgress } from '@skillstoke/core'
import { createSkillRuntime, type ToolDefinition } from '@skillstoke/core'
import { FileSource, MemoryFileSystem, NO_SETTLE } from '@skillstoke/core/source'
import { generateText, stepCountIs, streamText, type ToolSet } from 'ai'
import { describe, expect, test } from 'vitest'
import { type ScriptedAnswer, ScriptedModel } from '../../../../tests/fixtures/scripted-model.ts'
import { skillText } from '../../../../tests/fixtures/skill-folder.ts'
import { toAiTools, withGate } from './tools.ts'

const SCHEMA = { type: 'object', properties: {}, required: [], additionalProperties: false } as const

/** A tool that reports progress twice. After each report, the tool waits for the promise of `goOn()`. */
function slowTool(goOn: (progress: ToolProgress) => Promise<void> = async () => undefined): ToolDefinition {
  return {
    name: 'slow',
    description: 'Works for long.',
    inputSchema: { ...SCHEMA, required: [] },
    reportsProgress: true,
    async execute(_input, context) {
      for (const progress of [
        { done: 1, total: 2 },
        { done: 2, total: 2, message: 'almost' },
      ]) {
        context?.onProgress?.(progress)
        await goOn(progress)
        context?.signal?.throwIfAborted()
      }
      return { text: 'ready', isError: false, revision: 'sha256:00' }
    },
  }
}

const callOnce = (tool: string, input: unknown = {}): ScriptedModel =>
  new ScriptedModel((call): ScriptedAnswer => (call === 1 ? { tool, input } : { text: 'Done.' }))

/** Returns the tool result that the model received. */
const resultIn = (model: ScriptedModel): unknown => {
  const message = model.requests[1]?.prompt.at(-1)
  const part = message?.role === 'tool' ? message.content[0] : undefined
  return part?.type === 'tool-result' ? part.output : undefined
}

const run = async (model: ScriptedModel, tools: ToolSet, abortSignal?: AbortSignal) =>
  await generateText({
    model,
    tools,
    prompt: 'Go.',
    stopWhen: stepCountIs(3),
    ...(abortSignal && { abortSignal }),
  })

describe('toAiTools() in the AI SDK', () => {
  test('passes the text of a loaded skill to the model, and the whole tool result to the host', async () => {
    const fileSystem = new MemoryFileSystem({
      '/skills/refund/SKILL.md': skillText('refund', { body: 'Within 30 days.' }),
    })
    await using skills = await createSkillRuntime({
      sources: [new FileSource({ fileSystem, root: '/skills', label: 'skills' })],
      tuning: { settle: NO_SETTLE },
    })
    const session = skills.session({ id: 'chat' })
    const tools = toAiTools(session.tools)
    const { text, steps } = await generateText({
      model: createOfflineModel(),
      instructions: session.catalog,
      tools,
      prompt: 'Use the skill "refund".',
      stopWhen: stepCountIs(5),
    })
    expect(text).toContain('Within 30 days.')
    const [result] = steps[0]?.toolResults ?? []
    expect(result?.output).toMatchObject({
      isError: false,
      revision: skills.current.get('refund').revision,
      generation: skills.current.digest,
    })
    const model = callOnce('skill', { name: 'refund' })
    await run(model, tools)
    expect(resultIn(model)).toEqual({ type: 'text', value: expect.stringContaining('Within 30 days.') })
    expect(model.requests[0]?.tools).toMatchObject([
      { name: 'skill', inputSchema: { type: 'object', required: [], additionalProperties: false } },
      { name: 'read_skill_file', inputSchema: { required: ['skill', 'path'] } },
    ])
  })

  test('returns an error result for an invalid call of the model', async () => {
    await using skills = await createSkillRuntime({ sources: [] })
    const tools = toAiTools(skills.tools())
    for (const input of [{ nom: 'refund' }, { name: 'refund' }]) {
      const model = callOnce('skill', input)
      await run(model, tools)
      expect(resultIn(model)).toEqual({
        type: 'error-text',
        value: expect.stringMatching(/^no skill|no field/),
      })
    }
  })

  test('streams progress as preliminary results, and the answer as the final result', async () => {
    const seen = Promise.withResolvers<void>()
    // The tool continues only after the test has received the first progress report.
    const tools = toAiTools([slowTool(async ({ done }) => (done === 1 ? await seen.promise : undefined))])
    const outputs: [isPreliminary: boolean, output: unknown][] = []
    const { stream } = streamText({ model: callOnce('slow'), tools, prompt: 'Go.', stopWhen: stepCountIs(3) })
    for await (const part of stream) {
      if (part.type !== 'tool-result') continue
      outputs.push([part.preliminary === true, part.output])
      seen.resolve()
    }
    expect(outputs[0]).toEqual([true, { text: '1 of 2', isError: false, progress: { done: 1, total: 2 } }])
    expect(outputs.at(-1)).toEqual([false, { text: 'ready', isError: false, revision: 'sha256:00' }])
    expect(outputs.filter(([isPreliminary]) => !isPreliminary)).toHaveLength(1)
  })

  test('passes the answer of a tool to the model, but not its progress reports', async () => {
    const model = callOnce('slow')
    await run(model, toAiTools([slowTool()]))
    expect(resultIn(model)).toEqual({ type: 'text', value: 'ready' })
  })

  test('passes an abort to the tool, and the tool call rejects with the reason of the abort', async () => {
    const reason = new Error('the user has left')
    const stop = new AbortController()
    const thrown: unknown[] = []
    const slow = slowTool(async () => stop.abort(reason))
    const tool: ToolDefinition = {
      ...slow,
      execute: async (input, context) =>
        await slow.execute(input, context).catch((error: unknown) => {
          thrown.push(error)
          throw error
        }),
    }
    const model = callOnce('slow')
    await expect(run(model, toAiTools([tool]), stop.signal)).rejects.toBe(reason)
    expect(thrown).toEqual([reason])
    expect(model.requests).toHaveLength(1)
  })

  test('streams the progress of a tool even if withGate() wraps the tool', async () => {
    await using skills = await createSkillRuntime({ sources: [] })
    const tools = withGate(toAiTools([slowTool()]), skills.session({ id: 'chat' }))
    const model = callOnce('slow')
    await run(model, tools)
    expect(resultIn(model)).toEqual({ type: 'text', value: 'ready' })
  })

  test('accepts any valid tool name', () => {
    expect(Object.keys(toAiTools([{ ...slowTool(), name: '__proto__' }]))).toEqual(['__proto__'])
  })
})
