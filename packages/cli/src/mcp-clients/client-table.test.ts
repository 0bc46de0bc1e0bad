import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { MCP_CLIENTS } from './client-table.ts'

const COLUMNS = [
  'tools',
  'prompts',
  'resources',
  'server instructions',
  'changes of lists',
  'protocol 2026-07-28',
  'Skills extension',
]

test('MCP_CLIENTS has the rows of the table in docs/mcp.md', () => {
  const rows = Object.values(MCP_CLIENTS).map(({ id, title, checked, features }) => {
    const cells = COLUMNS.map(column => features.find(({ feature }) => feature === column)?.works)
    return `| ${[title, `\`${id}\``, ...cells, checked].join(' | ')} |`
  })
  const head = `| ${['client', 'id', ...COLUMNS, 'checked'].join(' | ')} |`
  const table = [head, `|${'---|'.repeat(COLUMNS.length + 3)}`, ...rows].join('\n')
  expect(readFileSync('docs/mcp.md', 'utf8')).toContain(table)
})
