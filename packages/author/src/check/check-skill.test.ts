import { describe, expect, test } from 'vitest'
import { readSkillTests } from '../evals/read-skill-tests.ts'
import { toSkill } from '../testing/skill-files.ts'
import { type CheckOptions, checkSkill } from './check-skill.ts'
import type { OtherSkill, SkillToCheck } from './checked-skill.ts'
import { applyEdits } from './core-edits.ts'

const HEAD =
  '---\nname: vat-report\ndescription: Creates VAT reports from invoices. Use when a quarter ends.\n---\n'

interface Asked extends CheckOptions {
  readonly files?: Readonly<Record<string, string>>
  readonly given?: Partial<SkillToCheck>
}

async function check(
  text: string,
  { files = {}, given = {}, ...options }: Asked = {},
): Promise<readonly string[]> {
  const findings = await checkSkill(toSkill({ 'SKILL.md': text, ...files }, given), options)
  return findings.map(({ code, severity, line }) => `${severity} ${code} ${line}`)
}

/** Applies all automatic edits of SKILL.md. */
async function fix(text: string, files: Readonly<Record<string, string>> = {}): Promise<string> {
  const findings = await checkSkill(toSkill({ 'SKILL.md': text, ...files }))
  const edits = findings.flatMap(({ edit }) => (edit?.kind === 'auto' ? edit.edits : []))
  return applyEdits(text, edits)
}

describe('checkSkill() comments', () => {
  const link = '[a](b/c.md)'

  test('a comment silences its code on the next line', async () => {
    const comment = '<!-- stoke-ignore LINK_DEAD: moves next week -->'
    expect(await check(`${HEAD}${link}\n`)).toEqual(['warning LINK_DEAD 5'])
    expect(await check(`${HEAD}Text.\n${comment}\n${link}\n`)).toEqual([])
    expect(await check(`${HEAD}Text.\n${comment}\n\n${link}\n`)).toEqual([
      'info IGNORE_UNUSED 6',
      'warning LINK_DEAD 8',
    ])
  })

  test('a comment at the start of the body silences its code in the whole skill', async () => {
    const comment = '<!-- stoke-ignore DESCRIPTION_NO_TRIGGER: only for the tests -->\n'
    const head = HEAD.replace('Use when a quarter ends.', 'Rounds the sums.')
    expect(await check(`${head}${comment}Text.\n`)).toEqual([])
  })

  test('no comment silences hidden text, a secret, an error, or anything of a reviewed source', async () => {
    const codes = ['HIDDEN_TEXT', 'SECRET_FOUND', 'CONFLICT_MARKERS', 'LINK_DEAD']
    const comments = codes.map(code => `<!-- stoke-ignore ${code}: fine -->\n`).join('')
    const key = ['ghp', 'kT9wQz3LmX7vRb2NpY5hJc8DfG4sKa6WeU1Z'].join('_')
    const found = await check(`${HEAD}${comments}${link}\nx\u{e0041}\u{e0042}\n${key}\n`)
    expect(found).toEqual(expect.arrayContaining(['warning HIDDEN_TEXT 10', 'warning SECRET_FOUND 11']))
    expect(found).not.toContain('warning LINK_DEAD 9')
    expect(await check(`${HEAD}${comments}${link}\n`, { given: { isReviewed: true } })).toContain(
      'warning LINK_DEAD 9',
    )
  })

  test('a misspelt code is reported with the code that was meant', async () => {
    const [finding] = await checkSkill(
      toSkill({ 'SKILL.md': `${HEAD}Text.\n<!-- stoke-ignore LINK_DAED: x -->\n` }),
    )
    expect(finding).toMatchObject({ code: 'IGNORE_UNUSED', fix: expect.stringContaining('LINK_DEAD') })
  })
})

