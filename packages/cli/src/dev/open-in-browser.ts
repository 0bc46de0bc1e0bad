import { spawn } from 'node:child_process'

/** Shows an address in the user's browser; rejects when there is no program that would. */
export async function openInBrowser(url: string): Promise<void> {
  const [command, args] = toCommand(url)
  const child = spawn(command, args, { stdio: 'ignore', detached: true })
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('spawn', resolve)
  })
  child.unref()
}

function toCommand(url: string): [command: string, args: string[]] {
  switch (process.platform) {
    case 'darwin':
      return ['open', [url]]
    case 'win32':
      return ['rundll32', ['url.dll,FileProtocolHandler', url]]
    default:
      return ['xdg-open', [url]]
  }
}
