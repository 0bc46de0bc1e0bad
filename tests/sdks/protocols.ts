import type { ServerResponse } from 'node:http'
import type { Reply } from './model-server.ts'

export type Protocol = 'chat' | 'responses' | 'anthropic'

/** The body of a request. The three protocols name different fields. */
export type Sent = Readonly<Record<string, unknown>> & { readonly tools?: readonly unknown[] }

type Said = Extract<Reply, { readonly kind: 'text' | 'call' }>

interface Answer {
  readonly path: string
  readonly read: (body: Sent) => { readonly system: unknown; readonly messages: readonly object[] }
  readonly send: (response: ServerResponse, reply: Said, body: Sent, serial: number) => void
}

const MODEL = 'test-model'

/** How the server reads requests and writes answers in each protocol. */
export const ANSWERS: Readonly<Record<Protocol, Answer>> = {
  chat: { path: '/chat/completions', read: readChat, send: sendChat },
  responses: { path: '/responses', read: readResponses, send: sendResponses },
  anthropic: { path: '/messages', read: readAnthropic, send: sendAnthropic },
}

function readChat(body: Sent): ReturnType<Answer['read']> {
  const all = body['messages'] as readonly { readonly role: string }[]
  const isSystem = ({ role }: { readonly role: string }): boolean => role === 'system' || role === 'developer'
  const end = all.findIndex(message => !isSystem(message))
  const count = end === -1 ? all.length : end
  return { system: all.slice(0, count), messages: all.slice(count) }
}

function readResponses(body: Sent): ReturnType<Answer['read']> {
  const input = body['input']
  const messages = typeof input === 'string' ? [{ role: 'user', content: input }] : (input as object[])
  return { system: body['instructions'] ?? '', messages }
}

function readAnthropic(body: Sent): ReturnType<Answer['read']> {
  const { system } = body
  const text = Array.isArray(system) ? system : [{ type: 'text', text: system ?? '' }]
  return { system: text, messages: body['messages'] as object[] }
}

function sendChat(response: ServerResponse, reply: Said, body: Sent, serial: number): void {
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  const head = { id: `chat-${serial}`, created: 1, model: MODEL }
  const call = {
    id: `call_${serial}`,
    type: 'function',
    function: reply.kind === 'call' ? { name: reply.name, arguments: JSON.stringify(reply.input) } : {},
  }
  const said =
    reply.kind === 'text' ? { content: reply.text } : { content: null, tool_calls: [{ index: 0, ...call }] }
  const finish_reason = reply.kind === 'text' ? 'stop' : 'tool_calls'
  const message = { role: 'assistant', ...said }
  if (body['stream'] !== true) {
    const choices = [{ index: 0, message, finish_reason }]
    sendJson(response, { ...head, object: 'chat.completion', choices, usage })
    return
  }
  const object = 'chat.completion.chunk'
  sendEvents(response, [
    { ...head, object, choices: [{ index: 0, delta: message, finish_reason: null }] },
    { ...head, object, choices: [{ index: 0, delta: {}, finish_reason }], usage },
    '[DONE]',
  ])
}

function sendResponses(response: ServerResponse, reply: Said, body: Sent, serial: number): void {
  const item =
    reply.kind === 'text'
      ? {
          id: `msg_${serial}`,
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: reply.text, annotations: [] }],
        }
      : {
          id: `fc_${serial}`,
          type: 'function_call',
          call_id: `call_${serial}`,
          name: reply.name,
          arguments: JSON.stringify(reply.input),
          status: 'completed',
        }
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 15,
  }
  const whole = {
    id: `resp_${serial}`,
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: MODEL,
    output: [item],
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
    usage,
  }
  if (body['stream'] !== true) {
    sendJson(response, whole)
    return
  }
  const started = { ...whole, status: 'in_progress', output: [] }
  const place = { output_index: 0, item_id: item.id }
  const deltas =
    reply.kind === 'text'
      ? [
          {
            type: 'response.content_part.added',
            ...place,
            content_index: 0,
            part: { type: 'output_text', text: '', annotations: [] },
          },
          { type: 'response.output_text.delta', ...place, content_index: 0, delta: reply.text },
          { type: 'response.output_text.done', ...place, content_index: 0, text: reply.text },
        ]
      : [
          {
            type: 'response.function_call_arguments.delta',
            ...place,
            delta: JSON.stringify(reply.input),
          },
          {
            type: 'response.function_call_arguments.done',
            ...place,
            arguments: JSON.stringify(reply.input),
          },
        ]
  const events = [
    { type: 'response.created', response: started },
    { type: 'response.output_item.added', output_index: 0, item: emptied(item) },
    ...deltas,
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: whole },
  ]
  sendEvents(
    response,
    events.map((event, sequence_number) => ({ ...event, sequence_number })),
    true,
  )
}

function emptied(item: object): object {
  const fresh = { ...item, status: 'in_progress' }
  return 'content' in item ? { ...fresh, content: [] } : { ...fresh, arguments: '' }
}

function sendAnthropic(response: ServerResponse, reply: Said, body: Sent, serial: number): void {
  const block =
    reply.kind === 'text'
      ? { type: 'text', text: reply.text }
      : { type: 'tool_use', id: `toolu_${serial}`, name: reply.name, input: reply.input }
  const stop_reason = reply.kind === 'text' ? 'end_turn' : 'tool_use'
  const usage = {
    input_tokens: 10,
    output_tokens: 5,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
  }
  const message = { id: `msg_${serial}`, type: 'message', role: 'assistant', model: body['model'] ?? MODEL }
  if (body['stream'] !== true) {
    sendJson(response, { ...message, content: [block], stop_reason, stop_sequence: null, usage })
    return
  }
  const start = reply.kind === 'text' ? { type: 'text', text: '' } : { ...block, input: {} }
  const delta =
    reply.kind === 'text'
      ? { type: 'text_delta', text: reply.text }
      : { type: 'input_json_delta', partial_json: JSON.stringify(reply.input) }
  sendEvents(
    response,
    [
      {
        type: 'message_start',
        message: { ...message, content: [], stop_reason: null, stop_sequence: null, usage },
      },
      { type: 'content_block_start', index: 0, content_block: start },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
      { type: 'message_stop' },
    ],
    true,
  )
}

function sendJson(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

function sendEvents(response: ServerResponse, events: readonly (object | string)[], isNamed = false): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of events) {
    if (isNamed && typeof event === 'object' && 'type' in event)
      response.write(`event: ${String(event.type)}\n`)
    response.write(`data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
  }
  response.end()
}
