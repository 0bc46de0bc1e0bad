// A chat loop without a framework. Shows what your own agent must do so that its conversations use the current skills.
// Run it with `npx node examples/follow-in-your-loop/main.ts`. The program edits a skill during the conversation and checks which text the model gets.
import assert from 'node:assert/strict'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSkillRuntime, type ToolDefinition } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'

interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string
}

/** A stand-in for your model. Calls the skill tool in its first answer, and again after a notice that the skill has a newer revision. */
function callModel(
  messages: readonly Message[],
  tools: readonly ToolDefinition[],
): { call: string } | { say: string } {
  const last = messages.at(-1)
  assert(tools.some(tool => tool.name === 'skill'))
  return last?.role === 'tool' ? { say: last.content.split('\n')[3] ?? '' } : { call: 'refund' }
}

const folder = await mkdtemp(join(tmpdir(), 'skillstoke-example-'))
await cp(new URL('../../demo/skills', import.meta.url), folder, { recursive: true })
const skillFile = join(folder, 'refund/SKILL.md')

await using skills = await createSkillRuntime({ sources: [directory(folder)] })
const session = skills.session({ id: 'chat-1' })
const messages: Message[] = [{ role: 'system', content: `You help customers.\n\n${session.catalog}` }]

async function ask(question: string): Promise<string> {
  messages.push({ role: 'user', content: question })
  for (;;) {
    const offer = await session.offer() // before every model call
    if (offer !== undefined) {
      messages.push({ role: 'user', content: offer.text })
      offer.commit() // the history contains the message; an uncommitted offer is repeated
    }
    const answer = callModel(messages, session.tools)
    if ('say' in answer) {
      messages.push({ role: 'assistant', content: answer.say })
      return answer.say
    }
    const result = await session.tools[0]?.execute({ name: answer.call })
    messages.push({ role: 'tool', content: result?.text ?? '' })
  }
}

console.log('1:', await ask('May I get a refund?'))
const sentBefore = JSON.stringify(messages)

await writeFile(skillFile, (await readFile(skillFile, 'utf8')).replace('30 days', '60 days'))
const second = await ask('And now?')
console.log('2:', second)

assert.match(second, /60 days/)
assert(messages.some(message => message.content.includes('load it again before relying on it')))
// All earlier messages are unchanged, so the prompt cache of the provider stays valid.
assert.equal(JSON.stringify(messages.slice(0, JSON.parse(sentBefore).length)), sentBefore)
await rm(folder, { recursive: true })
