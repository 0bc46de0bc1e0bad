import { describe, expect, test } from 'vitest'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import { FileSource } from '../source/file-source.ts'
import { MemorySource } from '../source/memory-source.ts'
import { NO_SETTLE } from '../source/settle.ts'
import { parseSkill } from './parse-skill.ts'
import { validateSkill } from './validate-skill.ts'

const encoder = new TextEncoder()
const conflict = (ours: string, theirs: string, end = '\n'): string =>
  ['<<<<<<< HEAD', ours, '=======', theirs, '>>>>>>> topic', ''].join(end)
const skill = (fields: string, body: string): string => `---\nname: refund\n${fields}\n---\n${body}`

describe('a merge conflict in SKILL.md is an error:', () => {
  test.each([
    ['in the body', skill('description: x', `Do this:\n${conflict('one', 'two')}`), 6],
    ['in the fields', skill(conflict('description: one', 'description: two'), 'x'), 3],
    ['with CRLF', skill('description: x', conflict('one', 'two', '\r\n')), 5],
    ['with the common ancestor', skill('description: x', conflict('one\n||||||| base\nzero', 'two')), 5],
    ['that contains a whole code fence', skill('description: x', conflict('```\none\n```', 'two')), 5],
    ['with a fence around each middle', skill('description: x', conflict('```\none', '```\ntwo')), 5],
    [
      'that opens a fence in both versions',
      skill('description: x', `${conflict('```js', '```ts')}\`\`\``),
      5,
    ],
    [
      'after a fence that contains a longer text',
      skill('description: x', `\`\`\`\`\n\`\`\`\n\`\`\`\`\n${conflict('a', 'b')}`),
      8,
    ],
  ])('%s', (_, text, line) => {
    const error = { code: 'CONFLICT_MARKERS', severity: 'error', line, column: 1 }
    expect(parseSkill(encoder.encode(text))).toMatchObject({ ok: false, diagnostics: [error] })
    expect(validateSkill(encoder.encode(text))).toMatchObject([error])
  })
})

test.each([
  ['in a code fence', `\`\`\`text\n${conflict('one', 'two')}\`\`\``],
  ['in a fence of tildes', `~~~\n${conflict('one', 'two')}~~~`],
  [
    'in a code fence after a line that only begins like a conflict',
    `<<<<<<< is the first\n\`\`\`text\n${conflict('one', 'two')}\`\`\``,
  ],
  ['without an end', '<<<<<<< HEAD\none\n=======\ntwo'],
  ['without a middle', '<<<<<<< HEAD\none\n>>>>>>> topic'],
  ['in another order', '=======\n<<<<<<< HEAD\n>>>>>>> topic'],
  ['inside a line', `  ${conflict('one', 'two').replaceAll('\n', '\n  ')}`],
  ['a heading', 'Title\n=======\n'],
])('markers %s are ordinary text', (_, body) => {
  expect(parseSkill(encoder.encode(skill('description: x', body))).diagnostics).toEqual([])
})

test('while SKILL.md has a merge conflict, the last good revision is served', async () => {
  const files = new MemoryFileSystem({ '/skills/refund/SKILL.md': skill('description: x', 'Old.') })
  await using skills = await createSkillRuntime({
    sources: [new FileSource({ fileSystem: files, root: '/skills', label: 'a', watching: 'off' })],
    tuning: { settle: NO_SETTLE },
  })
  files.write('/skills/refund/SKILL.md', skill('description: x', conflict('Ours.', 'Theirs.')))
  await skills.reload()
  expect((await skills.load('refund')).body).toBe('Old.')
  expect(skills.current.reports()).toMatchObject([
    { status: 'broken', diagnostics: [{ code: 'CONFLICT_MARKERS', line: 5 }] },
  ])
})

test('a merge conflict in another text file is a warning, and the skill is served', async () => {
  const files = {
    'references/rates.md': conflict('1', '2'),
    'assets/logo.bin': `\0${conflict('1', '2')}`,
  }
  const disk = new MemoryFileSystem(
    Object.fromEntries(
      Object.entries({ ...files, 'SKILL.md': skill('description: x', 'x') }).map(([path, text]) => [
        `/skills/refund/${path}`,
        text,
      ]),
    ),
  )
  for (const source of [
    new FileSource({ fileSystem: disk, root: '/skills', label: 'a', watching: 'off' }),
    new MemorySource({ label: 'b' }, [{ name: 'refund', description: 'x', body: 'x', files }]),
  ]) {
    await using skills = await createSkillRuntime({ sources: [source] })
    const [report] = skills.current.reports()
    expect(report?.status).toBe('warning')
    const [found, ...others] = report?.diagnostics ?? []
    expect(others).toEqual([])
    expect(found).toMatchObject({ code: 'CONFLICT_MARKERS', severity: 'warning', line: 1 })
    expect(found?.path).toContain('references/rates.md')
  }
})
