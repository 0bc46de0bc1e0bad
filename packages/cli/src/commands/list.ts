import { listNotSkills, listSkills, type SkillList, shortDigest } from '@skillstoke/core/internal'
import type { NotSkills } from '@skillstoke/core/source'
import { type Config, findingsOf, isAboutStore, isFailure, pathsOf } from '../config/config.ts'
import { askOrScan, describeSource } from '../skills/ask-or-scan.ts'
import type { Answer } from '../terminal/answer.ts'
import { withApproveCommand } from '../terminal/approve-command.ts'
import { describeNotSkills } from '../terminal/describe-not-skills.ts'
import { EXIT_FINDINGS, EXIT_OK } from '../terminal/exit-code.ts'
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

const DESCRIPTION_WIDTH = 70

/** Implements `stoke list`: prints every skill of the sources, whether it is served or not. */
export async function list(config: Config): Promise<Answer> {
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
  const findings = findingsOf(answer.sources, config)
  return {
    json: { ...answer, from },
    text: function* () {
      printFindings(from.kind === 'dev' ? findings : findings.filter(each => !isAboutStore(each)))
      if (answer.skills.length > 0) yield* describeSkills(answer, config)
      else {
        yield `no skills in ${pathsOf(config).join(', ')}`
        if (config.roots.length > 0)
          yield 'create a folder with a file SKILL.md that starts with "---", a name, a description and "---"'
      }
      const note = describeNotSkills(answer.notSkills, config.options)
      if (note !== undefined) yield note
      if (answer.skills.length > 0) yield paint('dim', summarize(answer))
      yield describeSource(from, config)
    },
    exit: findings.some(isFailure) ? EXIT_FINDINGS : EXIT_OK,
  }
}

function* describeSkills({ skills }: SkillList, config: Config): Generator<string> {
  const sorted = sortForPeople(skills)
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
  const uses = hasUses ? ['USED'] : []
  yield formatTable([['STATUS', 'NAME', 'SERVING', ...uses, 'SOURCE', 'DESCRIPTION'], ...rows])
  for (const each of sorted.flatMap(row => withApproveCommand(row, config)))
    if (each.severity !== 'info') yield formatDiagnostic(each, config.options)
}

function summarize({ generation, skills }: SkillList): string {
  const served = skills.filter(row => row.serving !== null).length
  return `generation ${generation.number} ${shortDigest(generation.digest)}, ${skills.length} found, ${served} served`
}

function toTimeOfDay(iso: string): string {
  return new Date(iso).toLocaleTimeString('en-GB')
}

/** Returns only the entries that a person would expect to be skills. */
function expectedOf({ found }: NotSkills): NotSkills['found'] {
  return found.filter(({ isExpected }) => isExpected)
}
