import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { BIN, type CliRun, stoke } from './fixtures/cli.ts'
import { startDev } from './fixtures/dev.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

/** A skill with three saved revisions: First, Second, Third. */
class Kit implements Disposable {
  readonly folder: TemporaryFolder = new TemporaryFolder()
  readonly place: readonly string[] = ['--root', 'skills', '--state', this.folder.at('state')]

  constructor() {
    for (const body of ['First.', 'Second.', 'Third.']) this.save(body)
  }

  save(body: string): void {
    this.folder.writeSkill('skills/pdf', { body })
    this.run('list')
  }

  run<T = unknown>(...args: string[]): CliRun<T> {
    return stoke<T>([...args, ...this.place], { cwd: this.folder.path, env: { NO_COLOR: '1' } })
  }

  /** Runs a verb in a terminal, with these keys. */
  ask(keys: string, ...args: string[]): string {
    const command = [process.execPath, BIN, ...args, ...this.place].join(' ')
    const env: NodeJS.ProcessEnv = { ...process.env, NO_COLOR: '1' }
    delete env['CI']
    return spawnSync('script', ['-qec', command, '/dev/null'], {
      ...{ cwd: this.folder.path, env, encoding: 'utf8' },
      input: keys,
    }).stdout
  }

  text(): string {
    return readFileSync(this.folder.at('skills/pdf/SKILL.md'), 'utf8')
  }

  git(...args: string[]): void {
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args], {
      cwd: this.folder.path,
      stdio: 'ignore',
    })
  }

  [Symbol.dispose](): void {
    this.folder[Symbol.dispose]()
  }
}

test('stoke show, diff and log accept -1, dates and first digits, also from a running dev', async () => {
  using kit = new Kit()
  const today = new Date().toISOString().slice(0, 10)
  const [second = ''] = /^-1\s+(\w{8})/m.exec(kit.run('log', 'pdf').stdout)?.slice(1) ?? []
  const look = (): readonly string[] =>
    [
      ['show', 'pdf', '--revision', '-2'],
      ['show', 'pdf', '--revision', second],
      ['show', 'pdf', '--revision', today],
      ['diff', 'pdf', '-2', '-1'],
      ['log', 'pdf', '-p', '--limit', '2'],
      ['show', 'pdf', '--revision', '-7'],
    ].map(verb => {
      const { stdout, stderr } = kit.run(...verb)
      return stdout + stderr
    })
  const scanned = look()
  expect(scanned).toEqual([
    expect.stringMatching(/^revision sha256:\w{64}, not served; serving \w{8}$[\s\S]*First\.\n$/m),
    expect.stringMatching(/Second\.\n$/),
    expect.stringMatching(/^revision sha256:\w{64}$[\s\S]*Third\.\n$/m),
    expect.stringMatching(/^-First\.\n\+Second\.$/m),
    expect.stringMatching(/^now [\s\S]*^-Second\.\n\+Third\.\n[\s\S]*^-1 [\s\S]*^-First\.\n\+Second\.$/m),
    expect.stringMatching(/"-7" is before the first known revision; the oldest one is "-2"/),
  ])
  await using dev = await startDev({
    root: kit.folder.at('skills'),
    state: kit.folder.at('state'),
    args: ['--no-agent'],
  })
  expect(look()).toEqual(scanned)
  expect((await dev.client.skill('pdf', { revision: '-1' })).body).toBe('Second.')
})

test('stoke rollback -1 names the whole digest and refuses to run unseen, and --yes restores that revision', () => {
  using kit = new Kit()
  const refused = kit.run('rollback', 'pdf', '-2')
  expect([refused.status, refused.stderr]).toEqual([
    2,
    expect.stringMatching(
      /would restore sha256:\w{64} of [\d-]+ [\d:]+ UTC; .* run: .*rollback pdf sha256:\w{64}/,
    ),
  ])
  expect(kit.text()).toContain('Third.')
  const done = kit.run('rollback', 'pdf', '-2', '--yes')
  expect(done.stdout).toMatch(
    /^pdf {2}\w{8} -> \w{8}: restored the old files in the folder\n {2}sha256:\w{64}\n$/,
  )
  expect(kit.text()).toContain('First.')
})

