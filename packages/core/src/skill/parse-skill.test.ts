import { verifies } from '@skillstoke/requirements'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Diagnostic } from './diagnostic.ts'
import { type ParseSkillOptions, parseSkill } from './parse-skill.ts'
import type { ParsedSkill } from './skill-fields.ts'

const encoder = new TextEncoder()

function parse(
  text: string,
  options: ParseSkillOptions = {},
): { skill: ParsedSkill | undefined; diagnostics: readonly Diagnostic[]; codes: string[] } {
  const outcome = parseSkill(encoder.encode(text), options)
  return {
    skill: outcome.ok ? outcome.value : undefined,
    diagnostics: outcome.diagnostics,
    codes: outcome.diagnostics.map(diagnostic => diagnostic.code),
  }
}

const FIELDS = 'name: pdf\ndescription: Reads PDF files.\n'

describe('parseSkill() and real files:', () => {
  test('a plain file is read without a diagnostic', () => {
    const { skill, diagnostics } = parse(`---\n${FIELDS}---\n\n# Body\n\ntext\n`, { directoryName: 'pdf' })
    expect(diagnostics).toEqual([])
    expect(skill).toMatchObject({
      name: 'pdf',
      description: 'Reads PDF files.',
      body: '# Body\n\ntext',
      bodyLine: 5,
    })
  })

  test(`a file with CRLF line ends keeps every character of the last value and the body ${verifies('CRAB-B05', 'P14')}`, () => {
    const { skill } = parse(
      `---\r\nname: pdf\r\ndescription: xyz\r\nlicense: MIT\r\n---\r\nline one\r\nline two\r\n`,
    )
    expect(skill).toMatchObject({
      name: 'pdf',
      description: 'xyz',
      license: 'MIT',
      body: 'line one\r\nline two',
    })
  })

  test('a byte order mark is skipped, with a warning', () => {
    const { skill, codes } = parse(`\uFEFF---\n${FIELDS}---\nbody`)
    expect(skill?.name).toBe('pdf')
    expect(codes).toEqual(['BYTE_ORDER_MARK'])
  })

  test.each([`---\n${FIELDS}---`, `---\n${FIELDS}---\n`, `---\n${FIELDS}---\n\n \n`])(
    'a file without a body is read: %j',
    text => {
      const { skill, codes } = parse(text)
      expect(skill?.body).toBe('')
      expect(codes).toEqual(['BODY_EMPTY'])
    },
  )

  test(`"---" inside a value, a block scalar or the body does not end the frontmatter ${verifies('FOX-B06', 'P14')}`, () => {
    const { skill } = parse(
      '---\nname: pdf\ndescription: a --- b\nlicense: |\n  x\n  --- y\n---\nbody\n\n---\n\nmore',
    )
    expect(skill).toMatchObject({
      description: 'a --- b',
      license: 'x\n--- y\n',
      body: 'body\n\n---\n\nmore',
    })
  })

  test('a folded block scalar becomes one line', () => {
    const { skill } = parse('---\nname: pdf\ndescription: >\n  first line\n  second line\n---\nbody')
    expect(skill?.description).toBe('first line second line')
  })

  test('quoted values lose their quotation marks', () => {
    expect(parse(`---\nname: "pdf"\ndescription: 'it''s: fine'\n---\nx`).skill).toMatchObject({
      name: 'pdf',
      description: "it's: fine",
    })
  })

  test('the values of unknown keys keep their types', () => {
    const { skill, diagnostics } = parse(
      `---\n${FIELDS}version: 1.10\ninternal: true\ntags: [a, b]\nhooks:\n  pre: 3\n---\nx`,
    )
    expect(skill?.extra).toEqual({ version: 1.1, internal: true, tags: ['a', 'b'], hooks: { pre: 3 } })
    expect(diagnostics.every(each => each.severity === 'info')).toBe(true)
    expect(diagnostics.map(each => [each.code, each.line])).toEqual([
      ['VALUE_RETYPED', 4],
      ...[4, 5, 6, 7].map(line => ['FIELD_UNKNOWN', line]),
    ])
  })

  test.each([
    ['Bash(git add:*) Read', ['Bash(git add:*)', 'Read'], []],
    ['Bash(git:*), Read', ['Bash(git:*)', 'Read'], []],
    ['\n  - Read\n  - Grep', ['Read', 'Grep'], ['FIELD_TYPE']],
    ['[Read, Grep]', ['Read', 'Grep'], ['FIELD_TYPE']],
  ])('allowed-tools %j becomes a list', (value, tools, codes) => {
    const result = parse(`---\n${FIELDS}allowed-tools: ${value}\n---\nx`)
    expect(result.skill?.allowedTools).toEqual(tools)
    expect(result.codes).toEqual(codes)
  })

  test('metadata values that are lists are converted to text, with a remark', () => {
    const { skill, diagnostics } = parse(`---\n${FIELDS}metadata:\n  tags: [a, 1.0]\n  author: ann\n---\nx`)
    expect(skill?.metadata).toEqual({ tags: '["a","1.0"]', author: 'ann' })
    expect(diagnostics).toMatchObject([{ code: 'FIELD_TYPE', severity: 'info', line: 4 }])
  })

  test('a description of more than 1,024 characters is kept, with a warning', () => {
    const { skill, codes } = parse(`---\nname: pdf\ndescription: ${'x'.repeat(1068)}\n---\nx`)
    expect(skill?.description).toHaveLength(1068)
    expect(codes).toEqual(['DESCRIPTION_TOO_LONG'])
  })
})

