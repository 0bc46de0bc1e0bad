/** A message in the shape that most SDKs use. */
export interface RoleMessage {
  readonly role: string
  readonly content: unknown
}

/**
 * Returns a copy of `messages` in which `system` is the text of the system message. If `messages` has no system
 * message, the copy starts with one. Does not modify the given array, so the stored history stays unchanged.
 *
 * @example
 * ```ts
 * import { createSkillRuntime, withLiveSystem } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * using session = skills.session({ id: 'chat-1', delivery: 'rebuild' })
 * const history = [{ role: 'user', content: 'Fill in the form.' }]
 * await session.update()
 * const messages = withLiveSystem(history, `You are a helpful assistant.\n\n${session.catalog}`)
 * console.log(messages.map(({ role }) => role), history.length) // prints [ 'system', 'user' ] 1
 * ```
 */
export function withLiveSystem<Message extends RoleMessage>(
  messages: readonly Message[],
  system: string,
): (Message | { readonly role: 'system'; readonly content: string })[] {
  const live = { role: 'system', content: system } as const
  const at = messages.findIndex(message => message.role === 'system')
  return at === -1 ? [live, ...messages] : messages.with(at, live as Message)
}
