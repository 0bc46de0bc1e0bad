import type { SkillDiff, SkillRow } from 'skillstoke/client'
import { isSkillFile } from '../parts/format.ts'
import type { IconName } from '../parts/icons.tsx'
import { findMentions } from './mentions.ts'

type Finding = SkillRow['diagnostics'][number]

/** Files that a skill or its readers may run. */
const CODE = /(?:^|\/)scripts\/|\.(?:[cm]?[jt]sx?|py|sh|bash|zsh|ps1|bat|cmd|rb|pl|php|lua|go|rs|jar)$/i

/** Something that the new text may do and the live text may not. */
interface Growth {
  readonly icon: IconName
  readonly what: string
  readonly why: string
  /** The file that says so. */
  readonly path: string
}

/** Lists what the new text may do more, with hidden words first. */
export function findGrowth(
  { texts, newCapabilities, fields }: SkillDiff,
  hidden: readonly Finding[],
): readonly Growth[] {
  const main = texts.find(({ path }) => isSkillFile(path))?.path ?? 'SKILL.md'
  const named = (text = ''): string => texts.find(({ path }) => text.includes(path))?.path ?? main
  const found: Growth[] = []
  if (hidden.length > 0) {
    const [{ path = '' } = {}] = hidden
    found.push({
      icon: 'eye',
      what: 'Say something that people do not see',
      why: hidden.map(describePlace).join('; '),
      path: path.includes('/scripts/') ? named(path) : main,
    })
  }
  for (const text of newCapabilities)
    found.push(
      /^the script|executable$/.test(text)
        ? { icon: 'terminal', what: 'Run a script', why: text, path: named(text) }
        : { icon: 'tools', what: 'Use more tools or rights', why: text, path: main },
    )
  for (const { path, before, after } of texts) {
    const isKnownCode = CODE.test(path) && before !== null && after !== null
    if (isKnownCode) found.push({ icon: 'terminal', what: 'Run other code', why: `${path} changed`, path })
    for (const { kind, name, line } of findMentions(before ?? '', after ?? ''))
      found.push({
        icon: kind === 'host' ? 'globe' : 'key',
        what: `Mentions the ${kind} ${name}`,
        why: `${path}, line ${line}`,
        path,
      })
  }
  const description = fields.find(({ field }) => field === 'description')
  if (description?.before !== undefined)
    found.push({ icon: 'text', what: 'Load for other messages', why: 'its description changed', path: main })
  return found
}

/** Says where hidden text is, and which characters it has. */
function describePlace({ path = '', line, message }: Finding): string {
  const file = path.replace(/^.*\/(?=(?:scripts|references|assets|evals)\/)|^.*\/(?=[^/]+$)/, '')
  return `${file} ${line === undefined ? '' : `line ${line}`}: ${message}`.trim()
}
