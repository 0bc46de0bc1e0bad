import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import { parseSkill } from './parse-skill.ts'
import { readFrontmatter } from './read-frontmatter.ts'
import { validateSkill } from './validate-skill.ts'

const encoder = new TextEncoder()
const toBytes = (fields: string): Uint8Array => encoder.encode(`---\n${fields}\n---\nbody`)

/** Returns the findings about values, as code, line and column. */
function findingsOf(fields: string): readonly (readonly unknown[])[] {
  const { diagnostics } = parseSkill(toBytes(fields))
  return diagnostics
    .filter(({ code }) => code.startsWith('VALUE_'))
    .map(({ code, severity, line, column }) => [code, severity, line, column])
}

describe('parseSkill() and scalars:', () => {
  test.each([
    '007',
    '12e5',
    '3.10',
    '1.0',
    '0x1F',
    '0o17',
    '+1',
    '.inf',
    'true',
    'False',
    '1_000',
    '2026-1-5',
  ])(`the text fields keep the spelling %s ${verifies('P14')}`, value => {
    const fields = `name: ${value}\ndescription: ${value}\nlicense: ${value}\ncompatibility: ${value}\nmetadata:\n  v: ${value}\n  ${value}: v`
    const parsed = parseSkill(toBytes(fields))
    const skill = { name: value, description: value, license: value, compatibility: value }
    const metadata = { v: value, [value]: 'v' }
    expect(parsed).toMatchObject({ ok: true, value: { ...skill, metadata } })
    expect(readFrontmatter(toBytes(fields))).toEqual({ ...skill, metadata })
  })

  test.each(['"', "'"])('a text field keeps its spelling if another field is not valid YAML: %s', quote => {
    const parsed = parseSkill(toBytes(`name: 007\ndescription: 1.0\nlicense: ${quote}open`))
    expect(parsed).toMatchObject({ ok: true, value: { name: '007', description: '1.0' } })
  })

  test('other fields have the type that YAML gives them', () => {
    const parsed = parseSkill(toBytes('name: a\ndescription: b\nversion: 007\nlist: [1.0, true, x]'))
    expect(parsed).toMatchObject({ value: { extra: { version: 7, list: [1, true, 'x'] } } })
  })

  test.each(['', 'null', '~', 'Null', 'NULL', '# x'])('a field with the value %j is absent', nothing => {
    const optional = `license: ${nothing}\ncompatibility: ${nothing}\nallowed-tools: ${nothing}\nversion: ${nothing}\nmetadata:\n  a: ${nothing}\n  b: c`
    const parsed = parseSkill(toBytes(`name: ${nothing}\ndescription: d\n${optional}`), {
      directoryName: 'folder',
    })
    expect(parsed).toEqual({
      ok: true,
      value: {
        name: 'folder',
        description: 'd',
        metadata: { b: 'c' },
        extra: {},
        frontmatter: expect.any(String),
        body: 'body',
        bodyLine: 12,
      },
      diagnostics: [expect.objectContaining({ code: 'NAME_MISSING' })],
    })
    expect(parseSkill(toBytes(`name: a\ndescription: ${nothing}`)).ok).toBe(false)
    const found = validateSkill(
      toBytes(`name: ${nothing}\ndescription: ${nothing}\ncompatibility: ${nothing}`),
    )
    expect(found.map(({ code }) => code)).toEqual(['NAME_MISSING', 'DESCRIPTION_MISSING'])
  })
})

describe('a value whose text YAML changes is reported:', () => {
  test.each([
    ['name: a\ndescription: Use for issue #12 and later', ['VALUE_CUT_BY_COMMENT', 'warning', 3, 14]],
    ['name: a\ndescription: Short  # note', ['VALUE_CUT_BY_COMMENT', 'warning', 3, 14]],
    [
      'name: a\ndescription: b\nmetadata:\n  c: one two three four #5',
      ['VALUE_CUT_BY_COMMENT', 'warning', 5, 6],
    ],
    ['name: a\ndescription: b\nmetadata:\n  version: 1.10', ['VALUE_RETYPED', 'info', 5, 12]],
    ['name: a\r\ndescription: b\r\nversion: 1.10', ['VALUE_RETYPED', 'info', 4, 10]],
    ['name: 007\ndescription: b', ['VALUE_RETYPED', 'info', 2, 7]],
    ['name: a\ndescription: b\ncreated: 2026-1-5', ['VALUE_RETYPED', 'info', 4, 10]],
  ])('%j', (fields, finding) => {
    expect(findingsOf(fields)).toEqual([finding])
    expect(validateSkill(toBytes(fields)).map(({ code }) => code)).toContain(finding[0])
  })

  test.each([
    ['argument-hint: [a] or [b]\ndescription: Use for issue #12', ['VALUE_CUT_BY_COMMENT', 'warning', 4, 14]],
    ['license: *a\ndescription: Use for issue #12', ['VALUE_CUT_BY_COMMENT', 'warning', 4, 14]],
    ['description: b\nmetadata:\n  hint: [a] or [b]\n  version: 1.10', ['VALUE_RETYPED', 'info', 6, 12]],
    ['description: b\nmetadata:\n\tversion: 1.10', ['VALUE_RETYPED', 'info', 5, 12]],
    ['description: b\nversion: 1.10\n? [x', ['VALUE_RETYPED', 'info', 4, 10]],
    ['description: b\nversion: 1.10\nlist: [a]', ['VALUE_RETYPED', 'info', 4, 10]],
  ])('also beside a line that is repaired or refused: %j', (fields, finding) => {
    expect(findingsOf(`name: a\n${fields}`)).toEqual([finding])
    expect(validateSkill(toBytes(`name: a\n${fields}`)).map(({ code }) => code)).toContain(finding[0])
  })

  test('a key without a space after its colon is no value', () => {
    const fields = 'name: a\ndescription: b\nmetadata:\n  one two three\n  x:four five six seven #8'
    expect(findingsOf(fields)).toEqual([])
  })

  test.each([
    'name: a\ndescription: "Use for issue #12"',
    'name: a\ndescription: >\n  Use for issue #12',
    'name: a\ndescription: b # c'.replace(' #', '#'),
    'name: a\ndescription: b\nlicense: MIT # see LICENSE',
    'name: a\ndescription: b\nlicense: one two three four  # two blanks',
    'name: a\ndescription: b\nallowed-tools: Read Grep Glob Bash # all',
    'name: a\ndescription: b\nversion: 2\nother: "1.10"\nlist: [1.10]\ndeep:\n  c: 1.10',
    'name: a\ndescription: b\ncreated: 2026-01-05',
  ])('%j is not', fields => {
    expect(findingsOf(fields)).toEqual([])
  })

  test('the message quotes what is cut and says what to do', () => {
    const parsed = parseSkill(toBytes('name: a\ndescription: Use for issue #12 and later'))
    expect(parsed.diagnostics).toMatchObject([
      {
        message: expect.stringContaining('"#12 and later"'),
        fix: expect.stringContaining('"description" in quotes'),
      },
    ])
  })
})
