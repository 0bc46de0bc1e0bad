import { expect, test } from 'vitest'
import type { CatalogFormatName } from '../catalog/catalog-format.ts'
import { renderCatalog } from '../catalog/render-catalog.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import { MemorySource } from '../source/memory-source.ts'
import { computeBudget } from './budget.ts'
import { countEntry, viewCatalog } from './visibility.ts'

const MORE = 'It says how. '.repeat(9).trim()
const named = (name: string, fields: Readonly<Record<string, unknown>> = {}) => ({
  name,
  // Longer than the line about left out skills, so that every number of listed skills has a budget.
  description: `Use it to ${name}. ${MORE}`,
  fields,
})
const HIDDEN = { 'disable-model-invocation': true }
const countTokens = (text: string): number => text.length

/** Opens skills, with a budget that lists as many of them as `renderCatalog` lists of these names. */
async function open(listed: number, format: CatalogFormatName = 'markdown') {
  const sources = [
    new MemorySource({ label: 'mine' }, [named('bake'), named('cook'), named('drive', HIDDEN), named('eat')]),
    new MemorySource({ label: 'yours' }, [{ ...named('bake'), body: 'Another recipe.' }]),
  ]
  const all = await createSkillRuntime({ sources, catalog: { format } })
  const visible = all.current.list().filter(({ name }) => name !== 'drive')
  const maxTokens = Array.from({ length: 2_000 }, (_, size) => size).find(
    size => renderCatalog(visible, { format, countTokens, maxTokens: size }).listed.length === listed,
  )
  await all.close()
  const options = { format, countTokens, maxTokens: maxTokens ?? 2_000 }
  const skills = await createSkillRuntime({ sources, catalog: options })
  const measure = ({ tokens }: { readonly tokens: number }) => ({ tokens, isEstimate: false })
  const view = (scope: { readonly exclude?: readonly string[] } = {}) =>
    viewCatalog({ skills, scope, catalog: { ...options, measure } })
  const seen = (from = view()): readonly unknown[] =>
    skills.current.reports().map(report => [report.source, report.name, from.visibilityOf(report)])
  return { skills, options, view, seen, [Symbol.asyncDispose]: () => skills.close() }
}

test('viewCatalog() says which skills a model sees listed, which only search finds, and which are hidden', async () => {
  await using it = await open(2)
  expect(it.seen()).toEqual([
    ['mine', 'bake', 'listed'],
    ['yours', 'bake', null],
    ['mine', 'cook', 'listed'],
    ['mine', 'drive', 'hidden'],
    ['mine', 'eat', 'unlisted'],
  ])
  const { use } = it.view()
  expect(use).toMatchObject({ listed: 2, unlisted: 1, hidden: 1, maxTokens: it.options.maxTokens })
  expect(use.tokens).toBeLessThanOrEqual(it.options.maxTokens)
})

test('viewCatalog() leaves out skills that are out of scope, which makes room for others', async () => {
  await using it = await open(2)
  const view = it.view({ exclude: ['bake'] })
  expect(it.seen(view).map(row => (row as readonly unknown[])[2])).toEqual([
    null,
    null,
    'listed',
    'hidden',
    'listed',
  ])
  expect(view.use).toMatchObject({ listed: 2, unlisted: 0, hidden: 1 })
})

test('viewCatalog() calls every skill unlisted if the catalog has no text', async () => {
  await using it = await open(3, 'none')
  expect(it.view().use).toMatchObject({ tokens: 0, listed: 0, unlisted: 3, hidden: 1 })
})

test('the row of a skill has estimated tokens, and none listed for a hidden skill', async () => {
  await using it = await open(3)
  const { toRow } = it.view()
  const [bake, shadowed, , drive] = it.skills.current.reports().map(toRow)
  expect(bake?.tokens).toEqual({ listed: expect.any(Number), body: expect.any(Number), isEstimate: true })
  expect([shadowed?.tokens, drive?.tokens?.listed]).toEqual([null, 0])
})

test('the entries of a catalog have as many tokens as countEntry() counts', async () => {
  await using it = await open(3)
  const skills = it.skills.current.list().filter(({ name }) => name !== 'drive')
  const entries = skills.map(skill => countEntry(skill, 'markdown', countTokens))
  const empty = renderCatalog([], it.options).tokens + '## Available Skills'.length
  expect(it.view().use.tokens).toBe(empty + entries.reduce((sum, each) => sum + each, 0))
  expect(countEntry(it.skills.current.get('drive'), 'markdown', countTokens)).toBe(0)
})

test('computeBudget() leaves out the end of the list, and says what all skills need', async () => {
  await using it = await open(2)
  const skills = it.skills.current.list()
  const budget = computeBudget(skills, it.options)
  expect(budget.skills.map(({ name, visibility }) => [name, visibility])).toEqual([
    ['bake', 'listed'],
    ['cook', 'listed'],
    ['drive', 'hidden'],
    ['eat', 'unlisted'],
  ])
  expect(budget.catalog).toEqual(it.view().use)
  expect(budget.neededTokens).toBeGreaterThan(it.options.maxTokens)
  const { neededTokens } = computeBudget(skills, { ...it.options, maxTokens: 9_999 })
  expect(neededTokens).toBe(budget.neededTokens)
})

test('computeBudget() measures the limits of clients, and names the entries that a client cuts', async () => {
  const long = { ...named('long'), description: 'x'.repeat(1_000), fields: { when_to_use: 'y'.repeat(600) } }
  const source = new MemorySource({ label: 'mine' }, [long, named('drive', HIDDEN)])
  await using skills = await createSkillRuntime({ sources: [source] })
  const options = { format: 'markdown', countTokens, maxTokens: 9_999 } as const
  const { limits } = computeBudget(skills.current.list(), options)
  const uses = limits.map(({ client, unit, limit, cut }) => [client, unit, limit, cut])
  expect(uses).toEqual([
    ['Claude Code', 'tokens', 2_000, []],
    ['Claude Code', 'characters', 1_536, ['long']],
    ['Codex', 'tokens', 4_000, []],
    ['Codex', 'characters', 8_000, []],
  ])
  const [claude = { used: 0 }, , codex = { used: 0 }] = limits
  expect(claude.used).toBe('- long: '.length + 1_000 + ' - '.length + 600)
  // Codex also lists the hidden skill, and does not read "when_to_use".
  expect(codex.used).toBe(
    '- long: '.length +
      1_000 +
      ' (file: skill://long/SKILL.md)\n'.length +
      `- drive: Use it to drive. ${MORE} (file: skill://drive/SKILL.md)`.length,
  )
})

test('computeBudget() of no skills uses nothing', () => {
  const options = { format: 'markdown', countTokens, maxTokens: 9 } as const
  const { catalog, neededTokens, limits } = computeBudget([], options)
  expect([catalog.tokens, neededTokens, limits.map(({ used }) => used)]).toEqual([0, 0, [0, 0, 0, 0]])
})
