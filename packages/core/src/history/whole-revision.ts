import { SkillError } from '../errors.ts'
import { quote } from '../quote.ts'
import type { SkillReport } from '../registry/skill-report.ts'
import { type Digest, parseDigest } from '../skill/digest.ts'

/**
 * Parses the revision that a decision names.
 *
 * @param known revisions that the caller may mean; the error message suggests them
 * @throws {SkillError} INVALID_OPTION unless `text` is a whole digest, because a forged revision with the same first
 * digits can be computed in seconds
 */
export function parseWholeRevision(text: string, known: readonly Digest[]): Digest {
  const revision = parseDigest(text)
  if (revision !== undefined) return revision
  const beginning = text
    .trim()
    .toLowerCase()
    .replace(/^sha256:/, '')
  const meant =
    beginning === '' ? [] : [...new Set(known)].filter(each => each.slice(7).startsWith(beginning))
  const way =
    meant.length === 0
      ? 'use "sha256:" and its 64 digits'
      : `if you have reviewed that revision, use ${meant.join(' or ')}`
  throw new SkillError(
    'INVALID_OPTION',
    `revision ${quote(text)} is not a whole digest, and its first digits can be forged; ${way}`,
    { data: { given: text, known: meant } },
  )
}

/**
 * Returns the newest revision if the caller reviewed exactly this revision.
 *
 * @param looked the reviewed revision; if absent, the newest revision is returned without a check
 * @throws {SkillError} SKILL_INVALID when the text is broken; CHANGED_SINCE_READ; INVALID_OPTION as
 * `parseWholeRevision`
 */
export function checkNewest(
  { name, revision }: Pick<SkillReport, 'name' | 'revision'>,
  looked: string | undefined,
): Digest {
  const shown = quote(name)
  if (revision === undefined)
    throw new SkillError('SKILL_INVALID', `the newest text of ${shown} is broken; there is nothing to decide`)
  if (looked === undefined || parseWholeRevision(looked, [revision]) === revision) return revision
  throw new SkillError(
    'CHANGED_SINCE_READ',
    `the newest revision of ${shown} is now ${revision}; review it again`,
    { data: { expected: looked, actual: revision } },
  )
}
