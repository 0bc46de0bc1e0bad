import { execFile, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { zip } from './fixtures/archives.ts'
import { BIN, type CliRun, stoke } from './fixtures/cli.ts'
import { type DevProcess, startDev } from './fixtures/dev.ts'
import { GitRepository } from './fixtures/git-repository.ts'
import { GitServer } from './fixtures/git-server.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

interface Row {
  readonly name: string
  readonly source: string
  readonly status: string
  readonly revision: string | null
  readonly serving: string | null
  readonly newCapabilities?: readonly string[]
}

/** A repository, a state directory, and the command line that uses both. */
class Kit implements Disposable {
  readonly folder: TemporaryFolder = new TemporaryFolder()
  readonly repository: GitRepository = new GitRepository(this.folder.at('repository.git'))
  readonly state: string = this.folder.at('state')
  readonly source: string = `file://${this.repository.directory}#main`

  commit(body: string, more: Readonly<Record<string, string | Buffer | null>> = {}): void {
    this.repository.commit(
      { 'pdf/SKILL.md': skillText('pdf', { body }), ...more },
      { message: `Say ${body}` },
    )
  }

  run<T = unknown>(...args: string[]): CliRun<T> {
    return stoke<T>([...args, '--source', this.source, '--state', this.state], {
      cwd: this.folder.path,
      env: { HOME: this.folder.at('home'), NO_COLOR: '1' },
    })
  }

  rows(verb: string, ...args: string[]): readonly Row[] {
    return this.run<readonly Row[]>(verb, ...args, '--json').json
  }

  listed(): readonly (readonly [string, string | undefined])[] {
    const { json } = this.run<{ skills: readonly Row[] }>('list', '--json')
    return json.skills.map(({ name, status, serving }) => [`${name} ${status}`, serving?.slice(7, 15)])
  }

  /** Fetches the commits of the repository, as a running process would. */
  async update(): Promise<void> {
    await using dev = await startDev({
      state: this.state,
      args: ['--source', this.source, '--no-agent'],
      env: { HOME: this.folder.at('home') },
    })
    await dev.client.reload()
  }

  [Symbol.dispose](): void {
    this.folder[Symbol.dispose]()
  }
}

test('each new commit of a repository waits for approval, and stoke pending names the new capabilities', async () => {
  using kit = new Kit()
  kit.commit('First.')
  const waiting = kit.run('pending')
  expect([waiting.status, waiting.stdout]).toEqual([
    1,
    expect.stringMatching(/^repository\/pdf {2}new -> [0-9a-f]{8}\n/),
  ])
  const [row] = kit.rows('pending')
  expect(row).toMatchObject({ name: 'pdf', status: 'pending', serving: null, newCapabilities: [] })
  const revision = row?.revision ?? ''
  expect(kit.rows('approve', `repository/pdf@${revision}`, '--note', 'read it')).toMatchObject([
    { status: 'ok' },
  ])
  expect(kit.run('pending').status).toBe(0)
  kit.commit('Second.', { 'pdf/scripts/run.sh': 'curl x | sh' })
  await kit.update()
  expect(kit.listed()).toEqual([['pdf pending', revision.slice(7, 15)]])
  expect(kit.rows('pending')[0]?.newCapabilities).toEqual(['the script "scripts/run.sh" appears'])
  const { stdout: diff } = kit.run('diff', 'pdf')
  expect(diff).toMatch(/new capability: the script "scripts\/run.sh" appears/)
  expect(diff).toMatch(/^-First\.$[\s\S]*^\+Second\.$/m)
  expect(kit.run('approve', `pdf@${revision}`).stderr).toMatch(
    /newest revision of "pdf" is now sha256:[0-9a-f]{64}; review it again/,
  )
  const approved = kit.run('approve', '--all', '--yes')
  expect(approved.stdout).toMatch(
    /approved pdf of repository: ok, serving sha256:[0-9a-f]{64}\n {2}with it: the script/,
  )
})

test('stoke pending fetches the sources, and prints commands that the user can copy and run as they are', () => {
  using kit = new Kit()
  kit.commit('First.')
  const suggested = (): string[] =>
    kit.run('pending').stdout.match(/^ {2}(?:\S.*)?stoke (?:diff|approve) .*$/gm) ?? []
  const run = (line = ''): CliRun<unknown> =>
    stoke(
      line
        .replace(/^.*?stoke /, '')
        .split(' ')
        .map(word => word.replaceAll("'", '')),
      { cwd: kit.folder.path, env: { HOME: kit.folder.at('home'), NO_COLOR: '1' } },
    )
  expect(run(suggested()[1]).stdout).toMatch(/^approved pdf of repository: ok/)
  kit.commit('Second.')
  const [diff, approve] = suggested()
  expect(run(diff).stdout).toMatch(/^\+Second\.$/m)
  expect(run(approve).stdout).toMatch(/^approved pdf of repository: ok/)
  expect(run(approve).stdout).toMatch(/^approved already: pdf/)
  expect(kit.run('unpin', 'pdf').stdout).toMatch(/^not pinned: pdf/)
  expect(kit.run('unpin', 'pdf@a1b2c3d4').stderr).toMatch(
    /applies to all revisions of a skill; leave out "a1b2c3d4"/,
  )
  kit.repository[Symbol.dispose]()
  const unreachable = kit.run('pending')
  expect([unreachable.status, unreachable.stdout]).toEqual([
    1,
    'nothing waits for approval in the sources that could be read\n',
  ])
  expect(unreachable.stderr).toMatch(/^error file:.*could not be read: .*its last contents stay/)
})

test('T40: a decision with a shortened digest is refused, and the full digest is printed', () => {
  using kit = new Kit()
  kit.commit('First.')
  const [row] = kit.rows('pending')
  const whole = row?.revision ?? ''
  for (const verb of ['approve', 'reject', 'pin']) {
    const { status, stderr } = kit.run(verb, `pdf@${whole.slice(7, 15)}`)
    expect([verb, status, stderr]).toEqual([verb, 2, expect.stringContaining(`use ${whole}\n`)])
  }
  expect(kit.run('grant', `pdf@${whole.slice(7, 15)}`, 'net').stderr).toContain(`use ${whole}\n`)
  expect(kit.listed()).toEqual([['pdf pending', undefined]])
  expect(kit.run('approve', `pdf@${whole}`).stdout).toBe(`approved pdf of repository: ok, serving ${whole}\n`)
})

/** Answers the question of `approve pdf` on a terminal. */
function answerApprove(kit: Kit, answer: string): { status: number | null; stdout: string } {
  const places = ['--source', kit.source, '--state', kit.state]
  const command = [process.execPath, BIN, 'approve', 'pdf', ...places].map(word => `'${word}'`).join(' ')
  return spawnSync('script', ['-qec', command, '/dev/null'], {
    encoding: 'utf8',
    cwd: kit.folder.path,
    env: { ...process.env, HOME: kit.folder.at('home'), NO_COLOR: '1', CI: '' },
    input: answer,
  })
}

test('on a terminal, stoke approve asks one question about the text and its hidden characters', () => {
  using kit = new Kit()
  kit.commit('Be kind.\u200b')
  kit.run('pending')
  const accepted = answerApprove(kit, 'y\n')
  expect(accepted.stdout).toContain('approve repository/pdf, and confirm its hidden text? [y/N]')
  expect([accepted.status, accepted.stdout]).toEqual([
    0,
    expect.stringContaining('approved pdf of repository: warning'),
  ])
})

test('on a terminal, stoke approve shows the difference and asks, and the answer applies to exactly that revision', () => {
  using kit = new Kit()
  kit.commit('First.')
  kit.run('approve', '--yes', 'pdf')
  kit.commit('Second.')
  const [row] = kit.rows('pending')
  const ask = (answer: string): { status: number | null; stdout: string } => answerApprove(kit, answer)
  const declined = ask('n\n')
  expect(declined.stdout).toMatch(
    new RegExp(`^repository/pdf {2}sha256:[0-9a-f]{64} -> ${row?.revision}`, 'm'),
  )
  expect(declined.stdout).toMatch(/^-First\.\s+\+Second\.\s/m)
  expect([declined.status, kit.rows('pending').length]).toEqual([1, 1])
  const accepted = ask('y\n')
  expect([accepted.status, accepted.stdout]).toEqual([
    0,
    expect.stringContaining(`approved pdf of repository: ok, serving ${row?.revision}`),
  ])
})

test('T58: stoke diff shows a script that is not text with escapes, and an approval is refused until it is confirmed', () => {
  using kit = new Kit()
  kit.commit('First.')
  kit.run('approve', '--yes', 'pdf')
  const script = Buffer.concat([Buffer.from('# Zo'), Buffer.of(0xeb), Buffer.from('\nsteal()\n')])
  kit.commit('First.', { 'pdf/scripts/run.py': script })
  const [row] = kit.rows('pending')
  expect(kit.run('diff', 'pdf').stdout).toContain('+# Zo<0xEB>\n+steal()\n')
  for (const verb of ['pending', 'show'])
    expect(kit.run(verb, ...(verb === 'show' ? ['pdf'] : [])).stdout).toMatch(
      /run\.py: the script is not text, .* \[HIDDEN_TEXT\]/,
    )
  for (const verb of ['pending', 'list'])
    expect(kit.run(verb).stdout).toMatch(
      /approve \S*pdf@\S+ .*check its hidden text and add --confirm-hidden/,
    )
  expect(kit.run('list').stdout).toMatch(/run\.py: the script is not text, .* \[HIDDEN_TEXT\]/)
  const refused = kit.run('approve', `pdf@${row?.revision}`)
  expect([refused.status, refused.stderr]).toEqual([
    2,
    expect.stringContaining('scripts/run.py: the script is not text, so its bytes are shown as escapes'),
  ])
  const asked = answerApprove(kit, 'n\n')
  expect(asked.stdout).toMatch(
    /\+steal\(\)[\s\S]*approve repository\/pdf, and confirm its hidden text\? \[y\/N\]/,
  )
  expect(kit.run('approve', '--confirm-hidden', `pdf@${row?.revision}`).status).toBe(0)
})

test('T46: every verb shows hidden characters, and an approval is refused until the user confirms them', () => {
  using kit = new Kit()
  kit.commit('Be kind.\u{e0073}\u200b', {
    'рdf/SKILL.md': skillText('рdf'),
    'pdf/scripts/run.sh': 'echo \u202e',
  })
  const waiting = kit.run('pending')
  expect(waiting.stdout).toMatch(/SKILL\.md:5:9: U\+E0073 U\+200B: invisible characters \[HIDDEN_TEXT\]/)
  expect(waiting.stdout).toMatch(/run\.sh:1:6: U\+202E: invisible characters/)
  expect(waiting.stdout).toMatch(/skill name "рdf" \(with U\+0440\) looks like "pdf"/)
  expect(kit.run('diff', 'pdf').stdout).toContain('+Be kind.<U+E0073><U+200B>\n')
  expect(kit.run('list').stdout).toContain('[HIDDEN_TEXT]')
  expect(kit.run('why', 'pdf').stdout).toContain('U+202E: invisible characters')
  const [row] = kit.rows('pending')
  expect(waiting.stdout).toMatch(
    /stoke approve \S*pdf@sha256:.* \(to approve it, check its hidden text and add --confirm-hidden\)/,
  )
  const refused = kit.run('approve', `pdf@${row?.revision}`)
  expect([refused.status, refused.stderr]).toEqual([
    2,
    expect.stringContaining('SKILL.md:5:9: U+E0073 U+200B'),
  ])
  expect(refused.stderr).toContain('--confirm-hidden')
  expect(kit.run('approve', `pdf@${row?.revision}`, '--confirm-hidden').status).toBe(0)
  expect(kit.run('show', 'pdf').stdout).toContain('Be kind.<U+E0073><U+200B>\n')
})

test('stoke validate reports hidden characters once per position, and the skill stays valid', () => {
  using folder = new TemporaryFolder()
  folder.write('skills/pdf/SKILL.md', skillText('pdf', { body: 'x\u200b' }))
  folder.write('skills/pdf/notes.md', 'y\u2060')
  const { stdout, status } = stoke(['validate', 'skills'], { cwd: folder.path, env: { NO_COLOR: '1' } })
  expect(stdout.match(/[\w.]+:\d+:\d+: U\+\w+/g)).toEqual(['SKILL.md:5:2: U+200B', 'notes.md:1:2: U+2060'])
  expect([stdout, status]).toEqual([expect.stringMatching(/^valid /), 0])
})

test('--json escapes control characters, which protects the terminal and keeps the parsed value unchanged', () => {
  using folder = new TemporaryFolder()
  const controls = 'a\u009b31m \u202eb\u2028c\u007f'
  const invisible = 'd\u200b\u{e0041}'
  const description = `${controls}${invisible}`
  folder.write('skills/pdf/SKILL.md', `---\nname: pdf\ndescription: ${JSON.stringify(description)}\n---\nx`)
  const run = stoke<{ skills: { description: string }[] }>(
    ['list', '--json', '--root', 'skills', '--state', 'state'],
    {
      cwd: folder.path,
    },
  )
  expect(run.stdout).toContain(String.raw`d\u200b\udb40\udc41`)
  // The description has the control characters as escapes, for all readers.
  expect(run.json.skills[0]?.description).toBe(String.raw`a\u009b31m \u202eb\u2028c\u007f${invisible}`)
})

test('stoke approve prints the decisions that it made, even when a later decision fails', () => {
  using kit = new Kit()
  kit.commit('First.')
  const { stdout, stderr, status } = kit.run('approve', '--yes', 'pdf', 'nope')
  expect([stdout, stderr, status]).toEqual([
    expect.stringMatching(/^approved pdf/),
    expect.stringMatching(/there is no skill "nope"/),
    2,
  ])
})

test('stoke approve accepts the names that stoke pending prints for skills of scoped npm packages', () => {
  using folder = new TemporaryFolder()
  for (const scope of ['acme', 'other'])
    folder.writeSkill(`project/node_modules/@${scope}/kit/skills/pdf`, { body: scope })
  const run = (...args: string[]): CliRun<unknown> =>
    stoke([...args, '--source', 'npm:project', '--state', folder.at('state')], { cwd: folder.path })
  const targets = run('pending').stdout.match(/^npm\/\S+/gm)
  expect(targets).toEqual(['npm/@acme/kit/pdf', 'npm/@other/kit/pdf'])
  expect(run('approve', '--yes', ...(targets ?? [])).stdout.match(/^approved/gm)).toHaveLength(2)
  const waiting = run('pending')
  expect([waiting.status, waiting.stdout]).toEqual([0, 'nothing waits for approval\n'])
})

test('if a decision cannot be stored, the output never says that the decision was made', () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/pdf')
  writeFileSync(folder.at('state'), 'a file')
  for (const args of [
    ['approve', '--all'],
    ['disable', 'pdf'],
    ['log', 'pdf'],
  ]) {
    const { status, stdout } = stoke([...args, '--root', 'skills', '--state', folder.at('state')], {
      cwd: folder.path,
    })
    expect([status, stdout]).toEqual([2, ''])
  }
})

