import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { SkillExplanation } from '@skillstoke/core'
import { defined, type SkillDetail, shortDigest, showSkill } from '@skillstoke/core/internal'
import { NodeFileSystem } from '@skillstoke/core/node'
import { judgeRows, toSetting } from '../check/skill-findings.ts'
import { ApiError } from '../client/api-error.ts'
import type { Config } from '../config/config.ts'
import { toAnswering } from '../skills/answering.ts'
import { askOrScan } from '../skills/ask-or-scan.ts'
import { findGrantRefusal, openSkills } from '../skills/open-skills.ts'
import { toAsked } from '../skills/skill-target.ts'
import type { Answer } from '../terminal/answer.ts'
import { withApproveCommand } from '../terminal/approve-command.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import { VISIBILITY_WORDS } from '../terminal/format-catalog.ts'
import {
  formatDiagnostic,
  formatTable,
  nearPath,
  paint,
  toTerminalLine,
  toTerminalText,
} from '../terminal/output.ts'
import { nameCommand } from '../terminal/program-name.ts'

interface ShowFlags {
  /** Revision to show. @default the served revision */
  readonly revision?: string
  /** Folder that gets a copy of the skill. */
  readonly copyTo?: string
}

/** Implements `stoke show`: prints one revision of one skill, with its files and instructions. */
export async function show(config: Config, { revision, copyTo }: ShowFlags, asked: string): Promise<Answer> {
  const name = toAsked(asked)
  if (copyTo !== undefined) return await copyOut(name, revision, copyTo, config)
  const { answer } = await askOrScan<SkillDetail | SkillExplanation>(
    config,
    {
      ask: async client =>
        await client.skill(name, defined({ revision })).catch(async (thrown: unknown) => {
          const isUnknown = thrown instanceof ApiError && thrown.code === 'NOT_FOUND'
          const explanation = isUnknown ? await client.why(name) : undefined
          // The skill may exist without the revision.
          if (explanation?.steps[0]?.ok === false) return explanation
          throw thrown
        }),
      scan: async skills => {
        const shown = await showSkill(name, toAnswering(skills, config), defined({ revision }))
        if ('steps' in shown) return shown
        return { ...shown, skills: await judgeRows(shown.skills, toSetting(skills, config)) }
      },
    },
    { needsState: revision !== undefined },
  )
  if ('steps' in answer)
    return {
      json: answer,
      text: () => {
        const reason = toTerminalLine(answer.steps[0]?.detail ?? '')
        process.stderr.write(`there is no skill ${JSON.stringify(asked)}: ${reason}\n`)
        return []
      },
      exit: EXIT_FINDINGS,
    }
  const { skills, fields, files, body } = answer
  const shown = revision === undefined ? {} : { shown: fields?.revision }
  return {
    json: { ...fields, ...skills[0], ...shown, files, body },
    text: () => describe(answer, config),
    exit: fields === null ? EXIT_FINDINGS : EXIT_OK,
  }
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
  const isServed = fields.revision === row.serving
  const note = isServed
    ? ''
    : `, not served; serving ${row.serving === null ? 'nothing' : shortDigest(row.serving)}`
  yield paint('dim', `revision ${fields.revision}${note}`)
  yield formatTable(
    files.map(file => [shortDigest(file.digest), String(file.size).padStart(8), toTerminalText(file.path)]),
  )
  yield `\n${toTerminalText(body ?? '')}`
}

/** Copies one revision into a new folder, where it can be tried while the present revision stays served. */
async function copyOut(
  name: string,
  revision: string | undefined,
  folder: string,
  config: Config,
): Promise<Answer> {
  await using skills = await openSkills(config, { watching: 'off', needsState: true })
  const skill = revision === undefined ? skills.current.get(name) : await skills.history.read(name, revision)
  const target = join(resolve(folder), skill.name)
  if (existsSync(target)) throw new UsageError(`${target} exists already; name another folder`)
  const fileSystem = new NodeFileSystem()
  for (const { path, isExecutable } of skill.files)
    await fileSystem.write(join(target, path), await skills.readFile(skill, path), {
      inside: resolve(folder),
      isExecutable,
    })
  const command = nameCommand(['chat', '--root', nearPath(resolve(folder))])
  return {
    json: { name: skill.name, revision: skill.revision, path: target },
    text: () => [`copied ${skill.revision} to ${nearPath(target)}; to try it, run: ${command}`],
  }
}
