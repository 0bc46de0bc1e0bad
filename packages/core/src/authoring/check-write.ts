import { SkillError } from '../errors.ts'
import { quote } from '../quote.ts'
import { isError } from '../skill/diagnostic.ts'
import { isPrivateKey } from '../skill/left-out-names.ts'
import { DEFAULT_LIMITS, type SkillLimits } from '../skill/limits.ts'
import { parseSkill } from '../skill/parse-skill.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import type { Skill } from '../skill/skill.ts'
import type { SkillPath } from '../skill/skill-path.ts'
import { adviseRepairs, reviewSkill } from './review-skill.ts'

/** A file that is about to be written. */
export interface FileDraft {
  /** Name of the skill that the file belongs to. */
  readonly skill: string
  readonly path: SkillPath
  readonly bytes: Uint8Array
  /** Name of the file that contains the text of the skill, for example `SKILL.md`. */
  readonly skillFile: string
}

/** The rules by which the source will read the file. */
export interface ServingRules {
  readonly reading?: Partial<ReadingPolicy>
  readonly limits?: SkillLimits
}

/**
 * Checks that the rules of the source allow this file. Returns advice for the author.
 * @throws {SkillError} SKILL_INVALID, TOO_LARGE; INVALID_PATH for a private key, which the source would leave out
 */
export function checkWrite(
  draft: FileDraft,
  served: Skill | undefined,
  rules: ServingRules,
): readonly string[] {
  const limits = rules.limits ?? DEFAULT_LIMITS
  checkSize(draft, served, limits)
  const { path, bytes, skillFile } = draft
  if (rules.reading?.secretFiles !== 'include' && isPrivateKey(path, bytes))
    throw new SkillError(
      'INVALID_PATH',
      `${quote(path)} would hold a private key, so it would be left out of the skill; leave the key out of the file`,
    )
  if (path !== skillFile) return path.split('/').length > 2 ? ['keep files one level below the skill'] : []
  if (bytes.length === 0)
    throw new SkillError('SKILL_INVALID', `${path} is empty; write frontmatter and instructions`)
  // A text that names another skill would not update the requested skill, even if the source accepts the other name.
  const policy: Partial<ReadingPolicy> = { ...rules.reading, matchDirectory: 'error' }
  const parsed = parseSkill(bytes, { directoryName: draft.skill, limits, policy })
  if (parsed.ok && !parsed.diagnostics.some(isError))
    return [
      ...adviseRepairs(parsed.diagnostics),
      ...reviewSkill(parsed.value, served?.files.map(file => file.path) ?? []),
    ]
  const found = parsed.diagnostics.filter(isError)
  const reasons = found.map(
    ({ message, line, fix }) => `line ${line ?? 1}: ${message}; ${fix ?? 'correct it'}`,
  )
  throw new SkillError('SKILL_INVALID', `${path} was not written. ${reasons.join('. ')}`, {
    data: { diagnostics: found },
  })
}

/** Refuses a file that makes the skill too large, because the source would refuse the whole skill. */
function checkSize({ path, bytes }: FileDraft, served: Skill | undefined, limits: SkillLimits): void {
  const { maxFolderBytes, maxFiles, maxFolderDepth } = limits
  const others = (served?.files ?? []).filter(file => file.path !== path)
  const total = others.reduce((sum, { size }) => sum + size, bytes.length)
  const fail = (what: string): never => {
    throw new SkillError('TOO_LARGE', `with ${quote(path)} the skill has ${what}`)
  }
  if (total > maxFolderBytes) fail(`${total} bytes; at most ${maxFolderBytes} are read`)
  if (others.length + 1 > maxFiles) fail(`${others.length + 1} files; at most ${maxFiles} are read`)
  if (path.split('/').length > maxFolderDepth) fail(`more than ${maxFolderDepth} levels`)
}