describe('checkSkill() severities', () => {
  test('a configuration changes a severity, or turns a check off', async () => {
    const text = `${HEAD}[a](b/c.md)\n`
    expect(await check(text, { severities: { LINK_DEAD: 'error' } })).toEqual(['error LINK_DEAD 5'])
    expect(await check(text, { severities: { LINK_DEAD: 'off' } })).toEqual([])
  })

  test('a configuration turns neither an error nor hidden text off', async () => {
    const severities = { DESCRIPTION_MISSING: 'off', HIDDEN_TEXT: 'off' } as const
    expect(await check('---\nname: vat-report\n---\nx\n', { severities })).toEqual([
      'error DESCRIPTION_MISSING 2',
    ])
    expect(await check(`${HEAD}x\u{e0041}\u{e0042}\n`, { severities })).toEqual(['warning HIDDEN_TEXT 5'])
  })

  test('a lone zero-width character is a remark', async () => {
    expect(await check(`${HEAD}x\u200b\n`)).toEqual(['info HIDDEN_TEXT 5'])
  })

  test('the profile spec alone reports only the specification', async () => {
    const text =
      '---\nname: vat-report\ndescription: Tax rules\nauthor: me\nallowed-tools: Read, Grep\n---\n[a](b.md)\n'
    expect(await check(text, { profiles: ['spec'] })).toEqual([
      'error FIELD_UNKNOWN 4',
      'warning TOOLS_COMMA 5',
    ])
    expect(await check(text, { profiles: ['spec', 'gemini'] })).toEqual(
      expect.arrayContaining(['info CLIENT_FIELD_IGNORED 5', 'warning DESCRIPTION_TOO_SHORT 3']),
    )
  })

  test('facts about a client become outdated after 180 days', async () => {
    const asked = { profiles: ['codex'] } as const
    expect(await check(`${HEAD}x\n`, { ...asked, today: '2027-01-01' })).toEqual([])
    expect(await check(`${HEAD}x\n`, { ...asked, today: '2027-12-01' })).toEqual(['info CLIENT_DATA_OLD 2'])
  })
})

