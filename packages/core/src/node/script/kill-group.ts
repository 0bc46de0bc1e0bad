/** Ends a process and everything in its group. */
export function killGroup(pid: number | undefined): void {
  if (pid === undefined || process.platform === 'win32') return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (thrown) {
    // Nobody is left in it, or nobody of ours.
    if (!['ESRCH', 'EPERM'].includes((thrown as NodeJS.ErrnoException).code ?? '')) throw thrown
  }
}
