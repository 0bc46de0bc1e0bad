import { once } from 'node:events'
import { join } from 'node:path'
import { MemoryConversationStore, resolveModel, SkillAgent } from '@skillstoke/agent'
import type { SkillTests } from '@skillstoke/author'
import type { SkillRuntime } from '@skillstoke/core'
import { defined, toMessage } from '@skillstoke/core/internal'
import { createSkillsServer } from '@skillstoke/mcp'
import type { Config } from '../config/config.ts'
import { readVersion } from '../config/version.ts'
import { type DevServer, startDevServer } from '../server/dev-server.ts'
import { MAX_OPEN_CHATS, Playground } from '../server/playground.ts'
import { findRunningDev, sweepRunFiles, writeRunFile } from '../server/run-file.ts'
import { toSessionOptions } from '../server/session-key.ts'
import { toAnswering } from '../skills/answering.ts'
import { openSkills } from '../skills/open-skills.ts'
import { countTokens, measureExactly } from '../skills/tokens.ts'
import { ChatTerminal } from '../terminal/chat-terminal.ts'
import { summarizeTrials } from '../terminal/describe-trials.ts'
import { EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import { printLine } from '../terminal/output.ts'
import { Parts } from '../terminal/parts.ts'
import { abortOnSignal } from '../terminal/signals.ts'
import { printCommands } from './command-printer.ts'
import { createDemoTurns } from './demo-turns.ts'
import { DevPrinter, type ListeningSession } from './dev-printer.ts'
import { FixKey } from './fix-key.ts'
import { actOnKey, KEYS } from './key-actions.ts'
import { createBrowserOpener } from './open-in-browser.ts'
import { printTests } from './test-printer.ts'

export interface DevFlags {
  /** Question for the demo agent, asked at the start and after each change. */
  readonly ask?: string
  /** Whether the demo agent takes a turn at the start and after each change. */
  readonly agent: boolean
  /** Whether the model gets the messages of a saved skill after each save. */
  readonly test?: boolean
  readonly model?: string
  /** Whether each step is printed, as after the key `v`. */
  readonly verbose?: boolean
}

// The default tenant of an agent. Only with this tenant, the id of a conversation is also the id of its session.
const TENANT = 'local'

/**
 * Implements `stoke dev`: watches the skills, and serves a page, an API, an MCP endpoint and a demo agent. Runs until a
 * signal stops the command.
 */
export async function dev(config: Config, flags: DevFlags): Promise<number> {
  const { ask: question, agent: hasAgent } = flags
  if (flags.test === true && flags.model === undefined)
    throw new UsageError('--test sends messages to a model; name it with --model')
  // A model that may cost money is asked only if the person wants it.
  const asksItself = hasAgent && ((config.model.model ?? 'offline') === 'offline' || question !== undefined)
  let terminal: ChatTerminal | undefined
  const printAbove = (line = ''): void =>
    terminal === undefined ? printLine(line) : terminal.print(`${line}\n`)
  const scope = defined({ scope: config.scope })
  {
    // Disposes the parts in reverse order when the block ends, even after an error.
    await using parts = new Parts()
    const end = parts.use(abortOnSignal())
    const catalog = { countTokens, ...config.catalog }
    const skills = parts.use(
      await openSkills(config, {
        ...{ watching: 'auto', serves: true, runsScripts: true, usedBy: 'dev', runtime: { catalog } },
      }),
    )
    const store = new MemoryConversationStore()
    const agent = parts.use(
      new SkillAgent({
        ...{ skills, store, tenant: TENANT, model: resolveModel(config.model) },
        maxOpen: MAX_OPEN_CHATS + (hasAgent ? 1 : 0),
        ...scope,
      }),
    )
    const playground = new Playground({
      agent,
      forget: async id => await store.remove(TENANT, id),
      model: config.model.model ?? 'offline',
      onChange: () => server.state.tellSessions(),
    })
    const mcp = parts.use(
      createSkillsServer(skills, {
        version: readVersion(),
        ...toSessionOptions(config),
        onSessionChange: seen => server.state.noteClient(seen),
        ...scope,
      }),
    )
    const server = parts.use(await startDevServer({ config, skills, mcp, playground, countTokens }))
    await noteOther(config)
    parts.defer(tellOthers(config, server))
    const answering = toAnswering(skills, config, measureExactly)
    const print = new DevPrinter({
      ...{ print: printAbove, countTokens, config, isVerbose: flags.verbose ?? false },
      running: { viewing: answering, server, question: asksItself ? question : undefined },
    })
    const turns = createDemoTurns({
      ...{ playground, skills, print, question },
      scope: config.scope,
      signal: end.signal,
    })
    parts.defer(printCommands(skills, printAbove))
    parts.defer(async () => await turns.close())
    parts.defer(
      skills.subscribe(update => {
        print.update(update, findListeners(skills, playground))
        if (asksItself && update.changes.length > 0) turns.requestTurn(update)
      }),
    )
    const { findings, modelTests } = server.state
    const askModel = async (tests: SkillTests): Promise<string> =>
      summarizeTrials(await modelTests.run(tests, { signal: end.signal }))
    parts.defer(
      printTests(skills, skills.forConversation(scope), printAbove, flags.test ? askModel : undefined),
    )
    if (config.isInteractive) {
      const fix = new FixKey(skills, findings, printAbove)
      const opener = parts.use(createBrowserOpener(join(config.stateDirectory, 'run')))
      const onKey = (key: string): void => {
        void actOnKey(key, {
          ...{ answering, print, printLine: printAbove, terminal, turns, end, opener, fix },
          pageUrl: server.pageUrl,
        })
      }
      terminal = parts.use(new ChatTerminal({ prompt: 'ask: ', signal: end.signal, onKey }))
    }
    await print.overview()
    printAbove(config.isInteractive ? KEYS : 'edit a skill and save it; press Ctrl-C to stop')
    if (asksItself) turns.requestTurn()
    await untilAborted(end.signal)
  }
  terminal = undefined
  printLine('stopped')
  return EXIT_OK
}

/** Says which `stoke dev` already serves the same folders. Other commands are answered by one of the two. */
async function noteOther(config: Config): Promise<void> {
  const other = await findRunningDev(config)
  if (other === undefined) return
  const { url, pid } = other.file
  process.stderr.write(`note: process ${pid} already serves these folders at ${url}; this one is a second\n`)
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

/** Lists the conversations that hear of a change: of the demo agent, of the playground, and of MCP clients. */
function findListeners(skills: SkillRuntime, playground: Playground): ListeningSession[] {
  return skills.sessions().map(session => ({
    id: session.id,
    pending: session.pending(),
    ...playground.describeNext(session.id),
  }))
}

/** Keeps the process alive until the signal aborts, because a runtime alone lets the process exit. */
async function untilAborted(signal: AbortSignal): Promise<void> {
  const keepAlive = setInterval(() => undefined, 2 ** 30)
  if (!signal.aborted) await once(signal, 'abort')
  clearInterval(keepAlive)
}
