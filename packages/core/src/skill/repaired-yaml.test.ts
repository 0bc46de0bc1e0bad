import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Diagnostic } from './diagnostic.ts'
import { DEFAULT_LIMITS } from './limits.ts'
import { parseSkill } from './parse-skill.ts'
import type { ParsedSkill } from './skill-fields.ts'
import { validateSkill } from './validate-skill.ts'

interface Parsed {
  readonly skill: ParsedSkill | undefined
  readonly diagnostics: readonly Diagnostic[]
}

function parse(fields: string): Parsed {
  const text = `---\nname: pdf\ndescription: Reads PDF files.\n${fields}\n---\nbody`
  const outcome = parseSkill(new TextEncoder().encode(text), { limits: DEFAULT_LIMITS })
  const diagnostics = outcome.diagnostics.filter(({ code }) => code !== 'FIELD_UNKNOWN')
  return { skill: outcome.ok ? outcome.value : undefined, diagnostics }
}

describe('a field that is not valid YAML', () => {
  test.each([
    ['[a] or [b]', 'text after a bracket', 'double quotes'],
    ['"a" or "b"', 'text after a bracket or quotation mark', 'single quotes'],
    [`"it" isn't`, 'text after a bracket or quotation mark', 'single quotes'],
    ['"open', 'a quotation mark or bracket is never closed', 'close it at the end'],
    ['[open', 'a quotation mark or bracket is never closed', 'close it at the end'],
    ['@scope/name', 'a sign such as "@" at the start', 'double quotes'],
    ['*.md', 'references ("*name") are not read', 'double quotes'],
    ['| a | b |', 'other text follows the "|"', 'on the lines below'],
    ['!important now', 'tags ("!name") are not read', 'double quotes'],
    ['a: b', 'an unquoted ": "', 'double quotes'],
  ])('%j is read as plain text, with a warning that gives line, reason and fix', (value, reason, fix) => {
    const { skill, diagnostics } = parse(`license: MIT\nargument-hint: ${value}\nversion: 2`)
    expect(skill).toMatchObject({ license: 'MIT', extra: { 'argument-hint': value, version: 2 } })
    expect(diagnostics).toEqual([
      {
        code: 'YAML_REPAIRED',
        severity: 'warning',
        message: expect.stringContaining(reason),
        line: 5,
        column: 1,
        fix: expect.stringContaining(fix),
      },
    ])
  })

  test('invalid values inside other fields and lists become text, and valid values keep their types', () => {
    const { skill, diagnostics } = parse(
      'hooks:\n  on: true\n  run:\n    - [a] b\n    - if: @x\n      times: 3\n  deep:\n    er: "q" r',
    )
    expect(skill?.extra).toEqual({
      hooks: { on: true, run: ['[a] b', 'if: @x times: 3'], deep: { er: '"q" r' } },
    })
    expect(diagnostics.map(({ line, message }) => [line, /"([^"]+)"/.exec(message)?.[1]])).toEqual([
      [7, 'hooks.run[0]'],
      [8, 'hooks.run[1]'],
      [11, 'hooks.deep.er'],
    ])
  })

  test('lines that follow a value and are not fields become part of the value', () => {
    const { skill, diagnostics } = parse('license: MIT\n  see: LICENSE\nand notices\nversion: 1')
    expect(skill).toMatchObject({ license: 'MIT see: LICENSE and notices', extra: { version: 1 } })
    expect(diagnostics.map(({ line }) => line)).toEqual([4])
  })

  test.each(['"', "'"])(
    'a text in %s whose further lines are not indented loses its quotation marks',
    mark => {
      const { skill, diagnostics } = parse(`license: ${mark}MIT,\nsee: x\n  LICENSE${mark}\nversion: 1`)
      expect(skill).toMatchObject({ license: `${mark}MIT,`, extra: { version: 1 } })
      expect(diagnostics.length).toBeGreaterThan(0)
      const quoted = parse(`license: ${mark}MIT,\nsee LICENSE\n  or ask${mark}\nversion: 1`)
      expect(quoted.skill).toMatchObject({ license: 'MIT, see LICENSE or ask', extra: { version: 1 } })
      expect(quoted.diagnostics).toMatchObject([{ line: 4, fix: expect.stringContaining('indent') }])
    },
  )

  test('a text in double quotes with an unknown escape keeps its backslashes and loses its quotation marks', () => {
    const { skill, diagnostics } = parse('license: "C:\\dir"\nversion: 1')
    expect(skill).toMatchObject({ license: 'C:\\dir', extra: { version: 1 } })
    expect(diagnostics).toMatchObject([{ line: 4, message: expect.stringContaining('backslash') }])
  })

  test('a field without a space after its colon is read, with a warning', () => {
    const { skill, diagnostics } = parse('license:MIT')
    expect(skill?.license).toBe('MIT')
    expect(diagnostics).toMatchObject([{ line: 4, fix: 'put a space after the colon' }])
  })

  test('tabs are accepted as indent, with a warning', () => {
    const { skill, diagnostics } = parse('metadata:\n\tauthor: ann\n\tversion: "1"')
    expect(skill?.metadata).toEqual({ author: 'ann', version: '1' })
    expect(diagnostics).toMatchObject([{ code: 'YAML_REPAIRED', fix: 'replace the tabs with spaces' }])
  })

  test('a field that occurs twice keeps its first value, with a warning', () => {
    const { skill, diagnostics } = parse('version: 1\nversion: 2')
    expect(skill?.extra).toEqual({ version: 1 })
    expect(diagnostics).toMatchObject([{ line: 5, message: expect.stringContaining('"version"') }])
  })
})

