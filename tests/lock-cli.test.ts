import { execFile, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { tarGz } from './fixtures/archives.ts'
import { BIN, type CliRun, stoke } from './fixtures/cli.ts'
import { GitRepository } from './fixtures/git-repository.ts'
import { GitServer } from './fixtures/git-server.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

/** A project, and a repository whose skills are copied into the project. */
class Project implements Disposable {
  readonly folder: TemporaryFolder = new TemporaryFolder()
  readonly repository: GitRepository = new GitRepository(this.folder.at('repository.git'))
  readonly place: string = `file://${this.repository.directory}`

  constructor() {
    mkdirSync(this.folder.at('project'))
  }

  at(path: string): string {
    return this.folder.at(`project/${path}`)
  }

  run<T = unknown>(...args: string[]): CliRun<T> {
    const local = args[0] === 'update' ? ['--local'] : []
    return stoke<T>([...args, ...local, '--state', this.folder.at('state')], {
      cwd: this.folder.at('project'),
      env: { HOME: this.folder.at('home'), NO_COLOR: '1' },
    })
  }

  read(path: string): string {
    return readFileSync(this.at(path), 'utf8')
  }

  lock(): {
    version: number
    skills: Record<
      string,
      { files: Record<string, string>; source: string; location: string; version: string; path: string }
    >
  } {
    return JSON.parse(this.read('skillstoke.lock.json'))
  }

  [Symbol.dispose](): void {
    this.folder[Symbol.dispose]()
  }
}

const pdf = (body: string): Record<string, string> => ({
  'skills/pdf/SKILL.md': skillText('pdf', { body }),
  'skills/pdf/references/a.md': `A of ${body}`,
})

test('stoke verify finds changes in every file of a copied skill', () => {
  using it = new Project()
  const commit = it.repository.commit({ ...pdf('First.'), 'skills/docx/SKILL.md': skillText('docx') })
  expect(it.run('add', it.place).stderr).toMatch(
    /has these skills: docx, pdf; name some of them, or use --all/,
  )
  expect(it.run('add', it.place, 'nope').stderr).toMatch(/has no skill "nope"; it has: docx, pdf/)
  expect(it.run('add', it.place, 'pdf').stdout).toMatch(/^added pdf [0-9a-f]{8} in skills\/pdf\n$/)
  expect(it.read('skills/pdf/references/a.md')).toBe('A of First.')
  const { pdf: locked } = it.lock().skills
  expect(locked).toMatchObject({ version: commit, path: 'skills/pdf' })
  expect(Object.keys(locked?.files ?? {})).toEqual(['SKILL.md', 'references/a.md'])
  expect(it.run('verify')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^unmodified +pdf/) })
  writeFileSync(it.at('skills/pdf/references/a.md'), 'Edited.')
  writeFileSync(it.at('skills/pdf/new.md'), 'New.')
  expect(it.run('verify')).toMatchObject({
    status: 1,
    stdout: expect.stringMatching(/^modified +pdf +skills\/pdf +new.md, references\/a.md/),
  })
  // Copied skills are served like other skills of the project.
  expect(it.run<{ skills: { status: string }[] }>('list', '--json').json.skills).toMatchObject([
    { status: 'ok' },
  ])
})

test('stoke add names a folder that does not exist', () => {
  using it = new Project()
  const { status, stderr } = it.run('add', './nothere')
  expect([status, stderr]).toEqual([
    2,
    `error: the source "./nothere" does not exist: there is no "${it.at('nothere')}"\n`,
  ])
})

test('stoke update replaces unmodified skills and keeps skills that were changed in the project', () => {
  using it = new Project()
  it.repository.commit({ ...pdf('First.'), 'skills/docx/SKILL.md': skillText('docx', { body: 'First.' }) })
  it.run('add', it.place, '--all')
  expect(it.run('update')).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^current +docx[\s\S]*current +pdf/),
  })
  it.repository.commit({ ...pdf('Second.'), 'skills/docx/SKILL.md': skillText('docx', { body: 'Second.' }) })
  writeFileSync(it.at('skills/docx/SKILL.md'), skillText('docx', { body: 'Mine.' }))
  const check = it.run('update', '--check')
  expect([check.status, check.stdout]).toEqual([
    1,
    expect.stringMatching(/^kept +docx[\s\S]*SKILL.md[\s\S]*available +pdf/),
  ])
  expect(it.read('skills/pdf/SKILL.md')).toContain('First.')
  expect(it.run('update').stdout).toMatch(
    /kept +docx .*local changes: SKILL.md; the newer revision was not copied[\s\S]*updated +pdf/,
  )
  expect([it.read('skills/pdf/SKILL.md'), it.read('skills/docx/SKILL.md')]).toEqual([
    expect.stringContaining('Second.'),
    expect.stringContaining('Mine.'),
  ])
  expect(it.run('verify', '--json').json).toMatchObject([
    { name: 'docx', kind: 'modified' },
    { name: 'pdf', kind: 'unmodified' },
  ])
  it.repository.commit({ 'skills/pdf': null })
  expect(it.run('update', 'pdf')).toMatchObject({ status: 1, stdout: expect.stringMatching(/^gone +pdf/) })
  expect(existsSync(it.at('skills/pdf/SKILL.md'))).toBe(true)
  expect(it.run('update', 'nope').stderr).toMatch(/"nope" is not in the lock file, which has: docx, pdf/)
})