test('with --frozen, new skills wait for approval in every process, and an unknown value of the variable is refused', () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/pdf')
  const run = (frozen: string, ...args: string[]): CliRun<{ skills: Row[] }> =>
    stoke([...args, '--root', 'skills', '--state', folder.at('state')], {
      cwd: folder.path,
      env: { SKILLSTOKE_FROZEN: frozen },
    })
  expect(run('yes', 'pending').status).toBe(0)
  folder.writeSkill('skills/docx')
  for (let times = 0; times < 2; times++)
    expect(run('true', 'pending').stdout).toMatch(/^root-1\/docx {2}new ->/)
  expect(run('1', 'list', '--json').json.skills.map(({ status }) => status)).toEqual(['pending', 'ok'])
  expect(run('maybe', 'list')).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/SKILLSTOKE_FROZEN is "maybe"/),
  })
})

test('stoke reload reports errors of sources, and the printed MCP command can be run in any directory', async () => {
  using kit = new Kit()
  kit.commit('First.')
  const zipped = kit.folder.at('team.zip')
  writeFileSync(zipped, zip([{ path: 'docx/SKILL.md', content: skillText('docx') }]))
  await using dev = await startDev({
    state: kit.state,
    args: [
      '--source',
      kit.source,
      '--source',
      zipped,
      '--frozen',
      '--private-host',
      'git.example',
      '--no-agent',
    ],
    env: { HOME: kit.folder.at('home') },
  })
  expect(dev.output()).toMatch(/mcp .*--source \S*\/team\.zip --private-host git\.example --frozen/)
  writeFileSync(zipped, 'garbage')
  kit.repository.commit({ 'x/SKILL.md': skillText('x') }, { branch: 'other' })
  kit.repository.git('symbolic-ref', 'HEAD', 'refs/heads/other')
  kit.repository.git('update-ref', '-d', 'refs/heads/main')
  const flags = ['--source', kit.source, '--source', zipped, '--state', kit.state, '--frozen']
  const reloaded = await new Promise<string>(resolve => {
    execFile(process.execPath, [BIN, 'reload', ...flags], (error, _, stderr) =>
      resolve(`${error?.code} ${stderr}`),
    )
  })
  expect(reloaded).toMatch(/^1 [\s\S]*neither a zip[\s\S]*/)
  expect(reloaded).toMatch(/no branch or tag "main"/)
})

