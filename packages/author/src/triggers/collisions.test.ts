import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readSkillTests } from '../evals/read-skill-tests.ts'
import { findCollisions } from './find-collisions.ts'
import { Likeness } from './likeness.ts'
import type { TriggerSkill } from './skill-words.ts'

const ADS: readonly TriggerSkill[] = [
  {
    name: 'ads',
    source: 'desk',
    description: 'Plans paid campaigns on LinkedIn and Facebook, with bids and budgets.',
  },
  {
    name: 'ad-creative',
    source: 'desk',
    description: 'Writes headlines for paid ads on LinkedIn and Facebook.',
  },
  { name: 'pdf', source: 'office', description: 'Fills in forms.' },
]

describe('findCollisions()', () => {
  test('a pair has its shared words, the words of each skill, and a suggestion', () => {
    const [pair, ...others] = findCollisions(ADS)
    expect(others).toEqual([])
    expect(pair).toMatchObject({ kind: 'fight', lostMessages: [] })
    expect([...(pair?.shared ?? [])].sort()).toEqual(['ads', 'facebook', 'linkedin', 'paid'])
    expect(pair?.skills[0]).toMatchObject({ name: 'ad-creative', source: 'desk' })
    expect(pair?.skills[1].only).toContain('bids')
    expect(pair?.suggestion).toMatch(/^Say in the description of ad-creative .* use ads\."$/)
  })

  test('messages of the tests that the other skill wins are named', () => {
    const tests = readSkillTests('ad-creative', [
      { path: 'evals/tests.yaml', text: 'fires: [Plan bids for paid LinkedIn campaigns, Write a headline]' },
    ])
    expect(findCollisions(ADS, { tests: [tests] })[0]?.lostMessages).toEqual([
      { message: 'Plan bids for paid LinkedIn campaigns', meantFor: 'ad-creative', first: 'ads' },
    ])
  })

  test('a pair whose description names the other skill is settled, and last', () => {
    const settled = ADS.with(0, {
      name: 'ads',
      description: 'Plans paid campaigns on LinkedIn and Facebook. For headlines, use ad-creative.',
    })
    const equal = { name: 'form', description: 'Fills in forms.' }
    const found = findCollisions([...settled, equal])
    expect(found.map(({ kind, settledBy }) => [kind, settledBy?.sentence])).toEqual([
      ['equal', undefined],
      ['fight', 'For headlines, use ad-creative.'],
    ])
    expect(found[1]).not.toHaveProperty('suggestion')
  })

  test.each([
    ['Reads PDF files and tables.', false],
    ['Reads tables. For files, use pdf.', true],
    ['Reads tables, see `pdf` for files.', true],
    ['Reads tables. The pdf skill reads files.', true],
    ['Reads tables, use pdf-forms for files.', false],
  ])('a name of one word counts only if it is used as a name: %s', (description, isSettled) => {
    const skills = [
      { name: 'tables', description },
      { name: 'pdf', description },
    ]
    const [pair] = findCollisions(skills)
    expect(pair?.settledBy !== undefined).toBe(isSettled)
  })

  test('with `of`, only pairs with these skills are found', () => {
    const copies = Array.from({ length: 4 }, (_, index) => ({
      name: `ads-${index}`,
      description: ADS[0]?.description ?? '',
    }))
    const found = findCollisions(copies, { of: ['ads-2', 'ads-3'] })
    expect(found).toHaveLength(5)
    expect(found.every(({ skills }) => skills.some(({ name }) => /[23]/.test(name)))).toBe(true)
  })

  test('a phrase that a whole source uses does not make its skills alike', () => {
    const phrase = 'Only in an MSBuild context with vendored telemetry.'
    const subjects = [
      'Counts llamas',
      'Paints zeppelins',
      'Grows tulips',
      'Cooks risotto',
      'Tunes cellos',
      'Repairs clocks',
      'Maps reefs',
      'Folds kites',
    ]
    const skills = subjects.map((subject, index) => ({
      name: `s${index}`,
      source: 'desk',
      description: `${subject}. ${phrase}`,
    }))
    expect(findCollisions(skills)).toEqual([])
    expect(
      findCollisions(skills.map(({ source: _source, ...skill }, index) => ({ ...skill, source: `${index}` })))
        .length,
    ).toBeGreaterThan(0)
  })

  test('words that say nothing about a task collide with nothing', () => {
    const found = findCollisions([
      { name: 'orders', description: 'Finds parcels. Use when somebody asks for something.' },
      { name: 'llamas', description: 'Draws pictures. Use when somebody asks for something.' },
    ])
    expect(found).toEqual([])
  })

  test('no skill and one skill have no pairs', () => {
    expect(findCollisions([])).toEqual([])
    expect(findCollisions(ADS.slice(0, 1))).toEqual([])
  })
})

test('findPairs() finds the same pairs as a comparison of all vectors', () => {
  const word = fc.constantFrom('pdf', 'form', 'scan', 'merge', 'zeppelin', 'invoice', 'tulip', 'bid', 'reef')
  const text = fc.array(word, { minLength: 1, maxLength: 6 }).map(words => words.join(' '))
  fc.assert(
    fc.property(fc.array(text, { maxLength: 25 }), texts => {
      const skills = texts.map((description, index) => ({ name: `s${index}`, description }))
      const likeness = new Likeness(skills)
      const cosineOf = (a: TriggerSkill, b: TriggerSkill): number => {
        const other = likeness.vectorOf(b)
        return [...likeness.vectorOf(a)].reduce(
          (sum, [key, weight]) => sum + weight * (other.get(key) ?? 0),
          0,
        )
      }
      const expected = skills.flatMap((b, place) =>
        skills.slice(0, place).flatMap(a => (cosineOf(a, b) >= 0.2501 ? [`${a.name} ${b.name}`] : [])),
      )
      const pairs = likeness.findPairs(0.2499)
      expect(pairs.map(({ a, b }) => `${a.name} ${b.name}`)).toEqual(expect.arrayContaining(expected))
      for (const { a, b, cosine } of pairs) expect(cosine).toBeCloseTo(cosineOf(a, b), 9)
    }),
  )
})
