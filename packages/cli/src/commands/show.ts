import { SkillError, type SkillReport } from '@skillstoke/core'
import { shortDigest, targetOf } from '@skillstoke/core/internal'
import { withApproveCommand } from '../approve-command.ts'
import type { Config } from '../config/config.ts'
import { EXIT_FINDINGS, EXIT_OK } from '../exit-code.ts'
import { findGrantRefusal, openSkills } from '../open-skills.ts'
import {
  createPaint,
  formatDiagnostic,
  formatTable,
  printJson,
  printLine,
  toTerminalText,
} from '../output.ts'
import { toRow } from '../server/skill-rows.ts'
import { toAsked } from '../skill-target.ts'
import { findUnreported } from './decide.ts'

/** Implements `stoke show`: prints the served revision of one skill, with its files and instructions. */
export async function show(
  asked: string,
  config: Config,
  options: { readonly json: boolean },
): Promise<number> {
  await using skills = await openSkills(config, { watching: 'off' })
  const paint = createPaint(config.hasColor)
  const find = (name: string): SkillReport | undefined => {
    const reports = skills.current.reports().filter(report => report.name === name)
    return reports.find(each => each.serving !== undefined) ?? reports[0]
  }
  const named = find(asked)
  const explanation = named === undefined ? await skills.why(toAsked(asked)) : undefined
  const report = named ?? find(explanation?.skill ?? asked)
  if (report === undefined) {
    if (options.json) {
      printJson(explanation)
      return EXIT_FINDINGS
    }
    const step = explanation?.steps[0]
    process.stderr.write(`there is no skill ${JSON.stringify(asked)}: ${step?.detail}\n`)
    return EXIT_FINDINGS
  }
  const skill = await skills.load(report.name).catch((error: unknown) => {
    if (SkillError.isInstance(error, 'SKILL_NOT_FOUND')) return undefined
    throw error
  })
  if (options.json) {
    const {
      diagnostics: _diagnostics,
      source: _source,
      location: _location,
      directory: _directory,
      ...fields
    } = skill ?? {}
    const files = skill?.files.map(({ path, digest, size }) => ({ path, digest, size })) ?? []
    printJson({ ...fields, ...toRow(report), files, body: skill?.body ?? null })
    return skill === undefined ? EXIT_FINDINGS : EXIT_OK
  }
  printLine(
    `${paint('bold', toTerminalText(report.name))}  ${report.status}  ${report.directory ?? report.location}`,
  )
  for (const diagnostic of withApproveCommand({ ...report, target: targetOf(report) }, config))
    printLine(formatDiagnostic(diagnostic, paint, config.options))
  for (const hidden of await findUnreported(report, skills)) printLine(formatDiagnostic(hidden, paint))
  if (skill === undefined) return EXIT_FINDINGS
  const refusal = await findGrantRefusal(skills.review.grantedTo(skill), config)
  if (refusal !== undefined)
    printLine(`${paint('yellow', 'warning')} no script of this skill starts here: ${toTerminalText(refusal)}`)
  printLine(toTerminalText(skill.description))
  printLine(paint('dim', `revision ${skill.revision}`))
  printLine(
    formatTable(
      skill.files.map(file => [
        shortDigest(file.digest),
        String(file.size).padStart(8),
        toTerminalText(file.path),
      ]),
    ),
  )
  printLine()
  printLine(toTerminalText(skill.body))
  return EXIT_OK
}
