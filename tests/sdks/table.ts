import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Harness, SCENARIO_NAMES, type ScenarioName } from './harness.ts'
import type { Finding } from './scenarios.ts'

/** The page with the table of all SDKs. `npm run sdk-table` writes the table. */
export const PAGE = 'docs/agent-sdks.md'
/** Folder into which the tests write their rows while `npm run sdk-table` runs. */
export const ROWS = '.tmp/sdk-table'

export type Findings = Partial<Readonly<Record<ScenarioName, Finding>>>

/** The result of one harness in all scenarios. */
export interface Row {
  readonly name: string
  readonly isPeer: boolean
  readonly findings: Findings
  readonly limits: NonNullable<Harness['limits']>
}

export function toRow({ name, isPeer = false, limits = {} }: Harness, findings: Findings): Row {
  return { name, isPeer, findings, limits }
}

/** Renders a row: for each scenario, whether the model learned of the change, and whether the prefix was kept. */
export function renderRow({ name, isPeer, findings }: Row): string {
  const cells = SCENARIO_NAMES.map(scenario => renderCell(findings[scenario]))
  return `| ${isPeer ? `*${name}*` : `**${name}**`} | ${cells.join(' | ')} |`
}

function renderCell(finding: Finding | undefined): string {
  if (finding === undefined) return '–'
  const { follows, keepsPrefix } = finding
  return `${follows ? '✓' : '✗'} ${keepsPrefix === false ? '✗' : '✓'}`
}

/** Returns the row of the page that has this name; `undefined` if the page has no such row. */
export function findRow(row: Row): string | undefined {
  const start = renderRow({ ...row, findings: {} }).split(' | ')[0]
  return readFileSync(PAGE, 'utf8')
    .split('\n')
    .find(line => line.startsWith(`${start} |`))
}

export function saveRow(row: Row): void {
  mkdirSync(ROWS, { recursive: true })
  writeFileSync(join(ROWS, `${row.name.replaceAll(/\W+/g, '-')}.json`), JSON.stringify(row))
}
