import type { ComponentChildren } from 'preact'
import type { SkillRow } from 'skillstoke/client'

/** Renders the diagnostics for the newest text in one folder. */
export function Findings({ row }: { readonly row: SkillRow }): ComponentChildren {
  if (row.diagnostics.length === 0) return null
  return (
    <ul class="findings" aria-label="Findings">
      {row.diagnostics.map(finding => (
        <li key={JSON.stringify(finding)} class={finding.severity}>
          <strong>{finding.severity}</strong>
          {describeLine(row, finding)}: {finding.message} <code>{finding.code}</code>
          {finding.fix !== undefined && <p>Fix: {finding.fix}</p>}
        </li>
      ))}
    </ul>
  )
}

/** Returns the line that a diagnostic names. Also returns the file name, unless the file is SKILL.md. */
function describeLine(row: SkillRow, { path, line, column }: SkillRow['diagnostics'][number]): string {
  const file = isAboutInstructions(row, path) ? '' : ` ${pathIn(row, path ?? '')}`
  if (line === undefined) return file
  return `${file} line ${line}${column === undefined ? '' : `, column ${column}`}`
}

/** Whether a diagnostic belongs to the SKILL.md or to the skill folder itself, and not to another file. */
export function isAboutInstructions(row: SkillRow, path: string | undefined): boolean {
  if (path === undefined || path === row.location || path === row.target) return true
  return /^skill\.md$/i.test(pathIn(row, path))
}

/** Returns the path of a file relative to its skill folder. `path` may be any form of path that a source displays. */
function pathIn({ location }: SkillRow, path: string): string {
  if (path.startsWith(`${location}/`)) return path.slice(location.length + 1)
  const folder = `/${location.split('/').at(-1)}/`
  const at = path.lastIndexOf(folder)
  return at < 0 ? path : path.slice(at + folder.length)
}
