import { lstatSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, join, parse, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { SourceReport } from '@skillstoke/core'
import {
  createSkillRuntime,
  type Diagnostic,
  type Skill,
  SkillError,
  type SkillRuntime,
  validateSkill,
} from '@skillstoke/core'
import {
  checkCapabilities,
  decodeUnmarkedText,
  isError,
  isMisnamed,
  mayBeImported,
  toMessage,
} from '@skillstoke/core/internal'
import { directory, NodeFileSystem, nodeHasher } from '@skillstoke/core/node'
import { DEFAULT_LIMITS, type NotSkill } from '@skillstoke/core/source'
import { scanScripts } from '@skillstoke/scripts'
import type { Config } from '../config/config.ts'
import type { Answer } from '../terminal/answer.ts'
import { doubtsAbout } from '../terminal/approve-command.ts'
import { EXIT_FINDINGS, EXIT_OK } from '../terminal/exit-code.ts'
import { formatDiagnostic, paint, toTerminalLine } from '../terminal/output.ts'

interface Verdict {
  readonly path: string
  readonly valid: boolean
  /** False for a file or folder that is not a skill, for example a folder without a SKILL.md. @default true */
  readonly isSkill?: boolean
  readonly diagnostics: readonly Diagnostic[]
}

const SKILL_FILES = ['SKILL.md', 'skill.md']

/**
 * Implements `stoke validate`: checks SKILL.md files like the reference validator, and scans scripts without running
 * them.
 */
export async function validate(_config: Config, _flags: object, paths: readonly string[]): Promise<Answer> {
  const verdicts: Verdict[] = []
  for (const path of paths) verdicts.push(...(await validatePath(path)))
  return {
    json: verdicts.map(({ path, valid, diagnostics }) => ({ path, valid, diagnostics })),
    text: () => verdicts.flatMap(describeVerdict),
    exit: verdicts.every(({ valid }) => valid) ? EXIT_OK : EXIT_FINDINGS,
  }
}

function describeVerdict({ path, valid, isSkill = true, diagnostics }: Verdict): readonly string[] {
  const good = isSkill ? paint('green', 'valid  ') : paint('yellow', 'skipped')
  return [
    `${valid ? good : paint('red', 'invalid')} ${toTerminalLine(path)}`,
    ...diagnostics.map(each => `  ${formatDiagnostic(each)}`),
  ]
}

/** Validates a skill folder, a SKILL.md, a folder that contains skills, or `-` for standard input. */
async function validatePath(path: string): Promise<readonly Verdict[]> {
  if (path === '-') return [toVerdict(path, validateSkill(await buffer(process.stdin), { path: '<stdin>' }))]
  let stats: Stats | undefined
  try {
    stats = statSync(path, { throwIfNoEntry: false })
  } catch (thrown) {
    return [missing(path, `the path cannot be read: ${toMessage(thrown)}`, 'name a readable path')]
  }
  if (stats === undefined)
    return [missing(path, 'the path does not exist', 'name a skill folder or its SKILL.md')]
  if (!stats.isDirectory()) return [await validateNamedFile(path)]
  const verdicts = await validateFolders(path)
  if (verdicts.some(({ valid, isSkill = true }) => isSkill || !valid)) return verdicts
  const none = missing(path, 'there is no SKILL.md in this folder', 'add a SKILL.md, or name another folder')
  return [none, ...verdicts]
}

/** Validates one file. Reports an error if the file is not named SKILL.md, because no source serves such a file. */
async function validateNamedFile(path: string): Promise<Verdict> {
  const { diagnostics } = await validateFile(path, path)
  const name = basename(path)
  if (SKILL_FILES.includes(name)) return toVerdict(path, diagnostics)
  const message = `a skill is a file SKILL.md in its own folder, but this file is called ${JSON.stringify(name)}`
  const fix = 'rename it to "SKILL.md", or check its text with "stoke validate -"'
  return toVerdict(path, [...missing(path, message, fix).diagnostics, ...diagnostics])
}

/**
 * Validates all skills of a folder. Reads the skills through a runtime, in order to check exactly the texts that a
 * runtime would serve.
 */
async function validateFolders(root: string): Promise<readonly Verdict[]> {
  await using skills = await createSkillRuntime({
    sources: [directory(root, { watching: 'off' })],
    tuning: { hasher: nodeHasher },
  })
  const verdicts = skills.current.reports().map(async report => {
    const { name, location } = report
    const path = join(root, location)
    const file = SKILL_FILES.map(each => join(path, each)).find(exists)
    if (file === undefined) return []
    const { diagnostics } = await validateFile(path, file)
    const skill = skills.current.find(name)
    const found = skill?.location === location ? await validateScripts(skill, path, skills) : []
    // Skips the SKILL.md, because `validateFile` has already reported its faults.
    const isElsewhere = (each: Diagnostic): boolean => resolve(each.path ?? '') !== resolve(file)
    const aboutFiles = report.diagnostics.filter(each => each.path !== undefined)
    const others = [...doubtsAbout(report), ...aboutFiles].filter(isElsewhere)
    // Lists each error in SKILL.md only once, even if the runtime and the validator report different codes for the
    // error.
    const isInvalid = diagnostics.some(isError)
    const unserved = report.diagnostics.filter(each => isError(each) && (isElsewhere(each) || !isInvalid))
    return [toVerdict(path, [...diagnostics, ...new Set([...others, ...unserved]), ...found])]
  })
  const { found, isComplete } = await skills.findNotSkills()
  return [
    ...toUnreadable(root, skills.current.sources(), isComplete),
    ...(await Promise.all(verdicts)).flat(),
    ...found.flatMap(toNotSkill),
  ]
}

/** Returns a verdict for each unreadable folder, because the skills in such a folder could not be validated. */
function toUnreadable(
  root: string,
  sources: readonly SourceReport[],
  isComplete: boolean,
): readonly Verdict[] {
  const found = sources.flatMap(({ diagnostics }) => diagnostics)
  const verdicts = found.map(
    (each): Verdict => ({
      ...toVerdict(each.path ?? root, [each]),
      isSkill: false,
    }),
  )
  if (isComplete) return verdicts
  const message = 'there are too many folders without a skill to check all of them'
  const rest: Diagnostic = { code: 'SCAN_BUDGET_EXCEEDED', severity: 'warning', message, path: root }
  return [...verdicts, { ...toVerdict(root, [rest]), isSkill: false }]
}

/**
 * Returns a verdict for a file or folder that looks like a skill but is not one. Returns an empty list if the file or
 * folder is excluded by its name or by a `.skillignore`.
 */
function toNotSkill({ reason, path, message, fix, isExpected }: NotSkill): readonly Verdict[] {
  if (!isExpected || reason === 'skipped' || reason === 'ignored') return []
  const code = reason === 'link' ? 'LINK_REFUSED' : reason === 'too-deep' ? 'FOLDER_TOO_DEEP' : undefined
  const severity = isMisnamed({ reason, path }) ? 'error' : 'warning'
  const finding: Diagnostic = { code: code ?? 'SKILL_FILE_MISSING', severity, message, path, fix }
  return [{ ...toVerdict(path, [finding]), isSkill: false }]
}

/** Checks the declarations and imports of the scripts of a skill, but does not run the scripts. */
async function validateScripts(
  skill: Skill,
  folder: string,
  skills: SkillRuntime,
): Promise<readonly Diagnostic[]> {
  const texts = skill.files.map(async ({ path, digest }) => ({
    path,
    digest,
    text: mayBeImported(path) ? decodeUnmarkedText(await skills.readFile(skill, path)) : '',
  }))
  const { diagnostics } = await scanScripts(skill.name, await Promise.all(texts))
  return [...diagnostics, ...checkCapabilities(skill)].map(each => ({
    ...each,
    path: join(folder, each.path ?? skill.skillFile),
  }))
}

async function validateFile(path: string, file: string): Promise<Verdict> {
  const folder = resolve(dirname(file))
  try {
    const { bytes } = await new NodeFileSystem().read(resolve(file), {
      inside: [parse(folder).root], // a person named the file, so links may lead anywhere
      maxBytes: DEFAULT_LIMITS.maxSkillFileBytes,
    })
    return toVerdict(path, validateSkill(bytes, { directoryName: basename(folder), path: file }))
  } catch (thrown) {
    if (!SkillError.isInstance(thrown)) throw thrown
    return toVerdict(path, [describeUnread(file, thrown)])
  }
}

/** Describes an unreadable file with the same diagnostic codes that the runtime uses. */
function describeUnread(file: string, { code, message }: SkillError): Diagnostic {
  const finding = {
    severity: 'error',
    message: `${basename(file)} cannot be read: ${message}`,
    path: file,
  } as const
  return code === 'TOO_LARGE'
    ? { ...finding, code: 'SKILL_FILE_TOO_LARGE', fix: 'move long material into files under references/' }
    : { ...finding, code: 'SKILL_FILE_UNREADABLE', fix: 'replace it with a readable regular file' }
}

/**
 * Whether the path exists. True even for a link whose target is missing, because such a skill is broken, not missing.
 */
function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

function toVerdict(path: string, diagnostics: readonly Diagnostic[]): Verdict {
  return { path, valid: !diagnostics.some(isError), diagnostics }
}

function missing(path: string, message: string, fix: string): Verdict {
  return {
    path,
    valid: false,
    diagnostics: [{ code: 'SKILL_FILE_MISSING', severity: 'error', message, path, fix }],
  }
}
