import { SkillError } from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import { type AddedMessage, type HistoryItem, textOf } from '../history-place.ts'
import { joinTexts } from '../live-conversation.ts'
import type { OpenaiHistory } from './history.ts'
import type {
  OpenaiAgent,
  OpenaiFilterCall,
  OpenaiModelData,
  OpenaiRunHooks,
  OpenaiRunSettings,
  OpenaiToolError,
} from './sdk.ts'
import { withoutNotices } from './session.ts'

/** The histories of the agents that have skills. One run may reach several agents. */
export const histories: WeakMap<object, OpenaiHistory> = new WeakMap()

/** Returns the options of one run that the adapter sets. */
export function createRunHooks(settings: OpenaiRunSettings): OpenaiRunHooks {
  const { session, toolNotFoundBehavior = 'return_error_to_model' } = settings
  const added: AddedTexts = new Map()
  /** The agent of the last model call. */
  let agent: OpenaiAgent | undefined
  return {
    ...defined({ session: session && withoutNotices(session, items => removeTexts(items, added)) }),
    async callModelInputFilter<Item extends HistoryItem>(call: OpenaiFilterCall<Item>) {
      agent = call.agent
      const history = histories.get(agent)
      if (history !== undefined) history.unfiltered = undefined
      const modelData =
        history === undefined ? call.modelData : await prepareCall(history, call.modelData, settings, added)
      if (settings.callModelInputFilter === undefined) return modelData
      return (await settings.callModelInputFilter({ ...call, modelData } as never)) as OpenaiModelData<Item>
    },
    toolErrorFormatter: async error =>
      (await settings.toolErrorFormatter?.(error as never)) ?? describeUnknownTool(error, agent),
    toolNotFoundBehavior,
  }
}

/** Makes an agent fail if it runs without the options: without them, the model gets neither catalog nor notices. */
export function requireHooks(
  agent: OpenaiAgent,
  history: OpenaiHistory,
  chat: { readonly hasOptions?: boolean },
): void {
  const getSystemPrompt = agent.getSystemPrompt.bind(agent)
  // The SDK reads the system prompt right before it calls the filter of the options.
  agent.getSystemPrompt = async run => {
    if (chat.hasOptions !== true || history.unfiltered === run)
      throw new SkillError('INVALID_OPTION', 'the run lacks options; call run(agent, input, chat.options())')
    const prompt = await getSystemPrompt(run)
    history.unfiltered = run
    return prompt
  }
}

/** The texts that the adapter added to requests, each with the message of the user that the text replaces. */
type AddedTexts = Map<string, string | undefined>

/** Removes from the items what the adapter added to requests. */
function removeTexts(items: readonly HistoryItem[], added: AddedTexts): readonly HistoryItem[] {
  return items.flatMap(item => {
    const text = textOf(item)
    if (!added.has(text)) return [item]
    const asked = added.get(text)
    return asked === undefined ? [] : [{ ...item, content: asked }]
  })
}

/** Returns the text for the call of an unknown tool; `undefined` for the text of the SDK. */
function describeUnknownTool(
  { kind, toolName }: OpenaiToolError,
  agent: OpenaiAgent | undefined,
): string | undefined {
  if (kind !== 'tool_not_found' || agent === undefined) return undefined
  const names = agent.tools.map(({ name }) => name)
  // If the tool exists, it is only not loaded yet. The SDK explains how to load it.
  if (names.includes(toolName)) return undefined
  return histories.get(agent)?.session.describeUnknownTool(toolName, names)
}

async function prepareCall<Item extends HistoryItem>(
  history: OpenaiHistory,
  { input: given, instructions }: OpenaiModelData<Item>,
  { conversationId, previousResponseId }: OpenaiRunSettings,
  added: AddedTexts,
): Promise<OpenaiModelData<Item | AddedMessage>> {
  if (conversationId !== undefined || previousResponseId !== undefined) history.isRemote = true
  const input = history.isRemote
    ? await history.prepareRemote(given, previousResponseId)
    : await history.prepare(given)
  for (const text of history.parts) if ('place' in text) added.set(text.text, text.asked)
  // Read the catalog last, because a notice or a compaction may have replaced it.
  return { input, instructions: joinTexts(instructions, history.session.catalog) }
}
