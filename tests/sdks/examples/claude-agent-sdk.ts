import { query } from '@anthropic-ai/claude-agent-sdk'
import { claudeAgent } from '@skillstoke/adapters/claude-agent-sdk'
import { createSkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'

/** Asks questions in one conversation, and follows the skills of a folder. */
export async function main(folder: string, questions: readonly string[]): Promise<string[]> {
  const env = { ...process.env, ANTHROPIC_BASE_URL: process.env['MODEL_URL'] }
  await using skills = await createSkillRuntime({ sources: [directory(folder)] })
  using live = await claudeAgent(skills, { id: 'chat-1' })

  const answers: string[] = []
  for (const prompt of questions) {
    const options = live.options({ env, model: 'claude-sonnet-5', systemPrompt: 'You help.', skills: [] })
    for await (const message of query({ prompt, options })) {
      if (message.type === 'result' && message.subtype === 'success') answers.push(message.result)
    }
  }
  return answers
}
