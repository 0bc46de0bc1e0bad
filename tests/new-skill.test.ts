import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { expect, test } from 'vitest'
import { BIN, type CliRun, stoke } from './fixtures/cli.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

const ASKED = ['--what', 'writes VAT reports', '--when', 'somebody asks for the VAT of a month']

function run<T>(folder: TemporaryFolder, ...args: string[]): CliRun<T> {
  return stoke<T>([...args, '--state', folder.at('state')], {
    cwd: folder.path,
    env: { HOME: folder.at('home'), NO_COLOR: '1' },
  })
}

test.each(['new', 'init', 'create'])('stoke %s creates a skill that the next command serves', verb => {
  using folder = new TemporaryFolder()
  const { stdout } = run(folder, verb, 'vat-report', ...ASKED)
  expect(stdout).toMatch(
    /^created skills\/vat-report: SKILL\.md, evals\/tests\.yaml\nnext: \S.* check vat-report .*\n {6}.* dev .*\n$/,
  )
  const checked = stoke(['check', 'vat-report'], { cwd: folder.path, env: { NO_COLOR: '1' } })
  expect([checked.status, checked.stdout]).toEqual([0, '1 skill: no findings\n'])
  const { skills } = run<{ skills: readonly object[] }>(folder, 'list', '--json').json
  expect(skills).toMatchObject([
    {
      name: 'vat-report',
      status: 'ok',
      description: 'Writes VAT reports. Use when somebody asks for the VAT of a month.',
      diagnostics: [],
    },
  ])
})

test.each([
  ['claude-code', '.claude/skills'],
  ['codex', '.agents/skills'],
  ['cursor', '.cursor/skills'],
  ['gemini', '.gemini/skills'],
  ['opencode', '.opencode/skills'],
  ['vscode', '.github/skills'],
])('stoke new --agent %s writes to %s', (agent, root) => {
  using folder = new TemporaryFolder()
  run(folder, 'new', 'vat-report', ...ASKED, '--agent', agent)
  expect(existsSync(folder.at(root, 'vat-report/SKILL.md'))).toBe(true)
})

test('the script of stoke new --template script runs', () => {
  using folder = new TemporaryFolder()
  run(folder, 'new', 'facts', ...ASKED, '--template', 'script')
  const script = folder.at('skills/facts/scripts/main.mjs')
  const { stdout } = spawnSync(process.execPath, [script, script], { encoding: 'utf8' })
  expect(JSON.parse(stdout)).toMatchObject({ path: script, lines: 8 })
})

test.each([
  [['new', 'Vat Report', ...ASKED], /skill name "Vat Report" has capital letters; use "vat-report"/],
  [['new', 'vat-report'], /say what the skill does and when to use it, for example: --what/],
  [['new', 'vat-report', '--what', 'x'], /say what the skill does and when/],
  [['new', 'vat-report', ...ASKED, '--template', 'poem'], /Allowed choices are procedure, reference/],
])('stoke %j creates nothing, prints the reason and exits with 2', (args, message) => {
  using folder = new TemporaryFolder()
  const { status, stderr } = run(folder, ...args)
  expect([status, stderr]).toEqual([2, expect.stringMatching(message)])
  expect(existsSync(folder.at('skills'))).toBe(false)
})

test('stoke new refuses a folder that exists, and leaves it as it is', () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/vat-report', { body: 'Mine.' })
  const { status, stderr } = run(folder, 'new', 'vat-report', ...ASKED)
  expect([status, stderr]).toEqual([2, expect.stringMatching(/skills\/vat-report exists already/)])
  expect(readFileSync(folder.at('skills/vat-report/SKILL.md'), 'utf8')).toContain('Mine.')
})

test('stoke new refuses a link to nothing, and a root that is a file', () => {
  using folder = new TemporaryFolder()
  folder.write('skills/notes.md', 'Mine.')
  symlinkSync('nothing', folder.at('skills/vat-report'))
  expect(run(folder, 'new', 'vat-report', ...ASKED)).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^error: skills\/vat-report exists already/),
  })
  expect(run(folder, 'new', 'vat-report', ...ASKED, '--root', 'skills/notes.md')).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^error: .*notes\.md/),
  })
})

test('in a terminal, stoke new asks what the skill does and when, and opens the editor after a question', () => {
  using folder = new TemporaryFolder()
  const words = ['new', 'vat-report', '--state', folder.at('state')]
  const env: NodeJS.ProcessEnv = { ...process.env, NO_COLOR: '1', VISUAL: 'echo edited' }
  delete env['CI']
  // Writes each answer when its question is there, because a person does not type ahead of a prompt.
  const program = `
    const { spawn } = require('node:child_process')
    const asked = spawn('script', ['-qec', ${JSON.stringify([process.execPath, BIN, ...words].join(' '))}, '/dev/null'])
    const answers = [['What does', 'writes VAT reports\\n'], ['When should', 'a month ends\\n'], ['open SKILL.md', 'y\\n']]
    let seen = ''
    asked.stdout.on('data', text => {
      seen += text
      if (answers.length > 0 && seen.includes(answers[0][0])) asked.stdin.write(answers.shift()[1])
    })
    asked.on('close', () => process.stdout.write(seen))`
  const { stdout } = spawnSync(process.execPath, ['-e', program], { cwd: folder.path, env, encoding: 'utf8' })
  expect(stdout).toMatch(/edited \S*skills\/vat-report\/SKILL\.md/)
  expect(readFileSync(folder.at('skills/vat-report/SKILL.md'), 'utf8')).toContain(
    'description: Writes VAT reports. Use when a month ends.',
  )
})
