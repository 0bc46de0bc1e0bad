import { mkdirSync, symlinkSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { CHROMIUM, collectTrouble, launchBrowser } from './fixtures/browser.ts'
import { stoke } from './fixtures/cli.ts'
import { startDev } from './fixtures/dev.ts'
import { follow } from './fixtures/follow.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

interface Explained {
  readonly name: string
  readonly skill?: string
  readonly notSkills?: readonly { readonly reason: string }[]
  readonly steps: readonly { readonly ok: boolean; readonly detail: string }[]
}
interface Listed {
  readonly skills: readonly unknown[]
  readonly notSkills: readonly Readonly<Record<string, unknown>>[]
}

/**
 * Writes a root with two skills and with entries that users mistake for skills. The name of one skill differs from the
 * name of its folder.
 */
function prepare(folder: TemporaryFolder): void {
  folder.writeSkill('skills/pdf')
  folder.write('skills/folder/SKILL.md', skillText('inside'))
  folder.write('skills/plural/SKILLS.md', skillText('plural'))
  folder.writeSkill('skills/_draft')
  folder.write('skills/loose.md', 'x')
  folder.writeSkill('skills/node_modules/dep')
  folder.write('skills/.git/config', 'x')
  mkdirSync(folder.at('skills/empty'))
}

const flagsOf = (folder: TemporaryFolder): string[] => [
  '--root',
  folder.at('skills'),
  '--state',
  folder.at('state'),
]

test.skipIf(CHROMIUM === undefined)(
  'the page lists entries that are not skills, each with a fix',
  async () => {
    using folder = new TemporaryFolder()
    prepare(folder)
    folder.write('skills/<b>x/readme.txt', 'x')
    await using dev = await startDev({
      root: folder.at('skills'),
      state: folder.at('state'),
      args: ['--no-agent'],
    })
    const browser = await launchBrowser()
    try {
      const page = await browser.newPage()
      page.setDefaultTimeout(10_000)
      const trouble = collectTrouble(page, dev.url)
      await page.goto(dev.pageUrl)
      await page.getByText('5 entries are no skills').click()
      const list = page.getByRole('list', { name: 'Not skills in root-1' })
      await list.getByText('rename "SKILLS.md" to "SKILL.md"').waitFor()
      expect((await list.getByRole('listitem').allTextContents()).map(text => text.split(' ')[0])).toEqual([
        '<b>x',
        '_draft',
        'empty',
        'loose.md',
        'plural',
      ])
      expect(trouble).toEqual([])
    } finally {
      await browser.close()
    }
  },
)

describe('stoke list', () => {
  test('stoke list ends with a line about entries that only look like skills', () => {
    using folder = new TemporaryFolder()
    prepare(folder)
    const { stdout, status } = stoke(['list', ...flagsOf(folder)])
    expect(stdout).toMatch(
      /4 entries are not skills: plural, _draft, empty, loose\.md \(.*stoke why plural --root .*\)/,
    )
    expect([status, stdout.includes('node_modules')]).toEqual([0, false])
    const { json } = stoke<Listed>(['list', '--json', ...flagsOf(folder)])
    expect(json.skills).toHaveLength(2)
    expect(json.notSkills).toEqual(
      [
        ['_draft', 'skipped'],
        ['empty', 'no-skill-file'],
        ['loose.md', 'file'],
        ['plural', 'misnamed'],
      ].map(([location, reason]) => ({
        source: 'root-1',
        location,
        path: folder.at(`skills/${location}`),
        reason,
        message: expect.any(String),
        fix: expect.any(String),
        isExpected: true,
      })),
    )
  })

  test('the line about non-skills names ten entries, starts with likely mistakes, and ignores the trash', () => {
    using folder = new TemporaryFolder()
    for (let index = 0; index < 11; index++)
      mkdirSync(folder.at(`skills/empty-${index}`), { recursive: true })
    folder.write('skills/plural/SKILLS.md', 'x')
    folder.writeSkill('skills/.trash/pdf-2026')
    const { stdout } = stoke(['list', ...flagsOf(folder)])
    expect(stdout).toMatch(/12 folders are not skills: plural, empty-0, empty-1, .* and 2 more \(/)
    expect(stdout).not.toContain('trash')
  })

  test('stoke list prints the line about non-skills even if no skill exists, and omits the line if every entry is a skill', () => {
    using folder = new TemporaryFolder()
    folder.write('skills/plural/SKILLS.md', 'x')
    const run = stoke(['list', ...flagsOf(folder)])
    expect(run.stdout).toMatch(/1 folder is not a skill: plural \(.*stoke why plural --root .*\)/)
    folder.remove('skills/plural')
    folder.writeSkill('skills/pdf')
    expect(stoke(['list', ...flagsOf(folder)]).stdout).not.toContain('not a skill')
    expect(stoke<Listed>(['list', '--json', ...flagsOf(folder)]).json.notSkills).toEqual([])
  })
})

describe('stoke show', () => {
  test.each(['folder', './skills/folder', 'skills/folder/SKILL.md'])(
    'stoke show finds the skill for the argument %j',
    asked => {
      using folder = new TemporaryFolder()
      prepare(folder)
      const { status, json } = stoke<{ name: string }>(['show', asked, '--json', ...flagsOf(folder)], {
        cwd: folder.path,
      })
      expect([status, json.name]).toEqual([0, 'inside'])
    },
  )

  test('stoke show explains in one sentence why a path is not a skill', () => {
    using folder = new TemporaryFolder()
    prepare(folder)
    const { stderr } = stoke(['show', 'skills/plural', ...flagsOf(folder)], { cwd: folder.path })
    expect(stderr).toBe(
      `there is no skill "skills/plural": ${folder.at('skills/plural')} has no SKILL.md, but a file "SKILLS.md"; rename "SKILLS.md" to "SKILL.md"\n`,
    )
  })
})

describe('stoke why', () => {
  const ask = (folder: TemporaryFolder, asked: string): { status: number | null; json: Explained } =>
    stoke<Explained>(['why', asked, '--json', ...flagsOf(folder)], { cwd: folder.path })

  test.each(['inside', 'folder', './skills/folder', 'skills/folder/SKILL.md'])(
    'finds a skill by %j',
    asked => {
      using folder = new TemporaryFolder()
      prepare(folder)
      const { status, json } = ask(folder, asked)
      expect(status).toBe(0)
      expect([json.skill ?? json.name, json.steps.every(({ ok }) => ok)]).toEqual(['inside', true])
    },
  )

  test.each([
    ['plural', 'misnamed', 'rename "SKILLS.md" to "SKILL.md"'],
    ['./skills/plural/SKILLS.md', 'misnamed', 'rename "SKILLS.md" to "SKILL.md"'],
    ['_draft', 'skipped', 'rename it'],
    ['skills/_draft', 'skipped', 'rename it'],
    ['loose', 'file', 'move it to "loose/SKILL.md"'],
    ['empty', 'no-skill-file', 'add a SKILL.md'],
    ['node_modules', 'skipped', 'move the skill out'],
    ['dep', undefined, 'no folder with this name'],
    ['./skills/node_modules/dep', 'skipped', 'move the skill out'],
  ])('stoke why explains why %j is not a skill, and how to fix it', (asked, reason, detail) => {
    using folder = new TemporaryFolder()
    prepare(folder)
    const { status, json } = ask(folder, asked)
    expect([status, json.notSkills?.[0]?.reason]).toEqual([1, reason])
    expect(json.steps).toEqual([{ step: 'found', ok: false, detail: expect.stringContaining(detail) }])
  })

  test('stoke why and stoke list print the same whether or not a dev server is running', async () => {
    using folder = new TemporaryFolder()
    prepare(folder)
    const asked = ['folder', './skills/folder', 'plural', 'skills/_draft', 'loose', 'nothing']
    const scanned = asked.map(each => ask(folder, each).json)
    const listed = stoke<Listed>(['list', '--json', ...flagsOf(folder)]).json.notSkills
    await using dev = await startDev({ root: folder.at('skills'), state: folder.at('state') })
    await dev.printed(/4 entries are not skills: plural, _draft, empty, loose\.md/)
    expect(await dev.client.why(folder.at('skills/_draft'))).toMatchObject({
      notSkills: [{ reason: 'skipped' }],
    })
    const told = asked.map(each => ask(folder, each).json)
    const withoutOrigin = (each: Explained): unknown => ({ ...each, from: undefined })
    expect(told.map(withoutOrigin)).toEqual(scanned.map(withoutOrigin))
    expect(stoke<Listed>(['list', '--json', ...flagsOf(folder)]).json.notSkills).toEqual(listed)
  })
})

test('dangling links, and all links in sources with the trust "review", are listed as entries that are not skills', async () => {
  using folder = new TemporaryFolder()
  using outside = new TemporaryFolder()
  outside.writeSkill('linked')
  symlinkSync(folder.at('gone'), folder.at('dangling'))
  symlinkSync(outside.at('linked'), folder.at('linked'))
  await using skills = await follow(folder.path, { trust: 'review' })
  const reasonOf = async (asked: string): Promise<unknown> =>
    (await skills.why(asked)).notSkills?.[0]?.message
  expect(await reasonOf('linked')).toContain('links are not followed in this source')
  expect(await reasonOf(folder.at('dangling'))).toContain('is a link')
  expect((await skills.findNotSkills()).found.map(each => [each.location, each.isExpected])).toEqual([
    ['dangling', false],
    ['linked', true],
  ])
})

test('the list of entries that are not skills reflects the current files', async () => {
  using folder = new TemporaryFolder()
  folder.write('pdf/SKILLS.md', skillText('pdf'))
  await using skills = await follow(folder.path)
  expect((await skills.findNotSkills()).found).toMatchObject([{ location: 'pdf', reason: 'misnamed' }])
  folder.remove('pdf/SKILLS.md')
  expect((await skills.findNotSkills()).found).toMatchObject([{ location: 'pdf', message: 'is empty' }])
  folder.writeSkill('pdf')
  await skills.reload()
  expect((await skills.findNotSkills()).found).toEqual([])
})
