import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSkillRuntime, renderSkillText, type SkillRuntime } from '@skillstoke/core'
import type { SkillSource } from '@skillstoke/core/source'
import { sourceConformance } from '@skillstoke/core/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { GitRepository } from '../../../../tests/fixtures/git-repository.ts'
import { GitServer } from '../../../../tests/fixtures/git-server.ts'
import { type GitOptions, git } from '../index.ts'

let server: GitServer
let repository: GitRepository
let state: string
let count = 0
let name: string

beforeAll(async () => {
  server = await GitServer.start()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

beforeEach(() => {
  server.intercept = undefined
  server.requests.length = 0
  server.authorizations.length = 0
  state = mkdtempSync(join(tmpdir(), 'state-'))
  name = `skills-${count++}`
  repository = server.create(name)
})

afterEach(() => {
  rmSync(state, { recursive: true, force: true })
})

function source(options: GitOptions = {}, url: string = server.url(name)): SkillSource {
  return git(url, {
    label: 'team',
    trust: 'auto',
    stateDirectory: state,
    privateHosts: [server.host],
    pollMs: 3_600_000,
    ...options,
  })
}

async function open(options: GitOptions = {}, url?: string): Promise<SkillRuntime> {
  return await createSkillRuntime({ sources: [source(options, url)] })
}

const skill = (of: string, body = 'Body.'): Record<string, string> => ({
  [`${of}/SKILL.md`]: renderSkillText({ name: of, description: `Does ${of}.`, body }),
})

const names = (skills: SkillRuntime): string[] => skills.current.list().map(each => each.name)
const bodyOf = async (skills: SkillRuntime, of: string): Promise<string> =>
  await skills.readBody(skills.current.get(of))
const told = (skills: SkillRuntime): string[] =>
  (skills.current.sources()[0]?.diagnostics ?? []).map(({ code, message }) => `${code}: ${message}`)

for (const each of sourceConformance)
  test(`a git repository: ${each.name}`, async () => {
    repository.commit({ 'README.md': 'Skills.' })
    const tried = source()
    try {
      await each.check({
        source: tried,
        put: (path, content) => void repository.commit({ [path]: content }),
        remove: skillName => void repository.commit({ [skillName]: null }),
      })
    } finally {
      await tried.close?.()
    }
  })

test('the next reload shows pushed changes, and a reload without changes fetches no objects', async () => {
  repository.commit({ ...skill('pdf'), 'pdf/references/a.md': 'A.' })
  await using skills = await open()
  expect(names(skills)).toEqual(['pdf'])
  repository.commit(skill('pdf', 'Better.'))
  repository.commit(skill('docx'))
  await skills.reload()
  expect([names(skills), await bodyOf(skills, 'pdf')]).toEqual([['docx', 'pdf'], 'Better.'])
  server.requests.length = 0
  const { digest } = skills.current
  await skills.reload()
  expect(skills.current.digest).toBe(digest)
  // The reload sent only the two requests of `git ls-remote` and requested no objects.
  expect(server.requests.filter(request => request.includes('upload-pack'))).toHaveLength(2)
})

test('a source without a ref uses the default branch of the repository, and can be limited to one folder', async () => {
  repository.git('symbolic-ref', 'HEAD', 'refs/heads/trunk')
  repository.commit(
    { ...skill('top'), 'skills/pdf/SKILL.md': skill('pdf')['pdf/SKILL.md'] as string },
    { branch: 'trunk' },
  )
  await using skills = await open({ path: 'skills' })
  expect(names(skills)).toEqual(['pdf'])
  expect(skills.status()[0]?.origin).toBe(`${server.url(name)}:skills`)
})

test('a source with a branch or tag shows its newest commit, but a source with a commit id never changes', async () => {
  const first = repository.commit(skill('one'))
  repository.git('tag', '-a', '-m', 'v1', 'v1', first)
  repository.commit({ ...skill('two'), one: null })
  repository.commit(skill('three'), { branch: 'feature/three', parent: null })
  const found: Record<string, string[]> = {}
  for (const ref of ['main', 'v1', 'feature/three', first]) {
    await using skills = await open({ ref })
    await skills.reload()
    found[ref] = names(skills)
  }
  expect(found).toEqual({ main: ['two'], v1: ['one'], 'feature/three': ['three'], [first]: ['one'] })
})

test('a source finds the ref of a tree URL among the refs of the repository, and a restart does not need the server', async () => {
  const content = skill('pdf')['pdf/SKILL.md'] as string
  repository.commit(
    { 'x/skills/pdf/SKILL.md': content, 'skills/docx/SKILL.md': skill('docx')['docx/SKILL.md'] as string },
    { branch: 'feature/x' },
  )
  const base = `http://${server.host}`
  server.intercept = request => {
    // Removes the owner from the path, because the paths of the test server have no owner.
    request.url = request.url?.replace('/org/', '/') ?? '/'
    return false
  }
  const url = `${base}/org/${name}/tree/feature/x/skills`
  {
    await using skills = await open({ baseUrl: base }, url)
    expect(names(skills)).toEqual(['docx'])
  }
  server.intercept = (_, response) => {
    response.writeHead(503).end()
    return true
  }
  await using skills = await open({ baseUrl: base }, url)
  expect(names(skills)).toEqual(['docx'])
})

test('T28: a rewritten history is refused and reported until the history is restored or accepted', async () => {
  const first = repository.commit(skill('pdf', 'First.'))
  await using skills = await open()
  const second = repository.commit(skill('pdf', 'Rewritten.'), { parent: null })
  await skills.reload()
  expect(await bodyOf(skills, 'pdf')).toBe('First.')
  expect(told(skills)).toEqual([
    `HISTORY_REWRITTEN: the history was rewritten: ${second.slice(0, 10)} does not come after ${first.slice(0, 10)}; the skills of commit ${first.slice(0, 10)} are still served`,
  ])
  repository.git('update-ref', 'refs/heads/main', first)
  await skills.reload()
  expect(told(skills)).toEqual([])
  repository.git('update-ref', 'refs/heads/main', second)
  await using resetting = await open({ update: 'reset' })
  await resetting.reload()
  expect(await bodyOf(resetting, 'pdf')).toBe('Rewritten.')
})

test('T28: a moved tag is refused, even if the new commit is a descendant of the previous commit', async () => {
  repository.git('tag', 'v1', repository.commit(skill('pdf', 'First.')))
  await using skills = await open({ ref: 'v1' })
  repository.git('tag', '--force', 'v1', repository.commit(skill('pdf', 'Second.')))
  await skills.reload()
  expect(await bodyOf(skills, 'pdf')).toBe('First.')
  expect(told(skills).join()).toMatch(/^HISTORY_REWRITTEN: the tag v1 was moved/)
})

test('after a branch or folder is deleted, its skills are still served and a diagnostic reports the deletion', async () => {
  repository.commit(skill('pdf'))
  repository.commit({ 'skills/docx/SKILL.md': skill('docx')['docx/SKILL.md'] as string }, { branch: 'team' })
  await using skills = await open({ ref: 'team', path: 'skills' })
  repository.commit({ skills: null, 'README.md': 'Gone.' }, { branch: 'team' })
  await skills.reload()
  expect([names(skills), told(skills).join()]).toEqual([
    ['docx'],
    expect.stringMatching(/^PATH_MISSING: .*"skills"/),
  ])
  repository.git('update-ref', '-d', 'refs/heads/team')
  await skills.reload()
  expect([names(skills), told(skills).join()]).toEqual([
    ['docx'],
    expect.stringMatching(/^REF_MISSING: .*"team"/),
  ])
})

test('if a ref, folder or repository never existed, the failure names what is missing', async () => {
  repository.commit(skill('pdf'))
  const errors: Record<string, string | undefined> = {}
  for (const [key, options] of Object.entries({ ref: { ref: 'nope' }, path: { path: 'nope' }, url: {} })) {
    await using skills = await open(options, key === 'url' ? server.url('nothing') : undefined)
    errors[key] = skills.status()[0]?.lastError
  }
  expect(errors['ref']).toMatch(/no branch or tag "nope"/)
  expect(errors['path']).toMatch(/no folder "nope"/)
  expect(errors['url']).toMatch(/^git ls-remote failed with 128: .*not found/)
})

test('if the server is unreachable, its skills are still served even after a restart, and the source recovers later', async () => {
  repository.commit(skill('pdf', 'First.'))
  const first = await open()
  const resume = await server.pause()
  await first.reload()
  expect([names(first), first.status()[0]?.lastError]).toEqual([
    ['pdf'],
    expect.stringMatching(/^git ls-remote failed/),
  ])
  await first.close()
  await using again = await open()
  expect(await bodyOf(again, 'pdf')).toBe('First.')
  await resume()
  repository.commit(skill('pdf', 'Second.'))
  await again.reload()
  expect([await bodyOf(again, 'pdf'), again.status()[0]?.lastError]).toEqual(['Second.', undefined])
})

test('a token is sent only to the server of its repository and appears in no message', async () => {
  repository.commit(skill('pdf'))
  await using skills = await open({ token: 'tok-secret' })
  expect(names(skills)).toEqual(['pdf'])
  const expected = `Basic ${Buffer.from('x-access-token:tok-secret').toString('base64')}`
  expect(new Set(server.authorizations)).toEqual(new Set([expected]))
  server.intercept = (_, response) => {
    response.writeHead(401, 'tok-secret').end('tok-secret')
    return true
  }
  await skills.reload()
  expect(skills.status()[0]?.lastError).toMatch(/^git ls-remote failed/)
  expect(JSON.stringify([skills.status(), skills.current.sources()])).not.toContain('tok-secret')
})

test('two processes with one state directory share one mirror', async () => {
  repository.commit(skill('pdf'))
  const runtimes = await Promise.all([open(), open(), open({ label: 'b', ref: 'main' })])
  repository.commit(skill('docx'))
  await Promise.all(runtimes.map(skills => skills.reload()))
  expect(runtimes.map(names)).toEqual(runtimes.map(() => ['docx', 'pdf']))
  await Promise.all(runtimes.map(skills => skills.close()))
  expect(readdirSync(join(state, 'git'))).toHaveLength(1)
})

test('files that a killed git leaves behind do not stop the next git', async () => {
  repository.commit(skill('pdf'))
  await (await open()).close()
  const mirror = join(state, 'git', readdirSync(join(state, 'git'))[0] as string, 'mirror.git')
  const taken = readdirSync(join(mirror, 'refs/skillstoke/current'))[0] as string
  for (const path of [
    `refs/skillstoke/current/${taken}/commit.lock`,
    'packed-refs.lock',
    'HEAD.lock',
    'config.lock',
  ])
    writeFileSync(join(mirror, path), '')
  mkdirSync(join(mirror, 'objects/incoming-abc/pack'), { recursive: true })
  writeFileSync(join(mirror, 'objects/pack/tmp_pack_abc'), 'half')
  repository.commit(skill('docx'))
  await using skills = await open()
  await skills.reload()
  expect([names(skills), skills.status()[0]?.lastError]).toEqual([['docx', 'pdf'], undefined])
  expect(existsSync(join(mirror, 'objects/pack/tmp_pack_abc'))).toBe(false)
})

test('a repository that exceeds maxBytes is refused', async () => {
  const noise = Array.from({ length: 20_000 }, () => Math.random().toString(36)).join('')
  repository.commit({ ...skill('pdf'), 'pdf/noise.txt': noise })
  await using skills = await open({ maxBytes: 50_000 })
  expect(skills.status()[0]?.lastError).toMatch(/needs more than 50000 bytes here; raise maxBytes/)
  expect(names(skills)).toEqual([])
})

test('a source that exceeded maxBytes updates again when its repository is small enough', async () => {
  const first = repository.commit(skill('pdf', 'First.'))
  await using skills = await open({ maxBytes: 50_000 })
  repository.commit({ 'data.bin': randomBytes(60_000).toString('hex') })
  await skills.reload()
  expect(skills.status()[0]?.lastError).toMatch(/needs more than 50000 bytes/)
  repository.commit(skill('pdf', 'Second.'), { parent: first })
  await skills.reload()
  expect([await bodyOf(skills, 'pdf'), skills.status()[0]?.lastError]).toEqual(['Second.', undefined])
})

test('a damaged mirror is fetched again', async () => {
  repository.commit(skill('pdf', 'First.'))
  await (await open()).close()
  for (const path of readdirSync(state, { recursive: true, encoding: 'utf8' }))
    if (/\.(pack|idx|rev)$/.test(path)) rmSync(join(state, path), { force: true })
  await using skills = await open()
  await skills.reload()
  expect([await bodyOf(skills, 'pdf'), skills.status()[0]?.lastError]).toEqual(['First.', undefined])
  repository.commit(skill('pdf', 'Second.'))
  await skills.reload()
  expect(await bodyOf(skills, 'pdf')).toBe('Second.')
})

test('a lost or damaged mirror is fetched again, but a history that was rewritten since the last fetch is refused', async () => {
  repository.commit(skill('pdf', 'First.'))
  await (await open()).close()
  repository.commit(skill('pdf', 'Rewritten.'), { parent: null })
  for (const path of readdirSync(state, { recursive: true, encoding: 'utf8' }))
    if (/\.(pack|idx|rev)$/.test(path)) rmSync(join(state, path), { force: true })
  for (let times = 0; times < 2; times++) {
    await using skills = await open()
    await skills.reload()
    expect(names(skills)).toEqual([])
    expect(told(skills)).toEqual([expect.stringMatching(/^HISTORY_REWRITTEN/)])
  }
  await using skills = await open({ update: 'reset' })
  await skills.reload()
  expect(await bodyOf(skills, 'pdf')).toBe('Rewritten.')
})

test('if the server stops answering, the request ends after the timeout', async () => {
  repository.commit(skill('pdf'))
  server.intercept = () => true
  await using skills = await open({ timeoutMs: 300 })
  expect(skills.status()[0]?.lastError).toMatch(/did not answer within 300 ms/)
})

test('a missing git is reported', async () => {
  vi.stubEnv('PATH', join(state, 'nothing'))
  try {
    await using skills = await open()
    expect(skills.status()[0]?.lastError).toMatch(/git is not installed/)
  } finally {
    vi.unstubAllEnvs()
  }
})

test('two skills that one commit changes appear in one generation', async () => {
  repository.commit({ ...skill('a', '1'), ...skill('b', '1') })
  await using skills = await open()
  const seen: string[] = []
  skills.subscribe(({ changes }) => void seen.push(changes.map(change => change.name).join()))
  repository.commit({ ...skill('a', '2'), ...skill('b', '2') })
  await skills.reload()
  await skills.delivered()
  expect(seen).toEqual(['a,b'])
})

test('the mirror has no work tree and no hooks, and only its user can read it', async () => {
  repository.commit(skill('pdf'))
  await (await open()).close()
  const folder = join(state, 'git', readdirSync(join(state, 'git'))[0] as string)
  expect(readdirSync(join(folder, 'mirror.git')).sort()).toEqual(
    expect.arrayContaining(['HEAD', 'config', 'objects', 'refs']),
  )
  expect(existsSync(join(folder, 'mirror.git/hooks'))).toBe(false)
  expect(statSync(folder).mode & 0o77).toBe(0)
  expect(readFileSync(join(folder, 'mirror.git/config'), 'utf8')).toContain('bare = true')
})
