import type { SkillExplanation } from '@skillstoke/core'
import { type SkillDetail, shortDigest, showSkill } from '@skillstoke/core/internal'
import { ApiError } from '../client/api-error.ts'
import type { Config } from '../config/config.ts'
import { toAnswering } from '../skills/answering.ts'
import { askOrScan } from '../skills/ask-or-scan.ts'
import { findGrantRefusal } from '../skills/open-skills.ts'
import { toMissing } from '../skills/report-missing.ts'
import { toAsked } from '../skills/skill-target.ts'
import type { Answer } from '../terminal/answer.ts'
import { withApproveCommand } from '../terminal/approve-command.ts'
import { EXIT_FINDINGS, EXIT_OK } from '../terminal/exit-code.ts'
import { VISIBILITY_WORDS } from '../terminal/format-catalog.ts'
import { formatDiagnostic, formatTable, paint, toTerminalText } from '../terminal/output.ts'

/** Implements `stoke show`: prints the served revision of one skill, with its files and instructions. */
export async function show(config: Config, _flags: object, asked: string): Promise<Answer> {
  const name = toAsked(asked)
  const { answer } = await askOrScan<SkillDetail | SkillExplanation>(config, {
    ask: async client =>
      await client.skill(name).catch(async (thrown: unknown) => {
        if (thrown instanceof ApiError && thrown.code === 'NOT_FOUND') return await client.why(name)
        throw thrown
      }),
    scan: async skills => await showSkill(name, toAnswering(skills, config)),
  })
  if (!('steps' in answer)) {
    const { skills, fields, files, body } = answer
    return {
      json: { ...fields, ...skills[0], files, body },
      text: () => describe(answer, config),
      exit: fields === null ? EXIT_FINDINGS : EXIT_OK,
    }
  }
  return toMissing(asked, answer)
}

async function* describe(
  { skills: [row], fields, files, body, unreported, granted }: SkillDetail,
  config: Config,
): AsyncGenerator<string> {
  if (row === undefined) return
  yield `${paint('bold', toTerminalText(row.name))}  ${row.status}  ${row.location}`
  if (row.visibility !== null) yield paint('dim', VISIBILITY_WORDS[row.visibility])
  yield* withApproveCommand(row, config).map(each => formatDiagnostic(each, config.options))
  yield* unreported.map(hidden => formatDiagnostic(hidden))
  if (fields === null) return
  const refusal = await findGrantRefusal(granted, config)
  if (refusal !== undefined)
    yield `${paint('yellow', 'warning')} no script of this skill starts here: ${toTerminalText(refusal)}`
  yield toTerminalText(fields.description)
  yield paint('dim', `revision ${fields.revision}`)
  yield formatTable(
    files.map(file => [shortDigest(file.digest), String(file.size).padStart(8), toTerminalText(file.path)]),
  )
  yield `\n${toTerminalText(body ?? '')}`
}