test('stoke update follows a skill that moved in its source only if a person or --yes agrees', () => {
  using it = new Project()
  it.repository.commit({ ...pdf('First.'), 'skills/docx/SKILL.md': skillText('docx') })
  it.run('add', it.place, '--all')
  it.repository.commit({
    'skills/pdf': null,
    'documents/pdf/SKILL.md': skillText('pdf', { body: 'Moved.' }),
    'skills/docx/SKILL.md': skillText('docx', { body: 'Second.' }),
  })
  const moved = /^updated +docx[\s\S]*moved +pdf .*moved from "skills\/pdf" to "documents\/pdf" .*use --yes/
  for (const flags of [['--check'], []]) {
    const { status, stdout } = it.run('update', 'pdf', ...flags)
    expect([status, stdout]).toEqual([1, expect.stringMatching(/^moved +pdf .*use --yes/)])
  }
  expect(it.run('update').stdout).toMatch(moved)
  expect(it.run('update', '--json')).toMatchObject({
    status: 1,
    json: [
      { name: 'docx', kind: 'current' },
      { name: 'pdf', kind: 'moved' },
    ],
  })
  const atTerminal = (answer: string): string => {
    const command = [process.execPath, BIN, 'update', '--local', '--state', it.folder.at('state')].join(' ')
    const { CI: _, ...env } = process.env
    const options = { cwd: it.at('.'), env: { ...env, NO_COLOR: '1', HOME: it.folder.at('home') } }
    return spawnSync('script', ['-qefc', command, '/dev/null'], {
      ...options,
      input: answer,
    }).stdout.toString()
  }
  expect(atTerminal('n\n')).toMatch(
    /pdf moved from "skills\/pdf" to "documents\/pdf" of .*\[y\/N\][\s\S]*moved +pdf/,
  )
  expect(it.read('skills/pdf/SKILL.md')).toContain('First.')
  expect(atTerminal('y\n')).toMatch(/\[y\/N\][\s\S]*updated +pdf/)
  expect([it.read('skills/pdf/SKILL.md'), it.lock().skills['pdf']?.location]).toEqual([
    expect.stringContaining('Moved.'),
    'documents/pdf',
  ])
  it.repository.commit({ 'documents/pdf': null, 'pdf/SKILL.md': skillText('pdf', { body: 'Moved.' }) })
  expect(it.run('update', '--yes').stdout).toMatch(/updated +pdf .*moved from "documents\/pdf" to "pdf"/)
  expect([it.run('update').status, it.lock().skills['pdf']?.location]).toEqual([0, 'pdf'])
  // Another skill in the folder of a copy never replaces the copy.
  it.repository.commit({ 'pdf/SKILL.md': skillText('other') })
  expect(it.run('update', '--yes').stdout).toMatch(/gone +pdf .*now has the skill "other"/)
  expect(it.read('skills/pdf/SKILL.md')).toContain('Moved.')
})

test('stoke update names the move and the local changes of a copy, and replaces it only with --yes --force', () => {
  using it = new Project()
  it.repository.commit(pdf('First.'))
  it.run('add', it.place)
  it.repository.commit({
    'skills/pdf': null,
    'documents/pdf/SKILL.md': skillText('pdf', { body: 'First.' }),
    'documents/pdf/references/a.md': 'A of First.',
  })
  writeFileSync(it.at('skills/pdf/references/a.md'), 'Mine.')
  for (const flags of [[], ['--check'], ['--yes']]) {
    const { status, stdout } = it.run('update', ...flags)
    expect([status, stdout]).toEqual([
      1,
      expect.stringMatching(
        /^moved +pdf .*moved from "skills\/pdf" to "documents\/pdf" .*local changes: references\/a\.md; use --yes --force to replace it/,
      ),
    ])
  }
  expect(it.run('update', '--force').stdout).toMatch(/^moved +pdf .*; use --yes to update/)
  expect(it.read('skills/pdf/references/a.md')).toBe('Mine.')
  expect(it.run('update', '--yes', '--force')).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^updated +pdf/),
  })
  expect(it.read('skills/pdf/references/a.md')).toBe('A of First.')
})

