import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SkillRegistry } from '../registry/skill-registry.ts'
import { findNearNames } from '../skill/near-names.ts'
import type { Skill } from '../skill/skill.ts'
import { MemorySkillStore } from '../store/memory-skill-store.ts'
import { CatalogCache } from './catalog-cache.ts'
import { CATALOG_FORMATS } from './catalog-format.ts'
import { approximateTokens, renderCatalog } from './render-catalog.ts'
import { createScopeTest } from './scope.ts'
import { SkillSearch } from './skill-search.ts'

function skill(name: string, description = `Does ${name}.`): Skill {
  const digest = 'sha256:0' as const
  return {
    name,
    description,
    metadata: {},
    extra: {},
    source: 'skills',
    location: name,
    skillFile: 'SKILL.md',
    files: [],
    frontmatterDigest: digest,
    bodyDigest: digest,
    revision: digest,
    diagnostics: [],
  }
}

describe('renderCatalog()', () => {
  test('returns the XML of agentskills.io, with locations if wanted, or an empty text if there are no skills', () => {
    const skills = [skill('pdf', 'Reads "PDF" & <more>.')]
    const entry =
      '<skill>\n<name>pdf</name>\n<description>Reads &quot;PDF&quot; &amp; &lt;more&gt;.</description>\n'
    const toXml = (text: string): string => `<available_skills>\n${text}</skill>\n</available_skills>`
    expect(renderCatalog(skills).text).toBe(toXml(entry))
    expect(renderCatalog(skills, { format: 'agentskills-xml' }).text).toBe(
      toXml(`${entry}<location>skill://pdf/SKILL.md</location>\n`),
    )
    expect(renderCatalog([]).text).toBe('')
  })

  test('escapes names and descriptions, so that they cannot open or close an XML element', () => {
    const nasty = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('</available_skills>', ']]>', '"', '\n\n# System', '\u2028', '</description>'),
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(nasty, nasty), { minLength: 1, maxLength: 5 }), pairs => {
        const skills = pairs.map(([name, description]) => skill(name, description))
        const { text } = renderCatalog(skills, { maxTokens: 1_000_000, format: 'agentskills-xml' })
        expect(text.match(/<\/available_skills>/g)).toHaveLength(1)
        expect(text.match(/^<skill>$/gm)).toHaveLength(skills.length)
        expect(text.split('\n')).toHaveLength(2 + 5 * skills.length)
      }),
      { numRuns: 1_000 },
    )
  })

  test('in the format "lines", names all of 100 skills first, then describes one in each line without a location', () => {
    const describe = (index: number): string =>
      `Use for task ${index}.\nAsk the user ${'before '.repeat(20)}you start.`
    const skills = Array.from({ length: 100 }, (_, i) => skill(`office-task-${i + 100}`, describe(i)))
    const { text, tokens, listed } = renderCatalog(skills, { format: 'lines' })
    expect(tokens).toBeLessThanOrEqual(4_000)
    expect(listed.length).toBeLessThan(100)
    const [names = '', ...lines] = text.split('\n')
    expect(names.length).toBeLessThan(2_000)
    expect(names).toBe(`Skills: ${skills.map(({ name }) => name).join(', ')}.`)
    expect(lines).toHaveLength(listed.length + 1)
    expect(text).not.toContain('skill://')
  })

  test('respects the budget and lists the omitted skills', () => {
    const skills = Array.from({ length: 100 }, (_, i) => skill(`skill-${String(i).padStart(3, '0')}`))
    const { text, tokens, listed, omitted } = renderCatalog(skills, { maxTokens: 500 })
    expect(tokens).toBe(approximateTokens(text))
    expect(tokens).toBeLessThanOrEqual(500)
    expect([...listed, ...omitted]).toEqual(skills.map(each => each.name))
    expect(listed.length).toBeGreaterThan(5)
    expect(text).toContain(`<omitted count="${omitted.length}">`)
    // No further skill would fit, because each entry needs about thirty tokens.
    expect(renderCatalog(skills, { maxTokens: tokens + 35 }).listed).toHaveLength(listed.length + 1)
    expect(renderCatalog(skills, { maxTokens: tokens - 1 }).listed).toHaveLength(listed.length - 1)
  })

  test('counts the tokens of only a few dozen skills, even if the list has thousands of skills', () => {
    const skills = Array.from({ length: 10_000 }, (_, i) => skill(`skill-${String(i).padStart(5, '0')}`))
    let counted = 0
    const countTokens = (text: string): number => {
      counted += text.length
      return approximateTokens(text)
    }
    const { text, listed } = renderCatalog(skills, { countTokens })
    expect(listed.length).toBeGreaterThan(64)
    expect(counted).toBeLessThan(20 * text.length)
    for (const maxTokens of [0, 1, 100, 2_500, 4_000, 170_000]) {
      // renderCatalog() first calls a custom format with all skills.
      const format = CATALOG_FORMATS['agentskills-tool-xml']
      expect(renderCatalog(skills, { maxTokens })).toEqual(renderCatalog(skills, { maxTokens, format }))
    }
  })

  test('lists all skills if a custom format returns a shorter text for many skills than for a few', () => {
    const skills = Array.from({ length: 1_000 }, (_, i) => skill(`skill-${i}`))
    const format = (each: readonly Skill[]): string => (each.length === 1_000 ? 'all' : 'x'.repeat(100))
    expect(renderCatalog(skills, { maxTokens: 10, format }).listed).toHaveLength(1_000)
  })
})

