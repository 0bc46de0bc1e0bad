import type { SkillStatus } from '@skillstoke/core'
import {
  listNotSkills,
  listSkills,
  type SkillList,
  type SkillRow,
  type SkillVisibility,
  shortDigest,
} from '@skillstoke/core/internal'
import type { NotSkills } from '@skillstoke/core/source'
import { judgeRows, toSetting } from '../check/skill-findings.ts'
import { type Config, findingsOf, isAboutStore, isFailure, pathsOf } from '../config/config.ts'
import { toAnswering } from '../skills/answering.ts'
import { askOrScan, describeSource } from '../skills/ask-or-scan.ts'
import type { Answer } from '../terminal/answer.ts'
import { withApproveCommand } from '../terminal/approve-command.ts'
import { describeNotSkills } from '../terminal/describe-not-skills.ts'
import { EXIT_FINDINGS, EXIT_OK } from '../terminal/exit-code.ts'
import { formatCatalog } from '../terminal/format-catalog.ts'
import {
  formatDiagnostic,
  formatTable,
  paint,
  paintStatus,
  printFindings,
  shorten,
  sortForPeople,
  toTerminalLine,
} from '../terminal/output.ts'
import { formatTime } from './history.ts'

/** Width of the last column if no terminal limits it. */
const DESCRIPTION_WIDTH = 70

/** Which skills `stoke list` prints. */
export interface ListFlags {
  /** Text in the name, the description or the source. */
  readonly filter?: string
  readonly status?: readonly (SkillStatus | SkillVisibility)[]
}

/** Implements `stoke list`: prints every skill of the sources, whether it is served or not. */
export async function list(config: Config, flags: ListFlags): Promise<Answer> {
  const { answer: all, from } = await askOrScan(
    config,
    {
      ask: async client => {
        const [skills, notSkills] = await Promise.all([client.skills(), client.notSkills()])
        return { ...skills, notSkills: expectedOf(notSkills) }
      },
      scan: async skills => {
        const listed = await listSkills(toAnswering(skills, config))
        return {
          ...listed,
          skills: await judgeRows(listed.skills, toSetting(skills, config)),
          notSkills: expectedOf(await listNotSkills(skills)),
        }
      },
    },
    { reportsUnreadable: true },
  )
  const answer = { ...all, skills: all.skills.filter(row => isWanted(row, flags)) }
  const findings = findingsOf(answer.sources, config)
  return {
    json: { ...answer, from },
    text: function* () {
      printFindings(from.kind === 'dev' ? findings : findings.filter(each => !isAboutStore(each)))
      if (answer.skills.length > 0) yield* describeSkills(answer, config)
      else if (all.skills.length > 0) yield 'no skill matches --filter and --status'
      else {
        yield `no skills in ${pathsOf(config).join(', ')}`
        if (config.roots.length > 0)
          yield 'create a folder with a file SKILL.md that starts with "---", a name, a description and "---"'
      }
      const note = describeNotSkills(answer.notSkills, config.options)
      if (note !== undefined) yield note
      if (all.skills.length > 0) yield paint('dim', `${formatCatalog(all.catalog)}\n${summarize(all)}`)
      yield describeSource(from, config)
    },
    exit: findings.some(isFailure) ? EXIT_FINDINGS : EXIT_OK,
  }
}

function isWanted(row: SkillRow, { filter = '', status }: ListFlags): boolean {
  const text = `${row.name}\n${row.description}\n${row.source}`.toLowerCase()
  const words = [row.status, row.visibility]
  return (
    text.includes(filter.toLowerCase()) && (status === undefined || status.some(each => words.includes(each)))
  )
}

function* describeSkills({ skills }: SkillList, config: Config): Generator<string> {
  const sorted = sortForPeople(skills)
  // Only a running dev server knows which skills were used.
  const hasUses = sorted.some(({ usage }) => usage !== null)
  const rows = sorted.map(row => [
    paintStatus(row.status),
    paint('bold', toTerminalLine(row.name)),
    row.visibility ?? '-',
    row.serving === null ? '-' : shortDigest(row.serving),
    ...(hasUses
      ? [row.usage === null ? '-' : `${row.usage.count} x, ${formatTime(Date.parse(row.usage.lastAt))}`]
      : []),
    row.copies.length === 0 ? row.source : `${row.source} +${row.copies.length}`,
    shorten(describeRow(row), process.stdout.isTTY ? Infinity : DESCRIPTION_WIDTH),
  ])
  const uses = hasUses ? ['USED (UTC)'] : []
  yield formatTable([['STATUS', 'NAME', 'VISIBILITY', 'SERVING', ...uses, 'SOURCE', 'DESCRIPTION'], ...rows])
  for (const each of sorted.flatMap(row => withApproveCommand(row, config)))
    if (each.severity !== 'info') yield formatDiagnostic(each, config.options)
}

/** Returns the reason why a skill is broken, or else its description. */
function describeRow({ status, diagnostics, description }: SkillRow): string {
  const fault = status === 'broken' ? diagnostics.find(({ severity }) => severity === 'error') : undefined
  if (fault === undefined) return description
  return fault.line === undefined ? fault.message : `line ${fault.line}: ${fault.message}`
}

function summarize({ generation, skills }: SkillList): string {
  const served = skills.filter(row => row.serving !== null).length
  return `generation ${generation.number} ${shortDigest(generation.digest)}, ${skills.length} found, ${served} served`
}

/** Returns only the entries that a person would expect to be skills. */
function expectedOf({ found }: NotSkills): NotSkills['found'] {
  return found.filter(({ isExpected }) => isExpected)
}
