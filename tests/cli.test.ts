import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename } from 'node:path'
import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import { BIN, type CliRun, stoke, stokeProcess } from './fixtures/cli.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

interface ListedSkill {
  readonly name: string
  readonly source: string
  readonly location: string
  readonly status: string
  readonly revision: string | null
  readonly serving: string | null
  readonly diagnostics: readonly {
    readonly code: string
    readonly severity: string
    readonly path: string
    readonly line: number
    readonly column: number
  }[]
}
interface Listed {
  readonly generation: { readonly number: number; readonly digest: string }
  readonly skills: readonly ListedSkill[]
}

/**
 * Makes one folder both the home and the working directory, so that nothing else on this machine is read or written.
 */
function sandbox(folder: TemporaryFolder): { cwd: string; env: NodeJS.ProcessEnv } {
  return {
    cwd: folder.path,
    env: { HOME: folder.at('home'), XDG_STATE_HOME: folder.at('state'), NO_COLOR: '1' },
  }
}

test('a verb has the same output and exit code whether it runs in its own process or in a thread', () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/pdf')
  folder.write('skills/broken/SKILL.md', 'no frontmatter')
  const flags = ['--root', folder.at('skills'), '--state', folder.at('state')]
  const words = [
    ['list', ...flags],
    ['validate', folder.at('skills')],
    ['show', 'none', ...flags],
    ['nonsense'],
    ['--help'],
  ]
  const inThread = words.map(each => stoke(each, sandbox(folder)))
  const inProcess = words.map(each => stokeProcess(each, sandbox(folder)))
  const plain = ({ status, stdout, stderr }: CliRun<unknown>): unknown => ({ status, stdout, stderr })
  expect(inThread.map(plain)).toEqual(inProcess.map(plain))
  expect(inProcess.map(({ status }) => status)).toEqual([0, 1, 1, 2, 0])
})

