import { lstatSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, join, parse, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type CheckOptions, checkSkill } from '@skillstoke/author'
import { type CheckedPath, toFindings } from '@skillstoke/author/internal'
import {
  createSkillRuntime,
  type Diagnostic,
  type Skill,
  SkillError,
  type SkillReport,
  type SourceReport,
} from '@skillstoke/core'
import { findLeftOutIn, isMisnamed, toMessage } from '@skillstoke/core/internal'
import { directory, NodeFileSystem, nodeHasher } from '@skillstoke/core/node'
import { DEFAULT_LIMITS, type NotSkill } from '@skillstoke/core/source'
import { runGit } from '../skills/run-git.ts'
import { checkReport } from './check-report.ts'

/** What was found in one folder. */
export interface CheckedFolder extends CheckedPath {
  /** False for a file or folder that is not a skill, for example a folder without a SKILL.md. */
  readonly isSkill: boolean
  /** The skill as a source reads it. Absent for a text without a folder. */
  readonly report?: SkillReport
  /** The skill that the folder would serve. */
  readonly skill?: Skill
}

const SKILL_FILES = ['SKILL.md', 'skill.md']

/** Checks a skill folder, a SKILL.md, a folder that contains skills, or `-` for standard input. */
export async function checkPath(path: string, options: CheckOptions): Promise<readonly CheckedFolder[]> {
  if (path === '-') return [await checkText(path, '<stdin>', await buffer(process.stdin), options)]
  let stats: Stats | undefined
  try {
    stats = statSync(path, { throwIfNoEntry: false })
  } catch (thrown) {
    return [missing(path, `the path cannot be read: ${toMessage(thrown)}`, 'name a readable path')]
  }
  if (stats === undefined)
    return [missing(path, 'the path does not exist', 'name a skill, its folder or its SKILL.md')]
  if (!stats.isDirectory()) return [await checkNamedFile(path, options)]
  const checked = await checkFolders(path, options)
  if (checked.some(each => each.isSkill || isFailed(each))) return checked
  const none = missing(path, 'there is no SKILL.md in this folder', 'add a SKILL.md, or name another folder')
  return [none, ...checked]
}

/** Whether a folder has a finding that is an error. */
export function isFailed({ findings }: CheckedPath): boolean {
  return findings.some(({ severity }) => severity === 'error')
}

async function checkText(
  path: string,
  shown: string,
  bytes: Uint8Array,
  options: CheckOptions,
): Promise<CheckedFolder> {
  const findings = await checkSkill({ path: shown, bytes }, options)
  return { path, findings, isSkill: true }
}

/**
 * Checks one file and the folder around it. Reports an error if the file is not named SKILL.md, because no source serves
 * such a file.
 */
async function checkNamedFile(path: string, options: CheckOptions): Promise<CheckedFolder> {
  const folder = dirname(resolve(path))
  const name = basename(path)
  const read = await readFile(path)
  if ('code' in read) return { path, findings: toFindings([read], options), isSkill: true }
  if (SKILL_FILES.includes(name)) {
    const own = (await checkFolders(folder, options)).find(each => each.report?.location === '')
    // A link may lead out of the folder. A person named the file, so it is read anyway.
    if (own !== undefined) return { ...own, path }
  }
  const findings = await checkSkill({ path, bytes: read, directoryName: basename(folder) }, options)
  if (SKILL_FILES.includes(name)) return { path, findings, isSkill: true }
  const message = `a skill is a file SKILL.md in its own folder, but this file is called ${JSON.stringify(name)}`
  const fix = 'rename it to "SKILL.md", or check its text with "stoke check -"'
  return { path, findings: [...missing(path, message, fix).findings, ...findings], isSkill: true }
}

async function readFile(path: string): Promise<Uint8Array | Diagnostic> {
  try {
    const inside = [parse(resolve(path)).root] // a person named the file, so links may lead anywhere
    const maxBytes = DEFAULT_LIMITS.maxSkillFileBytes
    return (await new NodeFileSystem().read(resolve(path), { inside, maxBytes })).bytes
  } catch (thrown) {
    if (!SkillError.isInstance(thrown)) throw thrown
    return describeUnread(path, thrown)
  }
}

