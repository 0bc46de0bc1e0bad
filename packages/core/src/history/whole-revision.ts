import { SkillError } from '../errors.ts'
import type { SkillReport } from '../registry/generation.ts'
import { type Digest, parseDigest } from '../skill/digest.ts'

/**
 * Reads the revision that a decision names.
 *
 * @param known revisions that may be meant, for the message
 * @throws {SkillError} INVALID_OPTION for anything but a whole digest: a second text with the same beginning is found in seconds
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
      : `if that is the one that you have read, use ${meant.join(' or ')}`
  throw new SkillError(
    'INVALID_OPTION',
    `revision ${JSON.stringify(text)} is not whole, and a beginning can be forged; ${way}`,
    { data: { given: text, known: meant } },
  )
}

/**
 * Returns the revision of the newest text, if it is the one that was looked at.
 *
 * @param looked the revision that was looked at; absent when the newest is meant, whichever it is
 * @throws {SkillError} SKILL_INVALID when the text is broken; CHANGED_SINCE_READ; INVALID_OPTION as `parseWholeRevision`
 */
export function checkNewest(
  { name, revision }: Pick<SkillReport, 'name' | 'revision'>,
  looked: string | undefined,
): Digest {
  const shown = JSON.stringify(name)
  if (revision === undefined)
    throw new SkillError('SKILL_INVALID', `the newest text of ${shown} is broken; there is nothing to decide`)
  if (looked === undefined || parseWholeRevision(looked, [revision]) === revision) return revision
  throw new SkillError(
    'CHANGED_SINCE_READ',
    `the newest revision of ${shown} is ${revision} by now; look at it again`,
    { data: { expected: looked, actual: revision } },
  )
}
