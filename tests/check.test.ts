import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { type CliRun, stoke } from './fixtures/cli.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

interface Checked {
  readonly path: string
  readonly valid: boolean
  readonly diagnostics: readonly { readonly code: string; readonly severity: string; readonly page: string }[]
  readonly tokens?: { readonly before: object; readonly after: object }
}

const GOOD = 'Creates VAT reports from invoices. Use when a quarter ends.'
const MISTAKES = [
  '---',
  'name: vat',
  'description: VAT reports: one for each quarter, with all taxes of the year.',
  'user_invocable: true',
  '---',
  'Read [the rates](References/rates.md).',
  '',
].join('\n')

function open(): TemporaryFolder {
  const folder = new TemporaryFolder()
  folder.write('skills/vat/SKILL.md', MISTAKES)
  folder.write('skills/vat/references/rates.md', 'Rates.\n')
  folder.write('skills/tone/SKILL.md', skillText('tone', { description: GOOD }))
  return folder
}

const codes = (checked: readonly Checked[]): readonly string[] =>
  checked.flatMap(({ diagnostics }) => diagnostics.map(({ code }) => code))

test('stoke check reports each fault with its place, and exits with 1', () => {
  using folder = open()
  const { status, stdout } = stoke(['check', 'skills'], { cwd: folder.path })
  expect(status).toBe(1)
  expect(stdout).toMatch(/^skills\/vat\n/)
  expect(stdout).toContain('skills/vat/SKILL.md:3:1: the description does not say when to use the skill')
  expect(stdout).toContain('[FIELD_MISSPELT]')
  expect(stdout).toMatch(/2 skills: 4 warnings\n$/)
  expect(stoke(['check', 'skills/tone'], { cwd: folder.path })).toMatchObject({
    status: 0,
    stdout: '1 skill: no findings\n',
  })
})

test('stoke check --fix corrects only what changes no served text, and keeps the mode of the file', () => {
  using folder = open()
  const path = folder.at('skills/vat/SKILL.md')
  chmodSync(path, 0o640)
  const dry = stoke(['check', 'skills', '--fix', '--dry-run'], { cwd: folder.path })
  expect(dry.stdout).toContain('+Read [the rates](references/rates.md).')
  expect(dry.stdout).toMatch(/would correct 2 findings in 1 file\n$/)
  expect(readFileSync(path, 'utf8')).toBe(MISTAKES)
  const { status, stdout } = stoke(['check', 'skills', '--fix'], { cwd: folder.path })
  expect([status, stdout]).toEqual([
    1,
    expect.stringMatching(/2 warnings; corrected 2 findings in 1 file\n$/),
  ])
  const fixed = readFileSync(path, 'utf8')
  expect(fixed).toContain('description: "VAT reports: one for each quarter, with all taxes of the year."')
  expect(fixed).toContain('(references/rates.md)')
  expect(fixed).toContain('user_invocable: true')
  expect(statSync(path).mode & 0o777).toBe(0o640)
})

test('stoke check --fix writes through no link', () => {
  using folder = open()
  const shared = folder.write('skills/shared.md', MISTAKES)
  folder.write('skills/linked/references/rates.md', 'Rates.\n')
  symlinkSync('../shared.md', folder.at('skills/linked/SKILL.md'))
  const { json } = stoke<Checked[]>(['check', 'skills', '--json'], { cwd: folder.path })
  expect(codes(json.filter(({ path }) => path === 'skills/linked'))).toContain('LINK_CASE')
  const { status, stdout } = stoke(['check', 'skills', '--fix'], { cwd: folder.path })
  expect([status, stdout]).toEqual([1, expect.stringContaining('corrected 2 findings in 1 file')])
  expect(readFileSync(shared, 'utf8')).toBe(MISTAKES)
})

test('stoke check refuses to correct standard input, and suggests the name of a skill', () => {
  using folder = open()
  const at = { cwd: folder.path, env: { HOME: folder.path } }
  expect(stoke(['check', '-', '--fix'], { ...at, input: MISTAKES })).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('--fix writes files'),
  })
  expect(stoke(['check', 'tome'], at)).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('there is no skill "tome"; did you mean "tone"?'),
  })
})

