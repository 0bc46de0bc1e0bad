import { type ChildProcess, spawnSync } from 'node:child_process'

/** How long Windows may take to end a tree of processes, in milliseconds. */
const TREE_KILL_MS = 5_000

/**
 * Kills a child that was spawned as `detached`, and every process that it has started. Does nothing if they have ended. It
 * is synchronous, so that it also works while the host exits.
 */
export function killGroup(
  child: Pick<ChildProcess, 'pid' | 'exitCode' | 'signalCode' | 'kill'> | undefined,
  platform: NodeJS.Platform = process.platform,
): void {
  if (child?.pid === undefined) return
  if (platform === 'win32') killTree(child, child.pid)
  else killProcess(-child.pid)
}

/** Whether a process of the group of a child is left. Windows has no groups, so nothing is left to wait for there. */
export function hasGroup(pid: number | undefined, platform: NodeJS.Platform = process.platform): boolean {
  return pid !== undefined && platform !== 'win32' && isAlive(-pid)
}

/** Kills one process, or a group by its negative number. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (thrown) {
    // Nothing is left of it, or nothing that belongs to this user.
    if (!['ESRCH', 'EPERM'].includes((thrown as NodeJS.ErrnoException).code ?? '')) throw thrown
  }
}

/** Whether a process exists, also one of another user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/**
 * Windows has no process groups: `taskkill /T` follows the parents' numbers instead. It comes before `child.kill()`, because
 * the children of a process that has ended are found no longer, and its number may belong to another process.
 */
function killTree(child: Pick<ChildProcess, 'exitCode' | 'signalCode' | 'kill'>, pid: number): void {
  if (child.exitCode !== null || child.signalCode !== null) return
  // The full path, because Windows looks for programs in the working directory first.
  const taskkill = `${process.env['SystemRoot'] ?? 'C:\\Windows'}\\System32\\taskkill.exe`
  const options = { stdio: 'ignore', windowsHide: true, timeout: TREE_KILL_MS } as const
  const { status } = spawnSync(taskkill, ['/PID', String(pid), '/T', '/F'], options)
  if (status !== 0) child.kill('SIGKILL')
}
