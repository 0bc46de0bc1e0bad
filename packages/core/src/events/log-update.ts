import type { Logger } from '../host.ts'
import type { RegistryUpdate } from '../registry/registry-update.ts'
import type { SkillReport } from '../registry/skill-report.ts'
import { type Diagnostic, isError } from '../skill/diagnostic.ts'

/** Logs broken skills and new problems of sources at warn level. */
export function logUpdate(logger: Logger, { previous, generation, reports }: RegistryUpdate): void {
  for (const report of reports) if (hasBrokenText(report)) logBroken(logger, report)
  const before = new Map(previous.sources().map(({ label, diagnostics }) => [label, diagnostics]))
  for (const { label, diagnostics } of generation.sources()) {
    const known = new Set(before.get(label)?.map(({ message }) => message))
    for (const diagnostic of diagnostics)
      if (isNews(diagnostic) && !known.has(diagnostic.message))
        logger.warn('a source has a problem', { source: label, problem: describe(diagnostic) })
  }
}

/**
 * Returns true if the text of the skill is broken. A served revision can have broken commands, but the command loader
 * logs broken commands.
 */
function hasBrokenText({ status, revision }: SkillReport): boolean {
  return status === 'broken' && revision === undefined
}

function logBroken(logger: Logger, { name, source, location, serving, diagnostics }: SkillReport): void {
  const message =
    serving === undefined
      ? 'a skill is broken and cannot be served'
      : 'a skill is broken; its last good revision stays'
  logger.warn(message, {
    skill: name,
    source,
    location,
    problem: diagnostics.filter(isError).map(describe).join('; '),
  })
}

/**
 * Returns true if the functions in this file must log the diagnostic. SOURCE_FAILED is already logged by the code that
 * retries the source.
 */
function isNews({ code, severity }: Diagnostic): boolean {
  return severity !== 'info' && code !== 'SOURCE_FAILED'
}

function describe({ line, message, fix }: Diagnostic): string {
  const place = line === undefined ? '' : `line ${line}: `
  return fix === undefined ? `${place}${message}` : `${place}${message} (${fix})`
}
