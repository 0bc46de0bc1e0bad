import { PassThrough, type Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { SkillError } from '@skillstoke/core'
import { CALL_TIMEOUT_MS, defined, LATE, untilAborted, waitAtMost } from '@skillstoke/core/internal'
import { type ScriptFileRun, type ScriptRunOptions, systemClock } from '@skillstoke/core/source'
import type { ContainedProcess } from './contained-process.ts'
import { Output, type OutputLimits } from './output.ts'
import type { Redaction } from './redact.ts'

export interface ShownProgram {
  /** Name for messages. */
  readonly name: string
  readonly limits: OutputLimits
  readonly redaction: Redaction
}

// How long to wait for output pipes that child processes still keep open after the program has ended, in milliseconds.
const PIPE_GRACE_MS = 100

/**
 * Follows a program that was just started. Settles when the program, and all processes that the program started, have ended.
 * @throws {SkillError} TIMED_OUT; IO_FAILED when the program cannot be started; the reason of the signal when the
 * signal aborts
 */
export async function runProgram(
  program: ContainedProcess,
  { name, limits, redaction }: ShownProgram,
  { signal, timeoutMs = CALL_TIMEOUT_MS.default, onLine }: ScriptRunOptions,
): Promise<ScriptFileRun> {
  const { child } = program
  const ended = Promise.withResolvers<{ readonly code: number | null; readonly signal: string | null }>()
  child.on('error', error =>
    ended.reject(
      new SkillError('IO_FAILED', `${name}: it cannot be started: ${error.message}`, { cause: error }),
    ),
  )
  child.on('exit', (code, by) => ended.resolve({ code, signal: by }))
  let isOver = false
  const follow = (stream: Readable | null | undefined, kind: 'stdout' | 'stderr'): Output =>
    // If no file descriptor is free, the output streams are missing here, and an `error` event follows.
    new Output(stream ?? new PassThrough().end(), limits[kind], redaction, text => {
      if (!isOver) onLine?.({ stream: kind, text })
    })
  const stdout = follow(child.stdout, 'stdout')
  const stderr = follow(child.stderr, 'stderr')
  try {
    const end = await waitAtMost(systemClock, timeoutMs, untilAborted(signal, ended.promise))
    if (end === LATE) throw new SkillError('TIMED_OUT', `${name}: it took longer than ${timeoutMs} ms`)
    await Promise.race([Promise.all([stdout.ended, stderr.ended]), delay(PIPE_GRACE_MS)])
    return {
      ...defined({ exitCode: end.code ?? undefined, signal: end.signal ?? undefined }),
      stdout: stdout.text,
      stderr: stderr.text,
      isTruncated: stdout.isTruncated || stderr.isTruncated,
    }
  } finally {
    program.kill()
    isOver = true
    for (const stream of [child.stdout, child.stderr]) (stream as Readable | null | undefined)?.destroy()
    await program.ended
  }
}
