import { describe, expect, test } from 'vitest'
import { parseSkill } from './parse-skill.ts'
import { validateSkill } from './validate-skill.ts'

const encoder = new TextEncoder()

function codesOf(text: string, directoryName?: string): string[] {
  return validateSkill(encoder.encode(text), directoryName === undefined ? {} : { directoryName })
    .filter(each => each.severity === 'error')
    .map(each => each.code)
}

const skill = (fields: string): string => `---\n${fields}\n---\nbody`

describe('validateSkill() agrees with the reference validator:', () => {
  test.each([
    ['pdf', 'pdf'],
    ['café', 'café'.normalize('NFD')],
    ['café'.normalize('NFD'), 'café'],
    ['ﬁle', 'file'],
    ['日本', '日本'],
    ['a'.repeat(64), 'a'.repeat(64)],
    ['123', '123'],
    ['true', 'true'],
  ])('name %j in folder %j is valid', (name, folder) => {
    expect(codesOf(skill(`name: ${name}\ndescription: x`), folder)).toEqual([])
  })

  test.each([
    ['कौ', 'NAME_INVALID'],
    ['½', 'NAME_INVALID'],
    ['a'.repeat(65), 'NAME_INVALID'],
    ['PDF', 'NAME_INVALID'],
    ['-pdf', 'NAME_INVALID'],
    ['pdf-', 'NAME_INVALID'],
    ['a--b', 'NAME_INVALID'],
    ['a_b', 'NAME_INVALID'],
    ['a b', 'NAME_INVALID'],
  ])('name %j is invalid', (name, code) => {
    expect(codesOf(skill(`name: ${name}\ndescription: x`), name)).toContain(code)
  })

  test('the folder must have the same name as the skill', () => {
    expect(codesOf(skill('name: pdf\ndescription: x'), 'other')).toEqual(['NAME_DIRECTORY_MISMATCH'])
  })

  test('the length of the description is counted in code points, without trimming', () => {
    expect(codesOf(skill(`name: pdf\ndescription: ${'😀'.repeat(1024)}`))).toEqual([])
    expect(codesOf(skill(`name: pdf\ndescription: ${'😀'.repeat(1025)}`))).toEqual(['DESCRIPTION_TOO_LONG'])
    expect(codesOf(skill(`name: pdf\ndescription: "${'x'.repeat(1023)}  "`))).toEqual([
      'DESCRIPTION_TOO_LONG',
    ])
  })

  test('only the six fields of the specification are allowed', () => {
    const all =
      'name: pdf\ndescription: x\nlicense: MIT\ncompatibility: any\nallowed-tools: Read Grep\nmetadata:\n  a: 1'
    expect(codesOf(skill(all))).toEqual([])
    expect(codesOf(skill('name: pdf\ndescription: x\nversion: 1\nmodel: y'))).toEqual([
      'FIELD_UNKNOWN',
      'FIELD_UNKNOWN',
    ])
  })

  test('all findings are reported together', () => {
    expect(codesOf(skill('name: PDF--x\nversion: 1'), 'other')).toEqual([
      'FIELD_UNKNOWN',
      'NAME_INVALID',
      'NAME_INVALID',
      'NAME_DIRECTORY_MISMATCH',
      'DESCRIPTION_MISSING',
    ])
  })

  test.each([
    ['compatibility: [a]', 'YAML_FLOW_STYLE'],
    ['metadata: {a: b}', 'YAML_FLOW_STYLE'],
    ['compatibility:\n  - a', 'FIELD_TYPE'],
    [`compatibility: ${'x'.repeat(501)}`, 'COMPATIBILITY_TOO_LONG'],
    ['license: a: b', 'YAML_INVALID'],
  ])('%j is invalid', (field, code) => {
    expect(codesOf(skill(`name: pdf\ndescription: x\n${field}`))).toEqual([code])
  })

  test.each([
    ['argument-hint: [a] or [b]', 'YAML_INVALID'],
    ['metadata:\n  a: @b', 'YAML_INVALID'],
    ['license: "open', 'YAML_INVALID'],
    ['metadata:\n\ta: b', 'YAML_INVALID'],
    ['license: a\nlicense: b', 'YAML_INVALID'],
  ])('validateSkill() refuses %j, although parseSkill() reads the value as text', (field, code) => {
    const text = skill(`name: pdf\ndescription: x\n${field}`)
    expect(parseSkill(encoder.encode(text)).ok).toBe(true)
    expect(codesOf(text)).toEqual([code])
  })

  test.each(['\n', '<!-- x -->\n'])('the frontmatter must start on the first line, not after %j', lead => {
    expect(codesOf(`${lead}${skill('name: pdf\ndescription: x')}`)).toEqual(['FRONTMATTER_MISSING'])
  })

  test('an unquoted ": " is not repaired but reported at its line', () => {
    const [found] = validateSkill(encoder.encode(skill('name: pdf\ndescription: Use when: always')))
    expect(found).toMatchObject({ code: 'YAML_INVALID', severity: 'error', line: 3 })
  })
})

describe('validateSkill() differs from the reference validator where the reference validator is wrong:', () => {
  test('"---" inside a value does not end the frontmatter', () => {
    expect(codesOf(skill('name: pdf\ndescription: a --- b\nversion: 1'))).toEqual(['FIELD_UNKNOWN'])
  })

  test('a byte order mark causes only a warning', () => {
    const found = validateSkill(encoder.encode(`\uFEFF${skill('name: pdf\ndescription: x')}`))
    expect(found.map(each => [each.code, each.severity])).toEqual([['BYTE_ORDER_MARK', 'warning']])
  })
})
