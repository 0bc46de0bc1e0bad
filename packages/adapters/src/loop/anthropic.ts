import { defined } from '@skillstoke/core/internal'
import type { LoopCall, LoopOutcome, LoopTool, LoopTools } from './tools.ts'
import type { LoopFormat, LoopTurn } from './turn.ts'

/** A `MessageParam` or a `BetaMessageParam`. */
export interface AnthropicMessage {
  readonly role: string
  /** Absent in some system messages. */
  readonly content?: string | readonly object[]
}

/** The values of `CacheTtl`. */
export const CACHE_TTLS = ['5m', '1h'] as const

/** How long the API keeps a cached prefix after its last use. */
export type CacheTtl = (typeof CACHE_TTLS)[number]

interface CacheControl {
  type: 'ephemeral'
  ttl?: '1h'
}

/**
 * The arguments of `anthropic.messages.create`, or of a tool runner, that a turn needs. A request has three cache
 * breakpoints: the tools, the system text and the last block. The API allows four.
 */
export interface AnthropicRequest<Message> {
  system: { type: 'text'; text: string; cache_control: CacheControl }[]
  messages: Message[]
  tools: AnthropicTool[]
  /** The API puts this breakpoint on the last block of each request, so breakpoints do not accumulate. */
  cache_control: CacheControl
}

/** A tool definition. `parse` and `run` are for a tool runner and are not sent. */
interface AnthropicTool {
  name: string
  description?: string
  input_schema: { type: 'object' }
  cache_control?: CacheControl
  parse: (input: unknown) => unknown
  run: (input: unknown, context?: RunContext) => Promise<string>
}

/** The part of a tool runner's context that the loop uses. */
interface RunContext {
  readonly toolUse: { readonly id: string }
  readonly signal?: AbortSignal | null | undefined
}

/** A `Message` or a `BetaMessage`, or the part of one that the loop uses. */
export interface AnthropicAnswer {
  readonly content: readonly { readonly type: string }[]
  readonly stop_reason: string | null
}

/** A reply of a tool runner, which may stream it. */
type RunnerReply = AnthropicAnswer | { finalMessage: () => Promise<AnthropicAnswer> }

/** The stop reasons after which the model continues its answer in the next call. */
const PAUSES: ReadonlySet<string | null> = new Set(['pause_turn', 'compaction'])
/** The roles whose consecutive messages are merged, so that the roles in a request alternate. */
const MERGED_ROLES: ReadonlySet<string> = new Set(['user', 'assistant'])

/** Creates the format of the Messages API. */
export function createAnthropicFormat<Message extends AnthropicMessage>(
  cacheTtl: CacheTtl,
): LoopFormat<Message, AnthropicRequest<Message>, AnthropicAnswer> {
  const cache_control: CacheControl = { type: 'ephemeral', ...(cacheTtl === '1h' && { ttl: '1h' as const }) }
  return {
    toUserMessage: text => toMessage('user', [{ type: 'text', text }]) as Message,
    append: (history, messages) => messages.reduce(appendMessage, history),
    endsInAnswer: history => history.at(-1)?.role === 'assistant',
    toRequest: (text, messages, tools) => ({
      system: text === '' ? [] : [{ type: 'text', text, cache_control }],
      messages: [...messages],
      tools: tools.list.map((tool, index, { length }) => ({
        ...toAnthropicTool(tool, tools),
        ...(index === length - 1 && { cache_control }),
      })),
      cache_control,
    }),
    read: ({ content, stop_reason }) => ({
      // The API refuses an empty message.
      messages: content.length === 0 ? [] : [toMessage('assistant', content) as Message],
      calls: content.filter(isToolUse).map(block => toCall(block, stop_reason)),
      isCompacted: content.some(isSummary),
      isPaused: PAUSES.has(stop_reason),
    }),
    toResults: outcomes =>
      outcomes.length === 0 ? [] : [toMessage('user', outcomes.map(toToolResult)) as Message],
  }
}