describe('stoke list', () => {
  test('stoke list reads the default roots in order and gives each root a label without a local path', () => {
    using folder = new TemporaryFolder()
    for (const root of ['skills', '.agents/skills', '.claude/skills', 'home/.agents/skills'])
      folder.writeSkill(`${root}/pdf`, { description: `In ${root}.` })
    folder.writeSkill('.claude/skills/only')
    const { json, status } = stoke<Listed>(['list', '--json'], sandbox(folder))
    expect(status).toBe(0)
    expect(json.skills.map(({ name, source, status: each }) => [name, source, each])).toEqual([
      ['only', '.claude/skills', 'ok'],
      ['pdf', 'skills', 'warning'],
      ['pdf', '.agents/skills', 'shadowed'],
      ['pdf', '.claude/skills', 'shadowed'],
      ['pdf', '~/.agents/skills', 'shadowed'],
    ])
  })

  test('stoke list prints exactly the JSON shape that other programs rely on', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('pdf')
    folder.write('broken/SKILL.md', '---\nname: broken\ndescription: "x\n---\n')
    const { json } = stoke<Listed>(['ls', '--json', '--root', folder.path, '--state', folder.at('.state')])
    expect(json.generation).toEqual({
      number: expect.any(Number),
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    })
    const [broken, pdf] = json.skills
    expect(pdf).toEqual({
      name: 'pdf',
      description: 'Does what pdf does. Use it for all about pdf.',
      source: 'root-1',
      target: 'root-1/pdf',
      location: folder.at('pdf'),
      revision: expect.stringMatching(/^sha256:/),
      refused: null,
      serving: pdf?.revision,
      tokens: { listed: expect.any(Number), body: expect.any(Number), isEstimate: true },
      usage: null,
      visibility: 'listed',
      status: 'ok',
      copies: [],
      diagnostics: [],
    })
    expect(broken).toMatchObject({
      ...{ name: 'broken', status: 'broken', revision: null, serving: null },
      refused: expect.stringMatching(/^sha256:/),
    })
    expect(broken?.diagnostics[0]).toMatchObject({
      code: 'YAML_INVALID',
      severity: 'error',
      path: folder.at('broken/SKILL.md'),
      line: 3,
      column: expect.any(Number),
    })
  })

  test('the digest that stoke list prints does not depend on the location of the folders', () => {
    using one = new TemporaryFolder()
    using two = new TemporaryFolder()
    for (const folder of [one, two]) folder.writeSkill('skills/pdf')
    const digests = [one, two].map(
      folder =>
        stoke<Listed>(['list', '--json', '--root', folder.at('skills'), '--state', folder.at('state')]).json
          .generation.digest,
    )
    expect(new Set(digests).size).toBe(1)
  })

  test('a later process serves the last good revision of a broken skill', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    const flags = ['--root', folder.at('skills'), '--state', folder.at('state')]
    const before = stokeProcess<Listed>(['list', '--json', ...flags]).json
    folder.write('skills/pdf/SKILL.md', 'broken')
    const after = stokeProcess<Listed>(['list', '--json', ...flags]).json
    expect(after.generation.digest).toBe(before.generation.digest)
    expect(after.skills[0]).toMatchObject({
      status: 'broken',
      revision: null,
      serving: before.skills[0]?.serving,
    })
    expect(stokeProcess(['show', 'pdf', ...flags]).stdout).toContain('Instructions of pdf.')
  })

  test('stoke list writes only to the state directory, never to a root', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    stoke(['list'], sandbox(folder))
    expect(readdirSync(folder.at('skills'), { recursive: true }).map(String).sort()).toEqual([
      'pdf',
      'pdf/SKILL.md',
    ])
    expect(readdirSync(folder.at('state'))).toEqual(['skillstoke'])
  })

  test('a link from one root into another root shares the skill, and a link to a place outside all roots is refused', () => {
    using folder = new TemporaryFolder()
    using outside = new TemporaryFolder()
    folder.writeSkill('.agents/skills/pdf')
    outside.writeSkill('secret')
    mkdirSync(folder.at('.claude/skills'), { recursive: true })
    symlinkSync(folder.at('.agents/skills/pdf'), folder.at('.claude/skills/pdf'))
    symlinkSync(outside.at('secret'), folder.at('.claude/skills/secret'))
    const { json } = stoke<Listed>(['list', '--json'], sandbox(folder))
    expect(json.skills).toMatchObject([
      { source: '.agents/skills', status: 'ok', copies: [{ source: '.claude/skills' }] },
    ])
    expect(stoke(['status'], sandbox(folder)).stdout).toContain('LINK_REFUSED')
  })

  test('control characters in skills are escaped, so they never reach the terminal', () => {
    using folder = new TemporaryFolder()
    folder.write(
      'pdf/SKILL.md',
      '---\nname: pdf\ndescription: "a\\u001b[31mred\\u001b]0;title\\u0007 \\u202Eend"\n---\nx',
    )
    const { stdout } = stoke(['list', '--root', folder.path, '--state', folder.at('.state')])
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for control characters
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/)
  })

  test('stoke list and stoke why report a refused link, and --link-root allows the link', () => {
    using folder = new TemporaryFolder()
    using outside = new TemporaryFolder()
    outside.writeSkill('pdf')
    mkdirSync(folder.at('skills'))
    symlinkSync(outside.at('pdf'), folder.at('skills/pdf'))
    expect(stoke(['list'], sandbox(folder)).stderr).toContain('LINK_REFUSED')
    const explained = stoke<{ steps: { detail: string }[] }>(['why', 'pdf', '--json'], sandbox(folder))
    expect(explained.json.steps[0]?.detail).toContain('which is outside the root')
    const allowed = stoke<Listed>(['list', '--json', '--link-root', outside.path], sandbox(folder))
    expect(allowed.json.skills.map(({ name, status }) => [name, status])).toEqual([['pdf', 'ok']])
  })

  test('stoke list fails for a named root that does not exist, and shows a diagnostic for a root that is a file', () => {
    using folder = new TemporaryFolder()
    folder.write('file', 'x')
    const missing = stoke(['list', '--root', folder.at('nothing'), '--state', folder.at('.state')])
    expect([missing.status, missing.stdout]).toEqual([2, ''])
    expect(missing.stderr).toContain(
      `the folder "${folder.at('nothing')}" does not exist; create it, or name another folder`,
    )
    const file = stoke(['list', '--root', folder.at('file'), '--state', folder.at('.state')])
    expect(file.status).toBe(1)
    expect(file.stderr).toContain('a source is a folder')
  })

  test.each([
    ['show', 'pdf'],
    ['why', 'pdf'],
    ['render'],
    ['status'],
    ['pending'],
    ['approve', 'pdf'],
    ['reject', 'pdf'],
    ['pin', 'pdf'],
    ['rollback', 'pdf'],
    ['grant', 'pdf', 'net'],
    ['diff', 'pdf'],
    ['log', 'pdf'],
    ['run', 'pdf'],
    ['verify'],
    ['update'],
    ['remove', 'pdf'],
    ['serve'],
  ])('stoke %s fails when a root from a flag or a variable does not exist', (...args) => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    const state = ['--state', folder.at('.state')]
    const places = ['--root', folder.at('skills'), '--root', folder.at('sklls')]
    for (const run of [
      stoke([...args, ...places, ...state]),
      stoke([...args, ...state], { env: { SKILLSTOKE_ROOTS: folder.at('sklls') } }),
    ])
      expect([run.status, run.stdout, run.stderr]).toEqual([
        2,
        '',
        expect.stringContaining('sklls" does not exist'),
      ])
  })

  test.each([
    ['show', 'pdf'],
    ['approve', 'pdf'],
    ['log', 'pdf'],
    ['run', 'pdf'],
    ['grant', 'pdf', 'net'],
    ['update'],
  ])('stoke %s fails when a root cannot be read', (...args) => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    chmodSync(folder.at('skills'), 0)
    const { status, stdout, stderr } = stoke(
      [...args, '--root', folder.at('skills'), '--state', folder.at('.state')],
      { isOrdinaryUser: true },
    )
    chmodSync(folder.at('skills'), 0o755)
    expect([status, stdout, stderr]).toEqual([2, '', expect.stringMatching(/skills" cannot be read: EACCES/)])
  })

  test('stoke why names the unreadable root, and reports nothing about the skills in this root', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    folder.writeSkill('more/docx')
    const why = (name: string, ...roots: readonly string[]): string =>
      stoke<{ steps: { step: string; ok: boolean; detail: string }[] }>(
        [
          'why',
          name,
          '--json',
          ...roots.flatMap(root => ['--root', folder.at(root)]),
          ...['--state', folder.at('.state')],
        ],
        { isOrdinaryUser: true },
      )
        .json.steps.map(({ step, ok, detail }) => `${step} ${ok} ${detail}`)
        .join('\n')
    chmodSync(folder.at('skills'), 0)
    const unread = /^found false root-1: the source could not be read: .*EACCES/
    const [alone, beside, found] = [
      why('pdf', 'skills'),
      why('dcx', 'skills', 'more'),
      why('docx', 'skills', 'more'),
    ]
    chmodSync(folder.at('skills'), 0o755)
    expect(alone).toMatch(unread)
    expect(alone).not.toContain('no folder with this name')
    expect(beside).toMatch(unread)
    expect(beside).toMatch(/in the other sources: .*did you mean "docx"\?$/)
    expect(found).toMatch(/^found true /)
  })

  test.each(['why', 'show'])('stoke %s refuses an empty name', verb => {
    using folder = new TemporaryFolder()
    const { status, stdout, stderr } = stoke([verb, ' '], sandbox(folder))
    expect([status, stdout, stderr]).toEqual([2, '', expect.stringContaining('the name is empty')])
  })

  test('a root that is named twice is read once', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('pdf')
    const { json } = stoke<Listed>([
      'list',
      '--json',
      '--root',
      folder.path,
      '--root',
      `${folder.path}/`,
      '--state',
      folder.at('.state'),
    ])
    expect(json.skills.map(skill => skill.status)).toEqual(['ok'])
  })

  test('stoke list explains how to create a skill when there are none', () => {
    using folder = new TemporaryFolder()
    const { stdout, status } = stoke(['list'], sandbox(folder))
    expect(status).toBe(0)
    expect(stdout).toContain('no skills in skills, .agents/skills, .claude/skills')
    expect(stdout).toContain('SKILL.md')
  })
})

