import { parseSkill } from '@skillstoke/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkSkill } from './check-skill.ts'
import type { SkillToCheck } from './checked-skill.ts'
import { applyEdits } from './core-edits.ts'
import type { Finding, TextEdit } from './finding.ts'
import { PROFILES } from './finding-table.ts'

const FIELDS = [
  ...['name: vat-report', 'name: "vat"', 'Name: vat', 'description: Taxes: creates reports. Use when asked.'],
  ...[
    'description: Use for issue #12 and later # soon',
    'description: |\n  Creates reports.\n  Use when asked.',
  ],
  ...[
    "description: 'It''s a report. Use when asked.'",
    'description: >-\n  One: two\n  three',
    'version: 1.10',
  ],
  ...['version: 2.0', 'metadata:\n  version: 1.10\n  capabilities: net: x', 'metadata: {a: [b]}', 'a: b: c'],
  ...[
    'metadata:\n  updated: 2025-10-20\n  note: a: b',
    'allowed-tools: Read, Grep: x',
    '"hooks": a: b',
    'tags: [a',
  ],
  ...[
    'allowed-tools:\n  - Read\n  - Bash(git:*',
    'disallowed-tools: Write: y',
    'disable-model-invocation: yes: no',
  ],
  ...[
    'user-invocable: "false"',
    'hooks:\n  Stop: a: b',
    '\tname: tab',
    'description: a\ndescription: b',
    '- a',
    '',
  ],
  ...[
    'license: \u200bMIT',
    'compatibility: Needs x: y',
    'note: "unclosed',
    'x: &a b',
    'y: *a',
    '? z',
    'k:v',
    '# c',
  ],
]
const LINES = [
  ...[
    '# Title',
    'Text.',
    '```',
    '```js',
    '~~~',
    '````md',
    '----',
    '---',
    'name: x',
    '[a](References/Rates.md)',
  ],
  ...[
    '[a](references\\rates.md)',
    '[a](b/c.md)',
    '[a]: ../x.md',
    '`scripts/a.sh`',
    'scripts/a.sh --all',
    '- [x](',
  ],
  ...[
    '<!-- stoke-ignore LINK_DEAD: x -->',
    '<!-- stoke-ignore X',
    '$ARGUMENTS',
    '!`ls`',
    'p\u0430y',
    '\u{e0041}',
  ],
  ...[
    '/home/mara/x',
    '~/.claude/skills/vat-report/scripts/a.sh',
    '[](%zz.md)',
    '[a](%E0%A4%A.md)',
    '<<<<<<< a',
  ],
  ...['=======', '>>>>>>> b', '\ufeff', '\u0000', '\ud800', '](((', '`'.repeat(9), '|'.repeat(20), ''],
]

const eol = fc.constantFrom('\n', '\n', '\n', '\r\n', '\r')
const skillText = fc
  .record({
    before: fc.constantFrom(
      '',
      '',
      '',
      '\ufeff',
      '\n\n',
      '<!-- c -->\n',
      '```yaml\n',
      '----\n',
      '\ufeff\n',
      '# T\n',
    ),
    open: fc.constantFrom('---', '---', '---', '--- ', '----', '```'),
    fields: fc.array(fc.constantFrom(...FIELDS), { maxLength: 6 }),
    close: fc.constantFrom('---', '---', '---', '----', '```', ''),
    body: fc.array(fc.oneof(fc.constantFrom(...LINES), fc.string()), { maxLength: 8 }),
    eol,
  })
  .map(({ before, open, fields, close, body, eol: end }) =>
    [before + open, ...fields, close, ...body].join('\n').replaceAll('\n', end),
  )
const bytes = fc.oneof(
  { weight: 4, arbitrary: skillText.map(text => new TextEncoder().encode(text)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }) },
)
const NAMES = [
  'scripts/a.sh',
  'scripts/b.py',
  'references/rates.md',
  'evals/tests.yaml',
  'evals/a.json',
  'a.md',
]
const files = fc.dictionary(
  fc.oneof(fc.constantFrom(...NAMES), fc.string({ minLength: 1 })),
  fc.oneof(skillText, fc.string(), fc.constantFrom('#!/bin/sh\r\nls\r\n', 'import os, lxml\n', 'fires: [')),
  { maxKeys: 4 },
)

