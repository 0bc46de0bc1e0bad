import { describe, expect, test } from 'vitest'
import { readSkillTests } from '../evals/read-skill-tests.ts'
import type { SkillTests } from '../evals/skill-tests.ts'
import { estimateTriggers, type TriggerCase } from './estimate-triggers.ts'
import { rankSkills } from './rank-skills.ts'
import type { TriggerSkill } from './skill-words.ts'

const SKILLS: readonly TriggerSkill[] = [
  {
    name: 'invoice-filler',
    description:
      'Fills in PDF invoices. Use when an invoice has to be completed. Do not use for viewers that flicker.',
    body: 'Scan the pages, merge them, and write the amounts.',
  },
  {
    name: 'form-builder',
    description: 'Designs forms for councils and clubs. Use when the user needs a new form with fields.',
    body: 'Ask who fills it in.',
  },
  { name: 'image-tools', description: 'Scans, crops and glues images together.', body: '' },
]

const testsOf = (yaml: string, skill = 'invoice-filler'): SkillTests =>
  readSkillTests(skill, [{ path: 'evals/tests.yaml', text: yaml }])

const estimateOne = (kind: 'fires' | 'silent', message: string): TriggerCase => {
  const [first] = estimateTriggers(SKILLS, testsOf(`${kind}:\n  - ${JSON.stringify(message)}\n`)).cases
  if (first === undefined) throw new Error('there is no case')
  return first
}

describe('estimateTriggers()', () => {
  test('a message with the rare words of the description is likely, with its words, place and lead', () => {
    const found = estimateOne('fires', 'Please complete this PDF invoice')
    expect(found).toMatchObject({ verdict: 'likely', rank: 1, words: ['invoice', 'pdf', 'complete'] })
    expect(found.margin).toBe(found.score)
    expect(found.overlap).toBe(1)
    expect(found.winner).toEqual({ skill: 'invoice-filler', words: ['invoice', 'pdf', 'complete'] })
  })

  test('a message that another skill wins names that skill and its words', () => {
    const found = estimateOne('fires', 'fill in the form of the council')
    expect(found.verdict).toBe('unsure')
    expect(found).toMatchObject({ rank: 2, winner: { skill: 'form-builder', words: ['council', 'form'] } })
    expect(found.margin).toBeLessThan(0)
  })

  test('a first place with few words is unsure', () => {
    expect(estimateOne('fires', 'complete the report')).toMatchObject({ verdict: 'unsure', rank: 1 })
  })

  test('a message without a shared word has no place', () => {
    expect(estimateOne('fires', 'What is the weather like today?')).toMatchObject({
      verdict: 'no match in words',
      rank: null,
      winner: null,
      score: 0,
    })
  })

  test('words of the instructions do not change the verdict, and have a place of their own', () => {
    const found = estimateOne('fires', 'merge the pages of the report')
    expect(found).toMatchObject({ rank: null, bodyRank: 1, bodyWords: ['merge', 'pages'] })
  })

  test('words that the description excludes do not count, and are named', () => {
    const found = estimateOne('silent', 'why does my viewer flicker')
    expect(found).toMatchObject({ rank: null, verdict: 'no match in words' })
    expect([...found.excludedWords].sort()).toEqual(['flicker', 'viewer'])
  })

  test('a message in another language is not estimated', () => {
    expect(estimateOne('fires', 'rellena esta invoice en pdf por favor')).toMatchObject({
      verdict: 'not estimated',
    })
  })

  test('a description in another language is not estimated', () => {
    const skill = { name: 'rechnung', description: 'Füllt Rechnungen aus, die der Kunde geschickt hat.' }
    const [found] = estimateTriggers([skill], testsOf('fires: [Fill in the invoice]', 'rechnung')).cases
    expect(found?.verdict).toBe('not estimated')
  })

  test('an unrelated skill changes the score of a message by little', () => {
    const before = estimateOne('fires', 'Please complete this PDF invoice').score
    const more = [...SKILLS, { name: 'maps', description: 'Draws maps of cities.' }]
    const [after] = estimateTriggers(more, testsOf('fires: [Please complete this PDF invoice]')).cases
    expect(Math.abs((after?.score ?? 0) - before)).toBeLessThan(before / 50)
  })

  test('counts the verdicts, the copied words and the agreement with real runs', () => {
    const tests = readSkillTests('invoice-filler', [
      {
        path: 'evals/results.json',
        text: JSON.stringify([
          { query: 'Please complete this PDF invoice', should_trigger: true, trigger_rate: 1 },
          { query: 'complete the report', should_trigger: true, trigger_rate: 0.67 },
          { query: 'crop the images', should_trigger: false, trigger_rate: 0 },
        ]),
      },
    ])
    const { counts, copiedShare, agreement } = estimateTriggers(SKILLS, tests)
    expect(counts.fires).toEqual({ likely: 1, unsure: 1, 'no match in words': 0, 'not estimated': 0 })
    expect(counts.silent['no match in words']).toBe(1)
    expect(copiedShare).toBe(0.8)
    expect(agreement).toEqual({ agreed: 2, of: 3 })
  })

  test('gives advice about messages whose verdict is not the wanted one', () => {
    const { cases } = estimateTriggers(
      SKILLS,
      testsOf(`
fires:
  - Please complete this PDF invoice
  - glue these scans together and merge them
  - fill in the form of the council
  - complete the report
silent:
  - open the PDF invoice in a viewer
  - crop the image
  - rellena esta factura en pdf por favor
`),
    )
    expect(cases.map(each => each.advice)).toEqual([
      [],
      ['add-words', 'won-by-other'],
      ['won-by-other'],
      [],
      ['near-miss'],
      [],
      [],
    ])
    expect(cases[1]).toMatchObject({ bodyWords: ['merge', 'scans'], winner: { skill: 'image-tools' } })
    expect(cases[4]).toMatchObject({ words: ['invoice', 'pdf'], excludedWords: ['viewer'] })
  })

  test('says that messages are copied if over 60 % of their words are', () => {
    expect(estimateTriggers(SKILLS, testsOf('fires: [Fill in PDF invoices]'))).toMatchObject({
      isCopied: true,
    })
    expect(estimateTriggers(SKILLS, testsOf('fires: [Pay the plumber now, PDF]'))).toMatchObject({
      isCopied: false,
    })
  })

  test('a skill that is not in the list has no cases', () => {
    expect(estimateTriggers(SKILLS, testsOf('fires: [a]', 'maps'))).toMatchObject({
      cases: [],
      copiedShare: null,
    })
  })
})

describe('rankSkills()', () => {
  test('returns the best skills with their words', () => {
    const { ranking, isEstimated } = rankSkills('scan this form and crop it', SKILLS)
    expect(isEstimated).toBe(true)
    expect(ranking).toMatchObject([
      { skill: 'image-tools', words: ['crop', 'scan'] },
      { skill: 'form-builder' },
    ])
  })

  test('skills with equal scores are sorted by name', () => {
    const same = ['b', 'a'].map(name => ({ name, description: 'Draws zeppelins.' }))
    expect(rankSkills('zeppelins', same).ranking.map(each => each.skill)).toEqual(['a', 'b'])
  })
})