describe('stoke show, why, render and status', () => {
  test('stoke show --json prints the files and the body', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('pdf')
    folder.write('pdf/a.md', 'four')
    const { json } = stoke<Record<string, unknown>>([
      'show',
      'pdf',
      '--json',
      '--root',
      folder.path,
      '--state',
      folder.at('.state'),
    ])
    expect(json).toMatchObject({ name: 'pdf', status: 'ok', body: 'Instructions of pdf.' })
    expect(json['files']).toEqual([
      { path: 'SKILL.md', digest: expect.stringMatching(/^sha256:/), size: skillText('pdf').length },
      { path: 'a.md', digest: expect.stringMatching(/^sha256:/), size: 4 },
    ])
  })

  test('stoke show and stoke why exit with 1 for an unknown skill and suggest the similar name', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    const shown = stoke(['show', 'pfd'], sandbox(folder))
    expect(shown.status).toBe(1)
    expect(shown.stderr).toContain('did you mean "pdf"?')
    const explained = stoke<{ steps: unknown[] }>(['why', 'pfd', '--json'], sandbox(folder))
    expect(explained.status).toBe(1)
    expect(explained.json).toEqual({
      from: { kind: 'scan' },
      name: 'pfd',
      steps: [{ step: 'found', ok: false, detail: expect.stringContaining('did you mean "pdf"?') }],
    })
  })

  test(`stoke why names the check that a skill failed ${verifies('PROMISE-7')}`, () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    folder.write('skills/broken/SKILL.md', 'no frontmatter')
    const steps = (name: string): unknown[] =>
      stoke<{ steps: { step: string; ok: boolean }[] }>(
        ['why', name, '--json'],
        sandbox(folder),
      ).json.steps.map(({ step, ok }) => [step, ok])
    expect(steps('pdf')).toEqual([
      ['found', true],
      ['parsed', true],
      ['eligible', true],
      ['scoped', true],
      ['listed', true],
    ])
    expect(steps('broken')).toEqual([
      ['found', true],
      ['parsed', false],
    ])
  })

  test('stoke why names the code and the fix of a broken text, also while the last good revision is served', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    expect(stoke(['why', 'pdf'], sandbox(folder)).status).toBe(0)
    folder.write('skills/pdf/SKILL.md', '---\nname: "pdf\ndescription: x\n---\n')
    const { stdout, status } = stoke(['why', 'pdf'], sandbox(folder))
    expect(stdout).toMatch(/^no +parsed +\S+SKILL\.md:2: .*\[YAML_INVALID\], fix: .*; \w{8} stays live$/m)
    expect(stdout).toMatch(/^yes +eligible +serving/m)
    expect(status).toBe(1)
  })

  test.each([
    ['why', 'net'],
    ['run', 'net'],
    ['run', 'net.ping'],
  ])('stoke %s %s prints a grant command that works where the user stands', (...words) => {
    using folder = new TemporaryFolder()
    folder.write(
      'team/net/SKILL.md',
      '---\nname: net\ndescription: Pings.\nmetadata:\n  capabilities: net\n---\nPing.\n',
    )
    folder.write(
      'team/net/scripts/ping.ts',
      `import { defineCommand } from 'skillstoke/command'
export const ping = defineCommand({ name: 'ping', description: 'Pings.', run: () => 'pong' })`,
    )
    const options = ['--root', 'team', '--state', 'state']
    const { stdout, stderr } = stoke([...words, ...options], { cwd: folder.path })
    const command = / (?:skill)?stoke grant net net (.*)$/m.exec(`${stdout}${stderr}`)?.[1]
    expect(command).toBe('--root team --state state')
  })

  test('stoke render prints the catalog and its size in tokens, and omits skills beyond --max-tokens', () => {
    using folder = new TemporaryFolder()
    for (let i = 0; i < 30; i++) folder.writeSkill(`skills/skill-${10 + i}`)
    const whole = stoke(['render'], sandbox(folder))
    expect(whole.stdout).toMatch(/^<available_skills>\n[\s\S]*<\/available_skills>\n$/)
    expect(whole.stderr).toMatch(/^\d+ tokens \(estimated\)\n$/)
    const { json } = stoke<{ generation: unknown; text: string; tokens: number; omitted: string[] }>(
      ['render', '--json', '--max-tokens', '200', '--exclude', '*-39'],
      sandbox(folder),
    )
    expect(json.tokens).toBeLessThanOrEqual(200)
    expect(json.omitted.length).toBeGreaterThan(0)
    expect(json.text).toContain(`<omitted count="${json.omitted.length}">`)
    expect(json.omitted).not.toContain('skill-39')
  })

  test('stoke render uses the policies of the configuration, except that --format overrides the configured format', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('one/pdf', { description: 'First.' })
    folder.writeSkill('two/pdf', { description: 'Second.' })
    folder.write('two/bare/SKILL.md', '---\nname: BARE\n---\n# What it does\n')
    const file = {
      roots: ['one', 'two'],
      onDuplicate: 'last-wins',
      catalog: { format: 'markdown' },
      reading: { names: 'any', matchDirectory: 'off', description: 'first-heading' },
    }
    folder.write('skillstoke.json', JSON.stringify(file))
    expect(stoke(['render'], sandbox(folder)).stdout).toBe(
      '## Available Skills\n- **BARE**: What it does\n- **pdf**: Second.\n',
    )
    expect(stoke(['render', '--format', 'pai-xml'], sandbox(folder)).stdout).toContain('<skill name="BARE">')
    const wrong = stoke(['render', '--format', 'html'], sandbox(folder))
    expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining('agentskills-xml')])
    folder.write('skillstoke.json', JSON.stringify({ onDuplicate: 'newest' }))
    const misspelt = stoke(['render'], sandbox(folder))
    expect([misspelt.status, misspelt.stderr]).toEqual([2, expect.stringContaining('skillstoke.json:1:16')])
  })

  test('stoke status shows how each root is watched', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    const { json } = stoke<{ sources: { label: string; mode: string; skills: number }[]; counts: object }>(
      ['status', '--json'],
      sandbox(folder),
    )
    expect(json.sources.map(({ label, mode, skills }) => [label, mode, skills])).toEqual([
      ['skills', 'events', 1],
      ['.agents/skills', 'events', 0],
      ['.claude/skills', 'events', 0],
      ['~/.agents/skills', 'events', 0],
    ])
    expect(json.counts).toMatchObject({ ok: 1, warning: 0, broken: 0, shadowed: 0, pending: 0 })
  })
})

