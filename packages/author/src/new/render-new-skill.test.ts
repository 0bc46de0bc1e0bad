import { SkillError, validateSkill } from '@skillstoke/core'
import { load } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { describeNewSkill, renderNewSkill, SKILL_TEMPLATES } from './render-new-skill.ts'

const description = describeNewSkill(
  'writes VAT reports: one per month',
  'somebody asks for the VAT of a month',
)

describe.each(SKILL_TEMPLATES)('renderNewSkill() with the template %s', template => {
  const files = renderNewSkill({ name: 'vat-report', description, template })
  const text = files.at(-1)?.text ?? ''

  test('writes SKILL.md last, without a finding', () => {
    expect(files.at(-1)?.path).toBe('SKILL.md')
    const findings = validateSkill(new TextEncoder().encode(text), { directoryName: 'vat-report' })
    expect(findings).toEqual([])
    const [, frontmatter = ''] = text.split('---\n')
    expect(load(frontmatter)).toEqual({ name: 'vat-report', description })
  })

  test('names every file beside the tests in the instructions', () => {
    const others = files.filter(({ path }) => path !== 'SKILL.md' && !path.startsWith('evals/'))
    expect(others.filter(({ path }) => !text.includes(path))).toEqual([])
  })

  test('leaves no text that an author has to replace', () => {
    expect(files.map(each => each.text).join('\n')).not.toMatch(
      /TODO|FIXME|lorem|replace (this|with)|your[ -]/i,
    )
  })

  test('writes a file of tests that is valid and has no test yet', () => {
    const tests = files.find(({ path }) => path === 'evals/tests.yaml')?.text ?? ''
    expect(load(tests)).toEqual({ fires: [], silent: [], ask: [] })
    const example = /for example:\n((?:# .*\n)+)/.exec(tests)?.[1]?.replaceAll(/^# {3}/gm, '') ?? ''
    expect(load(example)).toMatchObject({
      fires: [expect.any(String)],
      ask: [{ expect: [{ contains: '19 %' }] }],
    })
  })
})

test.each([
  ['Vat Report', 'skill name "Vat Report" has capital letters; use "vat-report"'],
  ['vat--report', 'skill name "vat--report" has two hyphens in a row; use "vat-report"'],
  ['../evil', /skill name "..\/evil" has characters other than .*; use "evil"/],
  ['', '"name" is missing or empty; use "my-skill"'],
])('renderNewSkill() refuses the name %j and names a valid one', (name, message) => {
  expect(() => renderNewSkill({ name, description })).toThrow(message)
})

test.each([
  ['  ', /"description" is missing or empty; say what the skill does/],
  ['x'.repeat(1025), /"description" has 1025 characters; at most 1024/],
])('renderNewSkill() refuses a description of the wrong length', (text, message) => {
  const render = (): unknown => renderNewSkill({ name: 'a', description: text })
  expect(render).toThrow(SkillError)
  expect(render).toThrow(message)
})

test.each([
  ['writes reports.', 'When somebody asks.', 'Writes reports. Use when somebody asks.'],
  [' Writes reports ', 'use when a month ends', 'Writes reports. Use when a month ends.'],
])('describeNewSkill(%j, %j) makes one text', (what, when, text) => {
  expect(describeNewSkill(what, when)).toBe(text)
})
