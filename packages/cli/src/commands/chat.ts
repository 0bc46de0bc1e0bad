import { defined } from '@skillstoke/core/internal'
import { openChatEnds } from '../chat/chat-ends.ts'
import { ChatLoop } from '../chat/chat-loop.ts'
import { ChatSession } from '../chat/chat-session.ts'
import { CHAT_TENANT } from '../chat/conversation-file.ts'
import { createConversationId } from '../chat/conversation-id.ts'
import { listConversations } from '../chat/conversation-list.ts'
import { openChatAgent } from '../chat/open-agent.ts'
import type { Confirmation } from '../chat/tool-confirmation.ts'
import type { Config } from '../config/config.ts'
import type { Answer } from '../terminal/answer.ts'
import { toCommandLine } from '../terminal/command-line.ts'
import { UsageError } from '../terminal/exit-code.ts'
import { Parts } from '../terminal/parts.ts'
import { findProgramName } from '../terminal/program-name.ts'
import { listenForSignals } from '../terminal/signals.ts'

export interface ChatFlags {
  readonly json?: boolean
  /** The only message. @default the messages come from the terminal or from standard input */
  readonly ask?: string
  /** Whether to list the stored conversations instead. */
  readonly list?: boolean
  /** Whether the model may write skills. */
  readonly write: boolean
  /** The calls of the model that a person confirms. */
  readonly confirm?: readonly Confirmation[]
  readonly model?: string
  readonly baseUrl?: string
}

/**
 * Implements `stoke chat`: a stored conversation with the reference agent, which gets every change of a skill before
 * its next model call.
 */
export async function chat(config: Config, flags: ChatFlags, named?: string): Promise<Answer | number> {
  checkFlags(flags, named)
  const { json = false, ask: question, write: canWrite, confirm: confirmations = [], model, baseUrl } = flags
  if (flags.list) return await listConversations(config)
  const end = new AbortController()
  await using parts = new Parts()
  parts.defer(listenForSignals(() => end.abort()))
  const { skills, store, agent } = await openChatAgent(config, { canWrite, confirmations }, parts)
  const id = named ?? (await createConversationId(store))
  const stored = await store.read(CHAT_TENANT, id)
  const session = await ChatSession.open({ id, skills, agent })
  const { input, view } = openChatEnds(
    session,
    config,
    { ...defined({ question }), json, signal: end.signal },
    parts,
  )
  parts.defer(skills.subscribe(update => view.updated(update, session.describeNext())))
  const repeated = Object.entries(defined({ '--model': model, '--base-url': baseUrl })).flat()
  view.opened({
    id,
    messages: stored.length,
    ...defined({ lastAnswer: session.lastAnswer }),
    command: `${findProgramName()} ${toCommandLine(['chat', id, ...config.options, ...repeated])}`,
    model: config.model.model ?? 'offline',
    generation: session.reader.current,
  })
  return await new ChatLoop({ session, skills, input, view }).run()
}

/** @throws {UsageError} when options contradict each other, or a message is empty */
function checkFlags({ ask: question, list: isList }: ChatFlags, id: string | undefined): void {
  if (isList && (id !== undefined || question !== undefined))
    throw new UsageError('--list lists all conversations; leave out the id and --ask')
  if (id !== undefined && id.trim() === '')
    throw new UsageError('the id of the conversation is empty; "stoke chat --list" shows all ids')
  if (question !== undefined && question.trim() === '')
    throw new UsageError('--ask is empty; write the message, for example --ask "May I get a refund?"')
  if (question !== undefined && /^--[a-z][a-z-]*$/.test(question))
    throw new UsageError(`--ask has no message before ${question}; write it right after --ask`)
}