test('stoke add names every file and every second skill that it leaves out', () => {
  using it = new Project()
  it.repository.commit({
    ...pdf('First.'),
    'skills/pdf/.skillignore': 'drafts/\n*.log\n',
    'skills/pdf/drafts/one.md': 'One.',
    'skills/pdf/references/a.log': 'x',
    'skills/pdf/references/b.md~': 'x',
    'zzz/pdf/SKILL.md': skillText('pdf', { body: 'Another.' }),
    'zzz/same/SKILL.md': skillText('pdf', { body: 'First.' }),
  })
  const { stdout } = it.run('add', it.place)
  expect(stdout.split('\n').slice(1)).toEqual([
    '  left out of its folder: drafts/, references/a.log, references/b.md~',
    '  not added: a second skill of this name in zzz/pdf',
    '  not added: a second skill of this name in zzz/same',
    '',
  ])
  expect(it.run('add', it.place, '--json').json).toMatchObject([
    {
      name: 'pdf',
      leftOut: ['drafts/', 'references/a.log', 'references/b.md~'],
      seconds: ['zzz/pdf', 'zzz/same'],
    },
  ])
  it.folder.write('local/maps/SKILL.md', skillText('maps'))
  it.folder.write('local/maps/notes.md~', 'x')
  mkdirSync(it.folder.at('local/maps/empty'))
  it.folder.write('local/maps/notes.md', 'x')
  symlinkSync('/etc/hostname', it.folder.at('local/maps/host'))
  expect(it.run('add', '../local').stdout).toMatch(/left out of its folder: host, notes\.md~\n$/)
  it.repository.commit({ 'skills/pdf/new.log': 'x', 'skills/pdf/new.md': 'x' })
  expect(it.run('update', 'pdf').stdout).toMatch(/^updated +pdf .*left out: drafts\/, new\.log, references/)
})

test('stoke add stores owner/repo with its server, so that other settings never change the server', async () => {
  await using server = await GitServer.start()
  using it = new Project()
  server.create('acme/skills').commit(pdf('First.'))
  const base = ['--git-base-url', `http://${server.host}`, '--private-host', server.host]
  const run = async (...args: string[]): Promise<{ readonly stdout: string; readonly stderr: string }> => {
    const words = [BIN, ...args, '--state', it.folder.at('state')]
    const env = { ...process.env, HOME: it.folder.at('home'), NO_COLOR: '1' }
    return await promisify(execFile)(process.execPath, words, { cwd: it.at('.'), env })
  }
  for (const [place, source] of [
    ['acme/skills', `http://${server.host}/acme/skills`],
    ['acme/skills#main:skills', `http://${server.host}/acme/skills#main:skills`],
  ] as const) {
    await run('add', place, ...base, '--force')
    expect(it.lock().skills['pdf']?.source).toBe(source)
  }
  const elsewhere = ['--git-base-url', 'http://127.0.0.1:9', '--private-host', server.host]
  expect((await run('update', ...elsewhere)).stdout).toMatch(/^current +pdf/)
})

test('stoke add and stoke update refuse invisible characters in files until the user confirms the characters', () => {
  using it = new Project()
  it.repository.commit({ ...pdf('Be kind.\u{e0073}\u200b'), 'skills/pdf/notes.md': 'a\u202eb' })
  const refused = it.run('add', it.place)
  expect([refused.status, refused.stdout]).toEqual([2, ''])
  expect(refused.stderr).toMatch(/pdf\/SKILL\.md:5:9: U\+E0073 U\+200B[\s\S]*pdf\/notes\.md:1:2: U\+202E/)
  expect(refused.stderr).toMatch(/nothing was added: pdf has hidden text; .*--confirm-hidden/)
  expect(existsSync(it.at('skills/pdf'))).toBe(false)
  const confirmed = it.run('add', it.place, '--confirm-hidden')
  expect([confirmed.status, confirmed.stderr]).toEqual([0, expect.stringContaining('U+202E')])
  expect(it.run('update').status).toBe(0)
  it.repository.commit(pdf('Second.\u200b'))
  expect(it.run('update')).toMatchObject({
    status: 1,
    stdout: expect.stringMatching(
      /^failed +pdf .*pdf\/SKILL\.md:5:8: U\+200B.*use --confirm-hidden to copy it/,
    ),
  })
  expect(it.read('skills/pdf/SKILL.md')).toContain('Be kind.')
  expect(it.run('update', '--confirm-hidden').stdout).toMatch(/^updated +pdf/)
  expect(it.read('skills/pdf/SKILL.md')).toContain('Second.')
})

test('stoke update reports an unreachable source and still updates the skills of other sources', () => {
  using it = new Project()
  it.repository.commit(pdf('First.'))
  writeFileSync(it.at('team.tar.gz'), tarGz([{ path: 'docx/SKILL.md', content: skillText('docx') }]))
  it.run('add', it.place, 'pdf')
  it.run('add', 'team.tar.gz', 'docx')
  it.repository.git('symbolic-ref', 'HEAD', 'refs/heads/gone')
  it.repository.git('update-ref', '-d', 'refs/heads/main')
  writeFileSync(
    it.at('team.tar.gz'),
    tarGz([{ path: 'docx/SKILL.md', content: skillText('docx', { body: 'Second.' }) }]),
  )
  const { status, stdout } = it.run('update')
  expect([status, stdout]).toEqual([
    1,
    expect.stringMatching(/updated +docx[\s\S]*failed +pdf .*lists no branch/),
  ])
})