test('stoke log prints author, time and reason of each decision, and every decision can be undone', async () => {
  using kit = new Kit()
  kit.commit('First.')
  kit.rows('approve', 'pdf', '--yes')
  kit.commit('Second.')
  await kit.update()
  kit.rows('approve', 'pdf', '--yes')
  const { json: records } = kit.run<
    { event: string; cause: string; revision: string; author: { name: string }; note?: string }[]
  >('log', 'pdf', '--json')
  expect(records.map(({ event, cause, note }) => [event, cause, note])).toEqual([
    ['live', 'approve', undefined],
    ['held', 'fetch', 'Say Second.'],
    ['live', 'approve', undefined],
    ['held', 'fetch', 'Say First.'],
  ])
  expect(records[1]?.author).toEqual({ kind: 'commit', name: 'Ada' })
  const [[, second = ''] = []] = kit.listed()
  const first = records.at(-1)?.revision.slice(7, 15)
  expect(kit.run('rollback', 'pdf', '--dry-run').stdout).toMatch(
    /^pdf {2}[0-9a-f]{8} -> [0-9a-f]{8}: would pin the old revision; nothing was changed\n {2}sha256:[0-9a-f]{64}\n[\s\S]*^-Second\.$/m,
  )
  expect(kit.run('rollback', 'pdf').stdout).toMatch(
    /pinned the old revision, because the source is read-only/,
  )
  expect(kit.listed()).toEqual([['pdf pinned', expect.not.stringMatching(second)]])
  expect(kit.run('rollback', 'pdf').stdout).toMatch(
    new RegExp(`^pdf is at sha256:${first}[0-9a-f]{56} already;`),
  )
  // A second undo takes the first back.
  kit.run('undo', 'pdf', '--yes')
  expect(kit.listed()).toEqual([['pdf pinned', second]])
  kit.rows('unpin', 'pdf')
  expect(kit.listed()).toEqual([['pdf ok', second]])
  kit.rows('disable', 'pdf')
  expect(kit.listed()).toEqual([['pdf disabled', undefined]])
  expect(kit.run('why', 'pdf').stdout).toMatch(/the skill is not served: disabled by/)
  kit.rows('enable', 'pdf')
  kit.rows('reject', `pdf@${records[0]?.revision}`, '--note', 'asks for secrets')
  // The revision that was approved earlier is served again.
  expect(kit.listed()).toEqual([['pdf rejected', first]])
  expect(kit.run('why', 'pdf').stdout).toMatch(/rejected by .*asks for secrets/)
})

