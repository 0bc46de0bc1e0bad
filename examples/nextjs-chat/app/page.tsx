import { readChat } from '../lib/skills'
import { Chat } from './chat'

interface Props {
  readonly searchParams: Promise<{ readonly chat?: string }>
}

/** Shows the conversation that `?chat=` names, with its stored messages. */
export default async function Page({ searchParams }: Props) {
  const { chat: id = 'chat-1' } = await searchParams
  const stored = await readChat(id)
  return <Chat id={id} stored={stored?.messages ?? []} />
}