test('for a refused script, stoke run prints a grant command with the same roots and state directory', () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/pdf')
  folder.write('skills/pdf/scripts/say.sh', 'echo said')
  const places = ['--root', folder.at('skills'), '--state', folder.at('state')]
  const run = (): CliRun<unknown> => stoke(['run', 'pdf', 'scripts/say.sh', ...places, '--sandbox', 'off'])
  const refused = run()
  expect(refused.status).toBe(2)
  expect(refused.stderr).toMatch(
    /without containment .*\n {2}fix: .*stoke grant pdf exec --root .* --state .*\n$/,
  )
  const [, words = ''] = /fix: .*?stoke (.*)\n/.exec(refused.stderr) ?? []
  expect(stoke(words.split(' ')).status).toBe(0)
  expect(run()).toMatchObject({ status: 0, stdout: 'said\n' })
})

test('stoke mcp prints that it waits for a root that does not exist yet', () => {
  using folder = new TemporaryFolder()
  const { status, stderr } = stoke(['mcp', '--root', folder.at('later'), '--state', folder.at('state')])
  expect([status, stderr]).toEqual([
    0,
    `skillstoke warning: the folder "${folder.at('later')}" does not exist yet; its skills appear when it is created\n`,
  ])
})

describe('stoke validate', () => {
  test.each([
    ['that cannot be read', 'SKILL_FILE_UNREADABLE', 0, ''],
    ['that is too large', 'SKILL_FILE_TOO_LARGE', 0o644, 'x'.repeat(300_000)],
  ])('reports a SKILL.md %s the same way as list', (_what, code, mode, content) => {
    using folder = new TemporaryFolder()
    const path = folder.write('skills/pdf/SKILL.md', content)
    chmodSync(path, mode)
    const places = ['--root', folder.at('skills'), '--state', folder.at('state')]
    type Findings = readonly {
      readonly diagnostics: readonly { code: string; path: string; fix: string }[]
    }[]
    const options = { isOrdinaryUser: true }
    const validated = (asked: string): Findings =>
      stoke<Findings>(['validate', asked, '--json'], options).json
    const { skills } = stoke<{ skills: Findings }>(['list', '--json', ...places], options).json
    const kinds = [skills, validated(folder.at('skills')), validated(path)].map(found =>
      found.flatMap(({ diagnostics }) => diagnostics.map(each => [each.code, each.path, each.fix])),
    )
    expect(kinds[0]).toEqual([[code, path, expect.any(String)]])
    expect(kinds.slice(1)).toEqual([kinds[0], kinds[0]])
  })

  test('stoke validate exits with 1 if a skill is invalid, and prints the path and line of the error', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('good')
    folder.write('other/SKILL.md', skillText('Bad_Name'))
    const run = stoke<{ path: string; valid: boolean; diagnostics: { code: string; line: number }[] }[]>([
      'validate',
      folder.at('good'),
      folder.at('other/SKILL.md'),
      folder.at('nothing'),
      '--json',
    ])
    expect(run.status).toBe(1)
    expect(
      run.json.map(({ path, valid, diagnostics }) => [path, valid, diagnostics.map(each => each.code)]),
    ).toEqual([
      [folder.at('good'), true, []],
      [folder.at('other/SKILL.md'), false, ['NAME_INVALID', 'NAME_INVALID', 'NAME_DIRECTORY_MISMATCH']],
      [folder.at('nothing'), false, ['SKILL_FILE_MISSING']],
    ])
    expect(stoke(['validate', folder.at('good')]).status).toBe(0)
  })

  test('stoke validate accepts a folder of skills or text on standard input', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('a/one')
    folder.writeSkill('two')
    expect(stoke<unknown[]>(['validate', folder.path, '--json']).json).toHaveLength(2)
    expect(stoke(['validate', '-'], { input: skillText('pdf') })).toMatchObject({
      status: 0,
      stdout: 'valid   -\n',
    })
    expect(stoke(['validate', '-'], { input: 'no' }).status).toBe(1)
  })

  test('stoke validate reports a misspelt SKILL.md as an error, and a folder without SKILL.md as a warning', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/good')
    mkdirSync(folder.at('skills/empty'))
    folder.writeSkill('skills/_draft')
    const run = (...args: string[]): CliRun<{ path: string; valid: boolean }[]> =>
      stoke(['validate', ...args], { cwd: folder.path })
    const warned = run('skills')
    expect([warned.status, warned.stdout]).toEqual([
      0,
      expect.stringMatching(/^valid {3}skills\/good\nskipped \S*skills\/empty\n.*is empty/),
    ])
    expect(warned.stdout).not.toContain('_draft')
    folder.write('skills/plural/SKILLS.md', skillText('plural'))
    const misspelt = run('skills')
    expect([misspelt.status, misspelt.stdout]).toEqual([
      1,
      expect.stringMatching(/^invalid \S*skills\/plural\n.*has no SKILL\.md, but a file "SKILLS\.md"/m),
    ])
    expect(run('skills/plural').stdout).toMatch(/^invalid .*\n.*\n +fix: rename it to "SKILL\.md" if/)
    for (const path of ['skills/plural', 'skills/plural/SKILLS.md'])
      expect([run(path).status, run(path).stdout]).toEqual([1, expect.stringContaining('SKILLS.md')])
    expect(run('skills', '--json').json.map(({ path, valid }) => [basename(path), valid])).toEqual([
      ['good', true],
      ['empty', true],
      ['plural', false],
    ])
  })

  test('stoke validate reports an unreadable skill as invalid', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/good')
    folder.write('skills/good/references/a.md', 'A.')
    folder.writeSkill('skills/locked')
    symlinkSync('loop', folder.at('loop'))
    const run = (path: string): CliRun<unknown> =>
      stoke(['validate', path], { cwd: folder.path, isOrdinaryUser: true })
    const paths = ['skills/locked', 'skills/good/references', 'skills']
    for (const closed of paths) {
      chmodSync(folder.at(closed), 0)
      for (const asked of new Set(['skills', closed]))
        expect([run(asked).status, run(asked).stdout], `${closed} ${asked}`).toEqual([
          1,
          expect.stringMatching(/^invalid [\s\S]*(?:permission denied|EACCES)/im),
        ])
      chmodSync(folder.at(closed), 0o755)
    }
    expect([run('loop').status, run('loop').stderr]).toEqual([1, ''])
  })
})

