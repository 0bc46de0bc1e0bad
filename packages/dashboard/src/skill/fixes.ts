import type { Finding, SkillDetail, SkillRow } from 'skillstoke/client'
import { client } from '../client.ts'
import { isSkillFile } from '../parts/format.ts'
import { act } from '../parts/overlay.tsx'
import { isOwn } from '../store.ts'

/** Returns the findings of a row. The server sends each with the edit that corrects it. */
export function findingsOf({ diagnostics }: SkillRow): readonly Finding[] {
  return (diagnostics as readonly Finding[]).map(finding => {
    const { edit: _, ...rest } = finding
    // The page neither sees nor changes the byte order mark of a file.
    return finding.code === 'BYTE_ORDER_MARK' ? rest : finding
  })
}

/** Whether a finding is about the SKILL.md or the folder, and not about another file. */
export function isAboutText({ path }: Finding, row: SkillRow): boolean {
  if (path === undefined || path === row.location || path === row.target) return true
  return isSkillFile(pathIn(path, row))
}

/** Returns the path of a file in its skill folder. `path` may be any form of path that a source displays. */
export function pathIn(path: string, { location }: Pick<SkillRow, 'location'>): string {
  if (path.startsWith(`${location}/`)) return path.slice(location.length + 1)
  const folder = `/${location.split('/').at(-1)}/`
  const at = path.lastIndexOf(folder)
  return at < 0 ? path : path.slice(at + folder.length)
}

/** Returns the most urgent finding that the page can correct. */
export function findFix(row: SkillRow): Finding | undefined {
  if (!isOwn(row)) return undefined
  const fixable = findingsOf(row).filter(finding => finding.edit !== undefined && isAboutText(finding, row))
  return fixable.find(({ severity }) => severity === 'error') ?? fixable[0]
}

/** Returns a text with the edit of a finding. */
export function applyFix(text: string, { edit }: Finding): string {
  return (edit?.edits ?? []).reduceRight(
    (edited, { start, end, text: written }) => edited.slice(0, start) + written + edited.slice(end),
    text,
  )
}

/** Returns the newest SKILL.md of a folder, even if it is refused. */
export function newestText({ refusedText, text }: SkillDetail): string | null {
  return refusedText ?? text
}

/** Writes the edit of a finding into the SKILL.md. */
export function fix(row: SkillRow, finding: Finding): void {
  act(async () => {
    const before = newestText(await client.skill(row.target)) ?? ''
    // The text may be newer than the finding, so that its edit belongs elsewhere.
    const { findings } = await client.check(row.target, before)
    const same = findings.find(
      ({ code, message, edit }) => code === finding.code && message === finding.message && edit !== undefined,
    )
    if (same === undefined)
      return { text: `${row.name} has changed, so nothing was corrected.`, isFailure: true }
    const after = applyFix(before, same)
    await client.save(row.target, before, after)
    return {
      text: `Corrected ${row.name}: ${finding.edit?.title ?? finding.message}.`,
      undo: () => client.save(row.target, after, before),
    }
  })
}
