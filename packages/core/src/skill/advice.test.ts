import { describe, expect, test } from 'vitest'
import { declaredCapabilities } from './capabilities.ts'
import { type Diagnostic, type DiagnosticCode, isError } from './diagnostic.ts'
import { isModelInvocable, isUserInvocable } from './invocation.ts'
import { parseSkill } from './parse-skill.ts'
import { validateSkill } from './validate-skill.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const toText = (fields: string): string => `---\nname: pdf\ndescription: Does pdf.\n${fields}\n---\nBody.\n`

interface Read {
  readonly diagnostics: readonly Diagnostic[]
  /** Who sees the skill, and what it may do; `undefined` for a text that is not served. */
  readonly rights: unknown
}

function read(text: string): Read {
  const parsed = parseSkill(encode(text), { directoryName: 'pdf' })
  const diagnostics = [...parsed.diagnostics, ...validateSkill(encode(text), { directoryName: 'pdf' })]
  if (!parsed.ok || parsed.diagnostics.some(isError)) return { diagnostics, rights: undefined }
  const { value } = parsed
  return {
    diagnostics,
    rights: {
      model: isModelInvocable(value),
      user: isUserInvocable(value),
      tools: value.allowedTools,
      capabilities: declaredCapabilities(value),
    },
  }
}

// A faulty frontmatter, and the same frontmatter after a person did what the fix says.
const FIXED: readonly (readonly [code: DiagnosticCode, fields: string, fixed: string])[] = [
  ['FIELD_UNKNOWN', 'disable-model-invocation: true', 'disable-model-invocation: true'],
  ['FIELD_UNKNOWN', 'user-invocable: false', 'user-invocable: false'],
  ['FIELD_UNKNOWN', 'Disable-Model-Invocation: true', 'Disable-Model-Invocation: true'],
  ['FIELD_UNKNOWN', 'mine: 1', 'metadata:\n  mine: "1"'],
  ['FIELD_TYPE', 'allowed-tools: [Read, Grep]', 'allowed-tools: Read Grep'],
  ['FIELD_TYPE', 'license: [MIT]', 'license: "MIT"'],
  ['YAML_REPAIRED', 'license: a: b', 'license: "a: b"'],
  ['YAML_REPAIRED', 'license: a\nlicense: b', 'license: a'],
]

describe('T62: no fix changes who sees a skill, or what it may do', () => {
  test.each(FIXED)('%s: %j', (code, fields, fixed) => {
    const before = read(toText(fields))
    expect(before.diagnostics.map(each => each.code)).toContain(code)
    expect(read(toText(fixed)).rights).toEqual(before.rights)
  })

  test.each([
    'disable-model-invocation: true',
    'disable-model-invocation: false',
    'user-invocable: false',
    'allowed-tools: Read',
  ])('a field that decides is never moved or removed: %s', fields => {
    const unknown = read(toText(fields)).diagnostics.filter(({ code }) => code === 'FIELD_UNKNOWN')
    for (const { fix } of unknown) expect(fix).toMatch(/^keep it; /)
  })

  test.each([
    ['disable-model-invocation', 'disable-model-invocation: true\ndisable-model-invocation: false'],
    ['disable-model-invocation', 'disable-model-invocation:false'],
    ['disable-model-invocation', ' disable-model-invocation: false'],
    ['disable-model-invocation', 'disable-model-invocation: [no'],
    ['user-invocable', 'user-invocable: @true'],
    ['user-invocable', 'user-invocable: true\nuser-invocable: false'],
    ['allowed-tools', 'allowed-tools: Read: Grep'],
    ['allowed-tools', 'allowed-tools: Read\nallowed-tools: Grep'],
  ])('the fix for an unclear %s keeps its strictest value: %j', (key, fields) => {
    const before = read(toText(fields))
    const fixes = before.diagnostics.flatMap(({ code, fix }) => (code === 'YAML_REPAIRED' ? (fix ?? []) : []))
    const others = fixes.filter(fix => !fix.startsWith('to keep it so'))
    for (const fix of others) expect(fix).toBe(`correct the line of "${key}" first`)
    const lines = fixes.flatMap(
      fix => /^to keep it so, write "(.+)" once, on a line of its own$/.exec(fix)?.[1] ?? [],
    )
    expect(new Set(lines).size).toBe(1)
    const [line] = lines
    expect(line).toContain(key)
    expect(read(toText(line ?? '')).rights).toEqual(before.rights)
  })

  test.each(
    [
      'yes',
      'YES',
      'on',
      '"true"',
      "'True'",
      'no',
      'Off',
      '"false"',
      'maybe',
      '\n  - x',
      '1',
      '\n  a: b',
      '""',
    ].flatMap(value => ['disable-model-invocation', 'user-invocable'].map(key => [key, value] as const)),
  )('parseSkill() and validateSkill() report %s: %j, and its fix changes no right', (key, value) => {
    const before = read(toText(`${key}: ${value}`))
    const found = before.diagnostics.filter(({ code }) => code === 'FIELD_TYPE' || code === 'BOOLEAN_AS_TEXT')
    expect(found.map(({ severity, line }) => [severity, line])).toEqual([
      ['warning', 4],
      ['warning', 4],
    ])
    expect(new Set(found.map(({ message }) => message)).size).toBe(1)
    const line = /^to keep it so, write "(.+)" once, on a line of its own$/.exec(found[0]?.fix ?? '')?.[1]
    expect(read(toText(line ?? '')).rights).toEqual(before.rights)
  })

  test.each([
    ['yes', 'BOOLEAN_AS_TEXT', false, true],
    ['On', 'BOOLEAN_AS_TEXT', false, true],
    ['"TRUE"', 'BOOLEAN_AS_TEXT', false, true],
    ['no', 'BOOLEAN_AS_TEXT', true, false],
    ['OFF', 'BOOLEAN_AS_TEXT', true, false],
    ["'false'", 'BOOLEAN_AS_TEXT', true, false],
    ['maybe', 'FIELD_TYPE', false, false],
    ['[x]', 'FIELD_TYPE', false, false],
    ['0', 'FIELD_TYPE', false, false],
  ])('parseSkill() reads %s as a boolean, or as the strictest value', (value, code, model, user) => {
    const disabled = read(toText(`disable-model-invocation: ${value}`))
    const invocable = read(toText(`user-invocable: ${value}`))
    for (const { diagnostics } of [disabled, invocable])
      expect(diagnostics.map(each => each.code)).toContain(code)
    expect(disabled.rights).toMatchObject({ model, user: true })
    expect(invocable.rights).toMatchObject({ model: true, user })
  })

  test.each(['{}', '[]', '[[Bash]]', '["Read Bash"]', '7'])(
    'the fix for allowed-tools: %s names no tool that was not allowed',
    value => {
      const { diagnostics } = read(toText(`allowed-tools: ${value}`))
      const finding = diagnostics.find(({ code }) => code === 'FIELD_TYPE')
      expect(finding?.fix).toBe('write the tools that the skill needs as one text, separated by spaces')
    },
  )
})
