import { parseSkill } from '@skillstoke/core'
import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { CLIENTS, KNOWN_FIELDS, SILENT_FIELDS } from './clients.ts'
import { describeClients, FIELDS } from './fields.ts'
import { toFrontmatterSchema } from './frontmatter-schema.ts'

const accepts = new Ajv().compile(toFrontmatterSchema())
const NAMED = { name: 'vat-report', description: 'Creates VAT reports. Use when a quarter ends.' }

test('the published JSON Schema matches the table of fields', async () => {
  const text = `${JSON.stringify(toFrontmatterSchema(), undefined, 2)}\n`
  await expect(text).toMatchFileSnapshot('../../frontmatter.schema.json')
})

test('describeClients() names the clients that read a field, and those that do not', () => {
  expect(describeClients('user-invocable')).toBe(
    'Read by: Claude Code, VS Code and Copilot. Without effect in: Codex, Cursor, Gemini CLI, opencode.',
  )
  expect(describeClients('description')).toContain('Codex does not load a skill')
  expect(describeClients('name')).toContain('VS Code and Copilot does not load')
})

test('the table has each field of the specification, each that two clients read, and no misspelt one', () => {
  const reads = Object.values(CLIENTS).flatMap(client => client.reads)
  const shared = reads.filter((field, index) => reads.indexOf(field) !== index)
  const wanted = new Set([...shared, ...SILENT_FIELDS, 'allowed-tools'])
  expect([...wanted].filter(field => FIELDS[field] === undefined)).toEqual([])
  expect(Object.keys(FIELDS).filter(field => !KNOWN_FIELDS.includes(field))).toEqual([])
})

test.each<[what: string, fields: object]>([
  ['only name and description', {}],
  ['a name in another script', { name: '請求書-2' }],
  [
    'fields of a client',
    { 'user-invocable': false, context: 'fork', hooks: { Stop: [] }, displayName: 'VAT' },
  ],
  ['metadata with a list', { metadata: { capabilities: 'read', tags: ['a'] } }],
  ['the longest texts', { description: 'd'.repeat(1024), compatibility: 'c'.repeat(500) }],
])('the schema accepts %s', (_what, fields) => {
  accepts({ ...NAMED, ...fields })
  expect(accepts.errors).toBe(null)
})

test.each<[what: string, fields: object, code: string]>([
  ['a missing name', { name: undefined }, 'NAME_MISSING'],
  ['a missing description', { description: undefined }, 'DESCRIPTION_MISSING'],
  ['a name with capital letters', { name: 'VAT' }, 'NAME_INVALID'],
  ['a name with two hyphens', { name: 'vat--report' }, 'NAME_INVALID'],
  ['a long name', { name: 'n'.repeat(65) }, 'NAME_INVALID'],
  ['a long description', { description: 'd'.repeat(1025) }, 'DESCRIPTION_TOO_LONG'],
  ['a long compatibility', { compatibility: 'c'.repeat(501) }, 'COMPATIBILITY_TOO_LONG'],
  ['a boolean as text', { 'user-invocable': 'false' }, 'BOOLEAN_AS_TEXT'],
  ['tools as a list', { 'allowed-tools': ['Read'] }, 'FIELD_TYPE'],
  ['metadata that is text', { metadata: 'a' }, 'FIELD_TYPE'],
])('the schema refuses what the core reports: %s', (_what, fields, code) => {
  const all = { ...NAMED, ...fields }
  expect(accepts(JSON.parse(JSON.stringify(all)))).toBe(false)
  const lines = Object.entries(all).map(([key, value]) =>
    value === undefined ? '' : `${key}: ${JSON.stringify(value)}`,
  )
  const text = ['---', ...lines, '---', 'Add up.'].join('\n')
  const { diagnostics } = parseSkill(new TextEncoder().encode(text))
  expect(diagnostics.map(each => each.code)).toContain(code)
})