describe('the command line', () => {
  test.each([
    [['unknown']],
    [['list', '--nonsense']],
    [['show']],
    [['render', '--max-tokens', 'many']],
    [['list', '--root', '']],
  ])('the program rejects %j as a usage error', args => {
    const { status, stdout, stderr } = stoke(args)
    expect(status).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toMatch(/^error: /)
  })

  test.each(['dev', 'list', 'show', 'validate', 'render', 'why', 'status'])(
    'the program prints examples for stoke %s --help',
    verb => {
      const { status, stdout } = stoke([verb, '--help'])
      expect(status).toBe(0)
      expect(stdout).toContain('Examples:')
      expect(stdout).toContain(`stoke ${verb}`)
    },
  )

  test('a verb exits normally when the reader of its output stops early', () => {
    using folder = new TemporaryFolder()
    for (let i = 0; i < 50; i++) folder.writeSkill(`skill-${i}`)
    const run = spawnSync(
      'bash',
      [
        '-c',
        `set -o pipefail; "${process.execPath}" "${BIN}" list --root "${folder.path}" --state "${folder.at('.state')}" --json | head -1`,
      ],
      { encoding: 'utf8' },
    )
    expect(run).toMatchObject({ status: 0, stdout: '{\n', stderr: '' })
  })

  test('a verb reports immediately that the file system of the state directory allows no new folder', {
    timeout: 10_000,
  }, () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    const { status, stderr } = stoke([
      'list',
      '--root',
      folder.at('skills'),
      '--state',
      '/proc/nothing/state',
    ])
    expect(status).toBe(0)
    expect(stderr).toContain('cannot be made')
  })

  test('a verb reports an unusable state directory and still prints its result', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    writeFileSync(folder.at('file'), '')
    const { status, stdout, stderr } = stoke([
      'list',
      '--root',
      folder.at('skills'),
      '--state',
      folder.at('file/state'),
    ])
    expect(status).toBe(0)
    expect(stdout).toContain('pdf')
    expect(stderr).toContain('cannot be made')
  })

  test('on an old version of Node, the program prints the required version in one sentence', () => {
    const source = `Object.defineProperty(process, 'versions', { value: { node: '18.20.0' } }); await import(${JSON.stringify(BIN)})`
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8' })
    expect(run.status).toBe(2)
    expect(run.stderr).toMatch(/^skillstoke needs Node 22\.16 or newer; .*\n$/)
  })
})

