import { type Diagnostic, readFrontmatter, type Skill, type SkillRuntime } from '@skillstoke/core'
import { describePlace, findIncludedSecret, isError, quote } from '@skillstoke/core/internal'
import { findFilesFault } from './manifest.ts'

/** A folder with a fault, which is not published. */
export interface RefusedSkill {
  readonly name: string
  readonly reason: string
}

/** What is there to publish at one moment. */
export interface Publishable {
  /** Reads the files of the skills. */
  readonly runtime: SkillRuntime
  readonly skills: readonly Skill[]
  readonly refused: readonly RefusedSkill[]
  /** Names of refused folders whose text does not tell the name of the skill. */
  readonly unnamed: readonly string[]
  /** Labels of the sources that were not read yet, so that more skills may follow. */
  readonly awaited: readonly string[]
}

/** Faults of a text whose name cannot be read. */
const UNNAMED = /^(?:ENCODING|TEXT|FRONTMATTER|YAML|SKILL_FILE|NAME)_/

/** Lists the skills that a runtime serves. The newest text of a refused skill is broken or waits for approval. */
export function listServed(runtime: SkillRuntime): Publishable {
  const generation = runtime.current
  const skills: Skill[] = []
  const refused: RefusedSkill[] = []
  for (const skill of generation.list()) {
    const fault = findFilesFault(skill.files) ?? describeSecret(skill)
    if (fault === undefined) skills.push(skill)
    else refused.push({ name: skill.name, reason: fault })
  }
  const faulty = generation
    .reports()
    .filter(({ status }) => status === 'broken' || status === 'pending' || status === 'rejected')
  for (const { name, status, diagnostics } of faulty) {
    // A text that cannot be read has other faults only because of this one.
    const errors = diagnostics.filter(isError)
    const fault = errors.find(({ code }) => UNNAMED.test(code)) ?? errors[0]
    const reason = fault === undefined ? `its newest text is ${status}` : describeFault(fault)
    if (refused.every(each => each.name !== name)) refused.push({ name, reason })
  }
  const unnamed = faulty
    .filter(({ diagnostics }) => diagnostics.some(each => isError(each) && UNNAMED.test(each.code)))
    .map(({ name }) => name)
  return { runtime, skills, refused, unnamed, awaited: listAwaited(runtime) }
}

/** Describes a private key in a skill. A key has an ordinary name, so only its bytes show what it is. */
function describeSecret(skill: Skill): string | undefined {
  const path = findIncludedSecret(skill)
  return path === undefined ? undefined : `its file ${quote(path)} holds a secret`
}

function describeFault(fault: Diagnostic): string {
  const place = describePlace(fault)
  return `${place === '' ? '' : `${place}: `}${fault.message}${fault.fix === undefined ? '' : `; ${fault.fix}`}`
}

/** Lists the sources of a runtime that were never read. A source that was read before keeps its skills. */
export function listAwaited(runtime: SkillRuntime): readonly string[] {
  const unread = runtime.status().filter(({ lastReadAt }) => lastReadAt === undefined)
  const fetching = runtime.current
    .sources()
    .filter(({ diagnostics }) => diagnostics.some(({ code }) => code === 'SOURCE_AWAITED'))
  return [...new Set([...unread, ...fetching].map(({ label }) => label))]
}

/** Returns the frontmatter of a skill. Agents read a text that had to be repaired with the same repair. */
export async function readFrontmatterOf(
  skill: Skill,
  runtime: SkillRuntime,
): Promise<Readonly<Record<string, unknown>>> {
  const { name, description, listedFrontmatter, skillFile } = skill
  if (listedFrontmatter !== undefined) return listedFrontmatter
  return readFrontmatter(await runtime.readFile(skill, skillFile)) ?? { name, description }
}
