import { resolveModel, SkillAgent } from '@skillstoke/agent'
import { type SkillRuntime, toMessage } from '@skillstoke/core'
import { SkillMcp } from '@skillstoke/mcp'
import type { Config } from '../config/config.ts'
import { describeLastChange } from '../describe-change.ts'
import { EXIT_OK } from '../exit-code.ts'
import { openSkills } from '../open-skills.ts'
import { createPaint, printLine } from '../output.ts'
import { DevServer } from '../server/dev-server.ts'
import { writeRunFile } from '../server/run-file.ts'
import { listenForSignals } from '../signals.ts'
import { loadTokenCounter } from '../tokens.ts'
import { readVersion } from '../version.ts'
import { DevConversation } from './dev-conversation.ts'
import { DevPrinter, type ListeningSession } from './dev-printer.ts'
import { listenForKeys } from './keys.ts'
import { openInBrowser } from './open-in-browser.ts'
import { TurnLog } from './turn-log.ts'

export interface DevOptions {
  /** What the demo agent is asked at the start and after each change. */
  readonly question?: string
  /** Whether the demo agent follows along. @default true */
  readonly hasAgent?: boolean
}

const SESSION_ID = 'dev'

/** `stoke dev`: follows the skills until it is ended: a conversation, a page, an API and an MCP endpoint with it. */
export async function dev(config: Config, options: DevOptions): Promise<number> {
  const countTokens = await loadTokenCounter()
  const print = new DevPrinter({ print: printLine, paint: createPaint(config.hasColor), countTokens, config })
  const scope = config.scope === undefined ? {} : { scope: config.scope }
  const end = new AbortController()
  const stopSignals = listenForSignals(() => end.abort())
  const catalog = { countTokens, maxTokens: config.maxCatalogTokens }
  await using skills = await openSkills(config, { watching: 'auto', runtime: { catalog } })
  await print.start(skills)
  const log = new TurnLog(() => server.state.tellSessions())
  const onSessionChange = (): void => server.state.tellSessions()
  await using mcp = new SkillMcp(skills, { version: readVersion(), onSessionChange, ...scope })
  await using server = await DevServer.start({
    config,
    skills,
    mcp,
    countTokens,
    turnsOf: id => (id === SESSION_ID ? log.list() : []),
  })
  const removeRunFile = tellOthers(config, server)
  const conversation = options.hasAgent === false ? undefined : createConversation()
  const unsubscribe = skills.subscribe(update => {
    print.update(update, findListeners(skills, conversation))
    if (update.changes.length > 0) conversation?.requestTurn(update)
  })
  const onKey = async (key: string): Promise<void> => {
    if (key === 'q' || key === '\u0003') end.abort()
    else if (key === 'h') print.help()
    else if (key === 'o') await open(server.pageUrl, print)
    else if (key === 'r') await reload(skills, print)
    else if (key === 'c') print.clear()
    else if (key === 'd') print.difference(await describeLastChange(print.lastUpdate, skills))
  }
  const stopKeys = config.isInteractive ? listenForKeys(key => void onKey(key)) : (): void => undefined
  print.addresses(server)
  print.ready(config.isInteractive)
  conversation?.requestTurn()
  await untilAborted(end.signal)
  removeRunFile()
  stopKeys()
  unsubscribe()
  await conversation?.close()
  await server.close()
  await mcp.close()
  await skills.close()
  stopSignals()
  print.end()
  return EXIT_OK

  function createConversation(): DevConversation {
    const agent = new SkillAgent({ skills, model: resolveModel(config.model), ...scope })
    return new DevConversation({
      conversation: agent.conversation(SESSION_ID),
      skills,
      print,
      log,
      signal: end.signal,
      ...(options.question === undefined ? {} : { question: options.question }),
    })
  }
}

/** Lets other processes find this one; one that cannot be found works all the same. */
function tellOthers(config: Config, server: DevServer): () => void {
  try {
    return writeRunFile(config, server)
  } catch (thrown) {
    process.stderr.write(`note: ${toMessage(thrown)}; other processes will not find this one\n`)
    return () => undefined
  }
}

/** The demo agent's conversation, whose model calls are made here, and those of MCP clients. */
function findListeners(skills: SkillRuntime, own: DevConversation | undefined): ListeningSession[] {
  return skills.sessions().map(session => ({
    id: session.id,
    pending: session.pending(),
    ...(own !== undefined && session.id === SESSION_ID ? own.next() : {}),
  }))
}

async function open(url: string, print: DevPrinter): Promise<void> {
  try {
    await openInBrowser(url)
  } catch (thrown) {
    print.notOpened(url, toMessage(thrown))
  }
}

async function reload(skills: SkillRuntime, print: DevPrinter): Promise<void> {
  const before = skills.current
  const generation = await skills.reload()
  print.reloaded(before, generation)
}

/** Nothing of the runtime keeps the process alive; this does, until it is told to end. */
async function untilAborted(signal: AbortSignal): Promise<void> {
  const keepAlive = setInterval(() => undefined, 2 ** 30)
  await new Promise<void>(resolve => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  clearInterval(keepAlive)
}
