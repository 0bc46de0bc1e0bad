import { defined, escapeControls } from '@skillstoke/core/internal'
import type { Finding } from '../check/finding.ts'
import { escapeXml } from './escape-xml.ts'

/** The findings of one skill, or of one folder that should be a skill. */
export interface CheckedPath {
  /** Path of the folder, as a report shows it. */
  readonly path: string
  readonly findings: readonly Finding[]
}

/** Counts of the findings of a run. */
export interface FindingCounts {
  readonly error: number
  readonly warning: number
  readonly info: number
}

export function countFindings(checked: readonly CheckedPath[]): FindingCounts {
  const counts = { error: 0, warning: 0, info: 0 }
  for (const { findings } of checked) for (const { severity } of findings) counts[severity]++
  return counts
}

/** Names of the formats for other programs. */
export const REPORT_FORMATS = ['github', 'sarif', 'junit', 'markdown'] as const

export type ReportFormat = (typeof REPORT_FORMATS)[number]

const RENDERERS: Readonly<
  Record<ReportFormat, (checked: readonly CheckedPath[], version: string) => string>
> = {
  github: checked => checked.flatMap(({ findings }) => findings.map(renderAnnotation)).join('\n'),
  sarif: (checked, version) => escapeControls(JSON.stringify(toSarif(checked, version), undefined, 2)),
  junit: renderJunit,
  markdown: renderMarkdown,
}

/** Renders the findings for another program, or for a comment on a pull request. */
export function renderReport(format: ReportFormat, checked: readonly CheckedPath[], version: string): string {
  return RENDERERS[format](checked, version)
}

const GITHUB_LEVELS = { error: 'error', warning: 'warning', info: 'notice' } as const

/** Renders a workflow command of GitHub. Source: "Workflow commands for GitHub Actions" in the documentation of GitHub. */
function renderAnnotation({ code, severity, path, line, column, message, fix }: Finding): string {
  const properties = Object.entries(defined({ file: path, line, col: column, title: code }))
    .map(
      ([key, value]) => `${key}=${escapeCommand(`${value}`).replaceAll(':', '%3A').replaceAll(',', '%2C')}`,
    )
    .join(',')
  return `::${GITHUB_LEVELS[severity]} ${properties}::${escapeCommand(withFix(message, fix))}`
}

function escapeCommand(text: string): string {
  return escapeControls(text).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function withFix(message: string, fix: string | undefined): string {
  return fix === undefined ? message : `${message}. Fix: ${fix}`
}

const SARIF_LEVELS = { error: 'error', warning: 'warning', info: 'note' } as const

/** Converts findings to SARIF 2.1.0. */
function toSarif(checked: readonly CheckedPath[], version: string): unknown {
  const findings = checked.flatMap(each => each.findings)
  const pages = new Map(findings.map(({ code, page }) => [code, page]))
  const results = findings.map(({ code, severity, path = '', line, column = 1, message, fix }) => {
    const artifactLocation = { uri: path.split(/[\\/]/).map(encodeURIComponent).join('/') }
    const region = line === undefined ? {} : { region: { startLine: line, startColumn: column } }
    return {
      ...{ ruleId: code, level: SARIF_LEVELS[severity], message: { text: withFix(message, fix) } },
      locations: [{ physicalLocation: { artifactLocation, ...region } }],
    }
  })
  const rules = [...pages].map(([id, helpUri]) => ({ id, helpUri }))
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [{ tool: { driver: { name: 'stoke check', version, rules } }, results }],
  }
}

/** Renders a test case for each skill. A skill with errors or warnings fails. */
function renderJunit(checked: readonly CheckedPath[]): string {
  const faultsOf = ({ findings }: CheckedPath): readonly Finding[] =>
    findings.filter(({ severity }) => severity !== 'info')
  const cases = checked.map(each => {
    const faults = faultsOf(each)
    const lines = faults.map(
      ({ code, ...fault }) => `${placeOf(fault)} ${code}: ${withFix(fault.message, fault.fix)}`,
    )
    const start = `  <testcase classname="skills" name="${escapeXml(each.path)}"`
    return faults.length === 0
      ? `${start}/>`
      : `${start}><failure message="${faults.length} ${faults.length === 1 ? 'finding' : 'findings'}">${escapeXml(lines.join('\n'))}</failure></testcase>`
  })
  const failed = checked.filter(each => faultsOf(each).length > 0).length
  const head = `<testsuite name="stoke check" tests="${checked.length}" failures="${failed}">`
  return ['<?xml version="1.0" encoding="UTF-8"?>', head, ...cases, '</testsuite>'].join('\n')
}

function renderMarkdown(checked: readonly CheckedPath[]): string {
  const findings = checked.flatMap(each => each.findings)
  const { error, warning, info } = countFindings(checked)
  const summary = `${checked.length} ${checked.length === 1 ? 'skill' : 'skills'} checked: ${error} errors, ${warning} warnings, ${info} remarks.`
  if (findings.length === 0) return summary
  const rows = findings.map(
    each =>
      `| ${each.severity} | ${cell(placeOf(each))} | [${each.code}](${each.page}) | ${cell(withFix(each.message, each.fix))} |`,
  )
  return [summary, '', '| severity | place | code | finding |', '|---|---|---|---|', ...rows].join('\n')
}

function cell(text: string): string {
  return escapeControls(text)
    .replace(/[\\`*_<>|[\]]/g, '\\$&')
    .replace(/\s+/g, ' ')
}

function placeOf({ path = '', line }: Pick<Finding, 'path' | 'line'>): string {
  return line === undefined ? path : `${path}:${line}`
}
