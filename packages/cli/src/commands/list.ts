import { type Diagnostic, type SkillReport, shortDigest } from '@skillstoke/core'
import { type Config, findingsOf } from '../config.ts'
import { EXIT_FINDINGS, EXIT_OK } from '../exit-code.ts'
import { openSkills } from '../open-skills.ts'
import {
  createPaint,
  formatDiagnostic,
  formatTable,
  paintStatus,
  printJson,
  printLine,
  shorten,
  sortForPeople,
  toTerminalLine,
} from '../output.ts'

const DESCRIPTION_WIDTH = 60

/** `stoke list`: every folder found, broken and shadowed ones included. */
export async function list(config: Config, options: { readonly json: boolean }): Promise<number> {
  await using skills = await openSkills(config, { watching: 'off' })
  const { number, digest } = skills.current
  const reports = skills.current.reports()
  const sources = skills.current.sources()
  const findings = findingsOf(sources, config)
  const code = findings.some(isFailure) ? EXIT_FINDINGS : EXIT_OK
  if (options.json) {
    printJson({ generation: { number, digest }, skills: reports.map(toJson), sources })
    return code
  }
  const paint = createPaint(config.hasColor)
  for (const finding of findings) process.stderr.write(`${formatDiagnostic(finding, paint)}\n`)
  if (reports.length === 0) {
    printLine(`no skills in ${config.roots.map(root => root.path).join(', ')}`)
    printLine(
      'make one: a folder with a file SKILL.md that starts with "---", a name, a description and "---"',
    )
    return code
  }
  const rows = sortForPeople(reports).map(report => [
    paintStatus(report.status, paint),
    paint('bold', toTerminalLine(report.name)),
    report.serving === undefined ? '-' : shortDigest(report.serving),
    report.source,
    shorten(report.description, DESCRIPTION_WIDTH),
  ])
  printLine(formatTable([['STATUS', 'NAME', 'SERVING', 'SOURCE', 'DESCRIPTION'], ...rows]))
  for (const { diagnostics } of sortForPeople(reports)) {
    for (const each of diagnostics) if (each.severity !== 'info') printLine(formatDiagnostic(each, paint))
  }
  printLine(
    paint(
      'dim',
      `generation ${number} ${shortDigest(digest)}, ${reports.length} found, ${skills.current.list().length} served`,
    ),
  )
  return code
}

function isFailure(diagnostic: Diagnostic): boolean {
  return diagnostic.code === 'SOURCE_FAILED'
}

/** The shape that other programs rely on. */
export function toJson(report: SkillReport): Record<string, unknown> {
  const { name, description, source, status, diagnostics } = report
  return {
    name,
    description,
    source,
    location: report.directory ?? report.location,
    revision: report.revision ?? null,
    serving: report.serving ?? null,
    status,
    diagnostics,
  }
}