test('stoke check without a path checks the roots, and names what is missing', () => {
  using folder = open()
  const { json } = stoke<Checked[]>(['check', '--json'], { cwd: folder.path, env: { HOME: folder.path } })
  expect(json.map(({ path, valid }) => [path.replace(`${folder.path}/`, ''), valid])).toEqual([
    ['skills/tone', true],
    ['skills/vat', true],
  ])
  expect(json[1]?.diagnostics[0]?.page).toMatch(/^https:.*checks\.md#|diagnostics\.md$/)
  using empty = new TemporaryFolder()
  const none = stoke(['check'], { cwd: empty.path, env: { HOME: empty.path } })
  expect([none.status, none.stderr]).toEqual([2, expect.stringMatching(/^error: there are no skills in/)])
})

test('stoke check --for adds the findings of a client, and the configuration changes severities', () => {
  using folder = open()
  const run = (...words: string[]): readonly string[] =>
    codes(stoke<Checked[]>(['check', 'skills', '--json', ...words], { cwd: folder.path }).json)
  folder.write('skills/tone/SKILL.md', skillText('tone', { description: GOOD, body: 'Review $ARGUMENTS.' }))
  expect(run()).not.toContain('CLIENT_SYNTAX')
  expect(run('--for', 'codex,gemini').filter(code => code === 'CLIENT_SYNTAX')).toHaveLength(2)
  folder.write('skillstoke.json', JSON.stringify({ checks: { FIELD_MISSPELT: 'off', LINK_CASE: 'info' } }))
  expect(run()).not.toContain('FIELD_MISSPELT')
})

test('--max-warnings, --strict and --budget decide the exit code', () => {
  using folder = open()
  const run = (...words: string[]): number | null =>
    stoke(['check', 'skills', ...words], { cwd: folder.path }).status
  expect([run('--max-warnings', '4'), run('--max-warnings', '3')]).toEqual([0, 1])
  expect([
    run('--max-warnings', '4', '--budget', '20'),
    run('--max-warnings', '5', '--budget', '20'),
  ]).toEqual([1, 0])
  folder.write('skills/vat/SKILL.md', skillText('vat', { description: `${GOOD} Also for VAT.` }))
  const similar = stoke(['check', 'skills'], { cwd: folder.path })
  expect([similar.status, similar.stdout]).toEqual([1, expect.stringContaining('[DESCRIPTION_SIMILAR]')])
  const description = 'Looks up taxes by country. Use when an invoice crosses a border.'
  folder.write('skills/vat/SKILL.md', skillText('vat', { description, body: 'Look it up.' }))
  expect([run(), run('--strict')]).toEqual([0, 1]) // no text names references/rates.md
})

const runGit = (cwd: string, ...words: readonly string[]): string =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...words], { cwd, encoding: 'utf8' })

function commitAll(cwd: string): void {
  runGit(cwd, 'init', '--quiet')
  runGit(cwd, 'add', '.')
  runGit(cwd, 'commit', '--quiet', '-m', 'all')
}

test('stoke check --since checks only what changed since a revision, and prints the tokens', () => {
  using folder = open()
  commitAll(folder.path)
  const run = (): readonly Checked[] =>
    stoke<Checked[]>(['check', 'skills', '--since', 'HEAD', '--json'], { cwd: folder.path }).json
  expect(run()).toEqual([])
  folder.write('skills/tone/SKILL.md', skillText('tone', { description: GOOD, body: 'Be kind and short.' }))
  expect(run()).toMatchObject([{ path: 'skills/tone', tokens: { after: { body: 5 } } }])
  // The repository is the one of the checked folder.
  symlinkSync(folder.at('skills'), folder.at('linked'))
  const elsewhere = { cwd: dirname(folder.path) }
  expect(stoke(['check', folder.at('linked/tone'), '--since', 'HEAD'], elsewhere).stdout).toContain('tokens')
  const unknown = stoke(['check', 'skills', '--since', 'nothing'], { cwd: folder.path })
  expect([unknown.status, unknown.stderr]).toEqual([
    2,
    expect.stringContaining('git knows no revision "nothing" here'),
  ])
})

test('stoke check --since keeps what git cannot know', () => {
  using folder = open()
  commitAll(folder.path)
  const run = (...words: readonly string[]): CliRun<Checked[]> =>
    stoke<Checked[]>(['check', ...words, '--since', 'HEAD', '--json'], {
      cwd: folder.path,
      env: { HOME: folder.at('home') },
    })
  expect(run('skills', 'missing').json).toMatchObject([{ path: 'missing', valid: false }])
  expect(codes(run('skills', '--budget', '20').json)).toEqual(['CATALOG_TOO_LARGE'])
  runGit(folder.path, 'mv', 'skills/tone/SKILL.md', 'skills/tone/Skill.md')
  expect(codes(run('skills').json)).toEqual(['SKILL_FILE_MISSING'])
  // A default folder in no repository is not checked, but a named one must be in one.
  using outside = new TemporaryFolder()
  outside.writeSkill('skills/tone', {})
  const at = { cwd: outside.path, env: { HOME: outside.path } }
  expect(stoke(['check', '--since', 'HEAD'], at).status).toBe(0)
  expect(stoke(['check', 'skills', '--since', 'HEAD'], at)).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('is in none'),
  })
})