test('stoke undo shows the last change and asks, and a second undo takes the first one back', () => {
  using kit = new Kit()
  expect(kit.ask('n\n', 'undo', 'pdf')).toMatch(
    /-Third\.\r\n\+Second\.[\s\S]*restore sha256:\w{64}.*\? \[y\/N\][\s\S]*nothing was changed/,
  )
  expect(kit.text()).toContain('Third.')
  expect(kit.ask('y\n', 'undo', 'pdf')).toContain('restored the old files')
  expect(kit.text()).toContain('Second.')
  expect(kit.run('undo', 'pdf').stderr).toMatch(
    /to restore it without a question, add --yes or run: .*rollback pdf sha256:/,
  )
  kit.run('undo', 'pdf', '--yes')
  expect(kit.text()).toContain('Third.')
})

test('stoke undo leaves the repository, the packages and the secrets in the folder of a skill', () => {
  using kit = new Kit()
  const skill = kit.folder.at('skills/pdf')
  execFileSync('git', ['init', '--quiet', skill])
  const kept = ['.env', 'node_modules/kit/index.js', 'drafts/next.md']
  for (const path of kept) kit.folder.write(`skills/pdf/${path}`, 'mine')
  kit.folder.write('skills/pdf/.skillignore', 'drafts/\n')
  kit.folder.write('skills/pdf/notes.md', 'Notes.')
  kit.save('Fourth.')
  expect(kit.run('undo', 'pdf', '--yes').stdout).toContain('restored the old files')
  expect(kit.text()).toContain('Third.')
  expect(existsSync(kit.folder.at('skills/pdf/notes.md'))).toBe(false)
  for (const path of kept) expect(readFileSync(kit.folder.at(`skills/pdf/${path}`), 'utf8')).toBe('mine')
  execFileSync('git', ['-C', skill, 'status'])
  // The text is broken, so its parts are unknown.
  writeFileSync(kit.folder.at('skills/pdf/SKILL.md'), 'broken')
  expect(kit.run('undo', 'pdf', '--yes').stdout).toMatch(
    /^pdf {2}broken text -> \w{8}: restored the old files/,
  )
  execFileSync('git', ['-C', skill, 'status'])
  expect(readFileSync(kit.folder.at('skills/pdf/.env'), 'utf8')).toBe('mine')
})

test('stoke show --copy-to copies an old revision, and refuses a folder that exists', () => {
  using kit = new Kit()
  const copy = (): CliRun<unknown> => kit.run('show', 'pdf', '--revision', '-2', '--copy-to', 'try')
  expect(copy().stdout).toMatch(/^copied sha256:\w{64} to try\/pdf; to try it, run: .*chat --root try\n$/)
  expect(readFileSync(kit.folder.at('try/pdf/SKILL.md'), 'utf8')).toContain('First.')
  expect(kit.text()).toContain('Third.')
  expect(copy().stderr).toMatch(/try\/pdf exists already; name another folder/)
})

test('stoke log names the author and the subject of the commit that has the files of a revision', () => {
  using kit = new Kit()
  kit.git('init', '-q')
  kit.git('add', '.')
  kit.git('commit', '-qm', 'feat: third')
  kit.save('Fourth.')
  kit.save('Fifth.')
  kit.git('commit', '-qam', 'feat: fifth')
  kit.save('Sixth.')
  const { json } = kit.run<readonly { author: object; note?: string }[]>('log', 'pdf', '--json')
  const commit = { kind: 'commit', name: 'Ada' }
  expect(json.map(({ author, note }) => [author, note])).toEqual([
    [{ kind: 'person' }, undefined],
    [commit, 'feat: fifth'],
    [{ kind: 'person' }, undefined],
    [commit, 'feat: third'],
    [{ kind: 'person' }, undefined],
    [{ kind: 'person' }, undefined],
  ])
})

test('a program that the settings of a repository name does not run when stoke log reads its commits', () => {
  using kit = new Kit()
  kit.git('init', '-q')
  kit.git('add', '.')
  kit.git('commit', '-qm', 'third')
  const trap = kit.folder.at('trap')
  const program = `touch ${trap}`
  const settings = ['core.fsmonitor', 'core.pager', 'core.sshCommand', 'diff.external', 'gpg.program']
  for (const name of settings) kit.git('config', name, program)
  kit.git('config', 'log.showSignature', 'true')
  writeFileSync(kit.folder.at('.gitattributes'), '* diff=trap\n')
  kit.git('config', 'diff.trap.textconv', program)
  expect(kit.run('log', 'pdf').stdout).toContain('Ada (commit)')
  expect(() => readFileSync(trap)).toThrow(/ENOENT/)
})
