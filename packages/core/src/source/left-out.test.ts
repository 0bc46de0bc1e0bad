import { expect, test } from 'vitest'
import type { FileSystem } from '../fs/file-system.ts'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { portableHasher } from '../host.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import { digestOf } from '../skill/digest.ts'
import { findIncludedSecret } from '../skill/left-out.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import type { SourceEntry } from '../skill/source-contents.ts'
import { MemorySkillStore } from '../store/memory-skill-store.ts'
import { captureSkill } from './capture-skill.ts'
import { FileSource } from './file-source.ts'
import { RemoteSource } from './remote-source.ts'
import { NO_SETTLE } from './settle.ts'
import { storeTree } from './stored-tree.ts'

const TEXT = '---\nname: pdf\ndescription: Use when a PDF is needed.\n---\nx\n'
const KEY = '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n'
const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----\n'

/** Files of the skill, and then files that are no part of the skill. */
const OWN: Readonly<Record<string, string>> = {
  'SKILL.md': TEXT,
  'chain.pem': CERTIFICATE,
  'references/guide.md': 'x',
  'assets/x.tmp': 'x',
}
const OTHERS: Readonly<Record<string, string>> = {
  '#SKILL.md#': 'auto-save',
  '.SKILL.md.swo': 'vim',
  '.idea/workspace.xml': 'x',
  'references/~$rates.docx': 'x',
  '.git/config': 'x',
  'references/.GIT/config': 'x',
  'assets/repo/HEAD': 'ref: refs/heads/main',
  'assets/repo/config': 'x',
  'assets/repo/objects/aa/bb': 'x',
  'assets/repo/refs/heads/main': 'x',
  'scripts/node_modules/kit/index.js': 'x',
  'venv/bin/python': 'x',
  '.env': 'TOKEN=1',
  'key.pem': KEY,
}
const SECRETS = ['.env', 'key.pem']

async function open(fileSystem: FileSystem, reading: Partial<ReadingPolicy> = {}): Promise<SkillRuntime> {
  const source = new FileSource({ fileSystem, root: '/skills', label: 'skills', reading })
  return await createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE } })
}

function place(files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([path, content]) => [`/skills/pdf/${path}`, content]))
}

test('files that are no part of a skill change no revision, however the skill is read', async () => {
  await using plain = await open(new MemoryFileSystem(place(OWN)))
  const { revision } = plain.current.get('pdf')
  await using full = await open(new MemoryFileSystem(place({ ...OWN, ...OTHERS })))
  const captured = captureSkill(
    { source: 'rows', location: 'pdf', files: { ...OWN, ...OTHERS } },
    { store: new MemorySkillStore(), hasher: portableHasher },
  )
  const files = Object.entries({ ...OWN, ...OTHERS }).map(([path, content]) => ({
    path: `pdf/${path}`,
    kind: 'file' as const,
    bytes: new TextEncoder().encode(content),
    isExecutable: false,
  }))
  const fetched = new RemoteSource(
    {
      restore: async () => undefined,
      fetch: async context => ({ tree: storeTree('bucket', files, context) }),
    },
    { label: 'bucket', origin: 'bucket', trust: 'auto' },
  )
  await using remote = await createSkillRuntime({ sources: [fetched] })
  expect([
    full.current.get('pdf').revision,
    captured.skill?.revision,
    remote.current.get('pdf').revision,
  ]).toEqual([revision, revision, revision])
})

test('a source names the git data, dependency folders and secrets that it leaves out, each once', async () => {
  await using skills = await open(new MemoryFileSystem(place({ ...OWN, ...OTHERS })))
  const told = (found: readonly { code: string; severity: string; path?: string }[]): string[] =>
    found
      .map(({ code, severity, path = '' }) => [path.replace('/skills/pdf/', ''), code, severity].join(' '))
      .sort()
  const expected = [
    '.env SECRET_FILE warning',
    '.git FILE_SKIPPED info',
    'assets/repo FILE_SKIPPED warning',
    'key.pem SECRET_FILE warning',
    'references/.GIT FILE_SKIPPED warning',
    'scripts/node_modules DEPENDENCY_FOLDER warning',
    'venv DEPENDENCY_FOLDER warning',
  ]
  expect(told(skills.current.get('pdf').diagnostics)).toEqual(expected)
  const captured = captureSkill(
    { source: 'rows', location: 'pdf', files: { ...OWN, ...OTHERS } },
    { store: new MemorySkillStore(), hasher: portableHasher },
  )
  expect(told(captured.diagnostics)).toEqual(expected)
  const bundling = skills.current.get('pdf').diagnostics.find(({ path }) => path?.endsWith('node_modules'))
  expect(bundling?.fix).toContain('esbuild --bundle')
})