test('a running dev server applies decisions that another process makes', async () => {
  using kit = new Kit()
  kit.commit('First.')
  await using dev = await startDev({
    state: kit.state,
    args: ['--source', kit.source, '--no-agent'],
    env: { HOME: kit.folder.at('home') },
  })
  expect((await dev.client.skills()).skills.map(({ status }) => status)).toEqual(['pending'])
  kit.rows('approve', 'pdf', '--yes')
  await dev.printed(/^ADDED pdf/m)
  expect((await dev.client.skills()).skills.map(({ status }) => status)).toEqual(['ok'])
  // The dev server also learns about commits that another process fetched. The dev server would fetch on its own only
  // after five minutes.
  kit.commit('Second.')
  expect(kit.run('pending').status).toBe(1)
  kit.rows('approve', 'pdf', '--yes')
  await dev.printed(/^LIVE pdf/m)
  expect((await dev.client.skill('pdf')).body).toBe('Second.')
})

test('stoke rollback restores the files of a local folder, and a second rollback undoes the first', () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/pdf', { body: 'First.' })
  const run = (...args: string[]): CliRun<unknown> =>
    stoke([...args, '--root', 'skills', '--state', folder.at('state')], {
      cwd: folder.path,
      env: { NO_COLOR: '1' },
    })
  run('list')
  writeFileSync(folder.at('skills/pdf/SKILL.md'), skillText('pdf', { body: 'Second.' }))
  run('list')
  expect(run('rollback', 'pdf').stdout).toMatch(/restored the old files in the folder/)
  expect(run('show', 'pdf').stdout).toMatch(/First\.\n$/)
  run('rollback', 'pdf')
  expect(run('show', 'pdf').stdout).toMatch(/Second\.\n$/)
  expect(run('log', 'pdf').stdout.split('\n')).toHaveLength(6)
})

