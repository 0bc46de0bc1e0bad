import { join } from 'node:path'
import { resolveModel, SkillAgent } from '@skillstoke/agent'
import type { SkillRuntime } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import { SkillMcp } from '@skillstoke/mcp'
import type { Turn } from '../client/api-types.ts'
import type { Config } from '../config/config.ts'
import { DEFAULT_MAX_SESSIONS } from '../config/defaults.ts'
import { describeLastChange } from '../describe-change.ts'
import { EXIT_OK } from '../exit-code.ts'
import { openSkills } from '../open-skills.ts'
import { createPaint, printLine } from '../output.ts'
import { DevServer } from '../server/dev-server.ts'
import { sweepRunFiles, writeRunFile } from '../server/run-file.ts'
import { listenForSignals } from '../signals.ts'
import { countTokens } from '../tokens.ts'
import { readVersion } from '../version.ts'
import { printCommands } from './command-printer.ts'
import { DevConversation } from './dev-conversation.ts'
import { DevPrinter, type ListeningSession } from './dev-printer.ts'
import { listenForKeys } from './keys.ts'
import { BrowserOpener } from './open-in-browser.ts'
import { Parts } from './parts.ts'
import { TurnLog } from './turn-log.ts'

export interface DevOptions {
  /** Question for the demo agent, asked at the start and after each change. */
  readonly question?: string
  /** Whether to start the demo agent. @default true */
  readonly hasAgent?: boolean
}

const SESSION_ID = 'dev'

/**
 * Implements `stoke dev`: watches the skills, and serves a page, an API, an MCP endpoint and a demo agent. Runs until a
 * signal stops the command.
 */
export async function dev(config: Config, options: DevOptions): Promise<number> {
  const print = new DevPrinter({ print: printLine, paint: createPaint(config.hasColor), countTokens, config })
  const scope = config.scope === undefined ? {} : { scope: config.scope }
  const end = new AbortController()
  {
    // Disposes the parts in reverse order when the block ends, even after an error.
    await using parts = new Parts()
    parts.defer(listenForSignals(() => end.abort()))
    const catalog = { countTokens, ...config.catalog }
    const skills = parts.use(
      await openSkills(config, { watching: 'auto', serves: true, runsScripts: true, runtime: { catalog } }),
    )
    await print.start(skills)
    parts.defer(printCommands(skills, { print: printLine, paint: createPaint(config.hasColor) }))
    const tellSessions = (): void => server.state.tellSessions()
    const log = new TurnLog(tellSessions)
    const turnsOf = (id: string): readonly Turn[] => (id === SESSION_ID ? log.list() : [])
    const { maxSessions = DEFAULT_MAX_SESSIONS } = config.server
    const mcp = parts.use(
      new SkillMcp(skills, {
        version: readVersion(),
        maxSessions,
        onSessionChange: tellSessions,
        ...scope,
      }),
    )
    const server = parts.use(await DevServer.start({ config, skills, mcp, countTokens, turnsOf }))
    parts.defer(tellOthers(config, server))
    const conversation = options.hasAgent === false ? undefined : createConversation(skills, log)
    parts.defer(async () => await conversation?.close())
    parts.defer(
      skills.subscribe(update => {
        print.update(update, findListeners(skills, conversation))
        if (update.changes.length > 0) conversation?.requestTurn(update)
      }),
    )
    if (config.isInteractive) {
      const opener = parts.use(new BrowserOpener(join(config.stateDirectory, 'run')))
      const onKey = (key: string): void => {
        actOn(key, { skills, print, end, opener, pageUrl: server.pageUrl }).catch((error: unknown) =>
          print.keyFailed(key, toMessage(error)),
        )
      }
      parts.defer(listenForKeys(onKey))
    }
    print.addresses(server)
    print.ready(config.isInteractive)
    conversation?.requestTurn()
    await untilAborted(end.signal)
  }
  print.end()
  return EXIT_OK

  function createConversation(skills: SkillRuntime, log: TurnLog): DevConversation {
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

interface KeyTargets {
  readonly skills: SkillRuntime
  readonly print: DevPrinter
  readonly end: AbortController
  readonly opener: BrowserOpener
  readonly pageUrl: string
}

async function actOn(key: string, { skills, print, end, opener, pageUrl }: KeyTargets): Promise<void> {
  if (key === 'q' || key === '\u0003') end.abort()
  else if (key === 'h') print.help(pageUrl)
  else if (key === 'o') await open(pageUrl, opener, print)
  else if (key === 'r') await reload(skills, print)
  else if (key === 'c') print.clear()
  else if (key === 'd') print.difference(await describeLastChange(print.lastUpdate, skills))
}

/** Opens the page. If no program can open the page, prints its address. */
async function open(pageUrl: string, opener: BrowserOpener, print: DevPrinter): Promise<void> {
  try {
    await opener.open(pageUrl)
  } catch (thrown) {
    print.notOpened(pageUrl, toMessage(thrown))
  }
}

/**
 * Writes the run file, so that other processes find this process. If the file cannot be written, prints a note and
 * continues.
 */
function tellOthers(config: Config, server: DevServer): () => void {
  // If a file cannot be removed now, the next `stoke dev` removes it.
  void sweepRunFiles(config).catch(() => undefined)
  try {
    return writeRunFile(config, server)
  } catch (thrown) {
    process.stderr.write(`note: ${toMessage(thrown)}; other processes will not find this one\n`)
    return () => undefined
  }
}

/** Lists the conversation of the demo agent and the conversations of MCP clients. */
function findListeners(skills: SkillRuntime, own: DevConversation | undefined): ListeningSession[] {
  return skills.sessions().map(session => ({
    id: session.id,
    pending: session.pending(),
    ...(own !== undefined && session.id === SESSION_ID ? own.next() : {}),
  }))
}

async function reload(skills: SkillRuntime, print: DevPrinter): Promise<void> {
  const before = skills.current
  const { generation } = await skills.reload()
  print.reloaded(before, generation)
}

/** Keeps the process alive until the signal aborts, because a runtime alone lets the process exit. */
async function untilAborted(signal: AbortSignal): Promise<void> {
  const keepAlive = setInterval(() => undefined, 2 ** 30)
  await new Promise<void>(resolve => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  clearInterval(keepAlive)
}
