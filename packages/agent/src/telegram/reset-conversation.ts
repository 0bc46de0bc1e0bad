import { DEFAULT_TENANT } from '../conversation.ts'
import type { SkillAgent } from '../skill-agent.ts'
import { ConversationClaim } from '../turn-claim.ts'

/**
 * Moves a stored conversation to a new id, so that its id begins a new conversation. Returns the new id; `undefined` if
 * the conversation has no messages.
 * @throws {ConversationBusyError} when another process answers in the conversation
 */
export async function resetConversation(agent: SkillAgent, id: string): Promise<string | undefined> {
  const { store, tenant = DEFAULT_TENANT } = agent.options
  const conversation = await agent.open(id)
  await conversation.whenIdle()
  conversation.close()
  const last = (await store.read(tenant, id)).at(-1)?.seq
  if (last === undefined) return undefined
  const claim = new ConversationClaim(store, tenant, id)
  await claim.take(() => last)
  try {
    const kept = `${id}-until-${new Date().toISOString()}`
    await store.fork(tenant, id, last, kept)
    await store.remove(tenant, id)
    return kept
  } finally {
    await claim.release()
  }
}