test.each(['disable', 'pin', 'reject'])('stoke %s with a mistyped name changes nothing', verb => {
  using kit = new Kit()
  kit.commit('First.')
  kit.rows('approve', 'pdf', '--yes')
  const before = kit.listed()
  const { status, stderr } = kit.run(verb, 'pdf', 'nope')
  expect([status, stderr, kit.listed()]).toEqual([
    2,
    expect.stringContaining('there is no skill "nope"'),
    before,
  ])
})

test('stoke dev prints the command that approves a held revision, and prints no detection time for decisions', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/pdf', { body: 'First.' })
  const places = ['--root', folder.at('skills'), '--state', folder.at('state')]
  await using dev = await startDev({ state: folder.at('state'), args: [...places, '--frozen', '--no-agent'] })
  folder.writeSkill('skills/pdf', { body: 'Second.' })
  await dev.client.reload()
  await dev.printed(/fix: .*stoke approve .*\n/)
  const [, words = ''] = /fix: .*?stoke (approve .*)\n/.exec(dev.output()) ?? []
  expect(stoke(words.split(' '), { env: { NO_COLOR: '1' } })).toMatchObject({ status: 0 })
  await dev.printed(/^LIVE pdf .*\n/m)
  expect(dev.output()).toMatch(/^LIVE pdf \w+ -> \w+, body$/m)
  const events = dev.client.events()
  const { value } = await events.next()
  await events.return(undefined)
  expect(value).toMatchObject({ kind: 'state', timeline: [{}, { detectedMs: null }] })
})

test('in a frozen source, changes of local folders also wait for approval', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/pdf', { body: 'First.' })
  await using dev = await startDev({
    root: folder.at('skills'),
    state: folder.at('state'),
    args: ['--frozen', '--no-agent'],
  })
  folder.writeSkill('skills/pdf', { body: 'Second.' })
  await dev.client.reload()
  expect((await dev.client.skill('pdf')).body).toBe('First.')
  expect((await dev.client.skills()).skills[0]?.status).toBe('pending')
})

test('in a frozen source, a change waits for approval even if the served revision is missing from the store', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/pdf', { body: 'First.' })
  const run = <T>(...args: string[]): CliRun<T> =>
    stoke<T>([...args, '--root', folder.at('skills'), '--state', folder.at('state')], {
      env: { HOME: folder.at('home'), NO_COLOR: '1' },
    })
  const listed = (): unknown =>
    run<{ skills: Row[] }>('list', '--json').json.skills.map(({ name, status }) => [name, status])
  expect(run('list', '--frozen').status).toBe(0)
  expect(listed()).toEqual([['pdf', 'ok']])
  folder.writeSkill('skills/pdf', { body: 'Second.' })
  rmSync(folder.at('state/store.sqlite'))
  expect([listed(), listed()]).toEqual([[['pdf', 'pending']], [['pdf', 'pending']]])
  expect(run('approve', '--yes', 'pdf').status).toBe(0)
  expect(listed()).toEqual([['pdf', 'ok']])
  folder.writeSkill('skills/pdf', { body: 'Third.' })
  expect(listed()).toEqual([['pdf', 'pending']])
  {
    await using dev = await startDev({
      root: folder.at('skills'),
      state: folder.at('state'),
      args: ['--no-agent'],
    })
    expect((await dev.client.skill('pdf')).body).toBe('Third.')
  }
  rmSync(folder.at('state/store.sqlite'))
  folder.writeSkill('skills/pdf', { body: 'Fourth.' })
  expect(listed()).toEqual([['pdf', 'ok']])
})

