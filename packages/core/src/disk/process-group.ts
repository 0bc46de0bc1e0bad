import { type ChildProcess, spawnSync } from 'node:child_process'
import { ignoring } from './ignoring.ts'

/** How long `taskkill` may run on Windows, in milliseconds. */
const TREE_KILL_MS = 5_000

/**
 * Kills a child that was spawned as `detached`, and every process that the child has started. Does nothing if all these
 * processes have ended. The call is synchronous, so that a host can make the call while exiting.
 */
export function killGroup(
  child: Pick<ChildProcess, 'pid' | 'exitCode' | 'signalCode' | 'kill'> | undefined,
  platform: NodeJS.Platform = process.platform,
): void {
  if (child?.pid === undefined) return
  if (platform === 'win32') killTree(child, child.pid)
  else killProcess(-child.pid)
}

/**
 * Returns whether any process in the group of a child still runs. Returns false on Windows, because Windows has no
 * process groups.
 */
export function hasGroup(pid: number | undefined, platform: NodeJS.Platform = process.platform): boolean {
  return pid !== undefined && platform !== 'win32' && isAlive(-pid)
}

/** Kills the process with this id. For a negative number such as -7, kills the process group 7. */
export function killProcess(pid: number): void {
  // The process may have ended, or the process with this id may belong to another user.
  ignoring(['ESRCH', 'EPERM'], () => process.kill(pid, 'SIGKILL'))
}

/** Returns whether a process exists, including processes of other users. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/**
 * Windows has no process groups, so `taskkill /T` follows parent ids instead. `taskkill` runs before `child.kill()`,
 * because the children of an ended process cannot be found and a new process may have the same id.
 */
function killTree(child: Pick<ChildProcess, 'exitCode' | 'signalCode' | 'kill'>, pid: number): void {
  if (child.exitCode !== null || child.signalCode !== null) return
  // Uses the full path, because Windows searches the working directory first.
  const taskkill = `${process.env['SystemRoot'] ?? 'C:\\Windows'}\\System32\\taskkill.exe`
  const options = { stdio: 'ignore', windowsHide: true, timeout: TREE_KILL_MS } as const
  const { status } = spawnSync(taskkill, ['/PID', String(pid), '/T', '/F'], options)
  if (status !== 0) child.kill('SIGKILL')
}
