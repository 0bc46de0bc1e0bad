import type { SkillExplanation } from '@skillstoke/core'
import { type SkillDetail, shortDigest, showSkill } from '@skillstoke/core/internal'
import { ApiError } from '../client/api-error.ts'
import type { Config } from '../config/config.ts'
import { toAnswering } from '../skills/answering.ts'
import { askOrScan } from '../skills/ask-or-scan.ts'
import { findGrantRefusal } from '../skills/open-skills.ts'
import { toAsked } from '../skills/skill-target.ts'
import { withApproveCommand } from '../terminal/approve-command.ts'
import { EXIT_FINDINGS, EXIT_OK } from '../terminal/exit-code.ts'
import {
  formatDiagnostic,
  formatTable,
  paint,
  printJson,
  printLine,
  toTerminalText,
} from '../terminal/output.ts'

/** Implements `stoke show`: prints the served revision of one skill, with its files and instructions. */
export async function show(
  config: Config,
  { json }: { readonly json?: boolean },
  asked: string,
): Promise<number> {
  const name = toAsked(asked)
  const { answer } = await askOrScan<SkillDetail | SkillExplanation>(config, {
    ask: async client =>
      await client.skill(name).catch(async (thrown: unknown) => {
        if (thrown instanceof ApiError && thrown.code === 'NOT_FOUND') return await client.why(name)
        throw thrown
      }),
    scan: async skills => await showSkill(name, toAnswering(skills, {})),
  })
  if ('steps' in answer) {
    if (json) printJson(answer)
    else process.stderr.write(`there is no skill ${JSON.stringify(asked)}: ${answer.steps[0]?.detail}\n`)
    return EXIT_FINDINGS
  }
  const { skills, fields, files, body, unreported, granted } = answer
  const [row] = skills
  if (row === undefined) return EXIT_FINDINGS
  if (json) {
    printJson({ ...fields, ...row, files, body })
    return fields === null ? EXIT_FINDINGS : EXIT_OK
  }
  printLine(`${paint('bold', toTerminalText(row.name))}  ${row.status}  ${row.location}`)
  for (const diagnostic of withApproveCommand(row, config))
    printLine(formatDiagnostic(diagnostic, config.options))
  for (const hidden of unreported) printLine(formatDiagnostic(hidden))
  if (fields === null) return EXIT_FINDINGS
  const refusal = await findGrantRefusal(granted, config)
  if (refusal !== undefined)
    printLine(`${paint('yellow', 'warning')} no script of this skill starts here: ${toTerminalText(refusal)}`)
  printLine(toTerminalText(fields.description))
  printLine(paint('dim', `revision ${fields.revision}`))
  printLine(
    formatTable(
      files.map(file => [shortDigest(file.digest), String(file.size).padStart(8), toTerminalText(file.path)]),
    ),
  )
  printLine()
  printLine(toTerminalText(body ?? ''))
  return EXIT_OK
}