class Dev implements AsyncDisposable {
  readonly process: ChildProcess
  output = ''
  readonly #waiting = new Set<() => void>()

  constructor(
    args: readonly string[],
    cwd: string,
    program = process.execPath,
    extra: NodeJS.ProcessEnv = {},
  ) {
    const { CI: _ci, ...env } = process.env
    this.process = spawn(program, program === process.execPath ? [BIN, 'dev', '--verbose', ...args] : args, {
      cwd,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...env, NO_COLOR: '1', ...extra },
    })
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.on('data', (data: Buffer) => {
        this.output += data.toString('utf8')
        for (const check of this.#waiting) check()
      })
    }
  }

  async until(pattern: RegExp): Promise<void> {
    const { promise, resolve: done, reject } = Promise.withResolvers<void>()
    const check = (): void => {
      if (pattern.test(this.output)) done()
    }
    this.#waiting.add(check)
    const timer = setTimeout(
      () => reject(new Error(`timed out waiting for ${pattern}; output:\n${this.output}`)),
      20_000,
    )
    check()
    await promise.finally(() => clearTimeout(timer))
  }

  press(key: string): void {
    this.process.stdin?.write(key)
  }

  async end(signal: NodeJS.Signals): Promise<number | null> {
    this.process.kill(signal)
    const [code] = (await once(this.process, 'exit')) as [number | null]
    return code
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) await this.end('SIGKILL')
  }
}

