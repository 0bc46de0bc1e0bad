import { spawn } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

/**
 * Time after which the page counts as opened, although the program that opens the page still runs. This program may be
 * the browser itself.
 */
const START_MS = 2_000

/** Opens pages in the browser, and hides their secret address from other users of the machine. */
export interface BrowserOpener extends Disposable {
  /** @throws when no program can open the page, or the program fails */
  open(url: string): Promise<void>
}

/** @param folder the folder for a temporary file that only the user can read */
export function createBrowserOpener(folder: string): BrowserOpener {
  const file = join(folder, `open-${process.pid}.html`)
  const remove = (): void => rmSync(file, { force: true })
  return {
    open: async url => {
      // A private file redirects to the URL, because all users of the machine can read the arguments of a process.
      const address = url.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
      const page = `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=${address}">\n`
      remove()
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      writeFileSync(file, page, { mode: 0o600, flag: 'wx' })
      const [command, args] = toCommand(file)
      const child = spawn(command, args, { stdio: 'ignore', detached: true })
      const exited = new Promise<void>((resolve, reject) => {
        child.once('error', reject)
        child.once('exit', code =>
          code === 0 ? resolve() : reject(new Error(`${command} ended with ${code ?? 'a signal'}`)),
        )
      })
      await Promise.race([exited, setTimeout(START_MS, undefined, { ref: false })])
      child.unref()
    },
    [Symbol.dispose]: remove,
  }
}

function systemProgram(name: string): string {
  return `${process.env['SystemRoot'] ?? 'C:\\Windows'}\\System32\\${name}`
}

function toCommand(file: string): [command: string, args: string[]] {
  switch (process.platform) {
    case 'darwin':
      return ['open', [file]]
    case 'win32':
      // Uses the full path of the program, because Windows looks for programs in the working directory first.
      return [systemProgram('rundll32.exe'), ['url.dll,FileProtocolHandler', file]]
    default:
      return ['xdg-open', [file]]
  }
}
