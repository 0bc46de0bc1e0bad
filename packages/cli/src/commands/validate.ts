import { type Stats, statSync } from 'node:fs'
import { basename, dirname, join, parse, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import {
  createSkillRuntime,
  type Diagnostic,
  type Skill,
  SkillError,
  type SkillRuntime,
  validateSkill,
} from '@skillstoke/core'
import { checkCapabilities, decodeUnmarkedText, mayBeImported, toMessage } from '@skillstoke/core/internal'
import { directory, NodeFileSystem, nodeHasher } from '@skillstoke/core/node'
import { DEFAULT_LIMITS, type NotSkill } from '@skillstoke/core/source'
import type { SourceReport } from '@skillstoke/core/types'
import { scanScripts } from '@skillstoke/scripts'
import type { Config } from '../config/config.ts'
import { EXIT_FINDINGS, EXIT_OK } from '../exit-code.ts'
import { isMisnamed } from '../not-skills.ts'
import { createPaint, formatDiagnostic, printJson, printLine, toTerminalLine } from '../output.ts'
import { doubtsAbout } from './decide.ts'

interface Verdict {
  readonly path: string
  readonly valid: boolean
  /** Whether there is a text to judge; false for a folder that is only expected to have one. @default true */
  readonly isSkill?: boolean
  readonly diagnostics: readonly Diagnostic[]
}

const SKILL_FILES = ['SKILL.md', 'skill.md']
const UNREADABLE: ReadonlySet<string> = new Set(['FILE_UNREADABLE', 'DIRECTORY_UNREADABLE'])

/** `stoke validate`: SKILL.md files against the specification, as its reference validator does, and scripts as far as they can be read. */
export async function validate(
  paths: readonly string[],
  config: Config,
  options: { readonly json: boolean },
): Promise<number> {
  const verdicts: Verdict[] = []
  for (const path of paths) verdicts.push(...(await validatePath(path)))
  const isValid = verdicts.every(verdict => verdict.valid)
  if (options.json) printJson(verdicts.map(({ path, valid, diagnostics }) => ({ path, valid, diagnostics })))
  else printVerdicts(verdicts, config)
  return isValid ? EXIT_OK : EXIT_FINDINGS
}

function printVerdicts(verdicts: readonly Verdict[], config: Config): void {
  const paint = createPaint(config.hasColor)
  for (const { path, valid, isSkill = true, diagnostics } of verdicts) {
    const good = isSkill ? paint('green', 'valid  ') : paint('yellow', 'skipped')
    printLine(`${valid ? good : paint('red', 'invalid')} ${toTerminalLine(path)}`)
    for (const diagnostic of diagnostics) printLine(`  ${formatDiagnostic(diagnostic, paint)}`)
  }
}

/** A skill's folder, a SKILL.md, `-` for standard input, or a folder of skills. */
async function validatePath(path: string): Promise<readonly Verdict[]> {
  if (path === '-') return [toVerdict(path, validateSkill(await buffer(process.stdin), { path: '<stdin>' }))]
  let stats: Stats | undefined
  try {
    stats = statSync(path, { throwIfNoEntry: false })
  } catch (thrown) {
    return [missing(path, `the path cannot be read: ${toMessage(thrown)}`, 'name a path that can be read')]
  }
  if (stats === undefined)
    return [missing(path, 'the path does not exist', 'name a skill folder or its SKILL.md')]
  if (!stats.isDirectory()) return [await validateNamedFile(path)]
  const verdicts = await validateFolders(path)
  if (verdicts.some(({ valid, isSkill = true }) => isSkill || !valid)) return verdicts
  const none = missing(path, 'there is no SKILL.md in this folder', 'add a SKILL.md, or name another folder')
  return [none, ...verdicts]
}

/** A file of another name is served by nobody, whatever is in it. */
async function validateNamedFile(path: string): Promise<Verdict> {
  const { diagnostics } = await validateFile(path, path)
  const name = basename(path)
  if (SKILL_FILES.includes(name)) return toVerdict(path, diagnostics)
  const message = `a skill is a file SKILL.md in a folder of its own, and this file is called ${JSON.stringify(name)}`
  const fix = 'rename it to "SKILL.md", or check its text with "stoke validate -"'
  return toVerdict(path, [...missing(path, message, fix).diagnostics, ...diagnostics])
}

/** By the same rules as everywhere else, so what is validated is what would be served. */
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
    // What is hidden in the instructions is told already.
    const others = doubtsAbout(report).filter(each => resolve(each.path ?? '') !== resolve(file))
    const unreadable = report.diagnostics.filter(({ code }) => UNREADABLE.has(code))
    return [toVerdict(path, [...diagnostics, ...others, ...unreadable, ...found])]
  })
  const { found, isComplete } = await skills.findNotSkills()
  return [
    ...toUnreadable(root, skills.current.sources(), isComplete),
    ...(await Promise.all(verdicts)).flat(),
    ...found.flatMap(toNotSkill),
  ]
}

/** What keeps a folder from being looked at: whatever is in it is not known to be valid. */
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
  const message = 'there are too many folders without a skill to look at all of them'
  const rest: Diagnostic = { code: 'SCAN_BUDGET_EXCEEDED', severity: 'warning', message, path: root }
  return [...verdicts, { ...toVerdict(root, [rest]), isSkill: false }]
}

/** What somebody would expect to be a skill. What was set aside, by its name or by a `.skillignore`, is meant to be none. */
function toNotSkill({ reason, path, message, fix, isExpected }: NotSkill): readonly Verdict[] {
  if (!isExpected || reason === 'skipped' || reason === 'ignored') return []
  const code = reason === 'link' ? 'LINK_REFUSED' : reason === 'too-deep' ? 'FOLDER_TOO_DEEP' : undefined
  const severity = isMisnamed({ reason, path }) ? 'error' : 'warning'
  const finding: Diagnostic = { code: code ?? 'SKILL_FILE_MISSING', severity, message, path, fix }
  return [{ ...toVerdict(path, [finding]), isSkill: false }]
}

/** What the scripts say and import, without running any. */
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
      inside: [parse(folder).root], // a person named the file: wherever it leads
      maxBytes: DEFAULT_LIMITS.maxSkillFileBytes,
    })
    return toVerdict(path, validateSkill(bytes, { directoryName: basename(folder), path: file }))
  } catch (thrown) {
    if (!SkillError.isInstance(thrown)) throw thrown
    return toVerdict(path, [describeUnread(file, thrown)])
  }
}

/** With the codes that the skill has everywhere else. */
function describeUnread(file: string, { code, message }: SkillError): Diagnostic {
  const finding = {
    severity: 'error',
    message: `${basename(file)} cannot be read: ${message}`,
    path: file,
  } as const
  return code === 'TOO_LARGE'
    ? { ...finding, code: 'SKILL_FILE_TOO_LARGE', fix: 'move long material into files under references/' }
    : { ...finding, code: 'SKILL_FILE_UNREADABLE', fix: 'put a readable regular file there' }
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

function toVerdict(path: string, diagnostics: readonly Diagnostic[]): Verdict {
  return { path, valid: !diagnostics.some(diagnostic => diagnostic.severity === 'error'), diagnostics }
}

function missing(path: string, message: string, fix: string): Verdict {
  return {
    path,
    valid: false,
    diagnostics: [{ code: 'SKILL_FILE_MISSING', severity: 'error', message, path, fix }],
  }
}