describe('parseSkill() and invalid YAML:', () => {
  test('a value with an unquoted ": " is repaired, and the warning gives the line and the fix', () => {
    const { skill, diagnostics } = parse('---\nname: pdf\ndescription: Use when: always. See: docs\n---\nx', {
      path: 'pdf/SKILL.md',
    })
    expect(skill?.description).toBe('Use when: always. See: docs')
    expect(diagnostics).toEqual([
      expect.objectContaining({
        code: 'YAML_REPAIRED',
        severity: 'warning',
        path: 'pdf/SKILL.md',
        line: 3,
        column: 1,
      }),
    ])
    expect(diagnostics[0]?.fix).toContain('double quotes')
  })

  test('continuation lines below an invalid value become part of the value', () => {
    const { skill } = parse('---\nname: pdf\ndescription: Use when: always\n  and: more\n---\nx')
    expect(skill?.description).toBe('Use when: always and: more')
  })

  test('quotation marks and backslashes inside an invalid value are kept', () => {
    expect(parse('---\nname: pdf\ndescription: say "hi": C:\\dir\n---\nx').skill?.description).toBe(
      'say "hi": C:\\dir',
    )
  })

  test('other fields keep their types when one value is invalid', () => {
    const { skill } = parse('---\nname: pdf\ndescription: a: b\nversion: 2\nmetadata:\n  x: "1"\n---\nx')
    expect(skill).toMatchObject({ description: 'a: b', extra: { version: 2 }, metadata: { x: '1' } })
  })

  test('an invalid value is repaired in a file with CRLF line ends', () => {
    expect(parse('---\r\nname: pdf\r\ndescription: a: b\r\n---\r\nx').skill?.description).toBe('a: b')
  })
})

describe('parseSkill() and a frontmatter below the first line:', () => {
  test.each([
    ['\n\n', 6],
    [' \t\r\n', 5],
    ['<!-- by hand -->\n', 5],
    ['<!--\n---\nname: no\ndescription: no\n---\n-->\n\n<!-- -->\n', 12],
    ['\uFEFF\n', 5],
  ])('a frontmatter after %j is found, with a warning and with line numbers of the file', (lead, line) => {
    const { skill, diagnostics, codes } = parse(`${lead}---\n${FIELDS}license: a: b\n---\nbody\n`)
    expect(skill).toMatchObject({
      name: 'pdf',
      frontmatter: `${FIELDS}license: a: b\n`,
      body: 'body',
      bodyLine: line + 2,
    })
    expect(codes.slice(-2)).toEqual(['TEXT_BEFORE_FRONTMATTER', 'YAML_REPAIRED'])
    expect(diagnostics.at(-1)?.line).toBe(line)
  })

  test.each([
    ['other text', `Title\n---\n${FIELDS}---\nx`],
    ['a comment that never ends', `<!-- x\n---\n${FIELDS}---\nx`],
    ['a comment on the same line', `<!-- x -->---\n${FIELDS}---\nx`],
    ['a rule above a paragraph', '\n---\nSome text.\n---\nx'],
  ])('a frontmatter after %s is not found', (_what, text) => {
    expect(parse(text).codes).toEqual(['FRONTMATTER_MISSING'])
    const policy = { description: 'empty' } as const
    expect(parse(text, { directoryName: 'pdf', policy }).skill?.body).toBe(text.trim())
  })
})

