import { shortDigest } from '@skillstoke/core/internal'
import type { ApiClient } from '../client/index.ts'
import { type Config, findingsOf, isFailure, pathsOf } from '../config/config.ts'
import { findRunningDev } from '../server/run-file.ts'
import type { Answer } from '../terminal/answer.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import { paint, paintStatus, printFindings, toTerminalLine } from '../terminal/output.ts'

/** Timeout of the request. Long enough to reload tens of thousands of skills. */
export const RELOAD_TIMEOUT_MS = 300_000

/**
 * Implements `stoke reload`: makes the running `stoke dev` read all sources again, even if no watcher reported a
 * change.
 */
export async function reload(config: Config): Promise<Answer> {
  const dev = await findRunningDev(config)
  if (dev === undefined) {
    const roots = pathsOf(config).join(', ')
    throw new UsageError(
      `no running dev has these roots (${roots}) and the state directory ${config.stateDirectory}; start one with "stoke dev", or name the state directory of the running dev with --state`,
    )
  }
  const result = await dev.client.reload({ timeoutMs: RELOAD_TIMEOUT_MS })
  const isBroken = result.problems.some(problem => problem.status === 'broken')
  const findings = findingsOf(result.sources, config)
  return {
    json: result,
    text: () => {
      printFindings(findings)
      return describe(result)
    },
    exit: isBroken || findings.some(isFailure) ? EXIT_FINDINGS : EXIT_OK,
  }
}

function* describe({
  previous,
  generation,
  changes,
  problems,
}: Awaited<ReturnType<ApiClient['reload']>>): Generator<string> {
  for (const { kind, name, from, to } of changes) {
    const revisions = [from, to].map(each => (each === null ? '-' : shortDigest(each))).join(' -> ')
    yield `${kind} ${paint('bold', toTerminalLine(name))} ${revisions}`
  }
  for (const { name, status, place, message } of problems)
    yield `${paintStatus(status)} ${toTerminalLine(`${name}: ${place}: ${message}`)}`
  const digest = shortDigest(generation.digest)
  yield previous.number === generation.number
    ? `read everything again, nothing changed: generation ${generation.number} ${digest}`
    : `generation ${previous.number} -> ${generation.number} ${digest}`
}
