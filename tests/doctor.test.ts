import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type CliRun, stoke } from './fixtures/cli.ts'
import { startDev } from './fixtures/dev.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

interface Doctor {
  readonly facts: readonly { readonly about: string; readonly text: string }[]
  readonly findings: readonly { readonly severity: string; readonly message: string; readonly fix: string }[]
}

function run(folder: TemporaryFolder, ...args: string[]): CliRun<Doctor> {
  return stoke<Doctor>(['doctor', ...args, '--state', folder.at('state')], {
    cwd: folder.path,
    env: { HOME: folder.at('home'), NO_COLOR: '1' },
  })
}

test('stoke doctor finds nothing wrong in a healthy setup, and says what it found where', () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/pdf')
  folder.writeSkill('.gemini/skills/maps')
  mkdirSync(folder.at('.cursor'))
  symlinkSync('../skills', folder.at('.cursor/skills'))
  const { status, stdout, stderr } = run(folder)
  expect([status, stdout, stderr]).toEqual([0, expect.stringMatching(/nothing is wrong\n$/), ''])
  expect(stdout).toMatch(/^source +skills: 1 found, watched by events$/m)
  expect(stdout).toMatch(/^source +\.claude\/skills: missing$/m)
  expect(stdout.match(/^other .*$/gm)).toEqual([expect.stringMatching(/ \.gemini\/skills: 1 found$/)])
  expect(stdout).toMatch(/^git +\d/m)
})

test('stoke doctor names a broken skill, copies that differ and a mistyped root, each with a fix', () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/pdf', { body: 'One.' })
  folder.writeSkill('.cursor/skills/pdf', { body: 'Two.' })
  folder.write('skills/bad/SKILL.md', 'no frontmatter')
  const { status, json } = run(folder, '--json')
  const differing = [folder.at('skills/pdf'), folder.at('.cursor/skills/pdf')]
  expect(status).toBe(1)
  expect(json.findings.filter(({ severity }) => severity !== 'info')).toEqual([
    {
      severity: 'error',
      message: expect.stringMatching(/^bad is broken: the first line/),
      fix: 'stoke why skills/bad',
    },
    {
      severity: 'warning',
      message: `pdf has different files in ${differing.join(', ')}`,
      fix: `diff -r ${differing.join(' ')}`,
    },
  ])
  expect(run(folder, '--root', 'skils').stdout).toMatch(
    /error the root skils does not exist\n {4}fix: mkdir -p skils/,
  )
})

test('stoke doctor lists a running dev, frozen roots, and the clients that are connected', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/pdf')
  folder.writeSkill('other/maps')
  await using dev = await startDev({
    root: folder.at('other'),
    state: folder.at('state'),
    args: ['--no-agent'],
  })
  mkdirSync(folder.at('.cursor'))
  writeFileSync(folder.at('.cursor/mcp.json'), '{}')
  const before = run(folder).stdout
  expect(before).toContain(`${dev.url}, process ${dev.process.pid}: other`)
  expect(before).toMatch(/info Cursor is not connected: .*\n {4}fix: .*mcp install cursor/)
  const options = { cwd: folder.path, env: { HOME: folder.at('home') } }
  stoke(['mcp', 'install', 'cursor', '--state', folder.at('state')], options)
  const after = run(folder, '--frozen').stdout
  expect(after).toMatch(/^client +Cursor: connected$/m)
  expect(after).toContain('info the roots are frozen')
})
