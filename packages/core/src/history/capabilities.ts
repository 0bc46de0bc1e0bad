import { quote } from '../quote.ts'
import { declaredCapabilities } from '../skill/capabilities.ts'
import { compareText } from '../skill/compare.ts'
import { mayRun } from '../skill/program-file.ts'
import type { Skill } from '../skill/skill.ts'
import { disallowedToolsOf } from '../skill/tool-list.ts'

/**
 * Returns one text for each capability that a revision has and the previous revision lacks. A reviewer reads these
 * texts.
 */
export function describeNewCapabilities(before: Skill | undefined, after: Skill): readonly string[] {
  const found: string[] = []
  const had = new Map(before?.files.map(file => [file.path, file]))
  for (const file of [...after.files].sort((a, b) => compareText(a.path, b.path))) {
    if (!mayRun(file.path, file.isExecutable)) continue
    const old = had.get(file.path)
    const shown = quote(file.path)
    if (old === undefined) found.push(`the script ${shown} appears`)
    else if (!mayRun(old.path, old.isExecutable)) found.push(`${shown} becomes executable`)
  }
  const tools = new Set(before?.allowedTools)
  // Without a list of allowed tools, every tool may be used, so removing the list counts as a new capability.
  if (before?.allowedTools !== undefined && after.allowedTools === undefined)
    found.push('allowed-tools was removed, so every tool may be used')
  // Some agents approve listed tools in advance, so even adding the first list of tools counts as a new capability.
  const added = after.allowedTools?.filter(tool => !tools.has(tool)) ?? []
  if (added.length > 0) found.push(`allowed-tools names ${added.join(', ')}`)
  const forbidden = new Set(disallowedToolsOf(after.extra))
  const lifted = disallowedToolsOf(before?.extra ?? {}).filter(tool => !forbidden.has(tool))
  if (lifted.length > 0) found.push(`disallowed-tools no longer names ${lifted.join(', ')}`)
  const wanted = new Set(declaredCapabilities(before))
  const grown = declaredCapabilities(after).filter(capability => !wanted.has(capability))
  if (grown.length > 0) found.push(`metadata.capabilities asks for ${grown.join(', ')}`)
  return found
}