/**
 * Follows a tool runner of the beta API, which runs the tool calls itself. Yields each reply of the runner. After each
 * reply, appends the results of its tool calls to the turn, and appends the notice to the runner's next request. Pass
 * `request()` of the same turn to the runner. Do not call `compactBeforeNextTurn()` of the runner; call `compact()` of
 * the conversation between two turns.
 *
 * @example
 * ```ts no-run
 * import Anthropic from '@anthropic-ai/sdk'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { anthropicLoop, followToolRunner } from '@skillstoke/adapters/loop'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * using chat = anthropicLoop<Anthropic.Beta.BetaMessageParam>(skills, { id: 'chat-1' })
 * const turn = await chat.turn('Use the skill "support-pdf".')
 * const settings = { model: 'claude-sonnet-5', max_tokens: 1024, ...(await turn.request()) }
 * const runner = new Anthropic().beta.messages.toolRunner(settings)
 * for await (const reply of followToolRunner(turn, runner)) console.log(reply.content)
 * turn.keep()
 * ```
 */
export async function* followToolRunner<Message extends AnthropicMessage, Reply extends RunnerReply>(
  turn: LoopTurn<Message, AnthropicRequest<Message>, AnthropicAnswer>,
  runner: AsyncIterable<Reply> & { generateToolResponse(): Promise<Message | null> },
): AsyncGenerator<Reply, void, undefined> {
  for await (const reply of runner) {
    yield reply
    const answer: AnthropicAnswer = 'finalMessage' in reply ? await reply.finalMessage() : reply
    const results = answer.stop_reason === 'tool_use' ? await runner.generateToolResponse() : null
    if (results === null) {
      await turn.answer(answer)
      continue
    }
    const uses = answer.content.filter(isToolUse)
    const describe = (name: string): string | undefined => turn.describeUnknownTool(name)
    const explained = toBlocks(results).map(block => explainUnknownTool(block, uses, describe))
    turn.add(toMessage('assistant', answer.content) as Message, { ...results, content: explained })
    const { messages } = await turn.request()
    // The runner sends this object in its next request.
    Object.assign(results, messages.at(-1))
  }
}

/** Replaces the short answer of the runner to the call of an unknown tool. */
function explainUnknownTool(
  block: { readonly tool_use_id?: string; readonly content?: unknown },
  uses: readonly ToolUse[],
  describe: (name: string) => string | undefined,
): object {
  const use = uses.find(({ id }) => id === block.tool_use_id)
  if (use === undefined || block.content !== `Error: Tool '${use.name}' not found`) return block
  return { ...block, content: describe(use.name) ?? block.content }
}

function appendMessage<Message extends AnthropicMessage>(
  history: readonly Message[],
  message: Message,
): readonly Message[] {
  const last = history.at(-1)
  if (last === undefined || last.role !== message.role || !MERGED_ROLES.has(last.role))
    return [...history, message]
  return [...history.slice(0, -1), { ...last, content: [...toBlocks(last), ...toBlocks(message)] }]
}

function toBlocks({ content = [] }: AnthropicMessage): readonly object[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

function toMessage(role: 'user' | 'assistant', content: readonly object[]): AnthropicMessage {
  return { role, content }
}

interface ToolUse {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  readonly input: unknown
}

function isToolUse(block: { readonly type: string }): block is ToolUse {
  return block.type === 'tool_use'
}

function isSummary(block: { readonly type: string; readonly content?: unknown }): boolean {
  return block.type === 'compaction' && typeof block.content === 'string'
}

function toCall({ id, name, input }: ToolUse, stopReason: string | null): LoopCall {
  if (stopReason === 'tool_use') return { id, name, input }
  // The SDK completes an input that was cut off, so the call would run with a wrong input.
  const fault = `the answer ended with "${stopReason}" before this call was complete, so the call did not run`
  return { id, name, input, fault }
}

function toToolResult({ id, content, isError }: LoopOutcome): object {
  return { type: 'tool_result', tool_use_id: id, content, ...(isError && { is_error: true }) }
}

function toAnthropicTool({ name, description, inputSchema }: LoopTool, tools: LoopTools): AnthropicTool {
  return {
    name,
    ...defined({ description }),
    input_schema: { ...inputSchema, type: 'object' },
    parse: input => input,
    async run(input, context) {
      const { content, isError } = await tools.run(
        { id: context?.toolUse.id ?? '', name, input },
        { signal: context?.signal ?? undefined },
      )
      if (isError) throw new Error(content as string)
      // The SDK also accepts content blocks. Their type is not known here.
      return content as string
    },
  }
}
