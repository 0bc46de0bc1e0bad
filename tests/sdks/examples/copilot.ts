import { CopilotClient } from '@github/copilot-sdk'
import { copilot } from '@skillstoke/adapters/copilot'
import { createSkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'

/** Asks one question in the session `chat-1`, and follows the skills of a folder. */
export async function main(folder: string, sessions: string, question: string): Promise<string> {
  const { MODEL_URL: baseUrl = '', MODEL_KEY: apiKey = 'none' } = process.env
  await using client = new CopilotClient({ mode: 'empty', baseDirectory: sessions })
  await using skills = await createSkillRuntime({ sources: [directory(folder)] })
  using live = copilot(skills, { id: 'chat-1' })

  // Resumes or creates the session, with the skill tools, and with hooks that tell the model of each change.
  const session = await live.open(client, {
    model: 'gpt-6-mini',
    provider: { type: 'openai', wireApi: 'responses', baseUrl, apiKey },
    systemMessage: { mode: 'replace', content: 'You help.' },
    availableTools: [], // the skill tools are added
  })
  const answer = await session.sendAndWait(question)
  return answer?.data.content ?? ''
}
