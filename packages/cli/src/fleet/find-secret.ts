import { findSecrets } from '@skillstoke/author/internal'
import type { Skill, SkillRuntime } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'
import { decode } from '../check/check-report.ts'

const MAX_BYTES = 1024 * 1024
/** Skills without a secret. A runtime keeps the object of an unchanged skill. */
const clean = new WeakSet<Skill>()

/** Says which file of a skill contains a key of a service or a private key. Returns `undefined` if there is none. */
export async function findSecretIn(skill: Skill, skills: SkillRuntime): Promise<string | undefined> {
  if (clean.has(skill)) return undefined
  for (const { path, size } of skill.files) {
    const text = size > MAX_BYTES ? undefined : decode(await skills.readFile(skill, path))
    const [found] = findSecrets(text ?? '')
    if (found !== undefined)
      return `in ${quote(path)}, line ${found.line ?? 1}, ${found.message}; ${found.fix ?? ''}`
  }
  clean.add(skill)
  return undefined
}