test('T61: a freeze of one project freezes no other project, and another project makes no change live in it', () => {
  using folder = new TemporaryFolder()
  const write = (body: string): void => void folder.writeSkill('home/.agents/skills/shared', { body })
  write('First.')
  for (const project of ['x', 'y']) folder.writeSkill(`${project}/skills/own-${project}`, { body: 'First.' })
  const list = (project: string, ...args: string[]): unknown =>
    stoke<{ skills: Row[] }>(['list', '--json', '--state', folder.at('state'), ...args], {
      cwd: folder.at(project),
      env: { HOME: folder.at('home'), NO_COLOR: '1' },
    }).json.skills.map(({ name, status }) => [name, status])
  const bodyIn = (project: string, ...args: string[]): unknown =>
    stoke<{ body: string }>(['show', 'shared', '--json', '--state', folder.at('state'), ...args], {
      cwd: folder.at(project),
      env: { HOME: folder.at('home'), NO_COLOR: '1' },
    }).json.body
  list('y')
  list('x', '--frozen')
  write('Second.')
  for (const project of ['x', 'y']) folder.writeSkill(`${project}/skills/own-${project}`, { body: 'Second.' })
  for (let times = 0; times < 2; times++) {
    expect(list('y')).toEqual([
      ['own-y', 'ok'],
      ['shared', 'ok'],
    ])
    expect(bodyIn('y')).toBe('Second.')
    expect(list('x')).toEqual([
      ['own-x', 'pending'],
      ['shared', 'pending'],
    ])
    expect(bodyIn('x')).toBe('First.')
  }
  // More roots do not make another project of it.
  folder.writeSkill('extra/more', { body: 'First.' })
  const roots = ['x/skills', 'extra', 'home/.agents/skills'].flatMap(root => ['--root', folder.at(root)])
  expect(bodyIn('x', ...roots)).toBe('First.')
  expect(list('x', ...roots)).toEqual([
    ['more', 'ok'],
    ['own-x', 'pending'],
    ['shared', 'pending'],
  ])
  // In another folder, no served revision is known, and the revision of another project is not taken over.
  expect(list('y', ...roots)).toContainEqual(['shared', 'pending'])
})

test('in a frozen source, read-only commands change nothing, and approving one skill changes no other skill', async () => {
  using folder = new TemporaryFolder()
  for (const name of ['pdf', 'docx']) folder.writeSkill(`skills/${name}`, { body: 'First.' })
  const run = <T>(...args: string[]): CliRun<T> =>
    stoke<T>([...args, '--root', folder.at('skills'), '--state', folder.at('state')], {
      env: { HOME: folder.at('home'), NO_COLOR: '1' },
    })
  const bodies = (): readonly string[] =>
    ['pdf', 'docx'].map(name => run<{ body: string }>('show', name, '--json').json.body)
  const start = async (...args: string[]): Promise<DevProcess> =>
    await startDev({ root: folder.at('skills'), state: folder.at('state'), args: [...args, '--no-agent'] })
  {
    await using dev = await start('--frozen')
    for (const name of ['pdf', 'docx']) folder.writeSkill(`skills/${name}`, { body: 'Second.' })
    await dev.client.reload()
    expect(run('pending')).toMatchObject({ status: 1, stdout: expect.stringMatching(/^root-1\/pdf {2}\w/m) })
  }
  for (const words of [
    ['pending'],
    ['show', 'pdf'],
    ['diff', 'pdf'],
    ['log', 'pdf'],
    ['list'],
    ['why', 'pdf'],
    ['render'],
  ])
    run(...words)
  expect(run('approve', 'nope').status).toBe(2)
  expect(bodies()).toEqual(['First.', 'First.'])
  expect(run('log', 'pdf').stdout.match(/ (live|held) /g)).toEqual([' held ', ' live '])
  expect(run('approve', '--yes', 'docx').status).toBe(0)
  expect(bodies()).toEqual(['First.', 'Second.'])
  await using dev = await start()
  expect((await dev.client.skill('pdf')).body).toBe('Second.')
  expect(bodies()).toEqual(['Second.', 'Second.'])
})

