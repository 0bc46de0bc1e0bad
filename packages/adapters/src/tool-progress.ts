import type { ToolContext, ToolDefinition, ToolProgress, ToolResult } from '@skillstoke/core'

/** Yields the progress reports of a call, then returns its answer. A slow reader gets only the newest report. */
export async function* followCall(
  { execute }: ToolDefinition,
  input: unknown,
  context: Pick<ToolContext, 'signal' | 'callId'>,
): AsyncGenerator<ToolProgress, ToolResult, undefined> {
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
    if (newest !== undefined) yield newest
  }
}
