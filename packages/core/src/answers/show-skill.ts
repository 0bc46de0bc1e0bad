import type { SkillExplanation } from '../reader/explain-skill.ts'
import { findAsked } from '../reader/find-asked.ts'
import type { Generation } from '../registry/generation.ts'
import type { SkillReport } from '../registry/skill-report.ts'
import { targetOf } from '../registry/skill-report.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { SkillFile } from '../skill/manifest.ts'
import { showFile } from '../skill/shown-bytes.ts'
import type { Skill } from '../skill/skill.ts'
import { decodePlainText } from '../skill/text.ts'
import { MAX_LOOK_MS } from '../sync/source-readers.ts'
import type { Answering } from './answering.ts'
import { findUnreported } from './doubts.ts'
import { type GenerationId, type SkillRow, toGenerationId } from './skill-row.ts'
import { viewCatalog } from './visibility.ts'

export type FileInfo = Pick<SkillFile, 'path' | 'digest' | 'size'>

/** One file of a skill. */
export interface FileText extends FileInfo {
  readonly revision: Digest
  /** Text of the file. In a file that is not text, bytes are written as escapes such as `<0xFF>`. */
  readonly text: string
  readonly isText: boolean
}

/** One skill with its files and instructions. */
export interface SkillDetail {
  readonly generation: GenerationId
  /**
   * All folders with this name. The first one is the requested folder, or the served folder if the request contains
   * only a name.
   */
  readonly skills: readonly SkillRow[]
  /**
   * Revision from which `files`, `text` and `body` come. Normally the served revision. If the request named a folder
   * that is not served, the newest revision of that folder. If it named a revision, this one. Null if the folder has
   * no valid revision.
   */
  readonly revision: Digest | null
  /** The fields of `revision`. Null if `revision` is null. */
  readonly fields: Omit<Skill, 'diagnostics' | 'source' | 'location' | 'directory' | 'files'> | null
  /** Files of `revision`. Empty if `revision` is null. */
  readonly files: readonly FileInfo[]
  /** Text of the SKILL.md of `revision`. Null if `revision` is null. */
  readonly text: string | null
  /** Instructions without the frontmatter. */
  readonly body: string | null
  /** Text of the SKILL.md on disk, if this text was refused. Line numbers of the diagnostics refer to this text. */
  readonly refusedText: string | null
  /** Hidden text in the first folder, found by the stricter search that an approval uses. */
  readonly unreported: readonly Diagnostic[]
  /** Capabilities that the scripts of `revision` may use. */
  readonly granted: readonly string[]
  /** The steps by which the skill reaches a conversation. */
  readonly explanation: SkillExplanation
}

/** The folder that a request names, and the revision to show. */
interface MeantFolder {
  readonly report: SkillReport
  /** The served revision. If the request named a folder that is not served, the newest revision of that folder. */
  readonly skill: Skill | undefined
}

/** A skill is not shown if writes do not end within this time. */
const BOUND = { maxWaitMs: MAX_LOOK_MS }

interface ShowOptions {
  /** Creates the row of a report, for a caller that knows tokens and uses. */
  readonly rowOf?: (report: SkillReport) => SkillRow
  /** Revision to show, as `SkillHistory.read()` accepts it. @default the served revision */
  readonly revision?: string
}

/**
 * Shows the skill that `name`, `source/name`, a folder name, a path or the `target` of a row means. If there is none,
 * returns the explanation why.
 * @throws {SkillError} as `SkillHistory.read()` when a revision is given
 */
export async function showSkill(
  target: string,
  answering: Answering,
  { rowOf, revision }: ShowOptions = {},
): Promise<SkillDetail | SkillExplanation> {
  const { skills, scope, readNewest } = answering
  const generation = await skills.fresh(BOUND)
  const toRow = rowOf ?? viewCatalog(answering, generation).toRow
  const view = skills.forConversation(scope === undefined ? {} : { scope })
  const meant = findMeant(target, generation, skills)
  if (meant === undefined) return await view.why(target)
  const { report } = meant
  const skill = revision === undefined ? meant.skill : await skills.history.read(targetOf(report), revision)
  const shown =
    skill === undefined
      ? { revision: null, fields: null, files: [], text: null, body: null, granted: [] }
      : await showRevision(skill, skills)
  return {
    generation: toGenerationId(generation),
    skills: listLike(report, generation).map(toRow),
    ...shown,
    refusedText: report.status === 'broken' ? ((await readNewest(report)) ?? null) : null,
    unreported: await findUnreported(report, skills),
    explanation: view.explain(report.name),
  }
}

async function showRevision(
  skill: Skill,
  skills: SkillRuntime,
): Promise<Pick<SkillDetail, 'revision' | 'fields' | 'files' | 'text' | 'body' | 'granted'>> {
  const {
    diagnostics: _diagnostics,
    source: _source,
    location: _location,
    directory: _directory,
    ...rest
  } = skill
  const { files, ...fields } = rest
  return {
    revision: skill.revision,
    fields,
    files: files.map(({ path, digest, size }) => ({ path, digest, size })),
    text: decodePlainText(await skills.readFile(skill, skill.skillFile)) ?? null,
    body: await skills.readBody(skill),
    granted: skills.review.grantedTo(skill),
  }
}

/** Shows a file of the revision that `showSkill` shows. Returns `undefined` if there is no such skill or file. */
export async function showSkillFile(
  target: string,
  path: string,
  skills: SkillRuntime,
): Promise<FileText | undefined> {
  const skill = findMeant(target, await skills.fresh(BOUND), skills)?.skill
  const file = skill?.files.find(each => each.path === path)
  if (skill === undefined || file === undefined) return undefined
  const { digest, size } = file
  return {
    path,
    digest,
    size,
    revision: skill.revision,
    ...showFile(file, await skills.readFile(skill, path)),
  }
}

/** Returns all folders with the same name. The given folder comes first, then the served folder. */
function listLike(meant: SkillReport, generation: Generation): readonly SkillReport[] {
  const rank = (report: SkillReport): number => (report === meant ? 0 : report.serving === undefined ? 2 : 1)
  return generation
    .reports()
    .filter(report => report.name === meant.name)
    .toSorted((a, b) => rank(a) - rank(b))
}

/**
 * Finds the folder that a name, `source/name`, a folder name, a path or the `target` of a row means. A name without a
 * source means the served folder. A `target` means one particular folder, even if it is not served.
 */
export function findMeant(
  target: string,
  generation: Generation,
  skills: SkillRuntime,
): MeantFolder | undefined {
  const report =
    generation.reports().find(each => each.name !== target && targetOf(each) === target) ??
    findAsked(target, generation, skills.status())?.report
  if (report === undefined) return undefined
  if (report.name === target) return { report, skill: generation.find(target) }
  const { skill, live } = skills.review.revisionsOf(report)
  return { report, skill: live ?? skill }
}