function toGiven(content: Uint8Array, others: Readonly<Record<string, string>>): SkillToCheck {
  const paths = [...Object.keys(others), 'SKILL.md']
  return {
    path: '/s/vat-report/SKILL.md',
    directoryName: 'vat-report',
    bytes: content,
    files: paths.map(path => ({ path, size: 9, isExecutable: false })),
    leftovers: paths,
    read: path => Promise.resolve(others[path]),
    exists: path => path.length % 2 === 0,
  }
}

const isOwn = ({ path }: Pick<Finding, 'path'>): boolean => path === '/s/vat-report/SKILL.md'

/** Chooses edits that do not overlap, as `stoke check --fix` does. */
function choose(findings: readonly Finding[]): readonly Finding[] {
  const taken: TextEdit[] = []
  return findings.filter(finding => {
    const own = finding.edit?.kind === 'auto' && isOwn(finding) ? finding.edit.edits : []
    const isFree = own.every(each => taken.every(other => each.end <= other.start || each.start >= other.end))
    if (isFree) taken.push(...own)
    return isFree && own.length > 0
  })
}

function readServed(content: Uint8Array): unknown {
  const parsed = parseSkill(content, { directoryName: 'vat-report' })
  if (!parsed.ok) return undefined
  const { name, description, allowedTools, extra, metadata, compatibility, body } = parsed.value
  return { name, description, allowedTools, extra, metadata, compatibility, body }
}

test('checkSkill() never throws, and every position is in the file', async () => {
  await fc.assert(
    fc.asyncProperty(bytes, files, async (content, others) => {
      const findings = await checkSkill(toGiven(content, others), { profiles: PROFILES })
      const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(content)
      for (const { line = 1, edit, ...finding } of findings) {
        if (!isOwn(finding)) continue
        expect(line).toBeGreaterThan(0)
        expect(line).toBeLessThanOrEqual(text.split(/\r\n|\n|\r/).length)
        for (const { start, end } of edit?.edits ?? [])
          expect([start >= 0, end >= start, end <= text.length]).toEqual([true, true, true])
      }
    }),
    { numRuns: 500 },
  )
})

test('automatic edits change nothing that is served, and end after at most three rounds', async () => {
  await fc.assert(
    fc.asyncProperty(skillText, async text => {
      const others = { 'references/rates.md': 'Rates.' }
      let edited = text
      for (let round = 0; round < 4; round++) {
        const content = new TextEncoder().encode(edited)
        const chosen = choose(await checkSkill(toGiven(content, others)))
        if (chosen.length === 0) return
        expect(round).toBeLessThan(3)
        const before = new TextDecoder('utf-8', { ignoreBOM: true }).decode(content)
        edited = applyEdits(
          before,
          chosen.flatMap(({ edit }) => edit?.edits ?? []),
        )
        // The other case of a link is the same file.
        const ignored = chosen.some(({ code }) => code === 'LINK_CASE') ? { body: '' } : {}
        const served = readServed(content)
        if (served !== undefined)
          expect({ ...(readServed(new TextEncoder().encode(edited)) as object), ...ignored }).toEqual({
            ...served,
            ...ignored,
          })
      }
    }),
    { numRuns: 500 },
  )
})

test('no edit changes a field that decides who sees a skill or what it may do', async () => {
  const rightsOf = (text: string) => {
    const parsed = parseSkill(new TextEncoder().encode(text))
    if (!parsed.ok) return undefined
    const { name, allowedTools, metadata, extra } = parsed.value
    return { name, allowedTools, metadata, extra }
  }
  await fc.assert(
    fc.asyncProperty(skillText, async text => {
      const content = new TextEncoder().encode(text)
      const before = new TextDecoder('utf-8', { ignoreBOM: true }).decode(content)
      for (const finding of await checkSkill(toGiven(content, {}))) {
        if (!isOwn(finding) || finding.edit === undefined) continue
        const [old, edited] = [rightsOf(before), rightsOf(applyEdits(before, finding.edit.edits))]
        if (old !== undefined)
          expect({ code: finding.code, edited }).toEqual({ code: finding.code, edited: old })
        else if (edited !== undefined)
          expect({ tools: edited.allowedTools ?? [], extra: edited.extra }).toEqual({ tools: [], extra: {} })
      }
    }),
    { numRuns: 500 },
  )
})
