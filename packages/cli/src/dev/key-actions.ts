import type { SkillRuntime } from '@skillstoke/core'
import { type Answering, describeLastChange, toMessage } from '@skillstoke/core/internal'
import type { ChatTerminal } from '../terminal/chat-terminal.ts'
import type { DemoTurns } from './demo-turns.ts'
import type { DevPrinter } from './dev-printer.ts'
import type { BrowserOpener } from './open-in-browser.ts'

export interface KeyTargets {
  readonly answering: Answering
  readonly print: DevPrinter
  readonly terminal: ChatTerminal | undefined
  readonly turns: DemoTurns
  readonly end: AbortController
  readonly opener: BrowserOpener
  readonly pageUrl: string
}

/** Runs the action of a key. */
export async function actOnKey(key: string, targets: KeyTargets): Promise<void> {
  const { answering, print, end, opener, pageUrl } = targets
  if (key === 'q' || key === '\u0003') end.abort()
  else if (key === 'h') print.help(pageUrl)
  else if (key === 'o') await open(pageUrl, opener, print)
  else if (key === 'r') await reload(answering.skills, print)
  else if (key === 'c') print.clear()
  else if (key === 'd') print.difference(await describeLastChange(print.lastUpdate, answering))
  else if (key === 'a') await ask(targets)
}

async function ask({ terminal, turns, end }: KeyTargets): Promise<void> {
  const typed = await terminal?.readMessage()
  if (typed?.kind === 'message') turns.ask(typed.text)
  else if (typed?.kind === 'interrupted') end.abort()
}

/** Opens the page. If no program can open the page, prints its address. */
async function open(pageUrl: string, opener: BrowserOpener, print: DevPrinter): Promise<void> {
  try {
    await opener.open(pageUrl)
  } catch (thrown) {
    print.notOpened(pageUrl, toMessage(thrown))
  }
}

async function reload(skills: SkillRuntime, print: DevPrinter): Promise<void> {
  const before = skills.current
  const { generation } = await skills.reload()
  print.reloaded(before, generation)
}
