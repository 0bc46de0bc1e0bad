import type { Hasher } from '../host.ts'
import type { SkillFile } from '../skill/manifest.ts'
import type { Skill } from '../skill/skill.ts'
import { isTestFile } from '../skill/test-files.ts'

/**
 * Short keys for what a model gets from a revision. Two revisions with equal keys differ at most in their frontmatter,
 * in their tests, or in blank lines around the instructions.
 */
export interface ContentKeys {
  /** Key of the instructions. */
  readonly body: string
  /** Key of all other files, without the tests of the skill. */
  readonly files: string
}

const DIGITS = 16
const ALGORITHM = 'sha256:'
const keys = new WeakMap<readonly SkillFile[], ContentKeys>()

/** The result is cached, because skills are immutable. */
export function contentKeys(
  { files, skillFile, bodyDigest }: Pick<Skill, 'files' | 'skillFile' | 'bodyDigest'>,
  hasher: Hasher,
): ContentKeys {
  const known = keys.get(files)
  if (known !== undefined) return known
  const others = files
    .filter(file => file.path !== skillFile && !isTestFile(file))
    .map(({ path, digest, isExecutable }) => [path, digest, isExecutable])
  const made = {
    body: bodyDigest.slice(ALGORITHM.length, ALGORITHM.length + DIGITS),
    files: hasher.sha256(JSON.stringify(others)).slice(0, DIGITS),
  }
  keys.set(files, made)
  return made
}

export function haveEqualContent(a: ContentKeys | undefined, b: ContentKeys | undefined): boolean {
  return a !== undefined && a.body === b?.body && a.files === b.files
}