/** Describes an unreadable file with the same diagnostic codes that the runtime uses. */
function describeUnread(path: string, { code, message }: SkillError): Diagnostic {
  const finding = {
    severity: 'error',
    message: `${basename(path)} cannot be read: ${message}`,
    path,
  } as const
  return code === 'TOO_LARGE'
    ? { ...finding, code: 'SKILL_FILE_TOO_LARGE', fix: 'move long material into files under references/' }
    : { ...finding, code: 'SKILL_FILE_UNREADABLE', fix: 'replace it with a readable regular file' }
}

/**
 * Checks all skills of a folder. Reads the skills through a runtime, in order to check exactly the texts that a runtime
 * would serve.
 */
async function checkFolders(root: string, options: CheckOptions): Promise<readonly CheckedFolder[]> {
  await using skills = await createSkillRuntime({
    sources: [directory(root, { watching: 'off' })],
    tuning: { hasher: nodeHasher },
  })
  const leftovers = await listLeftovers(resolve(root))
  const setting = { ...options, skills, leftovers, scans: true, asksBash: true }
  const checked: CheckedFolder[] = []
  for (const report of skills.current.reports()) {
    const path = join(root, report.location)
    if (!SKILL_FILES.some(each => exists(join(path, each)))) continue
    const findings = await checkReport(report, setting)
    const skill = skills.current.find(report.name)
    const served = skill?.location === report.location ? { skill } : {}
    checked.push({ path, report, findings, isSkill: true, ...served })
  }
  const { found, isComplete } = await skills.findNotSkills()
  // Only beside a skill does an ordinary file or folder look as if it was meant to be one.
  const parents = new Set(skills.current.reports().map(({ location }) => dirname(location)))
  const meant = found.filter(
    each =>
      isMisnamed(each) || !/^(?:no-skill-)?file$/.test(each.reason) || parents.has(dirname(each.location)),
  )
  return [
    ...listUnreadable(root, skills.current.sources(), isComplete, options),
    ...checked,
    ...meant.flatMap(each => describeNotSkill(each, options)),
  ]
}

/** Lists what git tracks although no skill contains it. Empty outside of a work tree, or without git. */
async function listLeftovers(root: string): Promise<readonly string[]> {
  const tracked = await runGit(root, ['ls-files', '-z']).catch(() => '')
  return tracked
    .split('\0')
    .flatMap(path => (findLeftOutIn(path)?.kind === 'leftover' ? join(root, path) : []))
}

/** Returns a finding for each unreadable folder, because the skills in such a folder could not be checked. */
function listUnreadable(
  root: string,
  sources: readonly SourceReport[],
  isComplete: boolean,
  options: CheckOptions,
): readonly CheckedFolder[] {
  const found = sources.flatMap(({ diagnostics }) => diagnostics)
  const message = 'there are too many folders without a skill to check all of them'
  const rest: Diagnostic = { code: 'SCAN_BUDGET_EXCEEDED', severity: 'warning', message, path: root }
  return [...found, ...(isComplete ? [] : [rest])].map(each => ({
    path: each.path ?? root,
    findings: toFindings([each], options),
    isSkill: false,
  }))
}

/**
 * Returns a finding for a file or folder that looks like a skill but is not one. Returns an empty list if the file or
 * folder is excluded by its name or by a `.skillignore`.
 */
function describeNotSkill(
  { reason, path, message, fix, isExpected }: NotSkill,
  options: CheckOptions,
): readonly CheckedFolder[] {
  if (!isExpected || reason === 'skipped' || reason === 'ignored') return []
  const code =
    reason === 'link' ? 'LINK_REFUSED' : reason === 'too-deep' ? 'FOLDER_TOO_DEEP' : 'SKILL_FILE_MISSING'
  const severity = isMisnamed({ reason, path }) ? 'error' : 'warning'
  const findings = toFindings([{ code, severity, message, path, fix }], options)
  return [{ path, findings, isSkill: false }]
}

/**
 * Whether the path exists. True even for a link whose target is missing, because such a skill is broken, not missing.
 */
function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

function missing(path: string, message: string, fix: string): CheckedFolder {
  const finding: Diagnostic = { code: 'SKILL_FILE_MISSING', severity: 'error', message, path, fix }
  return { path, findings: toFindings([finding]), isSkill: true }
}
