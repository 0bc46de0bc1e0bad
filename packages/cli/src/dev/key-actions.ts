import type { SkillRuntime } from '@skillstoke/core'
import { type Answering, describeLastChange, toMessage } from '@skillstoke/core/internal'
import type { ChatTerminal } from '../terminal/chat-terminal.ts'
import { paint, toTerminalText } from '../terminal/output.ts'
import type { DemoTurns } from './demo-turns.ts'
import type { DevPrinter } from './dev-printer.ts'
import type { FixKey } from './fix-key.ts'
import type { BrowserOpener } from './open-in-browser.ts'

export interface KeyTargets {
  readonly answering: Answering
  readonly printLine: (line: string) => void
  readonly print: DevPrinter
  readonly terminal: ChatTerminal | undefined
  readonly turns: DemoTurns
  readonly end: AbortController
  readonly opener: BrowserOpener
  readonly pageUrl: string
  readonly fix: FixKey
}

export const KEYS: string = paint(
  'dim',
  'keys: o open the page, a ask, d difference, f fix, v details, h help, q quit',
)

const HELP = `keys: o opens the page
      a asks the agent
      d shows the difference of the last change
      f fixes findings
      v turns details on and off
      r reads everything again
      c clears the screen
      q quits`

/** Runs the action of a key. If the action fails, prints the reason, and the server continues. */
export async function actOnKey(key: string, targets: KeyTargets): Promise<void> {
  const { answering, print, printLine, end } = targets
  try {
    if (key === 'q' || key === '\u0003') end.abort()
    else if (key === 'h') printLine(`page ${paint('cyan', targets.pageUrl)}\n${HELP}`)
    else if (key === 'v') await toggleDetails(targets)
    else if (key === 'o') await open(targets)
    else if (key === 'r') await reload(answering.skills, print)
    else if (key === 'c') printLine('\u001b[2J\u001b[3J\u001b[H')
    else if (key === 'd')
      printLine(toTerminalText(await describeLastChange(print.lastUpdate, answering)).trimEnd())
    else if (key === 'f') await targets.fix.press()
    else if (key === 'a') await ask(targets)
  } catch (thrown) {
    printLine(`${key}: ${toTerminalText(toMessage(thrown))}`)
  }
}

async function ask({ terminal, turns, end }: KeyTargets): Promise<void> {
  const typed = await terminal?.readMessage()
  if (typed?.kind === 'message') turns.ask(typed.text)
  else if (typed?.kind === 'interrupted') end.abort()
}

/** Prints every source and skill when the details begin. */
async function toggleDetails({ print, printLine }: KeyTargets): Promise<void> {
  print.isVerbose = !print.isVerbose
  if (print.isVerbose) await print.overview()
  printLine(`details are ${print.isVerbose ? 'on' : 'off'}; v turns them ${print.isVerbose ? 'off' : 'on'}`)
}

/** Opens the page. If no program can open the page, prints its address. */
async function open({ opener, pageUrl, printLine }: KeyTargets): Promise<void> {
  try {
    await opener.open(pageUrl)
  } catch (thrown) {
    const reason = toTerminalText(toMessage(thrown))
    printLine(`no browser could be started (${reason}); open ${paint('cyan', pageUrl)}`)
  }
}

async function reload(skills: SkillRuntime, print: DevPrinter): Promise<void> {
  const before = skills.current
  const { generation } = await skills.reload()
  print.reloaded(before, generation)
}
