import { defined } from '../defined.ts'
import { SkillError } from '../errors.ts'
import { quote } from '../quote.ts'
import type { SkillExplanation } from '../reader/explain-skill.ts'
import type { Answering } from './answering.ts'

/**
 * Explains where a skill, a folder or a file stops on its way to conversations, or to one conversation. Waits until the
 * scripts of the skill are loaded, because a script that does not load is a reason.
 * @param session the id of a conversation that is open in this process
 * @throws {SkillError} NOT_FOUND when there is no such conversation
 */
export async function explainSkill(
  name: string,
  session: string | undefined,
  { skills, scope }: Answering,
): Promise<SkillExplanation> {
  await skills.scripts.ready(skills.current.find(name))
  if (session === undefined) return await skills.forConversation(defined({ scope })).why(name)
  const sessions = skills.sessions()
  const asked = sessions.find(({ id }) => id === session)
  if (asked !== undefined) return await skills.why(name, asked)
  const ids = sessions.map(({ id }) => id).join(', ') || 'none'
  throw new SkillError('NOT_FOUND', `there is no conversation ${quote(session)}; there are: ${ids}`)
}