test('the prefix of a conversation in stoke dev survives a save, a broken save and a fix', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/refund', { body: 'Within 30 days.' })
  await using dev = new Dev(['skills', '--state', folder.at('state'), '--ask', 'Use refund.'], folder.path)
  await dev.until(/turn 1 you: Use refund\.[\s\S]*agent: .*Within 30 days\./)
  expect(dev.output).toMatch(/root skills: watched by events/)
  folder.writeSkill('skills/refund', { body: 'Within 60 days.' })
  await dev.until(
    /LIVE refund [0-9a-f]{8} -> [0-9a-f]{8}, body, detected in \d+ ms[\s\S]*agent: .*Within 60 days\./,
  )
  expect(dev.output).toMatch(/told you loaded refund at [0-9a-f]{8}, it is now [0-9a-f]{8}: load it again/)
  folder.write('skills/refund/SKILL.md', '---\nname: refund\ndescription: "x\n---\n')
  await dev.until(/REJECTED skills\/refund\/SKILL\.md:3:14: .*\. [0-9a-f]{8} stays live\./)
  folder.writeSkill('skills/refund', { body: 'Within 90 days.' })
  await dev.until(/agent: .*Within 90 days\./)
  expect(dev.output).not.toContain('CHANGED')
  expect(dev.output.match(/prefix unchanged ([0-9a-f]{8}) == \1/g)?.length).toBeGreaterThanOrEqual(5)
  expect(await dev.end('SIGINT')).toBe(0)
  expect(dev.output.trimEnd().endsWith('stopped')).toBe(true)
})