describe('parseSkill() and unusable files:', () => {
  test.each(['', ' \n', '\uFEFF'])(
    'a file without text is refused, even under the most tolerant policy: %j',
    text => {
      const policy = { names: 'any', description: 'empty' } as const
      const outcome = parseSkill(new TextEncoder().encode(text), { directoryName: 'pdf', policy })
      expect([outcome.ok, outcome.diagnostics.at(-1)?.code]).toEqual([false, 'FRONTMATTER_MISSING'])
    },
  )

  test.each([
    ['no frontmatter', '# pdf\n', 'FRONTMATTER_MISSING', 1],
    ['an empty file', '', 'FRONTMATTER_MISSING', 1],
    ['unclosed frontmatter', `---\n${FIELDS}text`, 'FRONTMATTER_UNCLOSED', 1],
    ['code as frontmatter', '---js\nmodule.exports = {}\n---\n', 'FRONTMATTER_MISSING', 1],
    ['an unclosed quotation mark', '---\nname: pdf\ndescription: "Reads\n---\nx', 'YAML_INVALID', 3],
    ['a list', '---\n- a\n- b\n---\nx', 'FRONTMATTER_NOT_A_MAP', 2],
    ['a duplicate key', `---\n${FIELDS}name: other\n---\nx`, 'YAML_INVALID', 4],
    ['an alias', '---\nname: &a pdf\ndescription: *a\n---\nx', 'YAML_INVALID', 3],
    ['a custom tag', '---\nname: pdf\ndescription: !!js/function "x"\n---\nx', 'YAML_INVALID', 3],
    ['no description', '---\nname: pdf\n---\nx', 'DESCRIPTION_MISSING', 2],
    ['an empty description', '---\nname: pdf\ndescription: " "\n---\nx', 'DESCRIPTION_MISSING', 3],
    ['a name that leads out', '---\nname: ../pdf\ndescription: x\n---\nx', 'NAME_UNSAFE', 2],
    ['a name with a hidden character', '---\nname: "pd\\u202Ef"\ndescription: x\n---\nx', 'NAME_UNSAFE', 2],
    [
      'large frontmatter',
      `---\nname: pdf\ndescription: x\nlicense: ${'x'.repeat(17_000)}\n---\nx`,
      'FRONTMATTER_TOO_LARGE',
      1,
    ],
    [
      'frontmatter with many bytes in few characters',
      `---\nname: pdf\ndescription: x\nlicense: ${'\u00e9'.repeat(8_200)}\n---\nx`,
      'FRONTMATTER_TOO_LARGE',
      1,
    ],
    ['a large file', `---\n${FIELDS}---\n${'x'.repeat(263_000)}`, 'SKILL_FILE_TOO_LARGE', 1],
  ])('%s', (_what, text, code, line) => {
    const { skill, diagnostics } = parse(text)
    expect(skill).toBeUndefined()
    const error = diagnostics.find(each => each.severity === 'error')
    expect(error).toMatchObject({ code, line })
    expect(error?.fix).toBeTruthy()
  })

  test.each([
    ['description: "Reads\nlicense: MIT', 3, 14, 'is never closed', 'close it at the end'],
    [`description: 'Reads\nlicense: MIT`, 3, 14, 'is never closed', 'close it at the end'],
    ['description: x\nname: other', 4, 1, 'the field occurs twice', 'keep one of the two'],
    ['description: x\na: &a 1\nb: *a', 5, 5, 'are not read', 'write the value out'],
    ['description: [a', 3, 14, 'is never closed', 'close it at the end'],
  ])(
    '%j is refused, and the error gives the fault, its position and the fix',
    (fields, line, column, message, fix) => {
      const { diagnostics } = parse(`---\nname: pdf\n${fields}\n---\nx`)
      const error = diagnostics.find(each => each.severity === 'error')
      expect(error).toMatchObject({
        line,
        column,
        message: expect.stringContaining(message),
        fix: expect.stringContaining(fix),
      })
    },
  )

  test('bytes that are not UTF-8 are refused', () => {
    const outcome = parseSkill(Uint8Array.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff, 0xfe]))
    expect(outcome).toMatchObject({ ok: false, diagnostics: [{ code: 'ENCODING_NOT_UTF8' }] })
  })

  test('keys that could alter JavaScript objects are refused, and all other keys are accepted', () => {
    const { skill, codes } = parse(`---\n${FIELDS}__proto__:\n  polluted: true\nconstructor: 1\n---\nx`)
    expect(codes).toEqual(['FIELD_FORBIDDEN', 'FIELD_FORBIDDEN'])
    expect(skill?.extra).toEqual({})
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })
})

