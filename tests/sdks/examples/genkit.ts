import { openAICompatible } from '@genkit-ai/compat-oai'
import { genkitLoop } from '@skillstoke/adapters/loop'
import { createSkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import { genkit, type MessageData } from 'genkit'

/** Asks one question, and follows the skills of a folder. */
export async function main(folder: string, question: string): Promise<string> {
  const provider = { baseURL: process.env['MODEL_URL'], apiKey: process.env['MODEL_KEY'] ?? 'none' }
  const ai = genkit({ plugins: [openAICompatible({ name: 'provider', ...provider })] })
  await using skills = await createSkillRuntime({ sources: [directory(folder)] })
  using chat = genkitLoop<MessageData>(skills, { id: 'chat-1', instructions: 'You help.' })

  const turn = await chat.turn(question)
  for (;;) {
    const { tools, ...request } = await turn.request() // what this call needs, with a notice after a change
    const dynamicTools = tools.map(tool => ai.dynamicTool(tool))
    const answer = await ai.generate({ model: 'provider/gpt-6-mini', ...request, tools: dynamicTools })
    if (await turn.answer(answer)) continue // true after tool calls, whose results are now in the messages
    turn.keep() // adds the turn to the history
    return answer.text
  }
}