describe('a deciding field that is not valid YAML gets its strictest value', () => {
  test.each([
    'allowed-tools: *',
    'allowed-tools: [Read] or [Bash]',
    'allowed-tools: "Bash(*)',
    'allowed-tools: Bash(git: *)',
    'allowed-tools:Bash',
    'allowed-tools Bash',
    'allowed-tools:\n  - Bash\n  - @x',
    'allowed-tools: Read\nallowed-tools: Bash',
    '"allowed\\x2dtools": [Read] Bash',
    '&a allowed-tools: [Read] Bash',
    ' allowed-tools: Bash',
    'license: a: b\n  allowed-tools: Bash',
    'license: "a\nallowed-tools: Bash\nb"',
    'license: "a\n  allowed-tools: Bash\nb"',
    'allowed-tools: [\n  Bash\n]',
    'allowed-tools: Bash\n...\nversion: 1',
    'allowed-tools: Read\n- Bash',
    '\u00a0allowed-tools: [Read] Bash',
  ])('with %j, no tool is allowed', fields => {
    const { skill, diagnostics } = parse(fields)
    expect(skill?.allowedTools).toEqual([])
    expect(diagnostics).toContainEqual(
      expect.objectContaining({
        code: 'YAML_REPAIRED',
        message: expect.stringMatching(/allowed-tools.*no tool is allowed/),
      }),
    )
  })

  test.each([
    ['disable-model-invocation: [no', { 'disable-model-invocation': true }],
    ['disable-model-invocation:false', { 'disable-model-invocation': true }],
    [' disable-model-invocation: false', { 'disable-model-invocation': true }],
    ['disable-model-invocation: false\ndisable-model-invocation: true', { 'disable-model-invocation': true }],
    ['disallowed-tools: [Bash] Write', { 'disallowed-tools': '*' }],
    ['disallowed-tools:Bash', { 'disallowed-tools': '*' }],
    ['user-invocable: @true', { 'user-invocable': false }],
    ['user-invocable: true\n  x: y', { 'user-invocable': false }],
  ])('%j gives the field its strictest value', (fields, extra) => {
    expect(parse(fields).skill?.extra).toEqual(extra)
  })

  test.each([
    ['metadata:\n  capabilities: @net exec\n  author: ann', { capabilities: '', author: 'ann' }],
    ['metadata:\n  capabilities: [net] or exec', { capabilities: '' }],
    ['metadata:\n  capabilities: net\n  capabilities: exec', { capabilities: '' }],
    ['metadata:\n  author: [a] b\n  capabilities: net', { author: '[a] b', capabilities: 'net' }],
    ['metadata: {capabilities: exec} or not', {}],
    ['metadata:\n  capabilities: exec\nmetadata:\n  author: ann', {}],
  ])('from %j, the skill gets only the readable capabilities', (fields, metadata) => {
    expect(parse(fields).skill?.metadata).toEqual(metadata)
  })

  test('a deciding field keeps its valid value when another field is faulty', () => {
    const { skill } = parse(
      'argument-hint: [a] [b]\nallowed-tools: Read # only\ndisable-model-invocation: true # x',
    )
    expect(skill?.allowedTools).toEqual(['Read'])
    expect(skill?.extra['disable-model-invocation']).toBe(true)
  })
})