describe('checkSkill() edits', () => {
  test('--fix changes no served text: each edit is read again', async () => {
    const broken =
      '\ufeff\n---\nname: vat-report\ndescription: Taxes: creates reports. Use when a quarter ends.\n---\nText.\n'
    expect(await fix(broken)).toBe(
      '---\nname: vat-report\ndescription: "Taxes: creates reports. Use when a quarter ends."\n---\nText.\n',
    )
  })

  test('fields that decide who sees a skill, or what it may do, get no edit', async () => {
    for (const line of [
      'allowed-tools: Read: x',
      'disable-model-invocation: yes: no',
      'user-invocable: "false"',
      'metadata:\n  capabilities: net: x',
    ]) {
      const text = HEAD.replace('\n---\n', `\n${line}\n---\n`)
      expect(await fix(`${text}x\n`), line).toBe(`${text}x\n`)
    }
  })

  test('a longer outer fence makes nested fences pair', async () => {
    const text = `${HEAD}\`\`\`md\n\`\`\`js\nsum()\n\`\`\`\n\`\`\`\n`
    const [finding] = await checkSkill(toSkill({ 'SKILL.md': text }))
    expect(finding).toMatchObject({ code: 'FENCE_UNBALANCED', line: 6, edit: { kind: 'offer' } })
    const fixed = applyEdits(text, finding?.edit?.edits ?? [])
    expect(fixed).toBe(`${HEAD}\`\`\`\`md\n\`\`\`js\nsum()\n\`\`\`\n\`\`\`\`\n`)
    expect(await check(fixed)).toEqual([])
  })

  test('a block that is not closed is named at the next fence', async () => {
    const [finding] = await checkSkill(
      toSkill({ 'SKILL.md': `${HEAD}\`\`\`\ntext\n\n\`\`\`js\nsum()\n\`\`\`\n` }),
    )
    expect(finding).toMatchObject({ code: 'FENCE_UNBALANCED', line: 8 })
    expect(finding?.message).toBe('the code fence "```js" stands in the block that line 5 opens')
  })

  test.each([
    ['a fence around the fields', '```yaml\n---\nFIELDS\n---\n```\n\n# Title\n\n```sh\nls\n```\n'],
    ['a fence around the file', '```markdown\n---\nFIELDS\n---\n# Title\n\nText.\n```\n'],
    ['a fence instead of the delimiters', '\n~~~yaml\nFIELDS\n~~~\n# Title\n'],
    ['longer delimiters', '----\nFIELDS\n----\n# Title\n'],
    ['a longer line above the fields', '----\n---\nFIELDS\n---\n# Title\n'],
  ])('%s can be removed', async (_what, text) => {
    const [, fields = ''] = HEAD.split('---\n')
    const broken = text.replace('FIELDS\n', fields)
    const [finding] = await checkSkill(toSkill({ 'SKILL.md': broken }))
    expect(finding).toMatchObject({ code: 'FRONTMATTER_MISSING', edit: { kind: 'offer' } })
    const fixed = applyEdits(broken, finding?.edit?.edits ?? [])
    expect(fixed.trimStart()).toContain(HEAD)
    expect(await check(fixed)).toEqual([])
  })

  test('a text without fields gets no edit', async () => {
    for (const text of ['```js\nsum()\n```\n', '----\n', '# Title\n\n---\nText: x\n---\n'])
      expect((await checkSkill(toSkill({ 'SKILL.md': text })))[0], text).not.toHaveProperty('edit')
  })

  test('a dead link to the SKILL.md of another skill gets no edit', async () => {
    const [finding] = await checkSkill(toSkill({ 'SKILL.md': `${HEAD}[tax](../tax/SKILL.md)\n` }))
    expect(finding).toMatchObject({
      code: 'LINK_DEAD',
      fix: 'add the file, or remove the text that names it',
    })
    expect(finding).not.toHaveProperty('edit')
  })

  test('links to other skills do not make a text about skills', async () => {
    const links = ['a', 'b', 'c'].map(name => `[${name}](../${name}/SKILL.md)\n`).join('')
    expect(await check(HEAD + links)).toEqual([
      'warning LINK_DEAD 5',
      'warning LINK_DEAD 6',
      'warning LINK_DEAD 7',
    ])
  })

  test('a dead link to a file with another folder gets the path of the only file with that name', async () => {
    const files = { 'references/rates.md': 'Rates.' }
    const text = `${HEAD}[rates](reference/rates.md#top)\n`
    const [finding] = await checkSkill(toSkill({ 'SKILL.md': text, ...files }))
    expect(applyEdits(text, finding?.edit?.edits ?? [])).toBe(`${HEAD}[rates](references/rates.md#top)\n`)
  })
})

