import { type Config, pathsOf } from './config/config.ts'
import { createPaint, printLine } from './output.ts'
import { findRunningDev, type RunningDev } from './server/run-file.ts'

/** Where an answer comes from: a running `stoke dev`, or a scan of the sources. */
export type AnswerSource =
  | { readonly kind: 'dev'; readonly url: string; readonly pid: number }
  | { readonly kind: 'scan' }

/** Asks a running `stoke dev` that has the same sources. If no such process runs, scans the sources. */
export async function askOrScan<T>(
  config: Config,
  ask: (dev: RunningDev) => Promise<T>,
  scan: () => Promise<T>,
): Promise<{ answer: T; from: AnswerSource }> {
  const dev = await findRunningDev(config)
  if (dev === undefined) return { answer: await scan(), from: { kind: 'scan' } }
  const { url, pid } = dev.file
  return { answer: await ask(dev), from: { kind: 'dev', url, pid } }
}

export function printSource(from: AnswerSource, config: Config): void {
  printLine(describeSource(from, config))
}

export function describeSource(from: AnswerSource, config: Config): string {
  const paint = createPaint(config.hasColor)
  const words =
    from.kind === 'dev'
      ? `answered by the running dev at ${from.url} (process ${from.pid})`
      : `scanned just now, because no running dev has these roots (${pathsOf(config).join(', ')}) and this state directory`
  return paint('dim', words)
}
