import { describe, expect, test } from 'vitest'
import { toSkill } from '../testing/skill-files.ts'
import { type CheckOptions, checkSkill } from './check-skill.ts'
import type { SkillToCheck } from './checked-skill.ts'
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

  test('a dead link to a file with another folder gets the path of the only file with that name', async () => {
    const files = { 'references/rates.md': 'Rates.' }
    const text = `${HEAD}[rates](reference/rates.md#top)\n`
    const [finding] = await checkSkill(toSkill({ 'SKILL.md': text, ...files }))
    expect(applyEdits(text, finding?.edit?.edits ?? [])).toBe(`${HEAD}[rates](references/rates.md#top)\n`)
  })
})

describe('checkSkill() leaves ordinary texts alone:', () => {
  test.each([
    ['a link in a code block', '```md\n[a](b/c.md)\n```'],
    ['a link in inline code', 'Write `[a](b/c.md)`.'],
    ['an address', '[a](https://example.com/b.md) and [b](mailto:a@b.c) and [c](#top)'],
    ['an example', 'Name it e.g. `references/your-topic.md`.'],
    ['a text that teaches how to write skills', 'SKILL.md, SKILL.md and SKILL.md name `references/x.md`.'],
    ['a script of the user', '```sh\npython scripts/train.py\n```'],
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
