import type { DirectoryEntry } from '../fs/file-system.ts'
import { quote } from '../quote.ts'
import type { NotSkill, NotSkillReason } from './not-skill.ts'

/** A finding without the path of its file or folder. */
export type NotSkillFinding = Pick<NotSkill, 'reason' | 'message' | 'fix' | 'isExpected'>

// Obvious misspellings: SKILLS.md, Skill.md, skill.txt, SKILL.md.txt, SKIL.md, SKILL. But not code or data, such as skills.json.
const NEARLY = /^sk[il]+s?(?:\.(?![a-z.]*(?:json|css|html?|[jt]sx?|py|sh|go|rs)$)[a-z.]+)?$/i

/** Whether a person could mistake a file name for SKILL.md. */
export function isNearlySkillFile(name: string): boolean {
  return NEARLY.test(name)
}

// Documents that are common in the top folder of a repository.
const DOCUMENTS =
  /^(?:readme|licen[cs]e|changelog|changes|contributing|code_of_conduct|security|support|notice|agents|claude|gemini|index|todo)\b/i

/** Whether a file in the root of a source looks like a skill without a folder. */
export function isLooseText(name: string): boolean {
  return /\.(?:md|markdown)$/i.test(name) && !DOCUMENTS.test(name) && !name.startsWith('.')
}

/** Explains, from the entries of a folder, why the folder is not a skill. */
export function describeFolder(
  entries: readonly DirectoryEntry[],
  skillFile: string,
  place: { readonly isCategory: boolean; readonly isExpected: boolean },
): NotSkillFinding {
  const same = entries.find(({ name, kind }) => name === skillFile && kind === 'directory')
  if (same !== undefined)
    return finding(
      'misnamed',
      `has a folder ${quote(skillFile)} where a file is expected`,
      `write the text to a file ${skillFile}`,
      true,
    )
  const near = entries.find(({ name, kind }) => kind !== 'directory' && isNearlySkillFile(name))
  if (near !== undefined) {
    const message = `has no ${skillFile}, but a file ${quote(near.name)}`
    return finding('misnamed', message, `rename ${quote(near.name)} to ${quote(skillFile)}`, true)
  }
  if (place.isCategory)
    return finding('category', 'contains skills and is not a skill itself', 'name one of its skills', false)
  const message = entries.length === 0 ? 'is empty' : `has no ${skillFile}`
  const fix = `add a ${skillFile} that starts with "---", a name, a description and "---"`
  return finding('no-skill-file', message, fix, place.isExpected)
}

/** Describes a folder that the layout skips; `skip` is the entry of the layout that matches the folder. */
export function describeSkipped(skip: string, isExpected: boolean): NotSkillFinding {
  const fix = isPrefix(skip)
    ? 'rename it only if agents should see it, or name it as a root of its own'
    : 'move the skill out of it only if agents should see it, or name it as a root of its own'
  return finding('skipped', `is skipped: ${describeRule(skip)}`, fix, isExpected)
}

/** Describes a skill inside a folder that the layout skips. */
export function describeInSkipped(skip: string, folder: string): NotSkillFinding {
  const message = `is in ${quote(folder)}, which is skipped: ${describeRule(skip)}`
  const fix = `move it out of ${quote(folder)} only if agents should see it, or name that folder as a root of its own`
  return finding('skipped', message, fix, true)
}

function describeRule(skip: string): string {
  const pattern = skip.replace(/^\//, '')
  const names = isPrefix(skip) ? `that start with ${quote(pattern.slice(0, -1))}` : `called ${quote(pattern)}`
  return `folders ${names} are not read ${skip.startsWith('/') ? 'at the top of a source' : 'in a source'}`
}

function isPrefix(skip: string): boolean {
  return /^[^*]+\*$/.test(skip)
}

export function describeTooDeep(depth: number, maxDepth: number, isExpected: boolean): NotSkillFinding {
  const message = `is ${depth} levels below the root; skills are found down to ${maxDepth}`
  return finding('too-deep', message, 'move it up, or name a folder above it as a root', isExpected)
}

export function describeIgnored(ignoreFile: string): NotSkillFinding {
  return finding(
    'ignored',
    `is named by ${quote(ignoreFile)}`,
    'take it out of that file only if agents should see it',
    true,
  )
}

/** Describes a file outside of all skills that looks like the text of a skill. */
export function describeFile(name: string, skillFile: string): NotSkillFinding {
  const isNear = isNearlySkillFile(name)
  const message = `is a file; a skill is a folder with a ${skillFile}`
  const move = `move it to "${isNear ? 'my-skill' : name.replace(/\.[^.]*$/, '')}/${skillFile}"`
  const fix = isNear ? `rename it to ${quote(skillFile)} if its folder is the skill, or ${move}` : move
  return finding('file', message, fix, true)
}

export function describeLink(isDenied: boolean, isExpected: boolean): NotSkillFinding {
  const message = isDenied
    ? 'is a link, and links are not followed in this source'
    : 'is a link that cannot be followed'
  const fix = isDenied
    ? 'replace the link with the folder'
    : 'point it at a folder in the root; allow its target with linkRoots or --link-root only if agents may read all of it'
  return finding('link', message, fix, isExpected)
}

function finding(reason: NotSkillReason, message: string, fix: string, isExpected: boolean): NotSkillFinding {
  return { reason, message, fix, isExpected }
}
