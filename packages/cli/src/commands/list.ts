import { listNotSkills, listSkills, type SkillRow, shortDigest } from '@skillstoke/core/internal'
import type { NotSkills } from '@skillstoke/core/source'
import { type Config, findingsOf, isAboutStore, isFailure, pathsOf } from '../config/config.ts'
import { askOrScan, describeSource } from '../skills/ask-or-scan.ts'
import { withApproveCommand } from '../terminal/approve-command.ts'
import { describeNotSkills } from '../terminal/describe-not-skills.ts'
import { EXIT_FINDINGS, EXIT_OK } from '../terminal/exit-code.ts'
import {
  formatDiagnostic,
  formatTable,
  paint,
  paintStatus,
  printFindings,
  printJson,
  printLine,
  shorten,
  sortForPeople,
  toTerminalLine,
} from '../terminal/output.ts'

const DESCRIPTION_WIDTH = 70

/** Implements `stoke list`: prints every skill of the sources, whether it is served or not. */
export async function list(config: Config, { json }: { readonly json?: boolean }): Promise<number> {
  const { answer, from } = await askOrScan(
    config,
    {
      ask: async client => {
        const [skills, notSkills] = await Promise.all([client.skills(), client.notSkills()])
        return { ...skills, notSkills: expectedOf(notSkills) }
      },
      scan: async skills => ({
        ...(await listSkills(skills)),
        notSkills: expectedOf(await listNotSkills(skills)),
      }),
    },
    { reportsUnreadable: true },
  )
  const { generation, skills, sources, notSkills } = answer
  const findings = findingsOf(sources, config)
  const code = findings.some(isFailure) ? EXIT_FINDINGS : EXIT_OK
  if (json) {
    printJson({ ...answer, from })
    return code
  }
  printFindings(from.kind === 'dev' ? findings : findings.filter(each => !isAboutStore(each)))
  const note = describeNotSkills(notSkills, config.options)
  if (skills.length === 0) {
    printLine(`no skills in ${pathsOf(config).join(', ')}`)
    if (config.roots.length > 0)
      printLine(
        'create a folder with a file SKILL.md that starts with "---", a name, a description and "---"',
      )
    if (note !== undefined) printLine(note)
    printLine(describeSource(from, config))
    return code
  }
  const sorted = sortForPeople(skills)
  // Prints all lines in one write, because one write per line is slow for thousands of lines.
  const lines: string[] = []
  // Only a running dev server knows which skills were used.
  const hasUses = sorted.some(({ usage }) => usage !== null)
  const rows = sorted.map(row => [
    paintStatus(row.status),
    paint('bold', toTerminalLine(row.name)),
    row.serving === null ? '-' : shortDigest(row.serving),
    ...(hasUses ? [row.usage === null ? '-' : `${row.usage.count} x, ${toTimeOfDay(row.usage.lastAt)}`] : []),
    row.copies.length === 0 ? row.source : `${row.source} +${row.copies.length}`,
    shorten(row.description, DESCRIPTION_WIDTH),
  ])
  lines.push(
    formatTable([
      ['STATUS', 'NAME', 'SERVING', ...(hasUses ? ['USED'] : []), 'SOURCE', 'DESCRIPTION'],
      ...rows,
    ]),
  )
  for (const row of sorted) {
    for (const each of withApproveCommand(row, config))
      if (each.severity !== 'info') lines.push(formatDiagnostic(each, config.options))
  }
  if (note !== undefined) lines.push(note)
  lines.push(
    paint(
      'dim',
      `generation ${generation.number} ${shortDigest(generation.digest)}, ${skills.length} found, ${countServed(skills)} served`,
    ),
    describeSource(from, config),
  )
  printLine(lines.join('\n'))
  return code
}

function toTimeOfDay(iso: string): string {
  return new Date(iso).toLocaleTimeString('en-GB')
}

/** Returns only the entries that a person would expect to be skills. */
function expectedOf({ found }: NotSkills): NotSkills['found'] {
  return found.filter(({ isExpected }) => isExpected)
}

function countServed(skills: readonly SkillRow[]): number {
  return skills.filter(row => row.serving !== null).length
}
