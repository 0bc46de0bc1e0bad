import { existsSync, readdirSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { type CheckOptions, checkSet, type Finding, type Profile } from '@skillstoke/author'
import {
  type CheckedPath,
  countFindings,
  type FindingCounts,
  type ReportFormat,
  renderReport,
} from '@skillstoke/author/internal'
import { defined, findNearest, quote } from '@skillstoke/core/internal'
import { type CheckedFolder, checkPath, isFailed } from '../check/check-paths.ts'
import { decode } from '../check/check-report.ts'
import { type FixedFile, planFixes, toPatch, writeFixes } from '../check/fix-files.ts'
import { type Changes, type TokenChange, WorkTrees } from '../check/since-revision.ts'
import type { Config } from '../config/config.ts'
import { readVersion } from '../config/version.ts'
import { readNewestBytes } from '../skills/read-newest.ts'
import { countTokens } from '../skills/tokens.ts'
import type { Answer } from '../terminal/answer.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import { formatDiagnostic, nearPath, paint, toSafeJson, toTerminalLine } from '../terminal/output.ts'
import { paintDiff } from '../terminal/paint-diff.ts'

export interface CheckFlags {
  /** Profiles to check in addition. */
  readonly for?: readonly Profile[]
  readonly format?: 'text' | 'json' | ReportFormat
  readonly fix?: boolean
  readonly dryRun?: boolean
  /** Revision of git. Only skills that changed since then are checked. */
  readonly since?: string
  readonly maxWarnings?: number
  /** Maximum size of the catalog in tokens. */
  readonly budget?: number
  /** Whether remarks count as warnings. */
  readonly strict?: boolean
}

/** A checked skill, with its tokens if a revision was named. */
interface Verdict extends CheckedFolder {
  readonly tokens?: TokenChange
}

/**
 * Implements `stoke check`: reports what is wrong with skills, and corrects what can be corrected without a change of
 * meaning.
 */
export async function check(config: Config, flags: CheckFlags, paths: readonly string[]): Promise<Answer> {
  const options: CheckOptions = { profiles: flags.for ?? [], severities: config.checks, countTokens }
  const asked =
    paths.length > 0 ? paths.map(path => toFolder(path, config)) : config.roots.map(({ path }) => path)
  if (flags.dryRun === true && flags.fix !== true) throw new UsageError('--dry-run needs --fix')
  if (flags.fix === true && asked.includes('-'))
    throw new UsageError('--fix writes files, so it cannot correct standard input')
  const run = async (): Promise<readonly Verdict[]> =>
    await selectChanged(
      await checkAll(asked, paths.length > 0, options, flags),
      paths.length > 0,
      flags.since,
    )
  let verdicts = await run()
  let fixed: readonly FixedFile[] = []
  if (flags.fix === true) {
    fixed = planFixes(verdicts.flatMap(({ findings }) => findings))
    if (flags.dryRun !== true) {
      fixed = writeFixes(fixed, message => process.stderr.write(`${toTerminalLine(message)}\n`))
      if (fixed.length > 0) verdicts = await run()
    }
  }
  return toAnswer(verdicts, fixed, flags)
}

/** Returns the folder of a skill if its name was given instead of a path. */
function toFolder(path: string, { roots }: Config): string {
  if (path === '-' || existsSync(path) || /[\\/]/.test(path)) return path
  const folder = roots.map(root => join(root.path, path)).find(each => existsSync(each))
  if (folder !== undefined) return folder
  const names = roots.flatMap(root => (existsSync(root.path) ? readdirSync(root.path) : []))
  const near = findNearest(path, names)
  if (near !== undefined)
    throw new UsageError(`there is no skill ${quote(path)}; did you mean ${quote(near)}?`)
  return path
}

/** Implements `stoke validate`. */
export async function validate(config: Config, _flags: object, paths: readonly string[]): Promise<Answer> {
  return await check(config, { for: ['spec'] }, paths)
}

async function checkAll(
  paths: readonly string[],
  areNamed: boolean,
  options: CheckOptions,
  { budget, since }: CheckFlags,
): Promise<readonly CheckedFolder[]> {
  const checked: CheckedFolder[] = []
  for (const path of paths) {
    const found = await checkPath(path, options)
    // A default folder may be missing or empty.
    if (areNamed || found.some(({ isSkill, report }) => isSkill && report !== undefined))
      checked.push(...found.filter(each => !checked.some(other => isSame(each, other))))
  }
  // A repository may have no skill yet, or no longer.
  if (checked.length === 0 && since === undefined)
    throw new UsageError(
      `there are no skills in ${paths.join(', ')}; name a folder, or create a skill with "stoke new"`,
    )
  return addSetFindings(checked, options, budget)
}

/** Whether two paths of the command mean one folder. */
function isSame(a: CheckedFolder, b: CheckedFolder): boolean {
  return a.report?.directory !== undefined && a.report.directory === b.report?.directory
}

/** Adds the findings about several skills. The findings about all of them get an entry of their own. */
function addSetFindings(
  checked: readonly CheckedFolder[],
  options: CheckOptions,
  budget: number | undefined,
): readonly CheckedFolder[] {
  const skills = checked.flatMap(({ skill }) => skill ?? [])
  if (skills.length < 2 && budget === undefined) return checked
  const found = checkSet(skills, { ...options, ...defined({ budget }) })
  const byFolder = Map.groupBy(found, ({ path }) => (path === undefined ? undefined : dirname(path)))
  const shared = byFolder.get(undefined) ?? []
  const withOwn = checked.map(each => {
    const { skill } = each
    const added = skill === undefined ? undefined : byFolder.get(skill.directory ?? skill.location)
    return added === undefined ? each : { ...each, findings: [...each.findings, ...added] }
  })
  return shared.length === 0
    ? withOwn
    : [...withOwn, { path: 'all skills', findings: shared, isSkill: false }]
}

/**
 * Returns what changed since a revision, with the difference of its tokens. What git cannot know stays, for example a path
 * that does not exist, and the findings about all skills.
 */
async function selectChanged(
  checked: readonly CheckedFolder[],
  areNamed: boolean,
  revision: string | undefined,
): Promise<readonly Verdict[]> {
  if (revision === undefined) return checked
  const trees = new WorkTrees(revision)
  const verdicts: Verdict[] = []
  for (const each of checked) {
    const path = each.report?.directory ?? (existsSync(each.path) ? resolve(each.path) : undefined)
    const tree = path === undefined ? undefined : await trees.find(path)
    if (path === undefined || tree === undefined) verdicts.push(each)
    else if (tree === 'outside') {
      if (areNamed) throw new UsageError(`--since needs a git repository, but ${quote(path)} is in none`)
    } else if (tree.has(path)) verdicts.push({ ...each, ...(await countChange(each, tree)) })
  }
  await trees.check()
  return verdicts
}

async function countChange(
  { report, skill }: CheckedFolder,
  tree: Changes,
): Promise<{ readonly tokens?: TokenChange }> {
  const directory = report?.directory
  if (directory === undefined) return {}
  const text = decode((await readNewestBytes({ directory })) ?? new Uint8Array()) ?? ''
  const tokens = await tree.compare(directory, skill?.skillFile ?? 'SKILL.md', text, countTokens)
  return { tokens }
}

function toAnswer(verdicts: readonly Verdict[], fixed: readonly FixedFile[], flags: CheckFlags): Answer {
  const { format = 'text', dryRun = false } = flags
  const exit = toExit(verdicts, flags)
  const json = verdicts.map(({ path, findings, tokens }) => ({
    path,
    valid: !findings.some(({ severity }) => severity === 'error'),
    diagnostics: findings,
    ...(tokens === undefined ? {} : { tokens }),
  }))
  if (format === 'json') return { json, exit, text: () => [toSafeJson(JSON.stringify(json, undefined, 2))] }
  if (format !== 'text')
    return {
      json,
      exit,
      text: () =>
        [renderReport(format satisfies ReportFormat, verdicts.map(toNear), readVersion())].filter(Boolean),
    }
  return {
    json,
    exit,
    text: function* () {
      for (const each of verdicts) yield* describeVerdict(each, flags)
      if (dryRun) for (const file of fixed) yield paintDiff(toPatch(file))
      if (!isSpecification(flags) || verdicts.length > 1) yield summarize(verdicts, fixed, flags)
    },
  }
}

/** Reports for other programs name files relative to the working directory. */
function toNear({ path, findings }: CheckedPath): CheckedPath {
  const near = (each: string): string => (isAbsolute(each) ? nearPath(each) : relative('.', each) || each)
  return {
    path: near(path),
    findings: findings.map(each => (each.path === undefined ? each : { ...each, path: near(each.path) })),
  }
}

/** The strict profile knows only valid and invalid skills, so warnings are no failure there. */
function isSpecification({ for: profiles = [] }: CheckFlags): boolean {
  return profiles.length === 1 && profiles[0] === 'spec'
}

function toExit(verdicts: readonly Verdict[], flags: CheckFlags): number {
  const { strict = false, maxWarnings = isSpecification(flags) ? Number.POSITIVE_INFINITY : 0 } = flags
  const { error, warning, info } = countFindings(verdicts)
  return error > 0 || warning + (strict ? info : 0) > maxWarnings ? EXIT_FINDINGS : EXIT_OK
}

function* describeVerdict(verdict: Verdict, flags: CheckFlags): Generator<string> {
  const { path, findings, tokens, isSkill } = verdict
  const word = !isSkill && !isFailed(verdict) ? 'skipped' : isFailed(verdict) ? 'invalid' : 'valid'
  const style = word === 'invalid' ? 'red' : word === 'skipped' ? 'yellow' : 'green'
  if (isSpecification(flags)) yield `${paint(style, word.padEnd(7))} ${toTerminalLine(path)}`
  else if (findings.length > 0 || tokens !== undefined)
    yield paint('bold', toTerminalLine(nearPath(path))) + describeTokens(tokens)
  for (const each of findings) yield `  ${formatDiagnostic(each)}${describeEdit(each)}`
}

function describeTokens(tokens: TokenChange | undefined): string {
  if (tokens === undefined) return ''
  const { before, after } = tokens
  const change = (from: number, to: number): string =>
    from === to ? `${to}` : `${from} -> ${to} (${to > from ? '+' : ''}${to - from})`
  return paint(
    'dim',
    `  listed ${change(before.listed, after.listed)} tokens, body ${change(before.body, after.body)}`,
  )
}

function describeEdit({ edit }: Finding): string {
  if (edit === undefined) return ''
  return paint(
    'dim',
    edit.kind === 'auto'
      ? '\n    --fix can do this'
      : `\n    offered by the key f of "stoke dev" and by editors: ${toTerminalLine(edit.title)}`,
  )
}

function summarize(verdicts: readonly Verdict[], fixed: readonly FixedFile[], flags: CheckFlags): string {
  const skills = verdicts.filter(({ isSkill }) => isSkill).length
  const parts = [`${count(skills, 'skill')}: ${describeCounts(countFindings(verdicts))}`]
  const edits = fixed.reduce((sum, file) => sum + file.count, 0)
  if (flags.fix === true)
    parts.push(
      `${flags.dryRun === true ? 'would correct' : 'corrected'} ${count(edits, 'finding')} in ${count(fixed.length, 'file')}`,
    )
  return paint('dim', parts.join('; '))
}

function describeCounts({ error, warning, info }: FindingCounts): string {
  const parts = [
    ...(error > 0 ? [count(error, 'error')] : []),
    ...(warning > 0 ? [count(warning, 'warning')] : []),
    ...(info > 0 ? [count(info, 'remark')] : []),
  ]
  return parts.length === 0 ? 'no findings' : parts.join(', ')
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
