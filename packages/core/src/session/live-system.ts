/** A message as most SDKs have it. */
export interface RoleMessage {
  readonly role: string
  readonly content: unknown
}

/**
 * The messages of one model call with today's system text: the system message, wherever it is, is replaced by one with
 * this text, or put in front when there is none. The given messages are left alone, so what is stored stays what was said.
 */
export function withLiveSystem<Message extends RoleMessage>(
  messages: readonly Message[],
  system: string,
): (Message | { readonly role: 'system'; readonly content: string })[] {
  const live = { role: 'system', content: system } as const
  const at = messages.findIndex(message => message.role === 'system')
  return at === -1 ? [live, ...messages] : messages.with(at, live as Message)
}
