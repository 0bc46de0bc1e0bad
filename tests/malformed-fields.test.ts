import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { type Diagnostic, parseSkill } from '@skillstoke/core'
import { expect, test } from 'vitest'
import { follow } from './fixtures/follow.ts'
import { MALFORMED_VALUES, mutate } from './fixtures/malformed-fields.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

const REAL = ['demo/skills/refund', 'demo/skills/parcels', 'packages/core/skills/creating-skills'].map(
  folder => [basename(folder), readFileSync(`${folder}/SKILL.md`, 'utf8')] as const,
)
const SHAPES = [
  [
    'folded',
    '---\nname: folded\ndescription: >-\n  Reads files.\n  Use when: always.\nmetadata:\n  author: ann\n---\nBody.\n',
  ],
  [
    'windows',
    '---\r\nname: windows\r\ndescription: "Reads: files"\r\nallowed-tools: Read Bash(git:*)\r\nmodel: x\r\n---\r\nBody.\r\n',
  ],
  ['colon', '---\nname: colon\ndescription: Use when: asked.\nlicense: MIT\nhooks:\n  - a: 1\n---\nBody.\n'],
] as const

function read(text: string, directoryName: string) {
  const outcome = parseSkill(new TextEncoder().encode(text), { directoryName })
  return {
    skill: outcome.ok ? outcome.value : undefined,
    errors: outcome.diagnostics.filter(({ severity }: Diagnostic) => severity === 'error'),
  }
}

test.each([...REAL, ...SHAPES])(
  'a skill with a malformed field is served as if the field were missing: %s',
  (name, text) => {
    const { skill: whole } = read(text, name)
    for (const mutation of mutate(text)) {
      const { skill, errors } = read(mutation.text, name)
      expect(errors, `${mutation.kind}:\n${mutation.text}`).toEqual([])
      // In YAML, a stray line of text becomes part of the field above it.
      if (mutation.isStray) continue
      expect(skill, `${mutation.kind}:\n${mutation.text}`).toMatchObject({
        name: whole?.name,
        description: whole?.description,
        body: whole?.body,
        ...(whole?.allowedTools === undefined ? {} : { allowedTools: whole.allowedTools }),
        metadata: whole?.metadata,
      })
    }
  },
)

test('a skill with any kind of malformed field is served, with a warning that has a position and a fix', async () => {
  using folder = new TemporaryFolder()
  const values = Object.values(MALFORMED_VALUES)
    .flat()
    .filter(value => !value.includes('KEY') && value !== 'NOSPACE')
  for (const [index, value] of values.entries())
    folder.write(
      `s${index}/SKILL.md`,
      `---\nname: s${index}\ndescription: x\nargument-hint: ${value}\n---\nBody.\n`,
    )
  await using skills = await follow(folder.path)
  const reports = skills.current.reports()
  expect(reports.filter(({ status }) => status === 'broken')).toEqual([])
  expect(reports).toHaveLength(values.length)
  for (const { location, diagnostics } of reports.filter(({ status }) => status === 'warning'))
    expect(diagnostics).toContainEqual({
      code: 'YAML_REPAIRED',
      severity: 'warning',
      message: expect.any(String),
      path: folder.at(location, 'SKILL.md'),
      line: expect.any(Number),
      column: 1,
      fix: expect.any(String),
    })
})
