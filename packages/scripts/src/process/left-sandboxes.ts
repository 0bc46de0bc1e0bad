import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { killProcess } from '@skillstoke/core/internal/node'

/**
 * Kills the sandboxes of a killed host. bubblewrap ends with its host, except if the host is killed in the microseconds
 * in which bubblewrap releases the first process of the sandbox.
 * @param folder the folder of the host, which the arguments of bubblewrap name
 */
export function killLeftSandboxes(folder: string): void {
  if (process.platform !== 'linux') return
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (!(pid > 0)) continue
    const [program = '', ...args] = readArguments(pid)
    if (basename(program) === 'bwrap' && args.some(each => each.startsWith(`${folder}/`))) killProcess(pid)
  }
}

function readArguments(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return [] // the process ended, or belongs to another user
  }
}
