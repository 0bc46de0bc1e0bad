import { readFileSync } from 'node:fs'

/** What Linux says of a process. */
export interface ProcessStatus {
  readonly state: string
  readonly parent: number
  /** In ticks since the machine was started: tells it from another process that gets its number later. */
  readonly startedAt: string
}

/**
 * Reads the status of a process on Linux; see proc_pid_stat(5).
 * @returns nothing when there is no such process; `unknown` when it cannot be read, as when descriptors have run out
 */
export function readStatus(pid: number): ProcessStatus | 'unknown' | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name in parentheses may contain anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0] ?? '', parent: Number(fields[1]), startedAt: fields[19] ?? '' }
  } catch (thrown) {
    const { code = '' } = thrown as NodeJS.ErrnoException
    return ['ENOENT', 'ESRCH'].includes(code) ? undefined : 'unknown'
  }
}
