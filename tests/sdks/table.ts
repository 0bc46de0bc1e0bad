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

/** Renders the lines of the table. Agents with the same findings share a line. */
export function renderRows(rows: readonly Row[]): readonly string[] {
  const lines = Map.groupBy(rows, renderCells)
  return [...lines].map(([cells, agents]) => `| ${agents.map(renderName).join('<br>')} | ${cells} |`)
}

/** Renders a row alone. */
export function renderRow(row: Row): string {
  return renderRows([row]).join('')
}

function renderName({ name, isPeer }: Row): string {
  return isPeer ? `*${name}*` : `**${name}**`
}

/** Renders for each scenario whether the model learned of the change, and whether the prefix was kept. */
function renderCells({ findings }: Row): string {
  return SCENARIO_NAMES.map(scenario => renderCell(findings[scenario])).join(' | ')
}

function renderCell(finding: Finding | undefined): string {
  if (finding === undefined) return '–'
  const { follows, keepsPrefix } = finding
  return `${follows ? '✓' : '✗'}${keepsPrefix === false ? '✗' : '✓'}`
}

/** Returns what the page says about this agent, as a row of its own; `undefined` if the page does not name the agent. */
export function findRow(row: Row): string | undefined {
  for (const line of readFileSync(PAGE, 'utf8').split('\n')) {
    const [, names = '', cells = ''] = /^\| (.*?) \| (.*) \|$/.exec(line) ?? []
    if (names.split('<br>').includes(renderName(row))) return `| ${renderName(row)} | ${cells} |`
  }
  return undefined
}

export function saveRow(row: Row): void {
  mkdirSync(ROWS, { recursive: true })
  writeFileSync(join(ROWS, `${row.name.replaceAll(/\W+/g, '-')}.json`), JSON.stringify(row))
}
