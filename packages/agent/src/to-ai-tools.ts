import type { SkillSession, ToolContext, ToolDefinition, ToolResult } from '@skillstoke/core'
import type { ToolProgress } from '@skillstoke/core/types'
import { dynamicTool, jsonSchema, type ToolSet } from 'ai'

/**
 * The output of a tool call for the AI SDK. The output is the final answer or, in a preliminary result, the newest
 * progress.
 */
export interface AiToolOutput extends ToolResult {
  /** Only in preliminary results. */
  readonly progress?: ToolProgress
}

/**
 * Converts tool definitions into tools of the AI SDK. Call this function only once per conversation, because unchanged
 * tools keep the provider's prompt cache valid.
 *
 * The output of a tool call is the whole `ToolResult`. The model sees only the text, which is marked as an error if
 * `isError` is set. A tool with `reportsProgress` yields its progress as preliminary results, and then the answer. When
 * the `abortSignal` of the model call aborts, the tool call rejects with the reason of that signal.
 *
 * @example
 * ```ts
 * import { createOfflineModel, toAiTools } from '@skillstoke/agent'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 * import { generateText, stepCountIs } from 'ai'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const { catalog, tools } = skills.session({ id: 'chat-1' })
 * const call = { instructions: catalog, tools: toAiTools(tools), stopWhen: stepCountIs(20) }
 * const prompt = 'Use the skill "support-pdf".'
 * const { text } = await generateText({ ...call, model: createOfflineModel(), prompt })
 * console.log(text.includes('Instructions of support-pdf.')) // prints true
 * ```
 */
export function toAiTools(definitions: readonly ToolDefinition[]): ToolSet {
  return Object.fromEntries(definitions.map(definition => [definition.name, toAiTool(definition)]))
}

function toAiTool(definition: ToolDefinition): ToolSet[string] {
  const { description, inputSchema, reportsProgress } = definition
  return dynamicTool({
    description,
    inputSchema: jsonSchema(inputSchema),
    execute: (input, { abortSignal: signal }) =>
      reportsProgress === true
        ? streamCall(definition, input, { signal })
        : definition.execute(input, { signal }),
    toModelOutput: ({ output }) => {
      const { text, isError } = output as AiToolOutput
      return { type: isError ? 'error-text' : 'text', value: text }
    },
  })
}

/** Yields the progress reports of a call, then its answer. A slow reader gets only the newest progress report. */
async function* streamCall(
  definition: ToolDefinition,
  input: unknown,
  { signal }: Pick<ToolContext, 'signal'>,
): AsyncGenerator<AiToolOutput, void, undefined> {
  let newest: ToolProgress | undefined
  let wake = Promise.withResolvers<void>()
  const onProgress = (progress: ToolProgress): void => {
    newest = progress
    wake.resolve()
  }
  let isDone = false
  const work = definition.execute(input, { signal, onProgress }).finally(() => {
    isDone = true
    wake.resolve()
  })
  work.catch(() => undefined) // thrown below, unless the reader has stopped
  for (;;) {
    await wake.promise
    if (isDone) break
    wake = Promise.withResolvers()
    if (newest !== undefined) yield { text: describe(newest), isError: false, progress: newest }
  }
  yield await work
}

function describe({ done, total, message }: ToolProgress): string {
  return message ?? (total === undefined ? `${done}` : `${done} of ${total}`)
}

/**
 * Wraps tools so that the session checks each call and can refuse the call. The model may not know yet which tools are
 * allowed now.
 */
export function withGate(tools: ToolSet, session: SkillSession): ToolSet {
  const gated: ToolSet = {}
  for (const [name, tool] of Object.entries(tools)) {
    const { execute } = tool
    gated[name] =
      execute === undefined
        ? tool
        : {
            ...tool,
            // This function is not async, because a streaming tool must return its iterable to the SDK directly.
            execute: (input: unknown, options: Parameters<typeof execute>[1]) => {
              const refusal = session.checkTool(name, input)
              if (refusal !== undefined) throw new Error(refusal)
              return execute(input, options)
            },
          }
  }
  return gated
}
