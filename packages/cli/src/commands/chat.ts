import { MemoryConversationStore, openConversationStore, SkillAgent } from '@skillstoke/agent'
import { defined } from '@skillstoke/core/internal'
import { bundledSkills } from '@skillstoke/core/node'
import { CHAT_COMMAND_NAMES, completeLine } from '../chat/chat-commands.ts'
import { ChatLoop } from '../chat/chat-loop.ts'
import { ChatSession } from '../chat/chat-session.ts'
import type { ChatView } from '../chat/chat-view.ts'
import { chooseModel } from '../chat/choose-model.ts'
import { listInvocable } from '../chat/invocation.ts'
import { JsonView } from '../chat/json-view.ts'
import { openOwnTools } from '../chat/own-tools.ts'
import {
  CHAT_TENANT,
  createConversationId,
  findConversationFile,
  listConversations,
} from '../chat/stored-conversations.ts'
import { TextView } from '../chat/text-view.ts'
import { toCallSettings } from '../chat/tool-approval.ts'
import type { Confirmation } from '../chat/tool-confirmation.ts'
import { type Config, toOptions } from '../config/config.ts'
import { openSkills } from '../skills/open-skills.ts'
import { countTokens } from '../skills/tokens.ts'
import type { Answer } from '../terminal/answer.ts'
import { type ChatInput, OneMessage } from '../terminal/chat-input.ts'
import { ChatTerminal } from '../terminal/chat-terminal.ts'
import { UsageError } from '../terminal/exit-code.ts'
import { printLine } from '../terminal/output.ts'
import { Parts } from '../terminal/parts.ts'
import { PipedInput } from '../terminal/piped-input.ts'
import { nameCommand } from '../terminal/program-name.ts'
import { abortOnSignal } from '../terminal/signals.ts'

export interface ChatFlags {
  readonly json?: boolean
  /** The only message. @default the messages come from the terminal or from standard input */
  readonly ask?: string
  /** Whether to store the conversation of `ask` although it has no id. */
  readonly keep?: boolean
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
  if (flags.list) return await listConversations(config)
  await using parts = new Parts()
  const { signal } = parts.use(abortOnSignal())
  // A single question is stored only if something can continue it: an id, or a call that waits for a person.
  const isStored =
    flags.ask === undefined || named !== undefined || flags.keep === true || flags.confirm !== undefined
  const { skills, store, agent } = await openAgent(config, { ...flags, isStored }, parts)
  const id = named ?? (await createConversationId(store))
  const stored = await store.read(CHAT_TENANT, id)
  const createId = async (): Promise<string> => await createConversationId(store)
  const session = await ChatSession.open({ id, skills, agent, createId })
  const { input, view } = openEnds(session, config, { ...flags, signal }, parts)
  parts.defer(skills.subscribe(update => view.updated(update, session.describeNext())))
  const repeated = toOptions({ model: flags.model, baseUrl: flags.baseUrl })
  view.opened({
    id,
    messages: stored.length,
    ...defined({ lastAnswer: session.lastAnswer }),
    ...(isStored ? { command: nameCommand(['chat', id, ...config.options, ...repeated]) } : {}),
    model: config.model.model ?? 'offline',
    generation: session.reader.current,
  })
  if (config.agent?.isNamed === false)
    view.noted(
      'the tools in "agent" of skillstoke.json are off, because a file of a project must not start programs; allow them with --config skillstoke.json',
    )
  return await new ChatLoop({ session, skills, input, view }).run()
}

/** Opens the skills, the stored conversations and the agent, as parts of a program. */
async function openAgent(
  config: Config,
  { write, confirm = [], isStored }: ChatFlags & { readonly isStored: boolean },
  parts: Parts,
) {
  // A wrong model is reported before anything is opened.
  const model = chooseModel(config)
  const skills = parts.use(
    await openSkills(config, {
      watching: 'auto',
      needsState: true,
      runsScripts: true,
      usedBy: 'chat',
      runtime: { catalog: { countTokens, ...config.catalog } },
    }),
  )
  const store = parts.use(
    isStored ? await openConversationStore(findConversationFile(config)) : new MemoryConversationStore(),
  )
  const tools = config.agent?.isNamed ? await openOwnTools(config.agent, parts) : undefined
  // Only folders are writable.
  const writer = write && config.roots.length > 0 ? skills.writer() : undefined
  if (writer !== undefined) await skills.addSource(bundledSkills())
  const agent = parts.use(
    new SkillAgent({
      ...{ skills, model, store, tenant: CHAT_TENANT, reservedCommands: CHAT_COMMAND_NAMES },
      call: toCallSettings(confirm),
      ...defined({ scope: config.scope, writer, tools }),
    }),
  )
  return { skills, store, agent }
}

/**
 * Opens where the messages come from, and what shows the answers: the terminal if a person types at one. Otherwise reads
 * lines, or the one message of `--ask`.
 */
function openEnds(
  session: ChatSession,
  config: Config,
  { ask: question, json, signal }: ChatFlags & { readonly signal: AbortSignal },
  parts: Parts,
): { readonly input: ChatInput; readonly view: ChatView } {
  const shared = { countTokens, config }
  if (config.isInteractive && !json && question === undefined) {
    const complete = (line: string): [string[], string] => {
      const { reader } = session
      return completeLine(line, {
        invocable: listInvocable(reader).map(({ name }) => name),
        known: [...new Set(reader.current.reports().map(({ name }) => name))],
      })
    }
    const input = parts.use(new ChatTerminal({ complete, signal }))
    const print = (line: string): void => input.print(`${line}\n`)
    const write = (text: string): void => input.print(text)
    return { input, view: new TextView({ ...shared, write, print, printResult: print, isInteractive: true }) }
  }
  const input = question === undefined ? parts.use(new PipedInput(signal)) : new OneMessage(question, signal)
  if (json) return { input, view: new JsonView() }
  // Another program can read the answers and results from standard output.
  const write = (text: string): void => void process.stdout.write(text)
  const print = (line: string): void => void process.stderr.write(`${line}\n`)
  return {
    input,
    view: new TextView({ ...shared, write, print, printResult: printLine, isInteractive: false }),
  }
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