test('before the first commit, everything changed since HEAD', () => {
  using folder = open()
  runGit(folder.path, 'init', '--quiet')
  const { json } = stoke<Checked[]>(['check', 'skills', '--since', 'HEAD', '--json'], { cwd: folder.path })
  expect(json).toHaveLength(2)
})

test('stoke check --since starts no program of a repository, also not of a submodule', () => {
  using folder = open()
  using other = open()
  commitAll(other.path)
  commitAll(folder.path)
  runGit(
    folder.path,
    '-c',
    'protocol.file.allow=always',
    'submodule',
    '--quiet',
    'add',
    other.path,
    'skills/theirs',
  )
  runGit(folder.path, 'commit', '--quiet', '-m', 'submodule')
  for (const path of [folder.path, folder.at('skills/theirs')]) {
    writeFileSync(join(path, '.gitattributes'), '* filter=own diff=own\n')
    runGit(path, 'config', 'filter.own.clean', `touch ${folder.at('started')}; cat`)
    runGit(path, 'config', 'filter.own.process', `touch ${folder.at('started')}`)
    runGit(path, 'config', 'filter.own.required', 'true')
    runGit(path, 'config', 'diff.own.command', `touch ${folder.at('started')}`)
    runGit(path, 'config', 'core.fsmonitor', `touch ${folder.at('started')}; false`)
    utimesSync(join(path, 'skills/vat/SKILL.md'), 1, 1)
  }
  const run = (): CliRun<Checked[]> =>
    stoke<Checked[]>(['check', 'skills', 'skills/theirs/skills', '--since', 'HEAD', '--json'], {
      cwd: folder.path,
    })
  expect(run().json).toEqual([])
  folder.write(
    'skills/theirs/skills/tone/SKILL.md',
    skillText('tone', { description: GOOD, body: 'Be kind.' }),
  )
  expect(run().json).toMatchObject([{ path: 'skills/theirs/skills/tone' }])
  expect(existsSync(folder.at('started'))).toBe(false)
})

test('stoke check --since checks the skill from which a file was moved away', () => {
  using folder = open()
  folder.write(
    'skills/vat/SKILL.md',
    skillText('vat', { description: GOOD, body: 'See [x](references/rates.md).' }),
  )
  commitAll(folder.path)
  mkdirSync(folder.at('skills/tone/references'))
  runGit(folder.path, 'mv', 'skills/vat/references/rates.md', 'skills/tone/references/rates.md')
  const { json } = stoke<Checked[]>(['check', 'skills', '--since', 'HEAD', '--json'], { cwd: folder.path })
  expect(json.map(({ path }) => path)).toEqual(['skills/tone', 'skills/vat'])
  expect(codes(json)).toContain('LINK_DEAD')
})

