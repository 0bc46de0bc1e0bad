import { cpSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import type { SkillRuntime } from '@skillstoke/core'
import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import { follow } from './fixtures/follow.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

/** Replaces a link in one step, as deployments do. */
function relink(folder: TemporaryFolder, path: string, target: string): void {
  symlinkSync(target, folder.at(`${path}.next`))
  renameSync(folder.at(`${path}.next`), folder.at(path))
}

interface LinkCase {
  readonly title: string
  readonly prepare: (folder: TemporaryFolder) => void
  readonly change: (folder: TemporaryFolder) => void
}

/** Ways in which the target of a link changes from the text `old` to the text `new`. */
const CASES: readonly LinkCase[] = [
  {
    title: 'a linked skill folder gets another target',
    prepare(folder) {
      folder.writeSkill('.v1/pdf', { body: 'old' })
      folder.writeSkill('.v2/pdf', { body: 'new' })
      symlinkSync('.v1/pdf', folder.at('pdf'))
    },
    change: folder => relink(folder, 'pdf', '.v2/pdf'),
  },
  {
    title: 'a link above a linked skill folder gets another target',
    prepare(folder) {
      folder.writeSkill('.v1/pdf', { body: 'old' })
      folder.writeSkill('.v2/pdf', { body: 'new' })
      symlinkSync('.v1', folder.at('.current'))
      symlinkSync('.current/pdf', folder.at('pdf'))
    },
    change: folder => relink(folder, '.current', '.v2'),
  },
  {
    title: 'the folder behind a linked skill folder is replaced',
    prepare(folder) {
      folder.writeSkill('.v1/pdf', { body: 'old' })
      folder.writeSkill('.v2/pdf', { body: 'new' })
      symlinkSync('.v1/pdf', folder.at('pdf'))
    },
    change(folder) {
      renameSync(folder.at('.v1'), folder.at('.v0'))
      renameSync(folder.at('.v2'), folder.at('.v1'))
    },
  },
  {
    title: 'a linked SKILL.md gets another target',
    prepare(folder) {
      folder.write('pdf/v1.md', skillText('pdf', { body: 'old' }))
      folder.write('pdf/v2.md', skillText('pdf', { body: 'new' }))
      symlinkSync('v1.md', folder.at('pdf/SKILL.md'))
    },
    change: folder => relink(folder, 'pdf/SKILL.md', 'v2.md'),
  },
  {
    title: 'the target of a linked SKILL.md is overwritten',
    prepare(folder) {
      folder.write('.texts/pdf.md', skillText('pdf', { body: 'old' }))
      mkdirSync(folder.at('pdf'))
      symlinkSync('../.texts/pdf.md', folder.at('pdf/SKILL.md'))
    },
    change: folder => folder.write('.texts/pdf.md', skillText('pdf', { body: 'new' })),
  },
  {
    title: 'the target of a linked SKILL.md is removed and written again',
    prepare(folder) {
      folder.write('.texts/pdf.md', skillText('pdf', { body: 'old' }))
      mkdirSync(folder.at('pdf'))
      symlinkSync('../.texts/pdf.md', folder.at('pdf/SKILL.md'))
    },
    change(folder) {
      folder.remove('.texts')
      folder.write('.texts/pdf.md', skillText('pdf', { body: 'new' }))
    },
  },
  {
    title: 'a Kubernetes volume is updated',
    prepare(folder) {
      folder.write('pdf/..2026_01/SKILL.md', skillText('pdf', { body: 'old' }))
      folder.write('pdf/..2026_02/SKILL.md', skillText('pdf', { body: 'new' }))
      symlinkSync('..2026_01', folder.at('pdf/..data'))
      symlinkSync('..data/SKILL.md', folder.at('pdf/SKILL.md'))
    },
    change(folder) {
      relink(folder, 'pdf/..data', '..2026_02')
      rmSync(folder.at('pdf/..2026_01'), { recursive: true })
    },
  },
]

// If a change of a target prolonged the burst, these calls would end only after `maxWaitMs`.
const SETTLE = { settle: { maxWaitMs: 25_000 } }

/** Calls that answer the text of a skill. */
const READS: Readonly<Record<string, (skills: SkillRuntime) => Promise<string | undefined>>> = {
  'load()': async skills => (await skills.load('pdf')).body,
  'a slash command': async skills => (await skills.session({ id: 'chat' }).expandSlash('/pdf')).text,
  'the skill tool': async skills => await callTool(skills, 'skill', { name: 'pdf' }),
  'the file tool': async skills =>
    await callTool(skills, 'read_skill_file', { skill_name: 'pdf', path: 'SKILL.md' }),
}

async function callTool(skills: SkillRuntime, tool: string, input: unknown): Promise<string | undefined> {
  const { tools } = skills.session({ id: 'chat' })
  return (await tools.find(({ name }) => name === tool)?.execute(input))?.text
}

describe.each(CASES)('$title', ({ prepare, change }) => {
  test.each(Object.entries(READS))(
    `%s answers the new text ${verifies('PROMISE-2', 'CRAB-13')}`,
    async (_, read) => {
      using folder = new TemporaryFolder()
      prepare(folder)
      await using skills = await follow(folder.path, {}, { tuning: SETTLE })
      expect((await skills.load('pdf')).body).toBe('old')
      change(folder)
      expect(await read(skills)).toMatch(/^(?:.*\n)*new$/m)
    },
  )

  test('load() answers the new text of a skill that was saved at the same time', async () => {
    using folder = new TemporaryFolder()
    prepare(folder)
    const plain = folder.writeSkill('plain', { body: 'old' })
    await using skills = await follow(folder.path, {}, { tuning: SETTLE })
    change(folder)
    writeFileSync(plain, skillText('plain', { body: 'new' }))
    expect((await skills.load('plain')).body).toBe('new')
    expect((await skills.load('pdf')).body).toBe('new')
  })

  test('without events, load() answers the new text after one sweep', async () => {
    using folder = new TemporaryFolder()
    prepare(folder)
    await using skills = await follow(folder.path, { watching: 'off' }, { tuning: SETTLE })
    change(folder)
    expect((await skills.load('pdf')).body).toBe('new')
  })
})

test('load() answers the text of the newest of twenty releases that follow each other', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('.v0/pdf', { body: 'release 0' })
  symlinkSync('.v0/pdf', folder.at('pdf'))
  await using skills = await follow(folder.path, {}, { tuning: SETTLE })
  for (let release = 1; release <= 20; release++) {
    cpSync(folder.at('.v0'), folder.at(`.v${release}`), { recursive: true })
    folder.writeSkill(`.v${release}/pdf`, { body: `release ${release}` })
    relink(folder, 'pdf', `.v${release}/pdf`)
    expect((await skills.load('pdf')).body).toBe(`release ${release}`)
  }
})