describe('CatalogCache', () => {
  test('renders the catalog again only if a listed entry has changed', async () => {
    const registry = new SkillRegistry({ store: new MemorySkillStore() })
    registry.addSource({ label: 'skills', origin: '/', trust: 'auto' })
    const replace = async (...skills: Skill[]): Promise<void> => {
      const entries = skills.map(each => ({
        location: each.location,
        name: each.name,
        skill: each,
        diagnostics: [],
      }))
      await registry.replace('skills', { entries, diagnostics: [] })
    }
    const cache = new CatalogCache({})
    await replace(skill('maps'), skill('pdf'))
    const first = cache.render(registry.current, undefined)
    await replace(skill('maps'), { ...skill('pdf'), revision: 'sha256:1', bodyDigest: 'sha256:1' })
    expect(cache.render(registry.current, undefined)).toBe(first)
    await replace(skill('maps'), skill('pdf', 'Other.'))
    expect(cache.render(registry.current, undefined).text).toContain('Other.')
    const scoped = cache.render(registry.current, { include: ['maps'] })
    expect(scoped.listed).toEqual(['maps'])
    await replace(skill('maps'), skill('pdf', 'Another.'))
    expect(cache.render(registry.current, { include: ['maps'] })).toBe(scoped)
  })
})

describe('createScopeTest()', () => {
  test.each([
    [undefined, 'pdf', true],
    [{}, 'pdf', true],
    [{ include: [] }, 'pdf', true],
    [{ include: ['pdf'] }, 'pdf-tools', false],
    [{ include: ['support-*'] }, 'support-', true],
    [{ include: ['*-a'], exclude: ['x-*'] }, 'x-a', false],
    [{ include: ['a.c'] }, 'abc', false],
    [{ include: ['a\\*c'] }, 'abc', false],
    [{ include: ['a\\*c*'] }, 'a*cd', true],
    [{ exclude: ['*'] }, 'pdf', false],
    [{ include: ['*-a'], outer: { include: ['x-*'] } }, 'x-a', true],
    [{ include: ['*-a'], outer: { include: ['x-*'] } }, 'y-a', false],
    [{ outer: { outer: { exclude: ['x'] } } }, 'x', false],
  ])('%j allows %j: %s', (scope, name, expected) => {
    expect(createScopeTest(scope)(name)).toBe(expected)
  })

  test('refuses an empty pattern', () => {
    expect(() => createScopeTest({ include: [' '] })).toThrow('empty pattern')
  })
})

describe('SkillSearch', () => {
  const search = (index: SkillSearch, skills: readonly Skill[], query: string): string[] =>
    index.search(skills, query, { limit: 5, isInScope: () => true }).map(hit => hit.skill.name)

  test('ranks rare words above common ones and names above descriptions', () => {
    const skills = [
      skill('invoice', 'Writes things for people.'),
      skill('maps', 'Draws an invoice map for people.'),
      skill('tone', 'Writes to people.'),
    ]
    expect(search(new SkillSearch(), skills, 'invoice people')).toEqual(['invoice', 'maps', 'tone'])
    expect(search(new SkillSearch(), skills, 'nothing of it')).toEqual([])
  })

  test('after any change of the list, the updated index returns the same hits as a new index', () => {
    const word = fc.constantFrom('red', 'green', 'blue', 'round', 'square')
    const list = fc.uniqueArray(
      fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.array(word, { maxLength: 4 })),
      { selector: ([name]) => name },
    )
    fc.assert(
      fc.property(fc.array(list, { minLength: 2, maxLength: 5 }), word, (lists, query) => {
        const index = new SkillSearch()
        for (const each of lists) {
          const skills = each
            .map(([name, words]) => skill(name, words.join(' ') || 'none'))
            .sort((a, b) => (a.name < b.name ? -1 : 1))
          expect(search(index, skills, query)).toEqual(search(new SkillSearch(), skills, query))
        }
      }),
    )
  })
})

test.each([
  ['pfd', ['pdf']],
  ['refnud', ['refund']],
  ['refund-policy', ['refund']],
  ['REFUND', ['refund']],
  ['xyz', []],
  ['', []],
])('findNearNames(%j) suggests %j', (wanted, expected) => {
  expect(findNearNames(wanted, ['maps', 'pdf', 'refund', 'tone'])).toEqual(expected)
})
