import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import type { CatalogUse, SkillRow } from 'skillstoke/client'
import { describe, expect, test } from 'vitest'
import { BIN, stoke } from './fixtures/cli.ts'
import { startDev } from './fixtures/dev.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

interface Listed {
  readonly skills: readonly SkillRow[]
  readonly catalog: CatalogUse
}

/** Writes 60 skills, of which about half fit the budget, one hidden skill and one broken skill. */
function prepare(folder: TemporaryFolder): readonly string[] {
  for (let i = 10; i < 70; i++)
    folder.writeSkill(`skills/skill-${i}`, {
      description: `Use it for case ${i}. ${'It has words. '.repeat(20)}`,
    })
  const hidden = skillText('hide').replace('---\n', '---\ndisable-model-invocation: true\n')
  folder.write('skills/hide/SKILL.md', hidden)
  folder.write('skills/broken/SKILL.md', '---\nname: broken\ndescription: "x\n---\n')
  return ['--root', folder.at('skills'), '--state', folder.at('state')]
}

const seenOf = ({ skills }: Listed): readonly unknown[] =>
  skills.map(({ name, visibility, tokens }) => [
    name,
    visibility,
    visibility === 'hidden' ? tokens?.listed : '',
  ])

test('list, status, show, budget and dev agree on what a model sees, and hidden skills take no tokens', async () => {
  using folder = new TemporaryFolder()
  const place = prepare(folder)
  const scanned = stoke<Listed>(['list', '--json', ...place]).json
  const counts = { listed: 0, unlisted: 0, hidden: 0, null: 0 }
  for (const { visibility } of scanned.skills) counts[`${visibility}`]++
  expect(counts).toEqual({ ...counts, hidden: 1, null: 1, listed: 60 - counts.unlisted })
  expect(counts.unlisted).toBeGreaterThan(10)
  const { listed, unlisted } = counts
  expect(scanned.catalog).toMatchObject({ listed, unlisted, hidden: 1, maxTokens: 4_000, isEstimate: false })
  const line = `catalog ${scanned.catalog.tokens.toLocaleString('en')} of 4,000 tokens; ${listed} of 60 listed, 1 hidden`
  const budget = stoke<Listed>(['budget', '--json', ...place]).json
  expect(budget.catalog).toEqual(scanned.catalog)
  expect(stoke(['budget', ...place]).stdout).toMatch(
    /^Claude Code +1 % of the context +[\d,]+ of 2,000 tokens +over/m,
  )
  const lines = (verb: string): readonly string[] => stoke([verb, ...place]).stdout.split('\n')
  for (const verb of ['list', 'status', 'budget']) expect(lines(verb)).toContain(line)
  expect(stoke(['show', 'skill-69', ...place]).stdout).toContain('only search finds it')
  expect(stoke(['show', 'hide', ...place]).stdout).toContain('only people invoke it')
  expect(stoke(['why', 'hide', ...place]).stdout).toMatch(/^no +listed +hidden: only a person may invoke it/m)
  expect(stoke(['why', 'skill-69', ...place]).stdout).toContain(`one of ${unlisted} unlisted skills`)
  await using dev = await startDev({
    root: folder.at('skills'),
    state: folder.at('state'),
    args: ['--no-agent'],
  })
  expect(dev.output()).toContain(`  62 skills, 1 broken; ${line}\n`)
  expect(dev.output()).toMatch(/hide +\w{8} +hidden, \d+ in the body/)
  const served = stoke<Listed & { from: unknown }>(['list', '--json', ...place]).json
  expect(served.from).toMatchObject({ kind: 'dev' })
  expect(seenOf(served)).toEqual(seenOf(scanned))
  expect(served.catalog).toEqual(scanned.catalog)
  expect((await dev.client.status()).catalog).toEqual(scanned.catalog)
  const from = dev.output().length
  folder.writeSkill('skills/a-new-one', { description: 'It comes first. '.repeat(30) })
  await dev.printed(/over the budget, now unlisted: "skill-\d+"/, from)
})

