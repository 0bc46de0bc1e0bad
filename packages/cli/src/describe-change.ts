import {
  type RegistryUpdate,
  type Skill,
  SkillError,
  type SkillReport,
  type SkillRuntime,
} from '@skillstoke/core'
import { shortDigest, showFile } from '@skillstoke/core/internal'
import { createTwoFilesPatch } from 'diff'
import { readNewestText } from './newest-text.ts'
import { type Paint, toTerminalText } from './output.ts'

/** Describes the changes in the last update, including changes that were rejected. */
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
  return parts.length === 0 ? 'no served skill changed' : parts.join('\n')
}

/** Returns unified diffs of all files that differ. The diffs are labelled with the revisions. */
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

/** Returns a diff from the served SKILL.md to the rejected SKILL.md. */
export async function describeRejected(report: SkillReport, skills: SkillRuntime): Promise<string> {
  // Uses the served revision of this folder, because the served skill with this name may come from another folder.
  const serving = skills.review.revisionsOf(report).live
  if (serving === undefined || report.directory === undefined)
    return `${report.name}: no earlier revision to compare with`
  const live = (await readText(serving, serving.skillFile, skills)) ?? ''
  const rejected = await readNewestText(report)
  if (rejected === undefined) return `${report.name}: the newest text cannot be read`
  return toPatch(`${report.name}/${serving.skillFile}`, live, rejected, 'live', 'rejected')
}

/** Colors a unified diff for a terminal. */
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
    const { text, isText } = showFile(file, await skills.readFile(skill, path))
    // The digest shows a change of bytes that are not shown.
    return isText ? text : `${text}\n${summary}`
  } catch (thrown) {
    if (SkillError.isInstance(thrown)) return summary
    throw thrown
  }
}

function toPatch(path: string, before: string, after: string, from?: string, to?: string): string {
  return createTwoFilesPatch(path, path, before, after, from, to, { context: 2 })
}
