import { shortDigest } from '@skillstoke/core'
import type { Config } from '../config.ts'
import { EXIT_OK } from '../exit-code.ts'
import { openSkills } from '../open-skills.ts'
import { createPaint, formatDiagnostic, formatTable, paintStatus, printJson, printLine } from '../output.ts'

const STATUSES = ['ok', 'warning', 'broken', 'shadowed', 'pending'] as const

/** `stoke status`: the roots, how they can be watched, and what was found. */
export async function status(config: Config, options: { readonly json: boolean }): Promise<number> {
  await using skills = await openSkills(config, { watching: 'auto' })
  const { number, digest } = skills.current
  const reports = skills.current.reports()
  const counts = Object.fromEntries(
    STATUSES.map(each => [each, reports.filter(report => report.status === each).length]),
  )
  const sources = skills.status().map((source, index) => ({
    ...source,
    path: config.roots[index]?.path,
    skills: reports.filter(report => report.source === source.label).length,
    diagnostics: skills.current.sources()[index]?.diagnostics ?? [],
  }))
  if (options.json) {
    printJson({ generation: { number, digest }, counts, sources, stateDirectory: config.stateDirectory })
    return EXIT_OK
  }
  const paint = createPaint(config.hasColor)
  const rows = sources.map(source => [
    source.path ?? source.origin,
    source.label,
    source.mode,
    String(source.skills),
    source.lastError ?? source.reason ?? '',
  ])
  printLine(formatTable([['ROOT', 'LABEL', 'MODE', 'SKILLS', 'NOTE'], ...rows]))
  for (const source of sources)
    for (const each of source.diagnostics) printLine(formatDiagnostic(each, paint))
  const summary = STATUSES.filter(each => counts[each] !== 0).map(
    each => `${counts[each]} ${paintStatus(each, paint)}`,
  )
  printLine(
    `${summary.length === 0 ? 'no skills' : summary.join(', ')}; generation ${number} ${shortDigest(digest)}`,
  )
  printLine(paint('dim', `state in ${config.stateDirectory}`))
  return EXIT_OK
}