test('an estimate of the tokens is marked, and a short catalog loads no vocabulary', () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/pdf')
  const place = ['--root', folder.at('skills'), '--state', folder.at('state')]
  const { stdout } = stoke(['list', ...place])
  expect(stdout).toMatch(/^catalog about \d+ of 4,000 tokens; 1 of 1 listed$/m)
  const { catalog } = stoke<Listed>(['budget', '--json', ...place]).json
  expect(catalog.isEstimate).toBe(false)
})

test('stoke list filters by text, status and visibility, and shows why a skill is broken', () => {
  using folder = new TemporaryFolder()
  const place = prepare(folder)
  const names = (...flags: string[]): readonly string[] =>
    stoke<Listed>(['list', '--json', ...flags, ...place]).json.skills.map(({ name }) => name)
  expect(names('--status', 'hidden', 'broken')).toEqual(['broken', 'hide'])
  expect(names('--filter', 'CASE 11')).toEqual(['skill-11'])
  expect(names('--filter', 'skill-1', '--status', 'unlisted')).toEqual([])
  const { stdout } = stoke(['list', '--filter', 'brok', ...place])
  expect(stdout).toMatch(/^broken +broken +- +- +root-1 +line 3: the value of "description" is not valid/m)
  expect(stdout).toContain('generation 1 ')
  expect(stoke(['list', '--filter', 'nothing', ...place]).stdout).toMatch(/^no skill matches/)
  expect(stoke(['list', '--status', 'listd', ...place]).stderr).toContain('Allowed choices are ok,')
})

test('stoke budget begins with the largest entry, takes a scope and a budget, and says what is left out first', () => {
  using folder = new TemporaryFolder()
  for (const [name, size] of [
    ['big', 40],
    ['mid', 20],
    ['tiny', 1],
  ] as const)
    folder.writeSkill(`skills/${name}`, {
      description: 'Use it often. '.repeat(size),
      body: 'Step. '.repeat(50 - size),
    })
  const place = ['--root', folder.at('skills'), '--state', folder.at('state')]
  const names = (...flags: string[]): readonly string[] =>
    stoke<Listed>(['budget', '--json', ...flags, ...place]).json.skills.map(({ name }) => name)
  expect([names(), names('--exclude', 'mid')]).toEqual([
    ['big', 'mid', 'tiny'],
    ['big', 'tiny'],
  ])
  expect(stoke(['budget', ...place]).stdout).toContain(
    'leaves out skills at its end, tiny first; all skills need',
  )
  const { stdout, status } = stoke(['budget', '--max-tokens', '260', ...place])
  expect([status, stdout]).toEqual([
    0,
    expect.stringMatching(/at its end, from mid on; all skills need \d+ tokens/),
  ])
  expect(stdout).toContain('to list more skills: shorten descriptions')
})

describe('an unknown name', () => {
  test.each(['show', 'why'])('makes stoke %s exit with 1, and --json print JSON', async verb => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    const place = ['--root', folder.at('skills'), '--state', folder.at('state')]
    const run = (): unknown => {
      const { status, json } = stoke<object>([verb, 'pfd', '--json', ...place])
      return [status, { ...json, from: undefined }]
    }
    const missing = {
      name: 'pfd',
      steps: [
        { step: 'found', ok: false, detail: 'no folder with this name in root-1; did you mean "pdf"?' },
      ],
    }
    expect(run()).toEqual([1, missing])
    await using _ = await startDev({
      root: folder.at('skills'),
      state: folder.at('state'),
      args: ['--no-agent'],
    })
    expect(run()).toEqual([1, missing])
  })

  test('of a revision still is a usage error', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    const run = stoke([
      'diff',
      'pdf',
      'abcd1234',
      '--root',
      folder.at('skills'),
      '--state',
      folder.at('state'),
    ])
    expect([run.status, run.stderr]).toEqual([
      2,
      expect.stringContaining('no known revision begins with abcd1234'),
    ])
  })
})

test('stoke why prints the command that enables a disabled skill, and the hints of list name the real skill', () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/pdf')
  const place = ['--root', folder.at('skills'), '--state', folder.at('state')]
  stoke(['disable', 'pdf', ...place])
  const [, command = ''] =
    /: (?:npx .*)?(?:skill)?stoke (enable .*)$/m.exec(stoke(['why', 'pdf', ...place]).stdout) ?? []
  expect(command).toBe(`enable root-1/pdf ${place.join(' ')}`)
  expect(stoke(command.split(' ')).stdout).toContain('enabled pdf')
  expect(stoke(['list', '--frozen', ...place]).status).toBe(0)
  folder.writeSkill('skills/pdf', { body: 'New.' })
  expect(stoke(['list', '--frozen', ...place]).stdout).toMatch(
    /fix: review it first with .*stoke diff root-1\/pdf --root .*; then run .*stoke approve root-1\/pdf@sha256:/,
  )
})

