import { expect, test } from 'vitest'
import { findLeftOutIn, findLeftOutKind, isBriefName, isPrivateKey } from './left-out-names.ts'

const words = (text: string): readonly string[] => text.trim().split(/\s+/)

test.each([
  ...words('SKILL.md~ .SKILL.md.swp .SKILL.md.swo .SKILL.md.swx .SKILL.md.swn #SKILL.md# .#SKILL.md'),
  ...words('.SKILL.md.kate-swp SKILL.md___jb_tmp___ SKILL.md___jb_old___ .goutputstream-AB12CD notes.vsctmp'),
  ...words(
    '.~lock.rates.ods# ~$rates.docx ~WRL0001.tmp ._SKILL.md .DS_Store Thumbs.db desktop.ini Desktop.ini',
  ),
  ...words(
    '.directory .Trash-1000 __MACOSX .syncthing.SKILL.md.tmp ~syncthing~SKILL.md.tmp .stfolder .unison.x.tmp',
  ),
  ...words(
    'SKILL.sync-conflict-20261125-101500-ABCDEFG.md .SKILL.md.icloud .nfs000000000001 .fuse_hidden0000',
  ),
  ...words(
    'SKILL.md.tmp.4711.1764067200000 SKILL.md.tmp-1764067200a1b2c3 SKILL.md.sb-0a1b2c3d-Ab12Cd .tmp-pdf',
  ),
  ...words('.svn .hg .jj .idea .vscode .pytest_cache .mypy_cache .ruff_cache __pycache__ .ipynb_checkpoints'),
  ...words('tsconfig.tsbuildinfo ..data'),
  ...['Icon\r', 'SKILL (conflicted copy 2026-11-25).md', '(A Document Being Saved By TextEdit)'],
])('findLeftOutKind() leaves out %j, which a tool creates', name => {
  expect(findLeftOutKind(name, false)).toBe('leftover')
})

test.each(
  words(`
    SKILL.md skill.md README.md guide.md .gitignore .gitattributes .github .claude .prettierrc .editorconfig
    notes.swift logo.svg intro.swf draft.save old.bak page.part header.partial x.tmp sedation sedABCDEF tmpabcdefgh
    #heading ~draft a~b .env.example .env.production.sample env credentials id_rsa.pub id_card.md key.pem cert.pem vendor
    4913 history cache data..json
  `),
)('findLeftOutKind() keeps %j', name => {
  expect(findLeftOutKind(name, false)).toBeUndefined()
})

test.each(
  words(
    '.env .env.local .ENV .npmrc .pypirc .netrc id_rsa id_ed25519 credentials.json app.p12 client_secret_1.json',
  ),
)('findLeftOutKind() says that %j usually holds a secret', name => {
  expect(findLeftOutKind(name, false)).toBe('secret')
})

test.each(words('node_modules .venv venv'))('findLeftOutKind() leaves out the dependency folder %j', name => {
  expect([findLeftOutKind(name, true), findLeftOutKind(name, false)]).toEqual(['dependencies', undefined])
})

test('findLeftOutIn() returns the outermost entry of a path that is left out', () => {
  expect(findLeftOutIn('scripts/node_modules/kit/.env')).toEqual({
    entry: 'scripts/node_modules',
    kind: 'dependencies',
  })
  expect(findLeftOutIn('a/.GIT/config')).toEqual({ entry: 'a/.GIT', kind: 'git' })
  expect(findLeftOutIn('scripts/venv')).toBeUndefined()
})

test.each([
  ['key.pem', '-----BEGIN PRIVATE KEY-----\nMIIE\n', true],
  ['server.key', '-----BEGIN RSA PRIVATE KEY-----\nMIIE\n', true],
  ['backup.asc', '-----BEGIN PGP PRIVATE KEY BLOCK-----\n', true],
  ['chain.pem', '-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----\n', false],
  ['key.pem', '-----BEGIN PUBLIC KEY-----\nMIIE\n', false],
  ['guide.md', 'A key starts with -----BEGIN PRIVATE KEY-----\n', false],
])('isPrivateKey() decides %j by its content %j', (path, text, expected) => {
  expect(isPrivateKey(path, new TextEncoder().encode(text))).toBe(expected)
})

test.each(
  words(
    '4913 sedABCDEF .SKILL.md.a1B2c3 SKILL.md.kQzRtW SKILL.md.1764067200 SKILL.md123456789 tmpab12cd_x .tmpAb12Cd x.tmp flycheck_a.py',
  ),
)('isBriefName() accepts %j, which a tool may use while it saves', name => {
  expect(isBriefName(name)).toBe(true)
})

test.each(
  words('SKILL.md sedation.md data.sqlite app.config notes.2026.md report-20261125.csv tmp.md template'),
)('isBriefName() refuses %j', name => {
  expect(isBriefName(name)).toBe(false)
})
