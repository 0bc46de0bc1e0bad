import type { SkillSession, ToolContext } from '@skillstoke/core'
import { quote, toMessage } from '@skillstoke/core/internal'
import { assertNoClash, withoutNames } from '../skill-tools.ts'

/** A tool of the host. A `ToolDefinition` of this library is also a host tool, for example an author tool. */
export interface LoopTool {
  readonly name: string
  readonly description?: string
  /** JSON Schema of the input object. The loop does not check the input against the schema. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** Runs the tool. If the function throws, the model receives the message of the error. */
  // A method, so that tools with typed input are assignable.
  execute(input: never, context: ToolContext): LoopToolOutput | Promise<LoopToolOutput>
}

/** What a tool returns: a text, a text that may be an error, or content blocks in the format of the model API. */
type LoopToolOutput = string | LoopToolResult | readonly LoopContentBlock[]

interface LoopToolResult {
  readonly text: string
  /** @default false */
  readonly isError?: boolean
}

/** A content block of a tool result, for example an image. */
interface LoopContentBlock {
  readonly type: string
}

/** A tool call of the model. */
export interface LoopCall {
  readonly id: string
  readonly name: string
  readonly input: unknown
  /** The reason why the call cannot run, for example because the model was cut off while it wrote the input. */
  readonly fault?: string
}

/** The result of a tool call, in the form that all model APIs accept. */
export interface LoopOutcome {
  readonly id: string
  readonly name: string
  readonly content: string | readonly LoopContentBlock[]
  readonly isError: boolean
}

/** The tools of a conversation: the tools of its session, the tools of the host, and the commands of loaded skills. */
export class LoopTools {
  readonly #constant: readonly LoopTool[]
  /** The commands of loaded skills. They come last, so that the tools before them stay in the cache. */
  #commands: readonly LoopTool[] | undefined
  readonly #session: SkillSession

  /** @throws {SkillError} INVALID_OPTION if a tool of the host has the name of a skill tool */
  constructor(session: SkillSession, own: readonly LoopTool[]) {
    assertNoClash(
      session,
      own.map(({ name }) => name),
    )
    this.#session = session
    this.#constant = [...session.tools, ...own]
  }

  get list(): readonly LoopTool[] {
    return [...this.#constant, ...(this.#commands ?? [])]
  }

  /** Reads the commands at the start of a turn. A process that continues a turn reads them, too. */
  readCommands(isNew: boolean): void {
    if (!isNew && this.#commands !== undefined) return
    const names = this.#constant.map(({ name }) => name)
    this.#commands = withoutNames(this.#session.commandTools(), names)
  }

  /**
   * Runs a tool call. Every failure becomes a result for the model, also a call that the session refuses.
   * @throws the reason of the signal, if the signal is aborted
   */
  async run(call: LoopCall, context: ToolContext): Promise<LoopOutcome> {
    const { id, name, input, fault } = call
    context.signal?.throwIfAborted()
    const refusal = fault ?? this.describeUnknown(name) ?? this.#session.checkTool(name, input)
    if (refusal !== undefined) return { id, name, content: refusal, isError: true }
    try {
      const output = await this.#find(name)?.execute(input as never, { ...context, callId: id })
      return { id, name, ...toOutcome(output ?? '') }
    } catch (thrown) {
      context.signal?.throwIfAborted()
      const content = `the tool ${quote(name)} failed: ${toMessage(thrown)}`
      return { id, name, content, isError: true }
    }
  }

  /** Returns the answer to the call of a tool that does not exist; `undefined` if the tool exists. */
  describeUnknown(name: string): string | undefined {
    if (this.#find(name) !== undefined) return undefined
    return this.#session.describeUnknownTool(
      name,
      this.list.map(tool => tool.name),
    )
  }

  #find(wanted: string): LoopTool | undefined {
    return this.list.find(({ name }) => name === wanted)
  }
}

function toOutcome(output: LoopToolOutput): Omit<LoopOutcome, 'id' | 'name'> {
  if (typeof output === 'string' || !('text' in output)) return { content: output, isError: false }
  return { content: output.text, isError: output.isError ?? false }
}
