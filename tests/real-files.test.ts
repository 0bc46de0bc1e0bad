import { expect, test } from 'vitest'
import { follow, until } from './fixtures/follow.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

// Defects that were found in public skills. All these skills are in one root with a valid skill, which the defects must
// not affect.
const DEFECTS: Readonly<
  Record<string, { text: string | Uint8Array; status: 'ok' | 'warning' | 'broken'; codes: readonly string[] }>
> = {
  'block-scalar': {
    text: '---\nname: block-scalar\ndescription: >\n  Folded\n  text.\nlicense: |\n  Literal\n---\nx',
    status: 'ok',
    codes: [],
  },
  'unquoted-colon': {
    text: '---\nname: unquoted-colon\ndescription: Use when: always.\n---\nx',
    status: 'warning',
    codes: ['YAML_REPAIRED'],
  },
  crlf: { text: '---\r\nname: crlf\r\ndescription: Windows text.\r\n---\r\nx\r\n', status: 'ok', codes: [] },
  'byte-order-mark': {
    text: '\uFEFF---\nname: byte-order-mark\ndescription: x\n---\nx',
    status: 'warning',
    codes: ['BYTE_ORDER_MARK'],
  },
  'no-body': { text: '---\nname: no-body\ndescription: x\n---', status: 'ok', codes: ['BODY_EMPTY'] },
  'dashes-in-values': {
    text: '---\nname: dashes-in-values\ndescription: a --- b\n---\nx\n---\ny',
    status: 'ok',
    codes: [],
  },
  unclosed: {
    text: '---\nname: unclosed\ndescription: x\n\n# Title\n',
    status: 'broken',
    codes: ['FRONTMATTER_UNCLOSED'],
  },
  'typed-values': {
    text: '---\nname: typed-values\ndescription: x\nversion: 1.10\ninternal: true\n---\nx',
    status: 'ok',
    codes: ['VALUE_RETYPED', 'FIELD_UNKNOWN', 'FIELD_UNKNOWN'],
  },
  'tools-as-list': {
    text: '---\nname: tools-as-list\ndescription: x\nallowed-tools:\n  - Read\n---\nx',
    status: 'warning',
    codes: ['FIELD_TYPE'],
  },
  'tools-by-comma': {
    text: '---\nname: tools-by-comma\ndescription: x\nallowed-tools: Read, Bash(git:*)\n---\nx',
    status: 'ok',
    codes: [],
  },
  'bad-name': {
    text: '---\nname: Bad Name_\ndescription: x\n---\nx',
    status: 'warning',
    codes: ['NAME_INVALID', 'NAME_INVALID', 'NAME_DIRECTORY_MISMATCH'],
  },
  'other-name': {
    text: '---\nname: another\ndescription: x\n---\nx',
    status: 'warning',
    codes: ['NAME_DIRECTORY_MISMATCH'],
  },
  'long-body': {
    text: `---\nname: long-body\ndescription: x\n---\n${'line\n'.repeat(585)}`,
    status: 'ok',
    codes: [],
  },
  'long-description': {
    text: `---\nname: long-description\ndescription: ${'x'.repeat(1_068)}\n---\nx`,
    status: 'warning',
    codes: ['DESCRIPTION_TOO_LONG'],
  },
  'no-description': {
    text: '---\nname: no-description\n---\nx',
    status: 'broken',
    codes: ['DESCRIPTION_MISSING'],
  },
  'hopeless-yaml': { text: '---\nname: [hopeless\n---\nx', status: 'broken', codes: ['YAML_INVALID'] },
  latin1: {
    text: Uint8Array.of(0x2d, 0x2d, 0x2d, 0x0a, 0xe9, 0x0a),
    status: 'broken',
    codes: ['ENCODING_NOT_UTF8'],
  },
  empty: { text: '', status: 'broken', codes: ['FRONTMATTER_MISSING'] },
  'alias-bomb': {
    text: `---\nname: alias-bomb\ndescription: x\na: &a [1,1]\nb: &b [*a,*a]\nc: [*b,*b]\n---\nx`,
    status: 'broken',
    codes: ['YAML_INVALID', 'YAML_INVALID'],
  },
}

test('each defective skill gets the expected status and a diagnostic with a position, and affects no other skill', async () => {
  using folder = new TemporaryFolder()
  for (const [name, { text }] of Object.entries(DEFECTS)) folder.write(`${name}/SKILL.md`, text)
  folder.writeSkill('healthy')
  folder.write(
    'healthy/assets/logo.png',
    Uint8Array.from({ length: 300 }, (_, i) => i % 256),
  )
  await using skills = await follow(folder.path)
  const reports = skills.current.reports()
  const found = Object.fromEntries(
    reports.map(({ location, status, diagnostics }) => [
      location,
      { status, codes: diagnostics.map(each => each.code) },
    ]),
  )
  const expected = Object.fromEntries(
    Object.entries(DEFECTS).map(([name, { status, codes }]) => [name, { status, codes }]),
  )
  expect(found).toEqual({ ...expected, healthy: { status: 'ok', codes: [] } })
  for (const { diagnostics } of reports) {
    for (const each of diagnostics) {
      expect(each).toMatchObject({
        path: expect.stringContaining(folder.path),
        line: expect.any(Number),
        column: expect.any(Number),
        fix: expect.any(String),
      })
    }
  }
  folder.writeSkill('healthy', { description: 'Still followed.' })
  await until(
    skills,
    'the healthy skill is followed',
    each => each.get('healthy').description === 'Still followed.',
  )
})