test('stoke add and stoke remove keep a folder that was changed or comes from another tool, unless --force is given', () => {
  using it = new Project()
  it.repository.commit(pdf('First.'))
  mkdirSync(it.at('skills/pdf'), { recursive: true })
  writeFileSync(it.at('skills/pdf/SKILL.md'), skillText('pdf', { body: 'Mine.' }))
  expect(it.run('add', it.place, 'pdf').stderr).toMatch(/the folder .* exists already; use --force/)
  writeFileSync(
    it.at('skills-lock.json'),
    JSON.stringify({ version: 1, skills: { pdf: { source: 'x/y', sourceType: 'github' } } }),
  )
  expect(it.run('add', it.place, 'pdf').stderr).toMatch(/installed and updated by the "skills" command line/)
  expect(it.run('remove', 'pdf').stderr).toMatch(
    /was not added with ".*stoke add", but installed by the "skills" command line/,
  )
  expect(it.run('add', it.place, 'pdf', '--force').status).toBe(0)
  const [aside] = readdirSync(it.at('skills/.trash')).filter(name => name.startsWith('pdf-'))
  expect(it.read(`skills/.trash/${aside}/SKILL.md`)).toContain('Mine.')
  expect(readFileSync(it.at('skills-lock.json'), 'utf8')).toContain('x/y')
  writeFileSync(it.at('skills/pdf/SKILL.md'), skillText('pdf', { body: 'Edited.' }))
  expect(it.run('add', it.place, 'pdf').stderr).toMatch(/pdf has local changes \(SKILL.md\)/)
  expect(it.run('remove', 'pdf').stderr).toMatch(/pdf has local changes \(SKILL.md\); use --force/)
  expect(it.run('remove', 'pdf', '--force').stdout).toMatch(/^removed pdf, kept in .*\.trash\/pdf-/)
  expect([existsSync(it.at('skills/pdf')), it.lock().skills]).toEqual([false, {}])
})

test('stoke link adds a skill from outside the project to a root', () => {
  using it = new Project()
  it.folder.writeSkill('elsewhere/maps')
  expect(it.run('link', '../elsewhere/nope').stderr).toMatch(/there is no SKILL.md in/)
  const unread = it.run('link', '../elsewhere/maps', '--to', 'other')
  expect([unread.status, unread.stdout]).toEqual([
    1,
    expect.stringMatching(/was not linked[\s\S]*is not a root; name it with --root/),
  ])
  expect(existsSync(it.at('other'))).toBe(false)
  // Linking the same folder a second time is allowed.
  for (let times = 0; times < 2; times++) expect(it.run('link', '../elsewhere/maps').status).toBe(0)
  expect(lstatSync(it.at('skills/maps')).isSymbolicLink()).toBe(true)
  const served = (...args: string[]): string[] =>
    it
      .run<{ skills: { name: string; status: string }[] }>('list', '--json', ...args)
      .json.skills.map(({ name }) => name)
  expect(served()).toEqual(['maps'])
  const again = it.run('link', '../elsewhere/maps', '--to', '.agents/skills')
  expect([again.status, again.stdout]).toEqual([0, expect.stringContaining('the same files are in')])
})

test('stoke link also works in a frozen root, but the linked skill then waits for approval', () => {
  using it = new Project()
  it.folder.writeSkill('project/skills/pdf')
  it.folder.writeSkill('elsewhere/maps')
  it.run('list', '--frozen')
  const { status, stdout } = it.run('link', '../elsewhere/maps')
  expect([status, stdout]).toEqual([1, expect.stringMatching(/skills\/maps -> .*\n[\s\S]*is held/)])
  expect(it.run('approve', '--yes', 'maps').status).toBe(0)
})

test('stoke add, stoke update and stoke add --force leave each replaced revision for stoke rollback', () => {
  using it = new Project()
  it.repository.commit(pdf('First.'))
  it.run('add', it.place)
  it.repository.commit(pdf('Second.'))
  it.run('update')
  writeFileSync(it.at('skills/pdf/SKILL.md'), skillText('pdf', { body: 'Edited here.' }))
  it.run('add', it.place, '--force')
  const back = (revision: string): string => {
    const run = it.run('show', 'pdf', '--revision', revision)
    return run.stdout.split('\n').at(-2) ?? run.stderr
  }
  expect(['-1', '-2', '-3'].map(back)).toEqual(['Edited here.', 'Second.', 'First.'])
  it.run('rollback', 'pdf')
  expect(it.read('skills/pdf/SKILL.md')).toContain('Edited here.')
})

test('stoke rollback and stoke remove refuse a link and explain how to remove it', () => {
  using it = new Project()
  it.folder.writeSkill('elsewhere/maps', { body: 'First.' })
  it.run('link', '../elsewhere/maps')
  it.folder.writeSkill('elsewhere/maps', { body: 'Second.' })
  it.run('list')
  for (const words of [
    ['rollback', 'maps'],
    ['rollback', 'maps', '--dry-run'],
    ['remove', 'maps'],
  ]) {
    const { status, stderr } = it.run(...words)
    expect([status, stderr], words.join(' ')).toEqual([
      2,
      expect.stringMatching(
        /"maps" is a link to \S*elsewhere\/maps.*; to remove the link, remove \S*skills\/maps$/m,
      ),
    ])
  }
  const [, pin = ''] = /stoke (pin \S+)"/.exec(it.run('rollback', 'maps').stderr) ?? []
  expect(it.run(...pin.split(' ')).status).toBe(0)
  expect(it.run('show', 'maps').stdout).toMatch(/First\.\n$/)
})

