import { randomUUID } from 'node:crypto'
import { createOfflineModel } from '@skillstoke/agent'
import { Hono } from 'hono'
import { z } from 'zod'
import { body, reply, stream } from './api-route.ts'

const message = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: z.union([z.string(), z.array(z.object({ text: z.string().default('') }))]).nullish(),
  tool_call_id: z.string().default(''),
})
const request = z.object({
  model: z.string(),
  messages: z.array(message),
  tools: z.array(z.object({ function: z.object({ name: z.string() }) })).default([]),
  stream: z.boolean().default(false),
})
type Prompt = Parameters<ReturnType<typeof createOfflineModel>['doGenerate']>[0]['prompt']

/** Creates the route that answers requests of the Chat Completions API with the offline model. */
export function createModelRoutes() {
  const offline = createOfflineModel()
  return new Hono().post('/v1/chat/completions', body(request), async context => {
    const { model, messages, tools, stream: isStream } = context.req.valid('json')
    const { content } = await offline.doGenerate({
      prompt: messages.map(toPrompt),
      tools: tools.map(({ function: { name } }) => ({ type: 'function', name, inputSchema: {} })),
    })
    const [part] = content
    const isCall = part?.type === 'tool-call'
    const said = isCall
      ? { content: null, tool_calls: [toCall(part.toolCallId, part.toolName, part.input)] }
      : { content: part?.type === 'text' ? part.text : '' }
    const answer = {
      ...{ id: randomUUID(), created: Math.floor(Date.now() / 1000), model },
      object: isStream ? 'chat.completion.chunk' : 'chat.completion',
      choices: [
        {
          index: 0,
          [isStream ? 'delta' : 'message']: { role: 'assistant', ...said },
          finish_reason: isCall ? 'tool_calls' : 'stop',
        },
      ],
    }
    if (!isStream) return reply(context, answer)
    const events = `data: ${JSON.stringify(answer)}\n\ndata: [DONE]\n\n`
    return stream(context, new Blob([events]).stream(), 'text/event-stream')
  })
}

function toCall(id: string, name: string, input: string): object {
  return { index: 0, id, type: 'function', function: { name, arguments: input } }
}

function toPrompt({ role, content, tool_call_id }: z.infer<typeof message>): Prompt[number] {
  const text = typeof content === 'string' ? content : (content ?? []).map(part => part.text).join('\n')
  if (role === 'tool') {
    const output = { type: 'text', value: text } as const
    return { role, content: [{ type: 'tool-result', toolCallId: tool_call_id, toolName: '', output }] }
  }
  if (role === 'assistant' || role === 'user') return { role, content: [{ type: 'text', text }] }
  return { role: 'system', content: text }
}
