import { type SkillReport, shortDigest } from '@skillstoke/core'
import type { Config } from '../config.ts'
import { EXIT_OK } from '../exit-code.ts'
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
  toTerminalText,
} from '../output.ts'

const DESCRIPTION_WIDTH = 60

/** `stoke list`: every folder found, broken and shadowed ones included. */
export async function list(config: Config, options: { readonly json: boolean }): Promise<number> {
  await using skills = await openSkills(config, { watching: 'off' })
  const { number, digest } = skills.current
  const reports = skills.current.reports()
  if (options.json) {
    printJson({ generation: { number, digest }, skills: reports.map(toJson) })
    return EXIT_OK
  }
  const paint = createPaint(config.hasColor)
  if (reports.length === 0) {
    printLine(`no skills in ${config.roots.map(root => root.path).join(', ')}`)
    printLine(
      'make one: a folder with a file SKILL.md that starts with "---", a name, a description and "---"',
    )
    return EXIT_OK
  }
  const rows = sortForPeople(reports).map(report => [
    paintStatus(report.status, paint),
    paint('bold', toTerminalText(report.name)),
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
  return EXIT_OK
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
