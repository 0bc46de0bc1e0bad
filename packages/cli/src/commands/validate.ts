import { statSync } from 'node:fs'
import { basename, dirname, join, parse, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import {
  checkCapabilities,
  createSkillRuntime,
  DEFAULT_LIMITS,
  type Diagnostic,
  mayBeImported,
  type Skill,
  SkillError,
  type SkillRuntime,
  validateSkill,
} from '@skillstoke/core'
import { directory, NodeFileSystem, nodeHasher, scanScripts } from '@skillstoke/core/node'
import type { Config } from '../config/config.ts'
import { EXIT_FINDINGS, EXIT_OK } from '../exit-code.ts'
import { createPaint, formatDiagnostic, printJson, printLine } from '../output.ts'
import { doubtsAbout } from './decide.ts'

interface Verdict {
  readonly path: string
  readonly valid: boolean
  readonly diagnostics: readonly Diagnostic[]
}

const SKILL_FILES = ['SKILL.md', 'skill.md']

/** `stoke validate`: SKILL.md files against the specification, as its reference validator does, and scripts as far as they can be read. */
export async function validate(
  paths: readonly string[],
  config: Config,
  options: { readonly json: boolean },
): Promise<number> {
  const verdicts: Verdict[] = []
  for (const path of paths) verdicts.push(...(await validatePath(path)))
  const isValid = verdicts.every(verdict => verdict.valid)
  if (options.json) printJson(verdicts)
  else printVerdicts(verdicts, config)
  return isValid ? EXIT_OK : EXIT_FINDINGS
}

function printVerdicts(verdicts: readonly Verdict[], config: Config): void {
  const paint = createPaint(config.hasColor)
  for (const { path, valid, diagnostics } of verdicts) {
    printLine(`${valid ? paint('green', 'valid  ') : paint('red', 'invalid')} ${path}`)
    for (const diagnostic of diagnostics) printLine(`  ${formatDiagnostic(diagnostic, paint)}`)
  }
}

/** A skill's folder, a SKILL.md, `-` for standard input, or a folder of skills. */
async function validatePath(path: string): Promise<readonly Verdict[]> {
  if (path === '-') return [toVerdict(path, validateSkill(await buffer(process.stdin), { path: '<stdin>' }))]
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined)
    return [missing(path, 'the path does not exist', 'name a skill folder or its SKILL.md')]
  if (!stats.isDirectory()) return [await validateFile(path, path)]
  const verdicts = await validateFolders(path)
  if (verdicts.length > 0) return verdicts
  return [missing(path, 'there is no SKILL.md in this folder', 'add a SKILL.md, or name another folder')]
}

/** By the same rules as everywhere else, so what is validated is what would be served. */
async function validateFolders(root: string): Promise<readonly Verdict[]> {
  await using skills = await createSkillRuntime({
    sources: [directory(root, { watching: 'off' })],
    hasher: nodeHasher,
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
    return [toVerdict(path, [...diagnostics, ...others, ...found])]
  })
  return (await Promise.all(verdicts)).flat()
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
    text: mayBeImported(path) ? new TextDecoder().decode(await skills.readFile(skill, path)) : '',
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
    return missing(path, thrown.message, 'put a readable regular file there')
  }
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