test.each([
  [['approve'], /name the skills to approve, or use --all/],
  [['approve', 'pdf', '--all'], /leave out the skill names/],
  [['approve', 'nope'], /there is no skill "nope"/],
  [['approve', 'pdf@xyz'], /revision "xyz" is not a whole digest, .*; use "sha256:" and its 64 digits/],
  [['approve', 'pdf'], /run: .*stoke approve repository\/pdf@sha256:[0-9a-f]{64} --source/],
  [['approve', '--all'], /run: .*stoke approve repository\/pdf@sha256:[0-9a-f]{64} --source/],
  [['reject'], /name the skills to reject/],
  [['diff', 'pdf', 'zz'], /use at least 4 hexadecimal digits/],
  [['diff', 'pdf', 'abc'], /use at least 4 hexadecimal digits/],
  [['diff', 'pdf', '00000000'], /no known revision begins with 00000000/],
  [['rollback', 'pdf', '00000000'], /revision "00000000" is not a whole digest/],
  [['rollback', 'pdf'], /"pdf" has no earlier revision/],
  [['log', 'pdf', '--limit', '0'], /not a whole number above 0/],
])('stoke %j prints the error and exits with 2', (args, message) => {
  using kit = new Kit()
  kit.commit('First.')
  const { status, stderr } = kit.run(...args)
  expect([status, stderr]).toEqual([2, expect.stringMatching(message)])
})

test.each([
  ['ext::sh -c true', /is not the URL of a repository/],
  ['https://user:pw@example.com/x.git', /has credentials in it/],
  ['http://127.0.0.1:1/x.git', /is not encrypted/],
  ['/usr', /is a path; use --root for a folder that contains skills, file:\/\/\/usr for a bare repository/],
  ['/nothere', /the source "\/nothere" does not exist/],
  ['owner/repo#-x', /use the name of a branch or tag/],
  ['owner/repo#main:../up', /use a folder of the repository/],
])('--source %j is refused', (source, message) => {
  const { status, stderr } = stoke(['list', '--source', source])
  expect([status, stderr]).toEqual([2, expect.stringMatching(message)])
})

test('a configuration may name remote repositories, but no local repositories', () => {
  using folder = new TemporaryFolder()
  using kit = new Kit()
  kit.commit('First.')
  const write = (sources: unknown): void =>
    writeFileSync(folder.at('skillstoke.json'), JSON.stringify({ roots: ['skills'], sources }))
  const run = (...args: string[]): CliRun<{ sources: { label: string; path: string }[] }> =>
    stoke([...args, '--state', folder.at('state')], { cwd: folder.path })
  write([{ git: `file://${kit.repository.directory}` }])
  expect(run('list').stderr).toMatch(
    /^error: skillstoke.json:1:\d+: .* is a file URL, which is not allowed here/,
  )
  write([{ gti: 'org/repo' }])
  expect(run('list').stderr).toMatch(
    /json:1:\d+: "sources\[0\]": name exactly one of: git, archive, wellKnown/,
  )
  write([{ git: 'org/repo', branch: 'x' }])
  expect(run('list').stderr).toMatch(/skillstoke.json:1:\d+: there is no field "sources\[0\].branch"/)
  write([{ git: 'https://127.0.0.1:1/org/repo', ref: 'main', label: 'team' }])
  const inside = run('status', '--json').json.sources[1]
  expect(inside).toMatchObject({
    lastError: expect.stringMatching(/in a private network or on this machine/),
  })
  const { status, json, stderr } = run('status', '--json', '--private-host', '127.0.0.1:1')
  expect(status).toBe(0)
  expect(stderr).toBe('')
  expect(json.sources).toMatchObject([
    { label: 'root-1' },
    {
      label: 'team',
      path: 'https://127.0.0.1:1/org/repo#main',
      failures: 1,
      lastError: expect.stringMatching(/git ls-remote failed/),
    },
  ])
})

test('a configuration limits the size of a fetch', () => {
  using folder = new TemporaryFolder()
  writeFileSync(folder.at('team.zip'), zip([{ path: 'pdf/a.bin', content: randomBytes(1_100_000) }]))
  const sources = [{ archive: 'team.zip', maxMegabytes: 1 }]
  writeFileSync(folder.at('skillstoke.json'), JSON.stringify({ roots: ['skills'], sources }))
  expect(stoke(['list', '--state', folder.at('state')], { cwd: folder.path }).stderr).toMatch(
    /team.zip" has 1\d{6} bytes; at most 1000000 are read; no skills have been read from it yet/,
  )
})

test('a configuration sets how a rewritten history is handled', async () => {
  using kit = new Kit()
  const text = (body: string): string => skillText('pdf', { body })
  await using server = await GitServer.start()
  const repository = server.create('skills')
  repository.commit({ 'pdf/SKILL.md': text('First.') })
  const path = kit.folder.at('skillstoke.json')
  const open = async (more: object): Promise<DevProcess> => {
    const sources = [{ git: `http://${server.host}/skills.git`, ...more }]
    writeFileSync(path, JSON.stringify({ roots: ['skills'], sources }))
    return await startDev({
      state: kit.state,
      args: ['--config', path, '--private-host', server.host, '--no-agent'],
      env: { HOME: kit.folder.at('home') },
    })
  }
  const revisions = new Set<string | null | undefined>()
  const note = async (dev: DevProcess): Promise<void> => {
    await dev.client.reload()
    revisions.add((await dev.client.skills()).skills[0]?.revision)
  }
  {
    await using dev = await open({})
    await note(dev)
    repository.commit({ 'pdf/SKILL.md': text('Rewritten.') }, { parent: null })
    await note(dev)
    expect([revisions.size, dev.output()]).toEqual([1, expect.stringMatching(/the history was rewritten/)])
  }
  await using dev = await open({ update: 'reset' })
  await note(dev)
  expect(revisions.size).toBe(2)
})

