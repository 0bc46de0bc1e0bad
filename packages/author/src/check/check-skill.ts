import { type Diagnostic, validateSkill } from '@skillstoke/core'
import { checkOptions, findNearest, type KnownOptions, quote } from '@skillstoke/core/internal'
import { CheckedSkill, type SkillToCheck } from './checked-skill.ts'
import { findCoreEdit, keepsRights } from './core-edits.ts'
import type { Finding } from './finding.ts'
import {
  CHECKS,
  type CheckCode,
  type CheckRow,
  type FindingCode,
  findCheck,
  type Profile,
  type Severity,
} from './finding-table.ts'
import {
  findFirstText,
  findIgnoreComments,
  type IgnoreComment,
  isSilenced,
  mayBeIgnored,
} from './ignore-comments.ts'
import {
  checkBodySize,
  checkFences,
  checkMixedWords,
  checkOwnPaths,
  checkPersonalPaths,
  checkTemplateLines,
} from './rules/body-rules.ts'
import { checkClaudeCode, checkClients, checkStrictNames } from './rules/client-rules.ts'
import { checkDescription } from './rules/description-rules.ts'
import {
  checkDependencies,
  checkExecutable,
  checkLeftovers,
  checkShebangs,
  checkSizes,
  checkTests,
  checkUnused,
} from './rules/file-rules.ts'
import { checkFieldNames, checkSecondBlock, checkToolForms } from './rules/frontmatter-rules.ts'
import { checkLinks, checkReferences } from './rules/link-rules.ts'
import { reviewSkill } from './rules/review-rules.ts'
import type { Found, Rule, RuleContext } from './rules/rule.ts'
import { checkSecrets } from './rules/secret-rules.ts'

/** Severity by code. `off` turns a check off. */
export type Severities = Readonly<Partial<Record<FindingCode, Severity | 'off'>>>

/** How skills are checked. */
export interface CheckOptions {
  /** Clients and rules for which the skill is checked in addition. `spec` alone checks only the specification. */
  readonly profiles?: readonly Profile[]
  /** Severities that differ from the defaults. An error cannot be turned off. */
  readonly severities?: Severities
  /** Counts the tokens of a text. @default a quarter of its length */
  readonly countTokens?: (text: string) => number
  /** Today, as an ISO date. @default the date of the clock */
  readonly today?: string
}

const KNOWN: KnownOptions<CheckOptions> = {
  profiles: true,
  severities: true,
  countTokens: true,
  today: true,
}

/** The rules, in the order in which they run. */
const RULES: readonly Rule[] = [
  ...[checkSecondBlock, checkFieldNames, checkToolForms, checkDescription],
  ...[checkLinks, checkReferences, checkPersonalPaths, checkOwnPaths, checkFences, checkTemplateLines],
  ...[checkBodySize, checkMixedWords, checkSecrets, checkSizes, checkUnused, checkShebangs, checkExecutable],
  ...[checkLeftovers, checkTests],
  ...[checkDependencies, checkClients, checkClaudeCode, checkStrictNames, reviewSkill],
]

const PAGES = 'https://github.com/skillstoke/skillstoke/blob/main/docs'

/**
 * Checks one skill. Returns the findings of the core and of the checks of this package, in the order of files and lines.
 *
 * @example
 * ```ts
 * import { readFile } from 'node:fs/promises'
 * import { checkSkill } from '@skillstoke/author'
 *
 * const path = 'skills/support-pdf/SKILL.md'
 * const findings = await checkSkill({ path, directoryName: 'support-pdf', bytes: await readFile(path) })
 * console.log(findings.map(({ code, line }) => `${code} ${line}`)) // prints []
 * ```
 */
export async function checkSkill(
  given: SkillToCheck,
  options: CheckOptions = {},
): Promise<readonly Finding[]> {
  checkOptions('checkSkill()', options, KNOWN)
  const skill = new CheckedSkill(given)
  const { profiles = [] } = options
  const context: RuleContext = {
    profiles,
    countTokens: options.countTokens ?? (text => Math.ceil(text.length / 4)),
    today: options.today ?? new Date().toISOString(),
  }
  const isMinor = ({ code, message }: Diagnostic): boolean =>
    code === 'HIDDEN_TEXT' && given.isReviewed !== true && LONE_ZERO_WIDTH.test(message)
  const found = listCoreFindings(skill, profiles).map((each): Finding => {
    const finding = toFinding(each, skill)
    return isMinor(each) ? { ...finding, severity: 'info' } : finding
  })
  for (const rule of RULES)
    for (const each of await rule(skill, context)) found.push(toFinding(toDiagnostic(each, skill), skill))
  const chosen = found.flatMap(each => withSeverity(each, options))
  return sortFindings(applyComments(chosen, skill, options))
}

/** In the strict profile, the strict validator reads SKILL.md. Other files keep the findings of the core. */
function listCoreFindings(skill: CheckedSkill, profiles: readonly Profile[]): readonly Diagnostic[] {
  if (!profiles.includes('spec')) return skill.diagnostics
  const { path, bytes, directoryName } = skill.given
  const strict = validateSkill(bytes, { path, ...(directoryName === undefined ? {} : { directoryName }) })
  const isInvalid = strict.some(({ severity }) => severity === 'error')
  const isAboutScripts = /^(?:SCRIPT|IMPORT|COMMAND|CAPABILITY)_/
  const others = skill.diagnostics.filter(
    each => each.path !== path || isAboutScripts.test(each.code) || (each.severity === 'error' && !isInvalid),
  )
  return [...strict, ...others]
}

/** A finding without its page. */
export type Reported = Omit<Finding, 'page'>

