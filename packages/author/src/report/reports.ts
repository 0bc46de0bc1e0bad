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

/** Renders the findings for another program, or for a comment on a pull request. */
export function renderReport(format: ReportFormat, checked: readonly CheckedPath[], version: string): string {
  switch (format) {
    case 'github':
      return checked.flatMap(({ findings }) => findings.map(renderAnnotation)).join('\n')
    case 'sarif':
      return JSON.stringify(toSarif(checked, version), undefined, 2)
    case 'junit':
      return renderJunit(checked)
    case 'markdown':
      return renderMarkdown(checked)
    default:
      return format satisfies never
  }
}

const GITHUB_LEVELS = { error: 'error', warning: 'warning', info: 'notice' } as const

/** Renders a workflow command of GitHub. Source: "Workflow commands for GitHub Actions" in the documentation of GitHub. */
function renderAnnotation({ code, severity, path, line, column, message, fix }: Finding): string {
  const properties = Object.entries({ file: path, line, col: column, title: code })
    .filter(([, value]) => value !== undefined)
    .map(
      ([key, value]) =>
        `${key}=${escapeCommand(String(value)).replaceAll(':', '%3A').replaceAll(',', '%2C')}`,
    )
  return `::${GITHUB_LEVELS[severity]} ${properties.join(',')}::${escapeCommand(withFix(message, fix))}`
}

function escapeCommand(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function withFix(message: string, fix: string | undefined): string {
  return fix === undefined ? message : `${message}. Fix: ${fix}`
}

const SARIF_LEVELS = { error: 'error', warning: 'warning', info: 'note' } as const

/** Converts findings to SARIF 2.1.0. */
function toSarif(checked: readonly CheckedPath[], version: string): unknown {
  const findings = checked.flatMap(each => each.findings)
  const pages = new Map(findings.map(({ code, page }) => [code, page]))
  const results = findings.map(({ code, severity, path, line, column, message, fix }) => ({
    ruleId: code,
    level: SARIF_LEVELS[severity],
    message: { text: withFix(message, fix) },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: (path ?? '').replaceAll('\\', '/') },
          ...(line === undefined ? {} : { region: { startLine: line, startColumn: column ?? 1 } }),
        },
      },
    ],
  }))
  const rules = [...pages].map(([id, helpUri]) => ({ id, helpUri }))
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [{ tool: { driver: { name: 'stoke check', version, rules } }, results }],
  }
}

/** Renders a test case for each skill. A skill with errors or warnings fails. */
function renderJunit(checked: readonly CheckedPath[]): string {
  const cases = checked.map(({ path, findings }) => {
    const faults = findings.filter(({ severity }) => severity !== 'info')
    const lines = faults.map(each => `${placeOf(each)} ${each.code}: ${withFix(each.message, each.fix)}`)
    const name = escapeXml(path)
    return faults.length === 0
      ? `  <testcase classname="skills" name="${name}"/>`
      : `  <testcase classname="skills" name="${name}"><failure message="${faults.length} ${faults.length === 1 ? 'finding' : 'findings'}">${escapeXml(lines.join('\n'))}</failure></testcase>`
  })
  const failed = checked.filter(({ findings }) => findings.some(({ severity }) => severity !== 'info')).length
  const head = `<testsuite name="stoke check" tests="${checked.length}" failures="${failed}">`
  return ['<?xml version="1.0" encoding="UTF-8"?>', head, ...cases, '</testsuite>'].join('\n')
}

function renderMarkdown(checked: readonly CheckedPath[]): string {
  const findings = checked.flatMap(each => each.findings)
  const { error, warning, info } = countFindings(checked)
  const summary = `${checked.length} skills checked: ${error} errors, ${warning} warnings, ${info} remarks.`
  if (findings.length === 0) return summary
  const rows = findings.map(
    each =>
      `| ${each.severity} | ${cell(placeOf(each))} | [${each.code}](${each.page}) | ${cell(withFix(each.message, each.fix))} |`,
  )
  return [summary, '', '| severity | place | code | finding |', '|---|---|---|---|', ...rows].join('\n')
}

function cell(text: string): string {
  return text.replace(/[\\`*_<>|[\]]/g, '\\$&').replace(/\s+/g, ' ')
}

function placeOf({ path = '', line }: Finding): string {
  return line === undefined ? path : `${path}:${line}`
}