test('stoke add explains how to write the path of a folder that could also be a repository name', () => {
  using it = new Project()
  it.folder.writeSkill('project/nope/maps')
  expect(it.run('add', 'nope').stderr).toMatch(/; to copy from the local folder, write \.\/nope$/m)
  expect(it.run('add', './nope').status).toBe(0)
})

test('a refused link changes no file, and one line says why', () => {
  using it = new Project()
  it.folder.writeSkill('elsewhere/maps')
  it.folder.writeSkill('project/skills/own')
  it.folder.write('project/skills/maps/notes.md', 'Mine.')
  const errors = (...args: string[]): readonly unknown[] => {
    const { status, stderr } = it.run('link', ...args)
    return [status, stderr]
  }
  const oneLine = (text: string): readonly unknown[] => [
    2,
    expect.stringMatching(new RegExp(`^error: [^\\n]*${text}[^\\n]*\\n$`)),
  ]
  expect(errors('skills/own')).toEqual(
    oneLine('skills/own is in \\S+/skills already; there is nothing to link'),
  )
  expect(errors('../elsewhere/maps')).toEqual(oneLine('skills/maps exists already; move it away'))
  expect(it.read('skills/maps/notes.md')).toBe('Mine.')
  chmodSync(it.folder.at('elsewhere/maps'), 0)
  const { status, stderr } = stoke(
    ['link', '../elsewhere/maps', '--to', 'out', '--state', it.folder.at('state')],
    {
      cwd: it.at('.'),
      isOrdinaryUser: true,
    },
  )
  chmodSync(it.folder.at('elsewhere/maps'), 0o755)
  expect([status, stderr]).toEqual(oneLine('elsewhere/maps cannot be read: EACCES'))
  expect(existsSync(it.at('out'))).toBe(false)
})

test('a symbolic link is followed only if stoke link created it and its target is still the same', () => {
  using it = new Project()
  it.folder.writeSkill('elsewhere/maps')
  it.folder.writeSkill('elsewhere/other')
  const served = (): string[] =>
    it.run<{ skills: { name: string }[] }>('list', '--json').json.skills.map(({ name }) => name)
  mkdirSync(it.at('skills'))
  symlinkSync('../../elsewhere/other', it.at('skills/other'))
  expect(served()).toEqual([])
  it.run('link', '../elsewhere/maps')
  expect(served()).toEqual(['maps'])
  rmSync(it.at('skills/maps'))
  symlinkSync('../../elsewhere/other', it.at('skills/maps'))
  expect(served()).toEqual([])
  // The link target is recorded in one state directory, so the link is refused with another state directory.
  rmSync(it.at('skills/maps'))
  it.run('link', '../elsewhere/maps')
  const elsewhere = stoke<{ skills: unknown[] }>(['list', '--json', '--state', it.folder.at('another')], {
    cwd: it.at('.'),
    env: { HOME: it.folder.at('home') },
  })
  expect(elsewhere.json.skills).toEqual([])
})

test.each([
  ['a folder of skills', '../local', 'pdf'],
  ['a folder of one skill', '../local/pdf', undefined],
])(
  'stoke add copies a skill from %s, and stoke update without options copies the newer revision',
  (_, place, name) => {
    using it = new Project()
    it.folder.write('local/pdf/SKILL.md', skillText('pdf', { body: 'First.' }))
    it.folder.writeSkill('local/docx')
    const run = (...args: string[]): CliRun<unknown> =>
      stoke([...args, '--state', it.folder.at('state')], {
        cwd: it.at('.'),
        env: { HOME: it.folder.at('home'), NO_COLOR: '1' },
      })
    expect(run('add', place, ...(name === undefined ? [] : [name])).stdout).toMatch(/^added pdf /)
    it.folder.write('local/pdf/SKILL.md', skillText('pdf', { body: 'Second.' }))
    expect(run('update', '--check')).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/^available +pdf/),
    })
    expect(run('update')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^updated +pdf/) })
    expect(it.read('skills/pdf/SKILL.md')).toContain('Second.')
    expect(run('verify').status).toBe(0)
    expect(run('add', './skills/pdf').stderr).toMatch(/pdf is in skills\/pdf already/)
  },
)

