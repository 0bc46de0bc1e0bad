import { resolveModel, SkillAgent } from '@skillstoke/agent'
import type { SkillRuntime } from '@skillstoke/core'
import type { Config } from '../config.ts'
import { EXIT_OK } from '../exit-code.ts'
import { openSkills } from '../open-skills.ts'
import { createPaint, printLine } from '../output.ts'
import { loadTokenCounter } from '../tokens.ts'
import { describeLastChange } from './describe-change.ts'
import { DevConversation } from './dev-conversation.ts'
import { DevPrinter } from './dev-printer.ts'
import { listenForKeys } from './keys.ts'

export interface DevOptions {
  /** What the demo agent is asked at the start and after each change. */
  readonly question?: string
}

/** `stoke dev`: follows the skills until it is ended, and lets a conversation follow them. */
export async function dev(config: Config, options: DevOptions): Promise<number> {
  const countTokens = await loadTokenCounter()
  const print = new DevPrinter({ print: printLine, paint: createPaint(config.hasColor), countTokens, config })
  const model = resolveModel(config.model)
  const end = new AbortController()
  const stopSignals = listenForSignals(() => end.abort())
  await using skills = await openSkills(config, { watching: 'auto', runtime: { catalog: { countTokens } } })
  await print.start(skills)
  const agent = new SkillAgent({ skills, model })
  const conversation = new DevConversation({
    conversation: agent.conversation('dev'),
    skills,
    print,
    signal: end.signal,
    ...(options.question === undefined ? {} : { question: options.question }),
  })
  const unsubscribe = skills.subscribe(update => {
    print.update(update, conversation)
    if (update.changes.length > 0) conversation.requestTurn(update)
  })
  const stopKeys = config.isInteractive ? listenForKeys(key => void onKey(key)) : (): void => undefined
  const onKey = async (key: string): Promise<void> => {
    if (key === 'q' || key === '\u0003') end.abort()
    else if (key === 'h') print.help()
    else if (key === 'r') await reload(skills, print)
    else if (key === 'd') print.difference(await describeLastChange(print.lastUpdate, skills))
  }
  print.ready(config.isInteractive)
  conversation.requestTurn()
  await untilAborted(end.signal)
  stopKeys()
  unsubscribe()
  await conversation.close()
  await skills.close()
  stopSignals()
  print.end()
  return EXIT_OK
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

/** The first signal ends in order, a second one at once. */
function listenForSignals(end: () => void): () => void {
  let isEnding = false
  const onSignal = (): void => {
    if (isEnding) process.exit(130)
    isEnding = true
    end()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return () => {
    process.off('SIGINT', onSignal)
    process.off('SIGTERM', onSignal)
  }
}