describe('checkSkill() files', () => {
  test('a leftover under version control is a remark about its folder, once', async () => {
    const leftovers = ['scripts/__pycache__/a.pyc', 'scripts/__pycache__/b.pyc', '.DS_Store', 'a.md']
    const findings = await checkSkill(toSkill({ 'SKILL.md': `${HEAD}Text.\n` }, { leftovers }))
    expect(findings.map(({ code, severity, path }) => `${severity} ${code} ${path}`)).toEqual([
      'info FILE_TEMPORARY vat-report/.DS_Store',
      'info FILE_TEMPORARY vat-report/scripts/__pycache__',
    ])
  })

  test('a fault of a test has its line', async () => {
    const files = { 'evals/tests.yaml': 'fires:\n  - Add up\nquiet:\n  - x\n' }
    const [finding, ...others] = await checkSkill(toSkill({ 'SKILL.md': `${HEAD}Text.\n`, ...files }))
    expect(others).toEqual([])
    expect(finding).toMatchObject({ code: 'TESTS_INVALID', path: 'vat-report/evals/tests.yaml', line: 3 })
  })

  test('a file beside SKILL.md that no text names is unused, and a large file is not read', async () => {
    const files = [
      { path: 'SKILL.md', size: 9 },
      { path: 'rates.md', size: 9 },
      { path: 'evals/tests.yaml', size: 2 ** 21 },
    ]
    const read: string[] = []
    const given = {
      files: files.map(each => ({ ...each, isExecutable: false })),
      read: (path: string) => {
        read.push(path)
        return Promise.resolve('Rates.')
      },
    }
    expect(await check(`${HEAD}Text.\n`, { given })).toEqual([
      'info FILE_TOO_LARGE undefined',
      'info FILE_UNUSED undefined',
    ])
    expect(read).toEqual(['rates.md'])
  })

  test('a file of a sibling is lost only if the text names the sibling, and few skills have such a file', async () => {
    const others = (count: number): readonly OtherSkill[] =>
      Array.from({ length: count }, (_, index) => ({
        name: `tax-${index}`,
        paths: new Set(['references/all.md']),
      }))
    const text = `${HEAD}With tax-0, read \`references/all.md\`.\n`
    expect(await check(text, { given: { others: others(2) } })).toEqual(['info LINK_ESCAPES 5'])
    expect(await check(text, { given: { others: others(9) } })).toEqual(['warning FILE_MISSING 5'])
  })

  test('clients do not load a skill without fields', async () => {
    const found = await check('# Title\n', { profiles: ['claude-code', 'gemini'] })
    expect(found).toEqual(['error FRONTMATTER_MISSING 1', 'warning CLIENT_NOT_LOADED 1'])
  })
})

// A pattern that goes back over its text again and again would need minutes for these.
test.each([
  ['beginnings of private keys', 'a.md', '-----BEGIN PRIVATE KEY-----\n '.repeat(9_000)],
  ['downloads without a shell', 'a.md', 'curl '.repeat(100_000)],
  ['comments and blanks', 'scripts/a.py', '#  \n'.repeat(60_000)],
])('many %s take no time', { timeout: 5_000 }, async (_what, path, text) => {
  const body = `${HEAD}Read \`${path}\`.\n`
  expect(await check(body, { files: { [path]: text }, profiles: ['review'] })).toEqual([])
})

describe('checkSkill() leaves ordinary texts alone:', () => {
  test.each([
    ['a link in a code block', '```md\n[a](b/c.md)\n```'],
    ['a link in inline code', 'Write `[a](b/c.md)`.'],
    ['an address', '[a](https://example.com/b.md) and [b](mailto:a@b.c) and [c](#top)'],
    ['an example', 'Name it e.g. `references/your-topic.md`.'],
    ['a text that teaches how to write skills', 'SKILL.md, SKILL.md and SKILL.md name `references/x.md`.'],
    ['a script of the user', '```sh\npython scripts/train.py\n```'],
    ['a link beside a placeholder', '- [Component Name]: text\n- See [it](./component-name.md)'],
    ['a folder that the skill makes', 'Data is in `~/.claude/skills/vat-report/data/`.'],
    ['a sample path', 'Read /home/user/data and /Users/you/x.'],
    ['a fence in a list', '- a\n\n  ```sh\n  ls\n  ```\n- b'],
    ['a tilde fence around backticks', '~~~md\n```js\n```\n~~~'],
    ['a comment in code with a fence', '```ts\n/**\n * ```ts\n * a()\n * ```\n */\n```'],
  ])('%s', async (_what, body) => {
    expect(await check(`${HEAD}${body}\n`)).toEqual([])
  })

  test('a description in another language', async () => {
    const head = HEAD.replace(
      /description: .*/,
      'description: 用于创建增值税报告，在每个季度结束的时候使用这个技能来汇总发票',
    )
    expect(await check(`${head}x\n`)).toEqual([])
  })
})

test('a missing script is found behind the program that runs it', async () => {
  const files = { 'scripts/a.mjs': '// A.\n' }
  expect(
    await check(`${HEAD}Run \`node scripts/a.mjs\`, then \`node scripts/b.mjs X\`.\n`, { files }),
  ).toEqual(['warning FILE_MISSING 5'])
  expect(await check(`${HEAD}Run \`node scripts/build.js\` of the project.\n`)).toEqual([])
})