test.each([
  ['{', /is not valid JSON/],
  ['<<<<<<< HEAD\n{}\n', /^error: (?!.*not valid JSON.*not valid JSON)[^\n]*\\n[^\n]*\n$/],
  ['{"version":2,"skills":{}}', /lock.json has version 2, which a newer skillstoke wrote; update skillstoke/],
  ['[]', /lock.json is not a valid lock file: .*restore it, or remove it/],
  [
    JSON.stringify({
      version: 1,
      skills: {
        pdf: {
          source: 'x',
          location: '',
          version: '1',
          path: '../../etc',
          revision: `sha256:${'0'.repeat(64)}`,
          files: {},
        },
      },
    }),
    /skills.pdf.path: "..\/..\/etc" has the segment ".."/,
  ],
])('a lock file %s is refused', (content, message) => {
  using it = new Project()
  writeFileSync(it.at('skillstoke.lock.json'), content)
  for (const verb of ['verify', 'update'])
    expect(it.run(verb)).toMatchObject({ status: 2, stderr: expect.stringMatching(message) })
})

test.each([
  '.git/hooks',
  '.',
  'src/..',
  '.github/workflows',
  'node_modules/x/hooks',
  'other/name',
  'out/hooks',
])('the path %j in a lock file is refused and nothing is written there', path => {
  using it = new Project()
  const name = path.split('/').at(-1) === 'name' ? 'hooks' : (path.split('/').at(-1) as string)
  it.repository.commit({ [`${name}/SKILL.md`]: skillText(name), [`${name}/pre-commit`]: '#!/bin/sh\n' })
  symlinkSync(it.folder.path, it.at('out'))
  const entry = {
    source: it.place,
    location: name,
    version: '1',
    path,
    revision: `sha256:${'0'.repeat(64)}`,
    files: {},
  }
  writeFileSync(it.at('skillstoke.lock.json'), JSON.stringify({ version: 1, skills: { [name]: entry } }))
  expect(it.run('update')).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(
      /hidden folder that is not a root|does not end in the name|leads out of the project|has the segment/,
    ),
  })
  expect(existsSync(it.at(`${path}/pre-commit`))).toBe(false)
})

test('stoke add never writes through a link of the project into a hidden folder, whichever roots are set', () => {
  using it = new Project()
  it.repository.commit({ 'hooks/SKILL.md': skillText('hooks') })
  mkdirSync(it.at('.git/hooks'), { recursive: true })
  writeFileSync(it.at('.git/hooks/pre-commit'), 'mine')
  symlinkSync('.git', it.at('skills'))
  for (const roots of [undefined, ['skills'], ['.git']]) {
    if (roots !== undefined) writeFileSync(it.at('skillstoke.json'), JSON.stringify({ roots }))
    const { status, stderr } = it.run('add', it.place, 'hooks', '--force', '--to', roots?.[0] ?? 'skills')
    expect([status, stderr]).toEqual([2, expect.stringMatching(/is in a hidden folder that is not a root/)])
  }
  writeFileSync(it.at('skillstoke.json'), JSON.stringify({ roots: ['.github'] }))
  expect(it.run('add', it.place, 'hooks').stderr).toMatch(/is in a hidden folder that is not a root/)
  expect(readdirSync(it.at('.git/hooks'))).toEqual(['pre-commit'])
})

test('git runs no program of a skill that stoke add copied, and the copy contains no secrets unless they are included', () => {
  using it = new Project()
  const canary = it.folder.at('canary')
  const config = `[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch ${canary}; false"\n`
  const places = ['.git', '.GIT', 'git~1', 'assets/.git', 'assets/repo', 'assets/REPO/.git']
  it.folder.write('from/pdf/SKILL.md', skillText('pdf'))
  it.folder.write('from/pdf/.env', 'TOKEN=1')
  for (const place of places) {
    it.folder.write(`from/pdf/${place}/HEAD`, 'ref: refs/heads/main\n')
    it.folder.write(`from/pdf/${place}/config`, config)
    it.folder.write(`from/pdf/${place}/objects/info/x`, 'x')
    it.folder.write(`from/pdf/${place}/refs/heads/x`, 'x')
  }
  expect(it.run('add', it.folder.at('from')).status).toBe(0)
  expect(readdirSync(it.at('skills/pdf'), { recursive: true })).toEqual(['SKILL.md'])
  expect(it.run('add', it.folder.at('from'), '--force', '--include-secrets').status).toBe(0)
  expect(
    readdirSync(it.at('skills/pdf'), { recursive: true, encoding: 'utf8' }).toSorted((a, b) =>
      a < b ? -1 : 1,
    ),
  ).toEqual(['.env', 'SKILL.md'])
  expect(existsSync(canary)).toBe(false)
})

test('stoke update always detects a rewritten history, because the lock file records the commit', () => {
  using it = new Project()
  it.repository.commit({ ...pdf('First.'), 'skills/docx/SKILL.md': skillText('docx') })
  it.run('add', it.place, 'pdf')
  it.repository.commit({ ...pdf('Rewritten.'), 'skills/docx/SKILL.md': skillText('docx') }, { parent: null })
  const rewritten = { status: 1, stdout: expect.stringMatching(/^failed +pdf .*the history was rewritten/) }
  expect(it.run('add', it.place, 'docx').status).toBe(0)
  expect(it.run('update', 'pdf')).toMatchObject(rewritten)
  // Without its state directory, the project is like a clone on a machine that never fetched the commit.
  rmSync(it.folder.at('state'), { recursive: true })
  expect(it.run('update', 'pdf')).toMatchObject(rewritten)
  expect(it.read('skills/pdf/SKILL.md')).toContain('First.')
})