describe('parseSkill() refuses a frontmatter with', () => {
  test.each([
    ['a reference, with other faults before it', 'a: [x] y\nb: &b 1\nc: *b', 6, 'are not read'],
    ['too many levels', `a: [x] y\nb: ${'['.repeat(17)}${']'.repeat(17)}`, 5, 'more than 16 levels deep'],
    ['a second description', 'a: [x] y\ndescription: Other.', 5, 'occurs twice'],
    ['an explicit key that is not valid', '? allowed-tools\n: [Read] x', 5, 'text after a bracket'],
    ['a second explicit key', 'a: [x] y\n? b\n: 1\n? allowed-tools\n: Read', 7, 'occurs twice'],
  ])('%s', (_what, fields, line, message) => {
    const { skill, diagnostics } = parse(fields)
    expect(skill).toBeUndefined()
    expect(diagnostics.find(({ severity }) => severity === 'error')).toMatchObject({
      code: 'YAML_INVALID',
      line,
      message: expect.stringContaining(message),
    })
  })
})

const sign = fc.constantFrom(...'[]{}"\'`@*!|>%#:,-? \tab'.split(''))
const text = fc.oneof(
  fc.string({
    unit: fc.oneof({ weight: 3, arbitrary: sign }, { weight: 1, arbitrary: fc.string({ maxLength: 1 }) }),
    maxLength: 14,
  }),
  fc.constantFrom('true', '3', 'plain text', '"quoted"', '[a, b]', '|', '>-'),
)

test('parseSkill() serves every skill with a valid name and description, regardless of its other fields', () => {
  const line = fc
    .tuple(fc.constantFrom('', '  ', '\t', '    ', '- ', '  - '), text)
    .map(parts => parts.join(''))
  const field = fc
    .tuple(fc.constantFrom('x', 'y', 'z'), text, fc.array(line, { maxLength: 3 }))
    .map(([key, value, below]) => [`${key}: ${value}`, ...below.map(each => `  ${each}`)].join('\n'))
  fc.assert(
    fc.property(fc.array(field, { minLength: 1, maxLength: 4 }), fields => {
      const { skill, diagnostics } = parse(`metadata:\n  a: "1"\n${fields.join('\n')}\nlicense: MIT`)
      expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([])
      expect(skill).toMatchObject({
        name: 'pdf',
        description: 'Reads PDF files.',
        license: 'MIT',
        body: 'body',
      })
      expect(skill?.metadata).toEqual({ a: '1' })
      for (const { line: at } of diagnostics) expect(at).toBeGreaterThanOrEqual(4)
    }),
    { numRuns: 3_000 },
  )
})

test('a star is text if no anchor has its name', () => {
  const { skill, diagnostics } = parse('x: &0\nz: *|\nlicense: MIT')
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([])
  expect(skill?.license).toBe('MIT')
})

test('no finding about YAML uses a word of the YAML parser', () => {
  const jargon =
    /maxDepth|maxAliases|alias|scalar|stream|node|mapping|sequence|indentation|chomping|document|flow|implicit|!</
  const part = fc.oneof(
    text,
    fc.constantFrom('\n', '\n  ', ': ', '&a', '*a', '!!x ', '---', '...', '%', '"\\q"', '\u0001'),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 10 }), parts => {
      const bytes = new TextEncoder().encode(`---\nname: a\ndescription: b\n${parts.join('')}\n---\nx`)
      for (const { code, message, fix } of [...parseSkill(bytes).diagnostics, ...validateSkill(bytes)])
        if (code.startsWith('YAML_'))
          expect(`${message} ${fix}`.replace(/"(?:[^"\\]|\\.)*"/g, '')).not.toMatch(jargon)
    }),
    { numRuns: 2_000 },
  )
})

test('parseSkill() allows no tools if the value of allowed-tools is not valid YAML', () => {
  fc.assert(
    fc.property(text, text, (value, other) => {
      const written = value.trim()
      // An empty field allows as much as a missing field.
      const alone = parse(`y: ${written}`).skill
      fc.pre(alone === undefined || Object.hasOwn(alone.extra, 'y'))
      const { skill, diagnostics } = parse(`x: [a] ${other}\nallowed-tools: ${written}`)
      const isRepaired = diagnostics.some(({ message }) => message.includes('allowed-tools" is not valid'))
      if (isRepaired) expect(skill?.allowedTools).toEqual([])
      else expect(skill === undefined || skill.allowedTools !== undefined).toBe(true)
    }),
    { numRuns: 2_000 },
  )
})
