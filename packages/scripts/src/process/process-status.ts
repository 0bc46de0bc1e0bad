import { readFileSync } from 'node:fs'

/** Status of a process on Linux. */
export interface ProcessStatus {
  readonly state: string
  readonly parent: number
  /** Start time in clock ticks since boot. The start time distinguishes the process from a later process with the same ID. */
  readonly startedAt: string
}

/**
 * Reads the status of a process on Linux; see proc_pid_stat(5).
 * @returns `undefined` if there is no such process, or `unknown` if the status cannot be read, for example without free
 * descriptors
 */
export function readStatus(pid: number): ProcessStatus | 'unknown' | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name in parentheses may contain any character.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0] ?? '', parent: Number(fields[1]), startedAt: fields[19] ?? '' }
  } catch (thrown) {
    const { code = '' } = thrown as NodeJS.ErrnoException
    return ['ENOENT', 'ESRCH'].includes(code) ? undefined : 'unknown'
  }
}