test('stoke verify and stoke update ignore the Unicode form of file names', () => {
  using it = new Project()
  const name = 'u\u0308ber.md'
  const files = [
    { path: 'pdf/SKILL.md', content: skillText('pdf') },
    { path: `pdf/${name}`, content: 'X.' },
  ]
  writeFileSync(it.at('team.tar.gz'), tarGz(files))
  expect(it.run('add', 'team.tar.gz').status).toBe(0)
  expect(it.run('verify').stdout).toMatch(/^unmodified/)
  rmSync(it.at('skills/pdf/u\u0308ber.md'), { force: true })
  rmSync(it.at('skills/pdf/\u00fcber.md'), { force: true })
  writeFileSync(it.at(`skills/pdf/${name}`), 'Mine.')
  expect(it.run('update').stdout).toMatch(/^kept +pdf .*local changes/)
})

test('unless --local is given, stoke update refuses a lock file with a local path outside the project', () => {
  using it = new Project()
  it.repository.commit(pdf('First.'))
  it.run('add', it.place, 'pdf')
  const update = (state: string): string =>
    stoke(['update', '--state', it.folder.at(state)], { cwd: it.at('.') }).stdout
  expect(update('of-somebody-else')).toMatch(/^failed +pdf .*is a file URL.*use --local/)
  // The user accepted this path by adding the skill from it.
  expect(update('state')).toMatch(/^current +pdf/)
  const lock = it.read('skillstoke.lock.json')
  for (const elsewhere of [it.folder.at('local'), '../local']) {
    it.folder.writeSkill('local/pdf')
    writeFileSync(it.at('skillstoke.lock.json'), lock.replaceAll(it.place, elsewhere))
    expect(update('state')).toMatch(/^failed +pdf .*is outside the working directory.*use --local/)
  }
})

test('stoke add changes nothing if the skill was already added', () => {
  using it = new Project()
  it.repository.commit(pdf('First.'))
  it.run('add', it.place, 'pdf')
  expect(it.run('add', it.place, 'pdf').status).toBe(0)
  expect(readdirSync(it.at('skills/.trash'))).toEqual(['.swap'])
  expect(it.run('add', it.place, 'pdf', '--all').stderr).toMatch(/leave out the skill names/)
})

test('stoke update reports a rewritten history, and copies the new files only with --reset', () => {
  using it = new Project()
  it.repository.commit(pdf('First.'))
  it.run('add', it.place, 'pdf')
  it.repository.commit(pdf('Rewritten.'), { parent: null })
  for (const flags of [['--check'], []])
    expect(it.run('update', ...flags)).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/^failed +pdf .*the history was rewritten/),
    })
  expect(it.read('skills/pdf/SKILL.md')).toContain('First.')
  expect(it.run('update', '--reset').stdout).toMatch(/^updated +pdf/)
  expect(it.read('skills/pdf/SKILL.md')).toContain('Rewritten.')
})

test('unless --force is given, stoke add does not replace a skill that came from another source', () => {
  using it = new Project()
  it.repository.commit(pdf('First.'))
  it.run('add', it.place, 'pdf')
  mkdirSync(it.at('mine/pdf'), { recursive: true })
  writeFileSync(it.at('mine/pdf/SKILL.md'), skillText('pdf', { body: 'Mine.' }))
  writeFileSync(it.at('team.tar.gz'), tarGz([{ path: 'pdf/SKILL.md', content: skillText('pdf') }]))
  const refused = {
    status: 2,
    stderr: expect.stringMatching(
      /pdf was added from .* to skills\/pdf; remove it with ".*stoke remove pdf" first/,
    ),
  }
  expect(it.run('add', it.place, 'pdf', '--to', 'mine')).toMatchObject(refused)
  expect(it.run('add', 'team.tar.gz')).toMatchObject(refused)
  expect(it.read('mine/pdf/SKILL.md')).toContain('Mine.')
  expect(it.read('skills/pdf/SKILL.md')).toContain('First.')
  expect(it.run('add', it.place, 'pdf', '--to', 'mine', '--force').status).toBe(0)
  expect([it.read('mine/pdf/SKILL.md'), it.lock().skills['pdf']?.path]).toEqual([
    it.read('skills/pdf/SKILL.md'),
    'mine/pdf',
  ])
})

test('when stoke add copies a skill from a configured source, the approved revision of that source stays the same', () => {
  using it = new Project()
  it.repository.commit(pdf('First.'))
  it.run('approve', '--all', '--yes', '--source', it.place)
  it.repository.commit(pdf('Second.'))
  it.run('add', it.place, 'pdf', '--to', 'copies')
  expect(it.read('copies/pdf/SKILL.md')).toContain('Second.')
  const shown = it.run('show', 'pdf', '--source', it.place)
  expect(shown.stdout).toMatch(/First\.\n$/)
})