test('stoke dev exits with 0 on SIGTERM, even if its root did not exist at the start', async () => {
  using folder = new TemporaryFolder()
  await using dev = new Dev(['nothing', '--state', folder.at('state')], folder.path)
  await dev.until(/agent: I see no skills/)
  folder.writeSkill('nothing/pdf')
  await dev.until(/ADDED pdf/)
  expect(await dev.end('SIGTERM')).toBe(0)
})

test('stoke dev in a terminal reacts to the keys h, o, r, c, d and q', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/refund', { body: 'Within 30 days.' })
  const command = [process.execPath, BIN, 'dev', 'skills', '--verbose', '--state', folder.at('state')].join(
    ' ',
  )
  // `script` gives the program its own terminal.
  const opened = folder.write('opened', '')
  const browser = folder.write('bin/xdg-open', `#!/bin/sh\necho "$1" > ${opened}\n`)
  chmodSync(browser, 0o755)
  const env = { PATH: `${folder.at('bin')}:${process.env['PATH']}` }
  await using dev = new Dev(['-qefc', command, '/dev/null'], folder.path, 'script', env)
  await dev.until(/keys: o open the page[\s\S]*agent: .*Within 30 days/)
  dev.press('d')
  await dev.until(/nothing has changed yet/)
  folder.writeSkill('skills/refund', { body: 'Within 60 days.' })
  await dev.until(/agent: .*Within 60 days/)
  dev.press('d')
  await dev.until(/-Within 30 days\.\s+\+Within 60 days\./)
  dev.press('r')
  await dev.until(/reloaded: read everything again, nothing changed/)
  dev.press('o')
  await expect.poll(() => readFileSync(opened, 'utf8')).toMatch(/run\/open-\d+\.html\n$/)
  const page = readFileSync(opened, 'utf8').trim()
  expect(statSync(page).mode & 0o777).toBe(0o600)
  expect(readFileSync(page, 'utf8')).toMatch(/url=http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}"/)
  writeFileSync(browser, '#!/bin/sh\nexit 3\n')
  dev.press('o')
  await dev.until(
    /no browser could be started \(xdg-open ended with 3\); open \S*http:\/\/127\.0\.0\.1:\d+\/#token=/,
  )
  dev.press('c')
  await expect.poll(() => dev.output).toContain('\u001b[2J')
  dev.press('h')
  await dev.until(/keys: o opens the page[\s\S]*q quits/)
  dev.press('q')
  const [code] = (await once(dev.process, 'exit')) as [number | null]
  expect(code).toBe(0)
  expect(dev.output.trimEnd().endsWith('stopped')).toBe(true)
})