test('skills are found in common places, but hidden, ignored or too deep folders are skipped', async () => {
  using folder = new TemporaryFolder()
  const found = ['at-top', 'category/second', 'a/b/c/d/e/deepest', 'with_underscore/inside', 'at-top/nested']
  const skipped = [
    '.curated/hidden',
    'node_modules/package/skill',
    '_drafts/draft',
    'a/b/c/d/e/f/too-deep',
    'target/built',
    'at-top/node_modules/dep',
    'x/.system/hidden',
  ]
  for (const path of [...found, ...skipped]) folder.writeSkill(path)
  folder.write('lower/skill.md', skillText('lower'))
  folder.write('both/SKILL.md', skillText('both', { description: 'Capital letters win.' }))
  folder.write('both/skill.md', skillText('both', { description: 'Not this one.' }))
  await using skills = await follow(folder.path)
  expect(
    skills.current
      .list()
      .map(skill => skill.location)
      .sort(),
  ).toEqual([...found, 'both', 'lower'].sort())
  expect(skills.current.get('both').description).toBe('Capital letters win.')
  expect(skills.current.get('at-top').files.map(file => file.path)).toEqual(['SKILL.md', 'nested/SKILL.md'])
})

test('a root is read even if it is a hidden folder or is itself a skill', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('.agents/skills/pdf')
  await using hidden = await follow(folder.at('.agents/skills'))
  expect(hidden.current.list().map(skill => skill.name)).toEqual(['pdf'])
  await using single = await follow(folder.at('.agents/skills/pdf'))
  expect(single.current.get('pdf')).toMatchObject({
    location: '',
    directory: folder.at('.agents/skills/pdf'),
  })
})

test('the manifest has every file except junk files and files that .skillignore names', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('pdf')
  for (const path of ['scripts/main.py', '.hidden', 'references/guide.md', 'keep/deep.txt', 'a b.md'])
    folder.write(`pdf/${path}`, 'x')
  for (const path of [
    '.git/config',
    '__pycache__/x.pyc',
    '.DS_Store',
    'Thumbs.db',
    'x.swp',
    'x~',
    '.#lock',
    '.tmp-1',
    'node_modules/dep/index.js',
    '.env',
    ...[
      '#SKILL.md#',
      '.SKILL.md.swo',
      '.SKILL.md.swx',
      '.SKILL.md.kate-swp',
      'a___jb_tmp___',
      'a___jb_old___',
    ],
    ...['.goutputstream-AB12CD', '.~lock.a.ods#', '~$a.docx', '._a.md', 'desktop.ini', '.directory'],
    ...[
      '.syncthing.a.tmp',
      '~syncthing~a.tmp',
      '.nfs0000',
      '.fuse_hidden0000',
      '.a.md.icloud',
      'a.tmp.123.4',
    ],
    ...[
      '.svn/x',
      '.hg/x',
      '.jj/x',
      '.idea/x',
      '.vscode/x',
      '.pytest_cache/x',
      '.mypy_cache/x',
      '.ruff_cache/x',
    ],
    ...['.venv/x', 'venv/x', '.GIT/config', 'git~1/config'],
  ])
    folder.write(`pdf/${path}`, 'x')
  const expected = [
    '.hidden',
    'SKILL.md',
    'a b.md',
    'keep/deep.txt',
    'references/guide.md',
    'scripts/main.py',
  ]
  await using skills = await follow(folder.path)
  const paths = (): string[] => skills.current.get('pdf').files.map(file => file.path)
  expect(paths()).toEqual(expected)
  folder.write('pdf/.skillignore', '# not for agents\nreferences/\n*.txt\n')
  await until(skills, 'the rules apply', () => paths().includes('.skillignore'))
  expect(paths()).toEqual(['.hidden', '.skillignore', 'SKILL.md', 'a b.md', 'scripts/main.py'])
  folder.write('pdf/.skillignore', '')
  await until(skills, 'the rules no longer apply', () => paths().includes('keep/deep.txt'))
})

test('equal folders have equal revisions, and a changed name, byte or executable bit changes the revision', async () => {
  const revisionOf = async (change: (folder: TemporaryFolder) => void): Promise<string> => {
    using folder = new TemporaryFolder()
    folder.writeSkill('pdf')
    folder.write('pdf/run.sh', 'echo')
    change(folder)
    await using skills = await follow(folder.path)
    return skills.current.get('pdf').revision
  }
  const { chmodSync, renameSync, utimesSync } = await import('node:fs')
  const first = await revisionOf(() => undefined)
  expect(await revisionOf(folder => utimesSync(folder.at('pdf/run.sh'), 1, 1))).toBe(first)
  const others = await Promise.all([
    revisionOf(folder => void folder.write('pdf/run.sh', 'echo 2')),
    revisionOf(folder => renameSync(folder.at('pdf/run.sh'), folder.at('pdf/go.sh'))),
    revisionOf(folder => chmodSync(folder.at('pdf/run.sh'), 0o755)),
    revisionOf(folder => void folder.write('pdf/empty', '')),
  ])
  expect(new Set([first, ...others]).size).toBe(5)
})