describe('parseSkill() and names:', () => {
  test.each([
    ['PDF-Tools', ['NAME_INVALID']],
    ['pdf_tools', ['NAME_INVALID']],
    ['my skill', ['NAME_INVALID']],
    ['-pdf', ['NAME_INVALID']],
    ['a--b', ['NAME_INVALID']],
    ['日本', []],
  ])('the name %j is accepted with its warnings', (name, codes) => {
    const result = parse(`---\nname: ${name}\ndescription: x\n---\nx`, { directoryName: name })
    expect(result.skill?.name).toBe(name)
    expect(result.codes).toEqual(codes)
  })

  test('the name of the folder replaces a missing name, with a warning', () => {
    const { skill, codes } = parse('---\ndescription: x\n---\nx', { directoryName: 'pdf' })
    expect(skill?.name).toBe('pdf')
    expect(codes).toEqual(['NAME_MISSING'])
  })

  test('a name that differs from its folder is kept, with a warning', () => {
    const { skill, codes } = parse(`---\n${FIELDS}---\nx`, { directoryName: 'other' })
    expect(skill?.name).toBe('pdf')
    expect(codes).toEqual(['NAME_DIRECTORY_MISMATCH'])
  })
})

test('parseSkill() never throws, and every skill that it returns has a name and a description', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '---',
      'name: pdf',
      'description: x',
      'description: a: b',
      '  - x',
      '\t',
      '"',
      '{',
      '&a',
      '*a',
      '|',
      '>',
      '\r',
    ),
    fc.string({ unit: 'binary' }),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), lines => {
      const outcome = parseSkill(encoder.encode(`---\n${lines.join('\n')}`))
      if (outcome.ok) {
        expect(outcome.value.name).not.toBe('')
        expect(outcome.value.description).not.toBe('')
      } else expect(outcome.diagnostics.some(each => each.severity === 'error')).toBe(true)
    }),
    { numRuns: 2_000 },
  )
})

test.each([
  ['No frontmatter.', 'FRONTMATTER_MISSING'],
  ['---\ndescription: x\n---\n', 'NAME_MISSING'],
  ['---\nname: a\n---\n', 'DESCRIPTION_MISSING'],
  ['---\nname: "a\n---\n', 'YAML_INVALID'],
  ['---\n- a\n---\n', 'FRONTMATTER_NOT_A_MAP'],
])(`parseSkill() reports its own error code for %j ${verifies('PAI-X03')}`, (content, code) => {
  const { ok, diagnostics } = parseSkill(new TextEncoder().encode(content))
  expect([ok, diagnostics.find(({ severity }) => severity === 'error')?.code]).toEqual([false, code])
})