test('a list of another server leaves out the same names, and its revision stays the same when the files are retrieved', async () => {
  const context = { store: new MemorySkillStore(), hasher: portableHasher }
  const files = Object.entries({ ...OWN, ...OTHERS, 'key.pem': CERTIFICATE }).map(([path, content]) => {
    const bytes = new TextEncoder().encode(content)
    return { path, bytes, digest: digestOf(bytes, portableHasher), size: bytes.length, isExecutable: false }
  })
  const frontmatter = { name: 'pdf', description: 'Use when a PDF is needed.' }
  const listed = [{ location: 'pdf', skillFile: 'SKILL.md', frontmatter, files }]
  const source = new RemoteSource(
    { restore: async () => undefined, fetch: async () => ({ tree: { version: '1', files: [], listed } }) },
    { label: 'server', origin: 'server', trust: 'auto' },
  )
  const read = async (): Promise<SourceEntry | undefined> => {
    const signal = new AbortController().signal
    return (await source.read({ ...context, depth: 'full', final: true, signal })).contents.entries[0]
  }
  const before = await read()
  for (const { digest, bytes } of files) context.store.put(digest, bytes)
  const after = await read()
  const expected = captureSkill(
    { source: 'rows', location: 'pdf', files: { ...OWN, 'key.pem': CERTIFICATE } },
    { store: new MemorySkillStore(), hasher: portableHasher },
  )
  const revisions = [before, after].map(entry => entry?.skill?.revision)
  expect(revisions).toEqual([expected.skill?.revision, expected.skill?.revision])
})

test('.skillignore ends the findings about entries that are left out', async () => {
  const ignore = { '.skillignore': 'node_modules\nvenv\n.env\n.git\n.GIT\nrepo\nkey.pem\n' }
  await using skills = await open(new MemoryFileSystem(place({ ...OWN, ...OTHERS, ...ignore })))
  expect(skills.current.get('pdf').diagnostics).toEqual([])
})

test('secretFiles: include makes secret files part of the skill, each with a finding', async () => {
  const files = place({ ...OWN, ...OTHERS })
  await using skills = await open(new MemoryFileSystem(files), { secretFiles: 'include' })
  const skill = skills.current.get('pdf')
  const paths = skill.files.map(({ path }) => path)
  expect(paths).toEqual([...Object.keys(OWN), ...SECRETS].sort())
  const findings = skill.diagnostics.filter(({ code }) => code === 'SECRET_FILE')
  expect(findings.map(({ message }) => message.includes('is part of the skill'))).toEqual([true, true])
  const context = { store: new MemorySkillStore(), hasher: portableHasher }
  const captured = captureSkill(
    { source: 'rows', location: 'pdf', files: { ...OWN, ...OTHERS } },
    { ...context, reading: { secretFiles: 'include' } },
  )
  expect(captured.skill?.revision).toBe(skill.revision)
})

test.each([
  ['.env', '.env'],
  ['a/k.pem', 'a/k.pem'],
  ['.ssh/config', '.ssh/config'],
  ['a/.aws/sso/cache.json', 'a/.aws/sso/cache.json'],
  ['docs/ssh/config', undefined],
])('findIncludedSecret() decides about an included %s', async (path, expected) => {
  const files = place({ ...OWN, [path]: KEY })
  await using skills = await open(new MemoryFileSystem(files), { secretFiles: 'include' })
  const skill = skills.current.get('pdf')
  expect(skill.files.map(each => each.path)).toContain(path)
  expect(findIncludedSecret(skill)).toBe(expected)
})

test('a PEM file is part of the skill only while it holds no private key', async () => {
  const files = new MemoryFileSystem(place({ ...OWN, 'key.pem': KEY }))
  await using skills = await open(files)
  const paths = (): boolean => skills.current.get('pdf').files.some(({ path }) => path === 'key.pem')
  expect(paths()).toBe(false)
  files.write('/skills/pdf/key.pem', CERTIFICATE)
  await skills.reload()
  expect([paths(), skills.current.get('pdf').diagnostics]).toEqual([true, []])
  files.write('/skills/pdf/key.pem', KEY)
  await skills.reload()
  expect(paths()).toBe(false)
})

test('a skill may have the name of a dependency folder', async () => {
  const text = TEXT.replace('pdf', 'venv')
  await using skills = await open(new MemoryFileSystem({ '/skills/venv/SKILL.md': text }))
  expect(skills.current.list().map(({ name }) => name)).toEqual(['venv'])
})

test('a .skillignore that names itself stays a file of the skill', async () => {
  const files = new MemoryFileSystem(
    place({ ...OWN, '.skillignore': '.skillignore\nreferences\n', 'assets/.skillignore': '*\n' }),
  )
  await using skills = await open(files)
  const paths = (): readonly string[] => skills.current.get('pdf').files.map(({ path }) => path)
  expect(paths()).toEqual(['.skillignore', 'SKILL.md', 'assets/.skillignore', 'chain.pem'])
  const { revision } = skills.current.get('pdf')
  files.write('/skills/pdf/.skillignore', '.skillignore\nreferences\n# more\n')
  await skills.reload()
  expect(skills.current.get('pdf').revision).not.toBe(revision)
})
