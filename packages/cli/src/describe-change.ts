import {
  type RegistryUpdate,
  type Skill,
  SkillError,
  type SkillReport,
  type SkillRuntime,
} from '@skillstoke/core'
import { decodeStrictText, shortDigest } from '@skillstoke/core/internal'
import { createTwoFilesPatch } from 'diff'
import { readNewestText } from './newest-text.ts'
import { type Paint, toTerminalText } from './output.ts'

/** The difference that the last update made, or that a rejected text would make. */
export async function describeLastChange(
  update: RegistryUpdate | undefined,
  skills: SkillRuntime,
): Promise<string> {
  if (update === undefined) return 'nothing has changed yet'
  const parts: string[] = []
  for (const report of update.reports.filter(each => each.status === 'broken'))
    parts.push(await describeRejected(report, skills))
  for (const change of update.changes) {
    if (change.kind === 'modified')
      parts.push(await describeModified(change.oldSkill, change.newSkill, skills))
    else parts.push(`${change.kind} ${change.name}`)
  }
  return parts.length === 0 ? 'nothing that is served changed' : parts.join('\n')
}

/** As a unified diff of every file that differs, each side with its revision. */
export async function describeModified(before: Skill, after: Skill, skills: SkillRuntime): Promise<string> {
  const [from, to] = [before, after].map(({ files, revision }) =>
    files.length === 0 ? 'nothing' : shortDigest(revision),
  )
  const paths = new Set([...before.files, ...after.files].map(file => file.path))
  const parts: string[] = []
  for (const path of [...paths].sort()) {
    const oldText = await readText(before, path, skills)
    const newText = await readText(after, path, skills)
    if (oldText !== newText)
      parts.push(toPatch(`${after.name}/${path}`, oldText ?? '', newText ?? '', from, to))
  }
  return parts.join('\n')
}

/** Between the text that serves and the one that was refused. */
export async function describeRejected(report: SkillReport, skills: SkillRuntime): Promise<string> {
  // Of this folder: another one may serve the name.
  const serving = skills.review.revisionsOf(report).live
  if (serving === undefined || report.directory === undefined)
    return `${report.name}: no earlier revision to compare with`
  const live = (await readText(serving, serving.skillFile, skills)) ?? ''
  const rejected = await readNewestText(report)
  if (rejected === undefined) return `${report.name}: its newest text cannot be read`
  return toPatch(`${report.name}/${serving.skillFile}`, live, rejected, 'live', 'rejected')
}

/** A unified diff for a terminal. */
export function paintDiff(text: string, paint: Paint): string {
  return toTerminalText(text)
    .split('\n')
    .map(line =>
      line.startsWith('+') ? paint('green', line) : line.startsWith('-') ? paint('red', line) : line,
    )
    .join('\n')
}

async function readText(skill: Skill, path: string, skills: SkillRuntime): Promise<string | undefined> {
  const file = skill.files.find(each => each.path === path)
  if (file === undefined) return undefined
  const summary = `${file.digest} (${file.size} bytes)\n`
  try {
    // A file with a NUL is shown, too: a NUL must not hide a change from a reviewer.
    return decodeStrictText(await skills.readFile(skill, path)) ?? summary
  } catch (thrown) {
    if (SkillError.isInstance(thrown)) return summary
    throw thrown
  }
}

function toPatch(path: string, before: string, after: string, from?: string, to?: string): string {
  return createTwoFilesPatch(path, path, before, after, from, to, { context: 2 })
}