function toDiagnostic({ file, ...found }: Found, { given }: CheckedSkill): Reported {
  const path = file === undefined ? given.path : given.path.replace(/[^/\\]*$/, file)
  const { severity } = CHECKS[found.code]
  return { ...found, path, severity: severity === 'off' ? 'warning' : severity }
}

function toFinding(reported: Reported | Diagnostic, skill: CheckedSkill): Finding {
  const isOwn = reported.code in CHECKS || reported.path !== skill.given.path
  const edit = isOwn ? undefined : findCoreEdit(reported as Diagnostic, skill)
  const offered = edit ?? ('edit' in reported ? reported.edit : undefined)
  const isSafe =
    offered !== undefined && (reported.path !== skill.given.path || keepsRights(skill, offered.edits))
  if (!isSafe) return withPage(withoutEdit(reported))
  return withPage({ ...reported, edit: { ...offered, digest: offered.digest ?? skill.digest } })
}

function withoutEdit(reported: Reported | Diagnostic): Reported | Diagnostic {
  if (!('edit' in reported)) return reported
  const { edit: _edit, ...rest } = reported
  return rest
}

function withPage(reported: Reported | Diagnostic): Finding {
  const { code } = reported
  const page = code in CHECKS ? `checks.md#${code.toLowerCase()}` : 'diagnostics.md'
  return { ...reported, page: `${PAGES}/${page}` }
}

/**
 * Gives findings their severities and pages, without a look at a text. Used for findings of the core whose skill cannot be read,
 * for example because its files are still on another machine.
 */
export function toFindings(
  found: readonly (Reported | Diagnostic)[],
  options: CheckOptions = {},
): readonly Finding[] {
  return found.flatMap(each => withSeverity(withPage(each), options))
}

/** A single zero-width character is invisible, but cannot hide a sentence. A reader of somebody else's skill wants to know it. */
const LONE_ZERO_WIDTH = /^U\+(?:200[BCD]|2060|FEFF): /

const LOUDNESS: readonly (Severity | 'off')[] = ['off', 'info', 'warning', 'error']

/** Returns the finding with its severity, or nothing if the check is off. */
function withSeverity(
  finding: Finding,
  { profiles = [], severities = {} }: CheckOptions,
): readonly Finding[] {
  const { code, severity: usual } = finding
  const severity = severityOf(code, usual, profiles)
  const wanted = severities[code]
  // A configuration may be part of a downloaded repository, so it makes these findings only louder.
  const isFixed = severity === 'error' || !mayBeIgnored(code, usual)
  const isLouder = wanted !== undefined && LOUDNESS.indexOf(wanted) > LOUDNESS.indexOf(severity)
  const chosen = wanted === undefined || (isFixed && !isLouder) ? severity : wanted
  return chosen === 'off' ? [] : [{ ...finding, severity: chosen }]
}

function severityOf(code: FindingCode, usual: Severity, profiles: readonly Profile[]): Severity | 'off' {
  const { severity, profiles: own = [], profileSeverity = 'warning' }: Partial<CheckRow> = findCheck(code)
  if (own.some(each => profiles.includes(each))) return profileSeverity
  // The strict profile alone checks only what the specification says.
  const isStrict = profiles.length === 1 && profiles[0] === 'spec'
  return severity === 'off' || (isStrict && code in CHECKS) ? 'off' : usual
}

/** Removes the findings that a comment of the author silences, and reports comments that silence nothing. */
function applyComments(
  findings: readonly Finding[],
  skill: CheckedSkill,
  options: CheckOptions,
): readonly Finding[] {
  // A comment in somebody else's skill must not hide anything from its reader.
  const comments = skill.given.isReviewed === true ? [] : findIgnoreComments(skill)
  const firstText = findFirstText(skill)
  const used = new Set<IgnoreComment>()
  const kept = findings.filter(({ code, severity, line, path }) => {
    if (!mayBeIgnored(code, severity)) return true
    const isOwn = path === skill.given.path
    const comment = comments.find(
      each => each.code === code && isSilenced(isOwn ? line : undefined, each, firstText),
    )
    if (comment !== undefined) used.add(comment)
    return comment === undefined
  })
  const unused = comments.filter(each => !used.has(each) && isChecked(each.code, options))
  return [
    ...kept,
    ...unused.flatMap(each =>
      withSeverity(toFinding(toDiagnostic(describeUnused(each), skill), skill), options),
    ),
  ]
}

/** A comment for a profile that is not checked now may silence something in another run. */
function isChecked(code: string, { profiles = [] }: CheckOptions): boolean {
  if (!(code in CHECKS)) return true
  return severityOf(code as CheckCode, 'warning', profiles) !== 'off'
}

function describeUnused({ code, line, column }: IgnoreComment): Found {
  const near = code in CHECKS ? undefined : findNearest(code, Object.keys(CHECKS))
  const hint =
    near === undefined
      ? 'remove the comment'
      : `if you mean ${near}, write it so; otherwise remove the comment`
  return {
    code: 'IGNORE_UNUSED',
    line,
    column,
    message: `the comment for ${quote(code)} silences nothing`,
    fix: hint,
  }
}

function sortFindings(findings: readonly Finding[]): readonly Finding[] {
  return findings.toSorted(
    (a, b) => depthOf(a) - depthOf(b) || compare(a.path ?? '', b.path ?? '') || (a.line ?? 0) - (b.line ?? 0),
  )
}

/** SKILL.md comes before the files below it. */
function depthOf({ path = '' }: Finding): number {
  return /(?:^|[/\\])skill\.md$/i.test(path) ? 0 : 1
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
