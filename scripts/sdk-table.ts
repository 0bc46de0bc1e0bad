import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SCENARIO_NAMES } from '../tests/sdks/harness.ts'
import { PAGE, ROWS, type Row, renderRows } from '../tests/sdks/table.ts'

// Runs the scenarios of all agent SDKs, and writes their results into the table of the page.

const BEGIN = '<!-- begin of the table -->'
const END = '<!-- end of the table -->'
/** A longer list of agents with the same limit is left out, because the table has a dash for each. */
const MAX_NAMES = 3

rmSync(ROWS, { recursive: true, force: true })
execFileSync('vitest', ['run', '--project', 'sdks'], {
  stdio: 'inherit',
  env: { ...process.env, SDK_TABLE: 'write' },
})
if (!existsSync(ROWS)) throw new Error('no test wrote a row; run "npm test" once to install the SDKs')
const rows = readdirSync(ROWS).map(file => JSON.parse(readFileSync(join(ROWS, file), 'utf8')) as Row)
rows.sort((a, b) => Number(a.isPeer) - Number(b.isPeer) || (a.name < b.name ? -1 : 1))
const page = readFileSync(PAGE, 'utf8')
const [before = ''] = page.split(BEGIN)
const after = page.split(END)[1] ?? ''
/** The agents with the same limit, by scenario and reason. */
const agents = new Map<string, string[]>()
for (const { name, limits: reasons } of rows)
  for (const [scenario, reason] of Object.entries(reasons)) {
    const key = `${scenario} | ${reason}`
    agents.set(key, [...(agents.get(key) ?? []), name])
  }
const limits = [...agents].map(
  ([key, names]) => `| ${key} | ${names.length > MAX_NAMES ? 'the agents with a dash' : names.join('; ')} |`,
)
const table = [
  `| agent | ${SCENARIO_NAMES.join(' | ')} |`,
  `|---|${SCENARIO_NAMES.map(() => '---|').join('')}`,
  ...renderRows(rows),
  ...(limits.length === 0 ? [] : ['', '| scenario | limit | agents |', '|---|---|---|', ...limits]),
].join('\n')
writeFileSync(PAGE, `${before}${BEGIN}\n\n${table}\n\n${END}${after}`)