test('archives, packages and repositories are listed together, each under its own label', () => {
  using kit = new Kit()
  kit.commit('First.')
  writeFileSync(kit.folder.at('team.zip'), zip([{ path: 'docx/SKILL.md', content: skillText('docx') }]))
  kit.folder.writeSkill('node_modules/kit/skills/maps')
  const sources = ['team.zip', 'npm:.', 'team.zip#docx'].flatMap(source => ['--source', source])
  const { json, status } = kit.run<{ skills: readonly Row[] }>('list', '--json', ...sources)
  expect(status).toBe(0)
  expect(json.skills.map(({ name, source, status: each }) => `${name} ${source} ${each}`)).toEqual([
    'docx team pending',
    'docx team-2 pending',
    'maps npm pending',
    'pdf repository pending',
  ])
  expect(kit.run('approve', '--yes', 'docx', ...sources).stderr).toMatch(
    /several skills are called "docx"; name one of "team\/docx", "team-2\/docx"/,
  )
})

test('stoke pending warns once about a damaged store', () => {
  using kit = new Kit()
  kit.commit('First.')
  kit.run('pending')
  writeFileSync(`${kit.state}/store.sqlite`, 'no database at all')
  const { stderr } = kit.run('pending')
  expect(stderr.match(/the contents of the store in ".*" are damaged/g)).toHaveLength(1)
})

test('stoke gc reports how much it frees, and stoke gc --dry-run reports how much it would free', () => {
  using kit = new Kit()
  kit.commit('First.')
  kit.run('list')
  const gc = (...args: string[]): CliRun<unknown> => stoke(['gc', ...args, '--state', kit.state])
  expect(gc('--dry-run').stdout).toMatch(
    /^nothing to remove\nwould free 0 B of disk, would keep \d+ B\nfiles used within the last hour are kept; run ".*stoke gc" again later to remove them\n$/,
  )
  expect(gc('--json').json).toEqual({
    forgotten: 0,
    trees: 0,
    blobs: 0,
    damaged: 0,
    freedBytes: 0,
    keptBytes: expect.any(Number),
  })
  expect(stoke(['gc', '--state', kit.folder.at('nothing')])).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/there is no store in/),
  })
})

test('stoke gc prints the path to which it moved a damaged store', () => {
  using kit = new Kit()
  kit.commit('First.')
  kit.run('list')
  const gc = (...args: string[]): CliRun<unknown> => stoke(['gc', ...args, '--state', kit.state])
  writeFileSync(`${kit.state}/store.sqlite`, 'no database at all')
  expect(gc('--dry-run')).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(
      /^the contents of the store in .* are damaged \(.*\); ".*stoke gc" moves them aside\n$/,
    ),
  })
  expect(gc()).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(
      /were moved to ".*store\.sqlite\.damaged-\d+"; nothing else was removed; the next start stores missing files again/,
    ),
  })
  expect(gc('--json').json).not.toHaveProperty('indexDamage')
  expect(gc().stdout).toMatch(
    /\ndamaged files were moved aside; remove them .*:\n {2}\/.*\/store\.sqlite\.damaged-\d+ {2}18 B\n$/,
  )
})

test('stoke gc removes damaged files and files of older steps, and explains the consequences', () => {
  using folder = new TemporaryFolder()
  const run = (...args: string[]): CliRun<unknown> =>
    stoke([...args, '--state', folder.at('state')], { cwd: folder.path, env: { NO_COLOR: '1' } })
  for (const body of ['First.', 'Second.', 'Third.']) {
    folder.writeSkill('skills/pdf', { body })
    run('list', '--root', 'skills')
  }
  const damage = (most: number): void => {
    const store = new DatabaseSync(folder.at('state/store.sqlite'))
    store.prepare("UPDATE content SET bytes = CAST('damaged' AS BLOB) WHERE id <= ?").run(most)
    store.close()
  }
  damage(1)
  const dry = run('gc', '--dry-run', '--keep', '1').stdout
  expect(dry).toMatch(/^the history would no longer keep the files of 2 older steps$/m)
  expect(dry).toMatch(
    /^would remove 1 damaged file; the next start stores again the files that a skill still has, /m,
  )
  damage(3)
  expect(run('gc').stdout).toMatch(/^removed 3 damaged files; /m)
  expect(run('gc').stdout).toMatch(/^nothing to remove\nfreed 0 B of disk, kept \d+ B\n/)
})
