import type {
  SkillSession,
  ToolContext,
  ToolDefinition,
  ToolInputSchema,
  ToolProgress,
} from '@skillstoke/core'
import { SkillError, type ToolResult } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'

/** The input of a tool as a Standard Schema. The tool itself checks its input. */
export interface StandardInputSchema {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: 'skillstoke'
    readonly validate: (value: unknown) => { readonly value: unknown }
    readonly jsonSchema: { readonly input: () => ToolInputSchema; readonly output: () => ToolInputSchema }
  }
}

export function toStandardSchema({ inputSchema }: ToolDefinition): StandardInputSchema {
  const read = (): ToolInputSchema => inputSchema
  const jsonSchema = { input: read, output: read }
  return {
    '~standard': { version: 1, vendor: 'skillstoke', validate: value => ({ value }), jsonSchema },
  }
}

/** The answer of a tool, as the AI SDK and Mastra pass it to the model. */
export interface ModelOutput {
  type: 'text' | 'error-text'
  value: string
}

export function toModelOutput({ text, isError }: ToolResult): ModelOutput {
  return { type: isError ? 'error-text' : 'text', value: text }
}

/** Yields the progress reports of a call, then returns its answer. A slow reader gets only the newest report. */
export async function* followCall<Shown>(
  { execute }: ToolDefinition,
  input: unknown,
  context: Pick<ToolContext, 'signal' | 'callId'>,
  show: (progress: ToolProgress) => Shown,
): AsyncGenerator<Shown, ToolResult, undefined> {
  let newest: ToolProgress | undefined
  let wake = Promise.withResolvers<void>()
  const onProgress = (progress: ToolProgress): void => {
    newest = progress
    wake.resolve()
  }
  let isDone = false
  const work = execute(input, { ...context, onProgress }).finally(() => {
    isDone = true
    wake.resolve()
  })
  work.catch(() => undefined) // thrown below, unless the reader has stopped
  for (;;) {
    await wake.promise
    if (isDone) return await work
    wake = Promise.withResolvers()
    if (newest !== undefined) yield show(newest)
  }
}

/** Returns the tools without these names. The author of a skill must not replace a tool of the host by a command. */
export function withoutNames(
  tools: readonly ToolDefinition[] = [],
  names: readonly string[],
): readonly ToolDefinition[] {
  return tools.filter(({ name }) => !names.includes(name))
}

/** @throws {SkillError} INVALID_OPTION if a tool of the host has the name of a tool of the session */
export function assertNoClash(session: SkillSession, names: Iterable<string>): void {
  const own = new Set(session.tools.map(({ name }) => name))
  for (const name of names)
    if (own.has(name))
      throw new SkillError(
        'INVALID_OPTION',
        `your tool ${quote(name)} has the name of a skill tool; rename your tool, or set "skillToolName"`,
      )
}