test('a skill name with path segments is refused, even if any name is allowed', () => {
  using it = new Project()
  writeFileSync(it.at('skillstoke.json'), JSON.stringify({ roots: ['skills'], reading: { names: 'any' } }))
  it.repository.commit({ 'skills/x/SKILL.md': '---\nname: ../../x\ndescription: Does it.\n---\n' })
  const { status, stderr } = it.run('add', it.place, '--all')
  expect([status, stderr]).toEqual([
    2,
    expect.stringMatching(/^error .*skills\/x\/SKILL.md:\d.*"\.\.\/\.\.\/x"[\s\S]*has no skill to copy/),
  ])
  expect([existsSync(it.folder.at('x')), existsSync(it.at('skillstoke.lock.json'))]).toEqual([false, false])
})

test('stoke verify reports added links, but ignores files that belong to no skill, and stoke update keeps these files', () => {
  using it = new Project()
  it.repository.commit(pdf('First.'))
  it.run('add', it.place, 'pdf')
  for (const folder of ['__pycache__', '.idea', 'node_modules'])
    mkdirSync(it.at(`skills/pdf/${folder}`), { recursive: true })
  for (const file of ['__pycache__/a.pyc', '.idea/x.xml', 'node_modules/x.js', '#SKILL.md#', '.SKILL.md.swo'])
    writeFileSync(it.at(`skills/pdf/${file}`), 'x')
  expect(it.run('verify').status).toBe(0)
  mkdirSync(it.at('skills/pdf/.git'))
  const own = {
    '.git/config': 'x',
    '.env': 'KEY=1',
    'references/own.pem': ['-----BEGIN', 'PRIVATE KEY-----\nx'].join(' '),
  }
  for (const [path, text] of Object.entries(own)) writeFileSync(it.at(`skills/pdf/${path}`), text)
  expect(it.run('verify').status).toBe(0)
  // An update moves the files that belong to no skill into the new folder.
  it.repository.commit(pdf('Second.'))
  expect(it.run('update')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^updated +pdf/) })
  expect(it.read('skills/pdf/SKILL.md')).toContain('Second.')
  for (const [path, text] of Object.entries(own)) expect(it.read(`skills/pdf/${path}`)).toBe(text)
  expect(it.read('skills/pdf/#SKILL.md#')).toBe('x')
  expect(it.run('verify').status).toBe(0)
  symlinkSync('/etc/passwd', it.at('skills/pdf/link'))
  expect(it.run('verify').stdout).toMatch(/^modified +pdf +skills\/pdf +link/)
})

test('stoke update --force copies the newer revision and keeps the local changes in the trash', () => {
  using it = new Project()
  it.repository.commit(pdf('First.'))
  it.run('add', it.place, 'pdf')
  writeFileSync(it.at('skills/pdf/SKILL.md'), skillText('pdf', { body: 'Mine.' }))
  it.repository.commit(pdf('Second.'))
  expect(it.run('update').stdout).toMatch(
    /^kept +pdf .*local changes: SKILL.md; the newer revision was not copied/,
  )
  expect(it.run('update', '--force').stdout).toMatch(/^updated +pdf/)
  expect(it.read('skills/pdf/SKILL.md')).toContain('Second.')
  const [aside] = readdirSync(it.at('skills/.trash')).filter(name => name.startsWith('pdf-'))
  expect(it.read(`skills/.trash/${aside}/SKILL.md`)).toContain('Mine.')
})

test('after stoke add or stoke update was interrupted, the next run of stoke add or stoke update completes the work', () => {
  using it = new Project()
  it.repository.commit(pdf('First.'))
  it.run('add', it.place, 'pdf')
  const lock = it.read('skillstoke.lock.json')
  rmSync(it.at('skillstoke.lock.json'))
  expect(it.run('add', it.place, 'pdf').status).toBe(0)
  expect(it.read('skillstoke.lock.json')).toBe(lock)
  it.repository.commit(pdf('Second.'))
  it.run('update')
  writeFileSync(it.at('skillstoke.lock.json'), lock)
  expect(it.run('update')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^updated +pdf/) })
  expect(it.run('verify').status).toBe(0)
})

test('stoke update keeps a folder that differs from the lock file, even if its SKILL.md is missing', () => {
  using it = new Project()
  it.repository.commit(pdf('First.'))
  it.run('add', it.place, 'pdf')
  rmSync(it.at('skills/pdf/SKILL.md'))
  expect(it.run('update').stdout).toMatch(/^kept +pdf/)
})

test('when no skill was added, stoke update does nothing and stoke verify fails', () => {
  using it = new Project()
  expect(it.run('update')).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^this project has no copied skills; see ".*stoke add --help"\n$/),
  })
  const there = { status: 2, stderr: expect.stringMatching(/there is no skillstoke.lock.json in/) }
  expect(it.run('verify')).toMatchObject(there)
  expect(it.run('add', it.place, '--to', '../outside').stderr).toMatch(/lists no branch/)
})