test('in a submodule, stoke check --since starts from the commit that the outer repository had', () => {
  using folder = open()
  using other = open()
  commitAll(other.path)
  commitAll(folder.path)
  const add = ['-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other.path, 'skills/theirs']
  runGit(folder.path, ...add)
  runGit(folder.path, 'commit', '--quiet', '-m', 'submodule')
  const theirs = folder.at('skills/theirs')
  folder.write('skills/theirs/skills/tone/SKILL.md', skillText('tone', { description: 'Tones.' }))
  runGit(theirs, 'commit', '--quiet', '--all', '-m', 'worse')
  const run = (cwd: string, path: string): readonly string[] =>
    codes(stoke<Checked[]>(['check', path, '--since', 'HEAD', '--json'], { cwd }).json)
  expect(run(folder.path, 'skills')).toContain('DESCRIPTION_TOO_SHORT')
  runGit(folder.path, 'commit', '--quiet', '--all', '-m', 'moved')
  expect(run(folder.path, 'skills')).toEqual([])
  folder.write('skills/theirs/skills/tone/more.md', 'More.')
  expect(run(theirs, 'skills')).toContain('FILE_UNUSED')
})

test('stoke check --since fetches nothing, and tells in one line what git lacks', () => {
  using folder = open()
  commitAll(folder.path)
  const tree = runGit(folder.path, 'rev-parse', 'HEAD^{tree}').trim()
  folder.write('skills/tone/more.md', 'More.')
  commitAll(folder.path)
  rmSync(folder.at(`.git/objects/${tree.slice(0, 2)}/${tree.slice(2)}`))
  const settings = [
    ['extensions.partialClone', 'origin'],
    ['remote.origin.promisor', 'true'],
    ['remote.origin.url', `ext::touch ${folder.at('started')}`],
    ['protocol.ext.allow', 'always'],
  ] as const
  for (const [name, value] of settings) runGit(folder.path, 'config', name, value)
  const { status, stderr } = stoke(['check', 'skills', '--since', 'HEAD~1'], { cwd: folder.path })
  expect([status, stderr]).toEqual([
    2,
    expect.stringMatching(/^error: git cannot tell what changed in .*\n$/),
  ])
  expect(existsSync(folder.at('started'))).toBe(false)
  expect(() => runGit(folder.path, 'diff', 'HEAD~1')).toThrow(/./)
  expect(existsSync(folder.at('started'))).toBe(true)
})

test('stoke check reports leftovers that git tracks, and shell scripts that bash cannot read', () => {
  using folder = open()
  folder.write('skills/tone/SKILL.md', skillText('tone', { description: GOOD, body: 'Run `scripts/*`.' }))
  folder.write('skills/tone/scripts/__pycache__/a.pyc', 'x')
  folder.write('skills/tone/scripts/good.sh', 'if true; then touch ran; fi\n')
  folder.write('skills/tone/scripts/bad.sh', 'touch ran\nif true; then\n')
  folder.write('skills/tone/scripts/zsh.sh', '#!/bin/zsh\nif true; then\n')
  const run = (): readonly string[] =>
    (JSON.parse(stoke(['check', 'skills/tone', '--json'], { cwd: folder.path }).stdout) as Checked[]).flatMap(
      ({ diagnostics }) => diagnostics.map(({ code, severity }) => `${severity} ${code}`),
    )
  expect(run()).toEqual(['warning SCRIPT_INVALID'])
  for (const args of [
    ['init', '--quiet'],
    ['add', '--force', '.'],
  ])
    execFileSync('git', args, { cwd: folder.path })
  expect(run()).toEqual(['info FILE_TEMPORARY', 'warning SCRIPT_INVALID'])
  expect(existsSync(folder.at('ran'))).toBe(false)
})

test('in a repository, only what stands beside a skill looks like a forgotten skill', () => {
  using folder = open()
  for (const path of ['docs/guide.md', 'NOTES.md', 'dashboard/skills.css', 'skills/draft/notes.md'])
    folder.write(path, 'Text.\n')
  const { stdout } = stoke(['check', '.', '--json'], { cwd: folder.path })
  const missing = (JSON.parse(stdout) as Checked[]).filter(each =>
    codes([each]).includes('SKILL_FILE_MISSING'),
  )
  expect(missing.map(({ path }) => path)).toEqual(['./skills/draft'])
})

test('the formats for other programs name the same findings', () => {
  using folder = open()
  const run = (format: string): string =>
    stoke(['check', 'skills', '--format', format], { cwd: folder.path }).stdout
  const expected = codes(JSON.parse(run('json')) as Checked[]).toSorted()
  const github = [
    ...run('github').matchAll(/^::warning file=skills\/vat\/SKILL\.md,line=\d+,col=\d+,title=(\w+)::/gm),
  ]
  expect(github.map(([, code = '']) => code).toSorted()).toEqual(expected)
  const sarif = JSON.parse(run('sarif')) as { runs: { results: { ruleId: string }[] }[] }
  expect(sarif.runs[0]?.results.map(({ ruleId }) => ruleId).toSorted()).toEqual(expected)
  expect(run('junit')).toMatch(/<testsuite name="stoke check" tests="2" failures="1">/)
  expect(
    [...run('markdown').matchAll(/^\| warning \| skills\/vat\/SKILL\.md:\d+ \| \[(\w+)\]/gm)]
      .map(([, code = '']) => code)
      .toSorted(),
  ).toEqual(expected)
})

test('the formats for other programs escape the names of files', () => {
  using folder = new TemporaryFolder()
  folder.write('skills/a b#\u001b\u009b/SKILL.md', MISTAKES)
  const run = (format: string): string =>
    stoke(['check', 'skills', '--format', format], { cwd: folder.path }).stdout
  for (const format of ['github', 'markdown', 'junit', 'sarif', 'json'])
    expect(run(format)).not.toMatch(/[^\P{Cc}\n]/u)
  expect(run('sarif')).toContain('"uri": "skills/a%20b%23%1B%C2%9B/SKILL.md"')
})
