import { execFileSync } from 'node:child_process'
import { existsSync, linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createSkillRuntime, renderSkillText, type SkillRuntime } from '@skillstoke/core'
import { sourceConformance } from '@skillstoke/core/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type NpmPackagesOptions, npmPackages } from './index.ts'

let project: string

beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'npm-'))
})

afterEach(() => {
  rmSync(project, { recursive: true, force: true })
})

const text = (name: string, body = 'Body.'): string =>
  renderSkillText({ name, description: 'Does it.', body })

function write(path: string, content: string): void {
  mkdirSync(dirname(join(project, path)), { recursive: true })
  writeFileSync(join(project, path), content)
}

const open = async (options: NpmPackagesOptions = {}): Promise<SkillRuntime> =>
  await createSkillRuntime({ sources: [npmPackages(project, { trust: 'auto', ...options })] })
const found = (skills: SkillRuntime): string[] =>
  skills.current.list().map(({ name, location }) => `${name} ${location}`)

for (const each of sourceConformance.filter(({ name }) => !name.startsWith('read()')))
  test(`npm packages: ${each.name.replace(/^/, '')}`, async () => {
    mkdirSync(join(project, 'node_modules/kit/skills'), { recursive: true })
    await each.check({
      source: npmPackages(project, { trust: 'auto' }),
      // Each skill is in a package of the same name, directly in its `skills` folder.
      put: (path, content) => write(`node_modules/${path.replace('/', '/skills/')}`, content),
      remove: name => rmSync(join(project, 'node_modules', name), { recursive: true }),
    })
  })

test('npmPackages() reads skills of scoped and unscoped packages, and ignores hidden folders and packages without skills', async () => {
  write('node_modules/kit/skills/pdf/SKILL.md', text('pdf'))
  write('node_modules/@scope/kit/skills/docx/SKILL.md', text('docx'))
  write('node_modules/other/SKILL.md', text('other'))
  write('node_modules/.cache/skills/x/SKILL.md', text('x'))
  write('node_modules/kit/skills/pdf/node_modules/dep/SKILL.md', text('dep'))
  await using skills = await open()
  expect(found(skills)).toEqual(['docx @scope/kit/docx', 'pdf kit/pdf'])
  await using some = await open({ packages: ['@scope/kit'] })
  expect(found(some)).toEqual(['docx @scope/kit/docx'])
})

test('npmPackages() reads packages that are links, and files that are hard links to the store of a package manager', async () => {
  write('store/kit@1/skills/pdf/SKILL.md', text('pdf'))
  write('pool/a.md', 'Shared.')
  linkSync(join(project, 'pool/a.md'), join(project, 'store/kit@1/skills/pdf/a.md'))
  mkdirSync(join(project, 'node_modules'))
  symlinkSync('../store/kit@1', join(project, 'node_modules/kit'))
  await using skills = await open()
  expect(skills.current.get('pdf').files.map(({ path }) => path)).toEqual(['SKILL.md', 'a.md'])
})

test('npmPackages() omits links with a target outside their package', async () => {
  write('secret/key', 'Secret.')
  write('secret/skills/evil/SKILL.md', text('evil'))
  write('node_modules/kit/skills/pdf/SKILL.md', text('pdf'))
  symlinkSync(join(project, 'secret/key'), join(project, 'node_modules/kit/skills/pdf/key'))
  symlinkSync(join(project, 'secret/skills'), join(project, 'node_modules/kit/skills/more'))
  mkdirSync(join(project, 'node_modules/bad'))
  symlinkSync(join(project, 'secret/skills'), join(project, 'node_modules/bad/skills'))
  await using skills = await open()
  expect([found(skills), skills.current.get('pdf').files.map(({ path }) => path)]).toEqual([
    ['pdf kit/pdf'],
    ['SKILL.md'],
  ])
})

test('npmPackages() notices an updated package, and the changed skills wait for approval by default', async () => {
  write('node_modules/kit/skills/pdf/SKILL.md', text('pdf', 'First.'))
  await using skills = await createSkillRuntime({ sources: [npmPackages(project)] })
  expect(skills.current.list()).toEqual([])
  await skills.review.approve('pdf')
  write('node_modules/kit/skills/pdf/SKILL.md', text('pdf', 'Second.'))
  await skills.reload()
  expect([await skills.readBody(skills.current.get('pdf')), skills.review.pending().length]).toEqual([
    'First.',
    1,
  ])
})

test('T29: npmPackages() never installs a package and never runs its code', async () => {
  const canary = join(project, 'canary')
  const run = `touch ${canary}`
  write(
    'node_modules/kit/package.json',
    JSON.stringify({
      name: 'kit',
      scripts: { install: run, postinstall: run, prepare: run },
      dependencies: { evil: '*' },
    }),
  )
  write('node_modules/kit/skills/pdf/SKILL.md', text('pdf'))
  write('node_modules/kit/skills/pdf/package.json', JSON.stringify({ scripts: { postinstall: run } }))
  write(
    'node_modules/kit/skills/pdf/scripts/run.js',
    `require('fs').writeFileSync(${JSON.stringify(canary)}, '')`,
  )
  await using skills = await open()
  await skills.load('pdf')
  await skills.reload()
  expect([existsSync(canary), existsSync(join(project, 'node_modules/evil'))]).toEqual([false, false])
  expect(skills.current.get('pdf').files.map(({ path }) => path)).toContain('package.json')
  // Proves that running the script creates the canary file.
  execFileSync(process.execPath, [join(project, 'node_modules/kit/skills/pdf/scripts/run.js')])
  expect(existsSync(canary)).toBe(true)
})

test('a project without packages has no skills', async () => {
  await using skills = await open()
  expect([skills.current.list(), skills.status()[0]?.lastError]).toEqual([[], undefined])
  expect(() => npmPackages(' ')).toThrow(/path of the project is empty/)
})

test('npmPackages() reports missing packages until they are installed', async () => {
  const told = (skills: SkillRuntime): string[] =>
    skills.current.sources().flatMap(({ diagnostics }) => diagnostics.map(({ code }) => code))
  await using skills = await open({ polling: 'manual' })
  expect(told(skills)).toEqual(['ROOT_MISSING'])
  write('node_modules/kit/skills/pdf/SKILL.md', text('pdf'))
  await skills.reload()
  expect([told(skills), found(skills)]).toEqual([[], ['pdf kit/pdf']])
  await using some = await open({ polling: 'manual', packages: ['kit', '@acme/kti'] })
  expect([told(some), found(some)]).toEqual([['ROOT_MISSING'], ['pdf kit/pdf']])
})
