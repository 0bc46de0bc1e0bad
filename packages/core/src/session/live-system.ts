/** A message in the shape that most SDKs use. */
export interface RoleMessage {
  readonly role: string
  readonly content: unknown
}

/**
 * Returns the messages of one model call with `system` as the system message. Replaces an existing system message at
 * its position, or puts a new one first. Does not modify the given array, so the stored history stays unchanged.
 */
export function withLiveSystem<Message extends RoleMessage>(
  messages: readonly Message[],
  system: string,
): (Message | { readonly role: 'system'; readonly content: string })[] {
  const live = { role: 'system', content: system } as const
  const at = messages.findIndex(message => message.role === 'system')
  return at === -1 ? [live, ...messages] : messages.with(at, live as Message)
}
