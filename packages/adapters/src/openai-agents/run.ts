import type { TrackedHistory } from './history.ts'
import { textOf } from './place.ts'
import type {
  OpenaiAgent,
  OpenaiFilterCall,
  OpenaiItem,
  OpenaiModelData,
  OpenaiRunSettings,
  OpenaiToolError,
  OpenaiUserMessage,
} from './sdk.ts'

/** The histories of the agents that have skills. One run may reach several agents. */
const histories = new WeakMap<object, TrackedHistory>()

export function setHistory(agent: object, history: TrackedHistory): void {
  histories.set(agent, history)
}

export function findHistory(agent: object): TrackedHistory | undefined {
  return histories.get(agent)
}

/** What the adapter does during one run. */
export class AgentRun {
  readonly #settings: OpenaiRunSettings
  /** The agent of the last model call. */
  #agent: OpenaiAgent | undefined
  /** The texts that the adapter added to requests, each with the message of the user that the text replaces. */
  readonly #added = new Map<string, string | undefined>()

  constructor(settings: OpenaiRunSettings) {
    this.#settings = settings
  }

  /** Called before each model call. */
  async filter<Item extends OpenaiItem>(
    call: OpenaiFilterCall<Item>,
  ): Promise<OpenaiModelData<Item | OpenaiUserMessage>> {
    const { callModelInputFilter } = this.#settings
    const history = findHistory(call.agent)
    this.#agent = call.agent
    const modelData = history === undefined ? call.modelData : await this.#prepare(history, call.modelData)
    if (callModelInputFilter === undefined) return modelData
    return (await callModelInputFilter({ ...call, modelData } as never)) as OpenaiModelData<Item>
  }

  /** Removes from the items what the adapter added to requests. */
  toStored(items: readonly OpenaiItem[]): readonly OpenaiItem[] {
    return items.flatMap(item => {
      const text = textOf(item)
      if (!this.#added.has(text)) return [item]
      const asked = this.#added.get(text)
      return asked === undefined ? [] : [{ ...item, content: asked }]
    })
  }

  /** Returns the text for an error of a tool; `undefined` for the text of the SDK. */
  async describeToolError(error: OpenaiToolError): Promise<string | undefined> {
    const own = await this.#settings.toolErrorFormatter?.(error as never)
    if (own !== undefined || error.kind !== 'tool_not_found' || this.#agent === undefined) return own
    const names = this.#agent.tools.map(({ name }) => name)
    // If the tool exists, it is only not loaded yet. The SDK explains how to load it.
    if (names.includes(error.toolName)) return undefined
    return findHistory(this.#agent)?.session.describeUnknownTool(error.toolName, names)
  }

  async #prepare<Item extends OpenaiItem>(
    history: TrackedHistory,
    { input, instructions = '' }: OpenaiModelData<Item>,
  ): Promise<OpenaiModelData<Item | OpenaiUserMessage>> {
    const { conversationId, previousResponseId } = this.#settings
    if (conversationId !== undefined || previousResponseId !== undefined) history.useRemote()
    const items = history.isRemote
      ? await history.prepareRemote(input, previousResponseId)
      : await history.prepare(input)
    for (const text of history.texts)
      if (text.kind !== 'load') this.#added.set(text.text, text.kind === 'slash' ? text.asked : undefined)
    // Read the catalog last, because a notice or a compaction may have replaced it.
    const system = [instructions, history.session.catalog].filter(text => text !== '').join('\n\n')
    return { input: items, instructions: system }
  }
}