describe('an unknown verb', () => {
  test.each([
    [['lst'], 'there is no verb "lst"; did you mean "list" or "lsp"?'],
    [['help', 'lst'], 'there is no verb "lst"; did you mean "list" or "lsp"?'],
    [['rollbak', 'pdf'], 'there is no verb "rollbak"; did you mean "rollback"?'],
    [['pend'], 'there is no verb "pend"; did you mean "pending"?'],
    [['fleet', 'publsh'], 'there is no verb "publsh"; did you mean "publish"?'],
    [['help', 'fleet', 'publsh'], 'there is no verb "publsh"; did you mean "publish"?'],
    [['login'], 'there is no verb "login"\n'],
    [['catch'], 'there is no verb "catch"\n'],
  ])('stoke %j gets a suggestion only if it is near', (args, message) => {
    const { status, stderr } = stoke(args)
    expect([status, stderr]).toEqual([2, expect.stringContaining(message)])
  })

  test('stoke help prints the help of a verb, also of one below another', () => {
    for (const verb of [['list'], ['ls'], ['fleet', 'publish']]) {
      const { status, stdout } = stoke(['help', ...verb])
      expect([status, stdout]).toEqual([0, stoke([...verb, '--help']).stdout])
    }
    expect(stoke(['help']).stdout).toBe(stoke(['--help']).stdout)
  })
})

describe('shell completion', () => {
  /** Completes the last word in a real bash, which loads the script that stoke prints. */
  function complete(folder: TemporaryFolder, ...words: string[]): readonly string[] {
    mkdirSync(folder.at('bin'), { recursive: true })
    writeFileSync(folder.at('bin/stoke'), `#!/bin/sh\nexec "${process.execPath}" "${BIN}" "$@"\n`)
    chmodSync(folder.at('bin/stoke'), 0o755)
    const script = `eval "$(stoke completion bash)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stoke; printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', 'stoke', ...words], {
      cwd: folder.path,
      encoding: 'utf8',
      env: {
        ...process.env,
        PATH: `${folder.at('bin')}:${process.env['PATH']}`,
        HOME: folder.at('home'),
        XDG_STATE_HOME: folder.at('state'),
      },
    })
    expect(stderr).toBe('')
    return stdout.split('\n').filter(line => line !== '')
  }

  test('bash completes verbs, options, their values and skill names', () => {
    using folder = new TemporaryFolder()
    for (const name of ['skills/pdf-fill', 'skills/pdf-read', 'skills/maps', 'team/pdf-team'])
      folder.writeSkill(name)
    expect(complete(folder, 'ren')).toEqual(['render'])
    expect(complete(folder, 'fleet', 'pro')).toEqual(['promote'])
    expect(complete(folder, 'list', '--sta')).toEqual(['--state', '--status'])
    expect(complete(folder, 'list', '--status', 'un')).toEqual(['unlisted'])
    expect(complete(folder, 'completion', '')).toEqual(['bash', 'zsh', 'fish'])
    expect(complete(folder, 'show', 'pdf')).toEqual(['pdf-fill', 'pdf-read'])
    expect(complete(folder, 'why', '--root', 'team', '')).toEqual(['pdf-team'])
    expect(complete(folder, 'why', '--root', '')).toEqual([])
  })

  test('a name that a shell would not read as one word is not completed', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    folder.write('skills/$(touch x)/SKILL.md', 'no frontmatter')
    expect(complete(folder, 'show', '')).toEqual(['pdf'])
  })

  test('each script is printed, and another shell is refused', () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { status, stdout } = stoke(['completion', shell])
      expect([status, stdout]).toEqual([0, expect.stringContaining(`completion ${shell} --complete`)])
    }
    expect(stoke(['completion', 'tcsh']).status).toBe(2)
  })
})