describe('checkSkill() with a text of an attacker', () => {
  // Each of these made a pattern try all ways to divide the text, which takes longer than any test.
  test.each([
    ['blank lines below a rule', `---\n${' \n'.repeat(60)}x`],
    ['marks of a fence', `${'~'.repeat(100_000)}\``],
    ['spaces behind a fence', `~~~${' '.repeat(100_000)}\``],
    ['nested fences', `${'```a\n'.repeat(20_000)}${'```\n'.repeat(20_000)}`],
    ['one word of two alphabets', `б${'a'.repeat(100_000)}`],
    ['comments without an end', '<!-- stoke-ignore AB:'.repeat(5_000)],
    ['marks of inline code', '`'.repeat(100_000)],
    ['a heading', `# a${' '.repeat(100_000)}b`],
  ])('reads %s at once', async (_what, body) => {
    expect(await check(`${HEAD}${body}\n`)).toEqual(expect.any(Array))
    expect(await check(`---\nname: vat\n---\n${body}\n`)).toEqual(expect.any(Array))
  })

  test('reads blank lines in the tests of a skill at once', () => {
    const text = `${'\n'.repeat(60)}fires: [a]\n`
    expect(readSkillTests('vat', [{ path: 'evals/tests.yaml', text }]).triggers).toHaveLength(1)
  })
})

test('an edit belongs to the text that was checked', async () => {
  const findings = await checkSkill(
    toSkill({
      'SKILL.md': `${HEAD}See [a](REFERENCES/my%20file.md) and \`references/b.md\`.\n`,
      'references/my file.md': 'See [b](x/b.md).\n',
      'references/(b).md': 'B.\n',
      'scripts/run.sh': '#!/bin/sh\r\necho "references/b.md"\n',
    }),
  )
  const edits = new Map(findings.map(({ code, edit }) => [code, edit]))
  expect(edits.get('LINK_CASE')?.edits).toMatchObject([{ text: 'references/my%20file.md' }])
  const digests = ['LINK_CASE', 'SHEBANG_CRLF'].map(code => edits.get(code as 'LINK_CASE')?.digest)
  expect(digests).toEqual([expect.stringMatching(/^sha256:/), expect.stringMatching(/^sha256:/)])
  expect(new Set(digests).size).toBe(2)
})

test.each([
  ['a tool behind a hidden character', 'allowed\u200b-tools: Bash'],
  ['a tool behind a hidden character at the start', '\u200ballowed-tools: Bash'],
  ['a skill that hides itself', 'disable-model\u200b-invocation: true'],
  ['a skill that people cannot invoke', 'user-\u200binvocable: false'],
  ['a line that would end the fields', '-\u200b--\nallowed-tools: Bash'],
])('no edit is offered that changes %s', async (_what, line) => {
  const text = `---\nname: vat-report\ndescription: Creates reports. Use when a quarter ends.\n${line}\n---\nText.\n`
  const findings = await checkSkill(toSkill({ 'SKILL.md': text }))
  expect(findings.filter(({ code }) => code === 'HIDDEN_TEXT')).not.toEqual([])
  expect(findings.flatMap(({ edit }) => edit ?? [])).toEqual([])
})

test('fields in a code fence are repaired only if they give no right', async () => {
  const fenced = (line: string): string =>
    `\`\`\`yaml\nname: vat-report\ndescription: Creates reports. Use when a quarter ends.\n${line}\`\`\`\nText.\n`
  const offersOf = async (line: string): Promise<number> =>
    (await checkSkill(toSkill({ 'SKILL.md': fenced(line) }))).filter(({ edit }) => edit !== undefined).length
  expect([await offersOf(''), await offersOf('allowed-tools: Bash\n')]).toEqual([1, 0])
})
