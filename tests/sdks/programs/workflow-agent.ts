import { createOpenAI } from '@ai-sdk/openai'
import { type PrepareStepInfo, WorkflowAgent } from '@ai-sdk/workflow'
import { aiSdk, toAiTools } from '@skillstoke/adapters/ai-sdk'
import { createSkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import { stepCountIs, type ToolSet } from 'ai'

/** A message of the model prompt, which the agent passes to `prepareStep`. */
type Message = PrepareStepInfo['messages'][number]

/** Asks questions in one conversation, and follows the skills of a folder. */
export async function main(folder: string, questions: readonly string[]): Promise<string[]> {
  const baseURL = process.env['MODEL_URL'] ?? ''
  const openai = createOpenAI({ baseURL, apiKey: process.env['MODEL_KEY'] ?? 'none' })
  await using skills = await createSkillRuntime({ sources: [directory(folder)] })
  using chat = aiSdk<Message>(skills, { id: 'chat-1', instructions: 'You help.' })
  // The agent waits for one result of a tool, so tools that run scripts report no progress.
  const tools: ToolSet = toAiTools(chat.session.tools.map(tool => ({ ...tool, reportsProgress: false })))

  const answers: string[] = []
  for (const question of questions) {
    const { prepareStep, messages, instructions } = await chat.turn(question)
    const agent = new WorkflowAgent({ model: openai.chat('gpt-6-mini'), tools, instructions })
    const result = await agent.stream({
      messages,
      stopWhen: stepCountIs(20),
      // The agent passes on the messages of each step, and its system text as a message of them.
      prepareStep: ({ messages: sent, steps }) =>
        prepareStep({ steps, messages: sent.filter(({ role }) => role !== 'system'), initialMessages: [] }),
    })
    if ('error' in result) throw result.error
    await chat.keep(result) // the turn becomes part of `chat.messages`, with its notices
    answers.push(result.steps.at(-1)?.text ?? '')
  }
  return answers
}
