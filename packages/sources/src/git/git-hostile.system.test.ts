import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSkillRuntime, renderSkillText, SkillError, type SkillRuntime } from '@skillstoke/core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { GitRepository } from '../../../../tests/fixtures/git-repository.ts'
import { GitServer } from '../../../../tests/fixtures/git-server.ts'
import { type GitOptions, git } from '../index.ts'
import { findRemoteSettings } from './git-address.ts'
import { runGit } from './git-command.ts'

let server: GitServer
let repository: GitRepository
let folder: string
let canary: string
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
  folder = mkdtempSync(join(tmpdir(), 'hostile-'))
  canary = join(folder, 'canary')
  name = `hostile-${count++}`
  repository = server.create(name)
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

async function open(options: GitOptions = {}, url: string = server.url(name)): Promise<SkillRuntime> {
  const stateDirectory = join(folder, 'state')
  const source = git(url, {
    label: 'x',
    trust: 'auto',
    stateDirectory,
    privateHosts: [server.host],
    ...options,
  })
  return await createSkillRuntime({ sources: [source] })
}

const skill = (of: string, body = 'Body.'): string =>
  renderSkillText({ name: of, description: 'Does it.', body })
const names = (skills: SkillRuntime): string[] => skills.current.list().map(each => each.name)
const errorOf = (skills: SkillRuntime): string | undefined => skills.status()[0]?.lastError

/** Installs a `git` that records its calls and then runs the real `git`. */
function recordGit(): () => { readonly args: string[]; readonly environment: Record<string, string> }[] {
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()
  const log = join(folder, 'calls')
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const script = `#!${process.execPath}
const { appendFileSync } = require('node:fs'), { spawnSync } = require('node:child_process')
const args = process.argv.slice(2)
appendFileSync(${JSON.stringify(log)}, JSON.stringify({ args, environment: process.env }) + '\\n')
const { status } = spawnSync(${JSON.stringify(real)}, args, { stdio: 'inherit' })
process.exit(status ?? 1)
`
  writeFileSync(join(bin, 'git'), script)
  chmodSync(join(bin, 'git'), 0o755)
  vi.stubEnv('PATH', `${bin}:${process.env['PATH']}`)
  return () =>
    existsSync(log)
      ? readFileSync(log, 'utf8')
          .trim()
          .split('\n')
          .map(line => JSON.parse(line))
      : []
}

/** Sets the git configuration of the user. */
function configure(text: string): void {
  const home = join(folder, 'home')
  mkdirSync(home)
  writeFileSync(join(home, '.gitconfig'), text)
  vi.stubEnv('HOME', home)
  vi.stubEnv('XDG_CONFIG_HOME', home)
}

const EVIL = (): string[] => [
  `--upload-pack=touch ${canary}`,
  `-u touch ${canary}`,
  `ext::sh -c touch% ${canary}`,
  `ssh://-oProxyCommand=touch%20${canary}/x`,
  `ssh://git@-oProxyCommand=touch/x`,
  `git@-oProxyCommand=touch:x`,
  `$(touch ${canary})`,
  `;touch ${canary}`,
  `file://${canary}`,
]

test('T22: git never treats a URL, ref or path as an option, and no shell runs it as a command', async () => {
  repository.commit({ 'a/SKILL.md': skill('a') })
  const calls = recordGit()
  for (const evil of EVIL()) {
    for (const make of [
      () => git(evil),
      () => git(server.url(name), { ref: evil, privateHosts: [server.host] }),
      () =>
        git(`http://${server.host}/org/${name}/tree/${encodeURIComponent(evil)}`, {
          baseUrl: `http://${server.host}`,
          privateHosts: [server.host],
          stateDirectory: join(folder, 'state'),
        }),
    ]) {
      try {
        await (await createSkillRuntime({ sources: [make()] })).close()
      } catch (thrown) {
        expect(SkillError.isInstance(thrown, 'INVALID_OPTION')).toBe(true)
      }
    }
    await (await open({ path: evil })).close()
  }
  const remote = calls().filter(({ args }) => args.includes('ls-remote') || args.includes('fetch'))
  expect(remote.length).toBeGreaterThan(5)
  for (const { args } of calls()) {
    const end = args.indexOf('--end-of-options')
    const options = args.slice(0, end < 0 ? undefined : end)
    expect(options.filter(arg => arg.includes('canary'))).toEqual([])
  }
  for (const { args } of remote) {
    expect(args[args.indexOf('--end-of-options') + 1]).toMatch(/^http:\/\/127\.0\.0\.1:\d+\//)
  }
  expect(existsSync(canary)).toBe(false)
})

test('T22: git treats every argument after --end-of-options as a plain value', async () => {
  const bare = join(folder, 'bare')
  await runGit(['init', '--bare', '--quiet', '--', bare])
  const evil = `--upload-pack=touch ${canary}`
  await expect(
    runGit(['ls-remote', '--end-of-options', evil], { gitDirectory: bare, access: { protocols: ['file'] } }),
  ).rejects.toThrow(/git ls-remote failed/)
  expect(existsSync(canary)).toBe(false)
})

test('T23: git uses only the transport of the given URL, even if the configuration of the user rewrites the URL', async () => {
  configure(
    `[protocol "ext"]\n\tallow = always\n[url "ext::sh -c touch% ${canary} "]\n\tinsteadOf = ${server.url(name)}\n`,
  )
  repository.commit({ 'a/SKILL.md': skill('a') })
  await using skills = await open()
  expect(errorOf(skills)).toMatch(/transport 'ext' not allowed/)
  expect(existsSync(canary)).toBe(false)
  // Proves that without the protection, the attack succeeds and creates the canary file.
  const bare = join(folder, 'bare')
  execFileSync('git', ['init', '--bare', '--quiet', bare])
  const url = `ext::sh -c touch% ${canary}`
  expect(() =>
    execFileSync('git', ['-c', 'protocol.ext.allow=always', 'ls-remote', url], { stdio: 'ignore' }),
  ).toThrow()
  expect(existsSync(canary)).toBe(true)
})

test('T23: git runs without prompts, ignores git variables of the environment, and respects limits', async () => {
  repository.commit({ 'a/SKILL.md': skill('a') })
  const calls = recordGit()
  vi.stubEnv('GIT_SSH_COMMAND', `touch ${canary}`)
  vi.stubEnv('GIT_ASKPASS', `touch ${canary}`)
  vi.stubEnv('GIT_DIR', '/')
  vi.stubEnv('GIT_CONFIG_COUNT', '1')
  vi.stubEnv('GIT_CONFIG_KEY_0', 'core.hooksPath')
  vi.stubEnv('GIT_CONFIG_VALUE_0', folder)
  vi.stubEnv('SECRET_TOKEN', 'secret')
  await using skills = await open()
  expect(names(skills)).toEqual(['a'])
  for (const { environment } of calls()) {
    expect(environment).toMatchObject({
      GIT_TERMINAL_PROMPT: '0',
      GIT_ASKPASS: '',
      SSH_ASKPASS_REQUIRE: 'never',
    })
    expect(environment['GIT_SSH_COMMAND']).toMatch(/^ssh -oBatchMode=yes /)
    expect(['GIT_DIR', 'GIT_CONFIG_COUNT', 'SECRET_TOKEN'].filter(key => key in environment)).toEqual([])
  }
  const fetch = calls().find(({ args }) => args.includes('fetch'))
  expect(fetch?.environment['GIT_ALLOW_PROTOCOL']).toBe('http')
  expect(fetch?.args).toEqual(
    expect.arrayContaining(['http.lowSpeedLimit=1000', 'http.lowSpeedTime=20', 'protocol.ext.allow=never']),
  )
  const local = calls().find(({ args }) => args.includes('ls-tree'))
  expect(local?.environment['GIT_ALLOW_PROTOCOL']).toBe('none')
})

test('T24: git ignores all hooks, including global hooks of the user', async () => {
  const hooks = join(folder, 'hooks')
  mkdirSync(hooks)
  for (const hook of ['reference-transaction', 'post-update', 'pre-auto-gc', 'post-checkout']) {
    writeFileSync(join(hooks, hook), `#!/bin/sh\ntouch ${canary}\n`)
    chmodSync(join(hooks, hook), 0o755)
  }
  configure(
    `[core]\n\thooksPath = ${hooks}\n\tfsmonitor = touch ${canary}\n[init]\n\ttemplateDir = ${folder}\n`,
  )
  repository.commit({ 'a/SKILL.md': skill('a') })
  rmSync(canary, { force: true })
  await using skills = await open()
  expect(names(skills)).toEqual(['a'])
  expect(existsSync(canary)).toBe(false)
  repository.git('update-ref', 'refs/heads/other', repository.get('main'))
  expect(existsSync(canary)).toBe(true)
})

test('T24: hooks and configuration of a bare repository inside a skill have no effect', async () => {
  repository.commit({
    'a/SKILL.md': skill('a'),
    'a/inner/HEAD': 'ref: refs/heads/main\n',
    'a/inner/config': `[core]\n\tfsmonitor = touch ${canary}\n\tsshCommand = touch ${canary}\n`,
    'a/inner/hooks/post-checkout': `#!/bin/sh\ntouch ${canary}\n`,
  })
  await using skills = await open()
  expect(skills.current.get('a').files.map(({ path }) => path)).toContain('inner/hooks/post-checkout')
  expect(existsSync(canary)).toBe(false)
})

test('T25: links and submodules are omitted and reported, and git attributes and filters have no effect', async () => {
  configure(`[filter "evil"]\n\tsmudge = sh -c 'touch ${canary}; cat'\n\trequired = true\n`)
  const text = repository.blob(skill('a'))
  const link = repository.blob('/etc/passwd')
  const attributes = repository.blob('* filter=evil ident text eol=crlf\n')
  const inner = Buffer.concat([
    ...[
      ['100644', '.gitattributes', attributes],
      ['100644', 'SKILL.md', text],
      ['120000', 'passwd', link],
    ].map(([mode, file, id]) =>
      Buffer.concat([Buffer.from(`${mode} ${file}\0`), Buffer.from(id as string, 'hex')]),
    ),
  ])
  const tree = repository.git('hash-object', '-t', 'tree', '-w', '--stdin', { input: inner })
  const commit = repository.commit({ 'seed.txt': 'Seed.' }, { branch: 'seed' })
  repository.commitRaw([
    { mode: '40000', name: 'a', id: tree },
    { mode: '120000', name: 'linked', id: repository.blob('a') },
    { mode: '160000', name: 'module', id: commit },
  ])
  await using skills = await open()
  const a = skills.current.get('a')
  expect(a.files.map(({ path }) => path)).not.toContain('passwd')
  expect(Buffer.from(await skills.readFile(a, 'SKILL.md')).toString()).toBe(skill('a'))
  const told = [
    ...skills.current.reports().flatMap(each => each.diagnostics),
    ...(skills.current.sources()[0]?.diagnostics ?? []),
  ]
  expect(told.map(({ code, path }) => `${code} ${path?.split('/').slice(-2).join('/')}`)).toContain(
    'LINK_REFUSED a/passwd',
  )
  expect(existsSync(canary)).toBe(false)
})

test.each(['..', '.git', '.GIT', '.'])(
  'T25: a tree with an entry %j is refused, and the previous skills are still served',
  async entry => {
    repository.commit({ 'a/SKILL.md': skill('a') })
    await using skills = await open()
    const tree = repository.get('main')
    const inner = repository.git('rev-parse', `${tree}^{tree}`)
    repository.commitRaw([{ mode: '40000', name: entry, id: inner }])
    await using evil = await open({ update: 'reset' })
    await skills.reload()
    expect(errorOf(evil)).toMatch(/fsck error|fetch failed/)
    expect(names(evil)).toEqual(['a'])
    expect(names(skills)).toEqual(['a'])
  },
)

test('T27: git refuses every redirect, for example to this machine or in a loop', async () => {
  let reached = 0
  const inside = createServer((_, response) => {
    reached++
    response.end('secret')
  })
  await new Promise<void>(resolve => inside.listen(0, '127.0.0.1', resolve))
  const { port } = inside.address() as AddressInfo
  server.intercept = (request, response) => {
    response.writeHead(302, { Location: `http://127.0.0.1:${port}${request.url}` }).end()
    return true
  }
  await using skills = await open()
  expect(errorOf(skills)).toMatch(/git ls-remote failed/)
  server.intercept = (request, response) => {
    response.writeHead(302, { Location: request.url ?? '/' }).end()
    return true
  }
  await skills.reload()
  expect(errorOf(skills)).toMatch(/git ls-remote failed/)
  expect(reached).toBe(0)
  await new Promise(resolve => inside.close(resolve))
})

test('control characters in the output of a server are removed', async () => {
  server.intercept = (_, response) => {
    response.writeHead(200, { 'Content-Type': 'application/x-git-upload-pack-advertisement' })
    const packet = 'ERR \u001b[2J\u001b]0;evil\u0007 bye'
    const length = (packet.length + 4).toString(16).padStart(4, '0')
    response.end(`001e# service=git-upload-pack\n0000${length}${packet}`)
    return true
  }
  await using skills = await open()
  expect(errorOf(skills)).toContain('bye')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the test searches for these characters
  expect(errorOf(skills)).not.toMatch(/[\u0000-\u001f]/)
})

test.each([
  'https://127.0.0.1:1/a/b',
  'https://10.0.0.1/a/b',
  'https://[::1]/a/b',
  'https://localhost/a/b',
  'git@127.0.0.1:a/b',
  '127.0.0.1:team/repo@v2.git',
  'ssh://git@127.0.0.1/a/b@v2',
])('T27: a source does not start git for %s, because that host is in a private network', async url => {
  const calls = recordGit()
  await using skills = await open({ privateHosts: [] }, url)
  expect(errorOf(skills)).toMatch(/in a private network or on this machine; allow it as a private host/)
  expect(calls().flatMap(({ args }) => args)).not.toContain('ls-remote')
})

test('T27: git receives addresses that were already checked, so a later DNS change has no effect', async () => {
  const calls = recordGit()
  const { port } = new URL(server.url(name))
  repository.commit({ 'pdf/SKILL.md': skill('pdf') })
  await using skills = await open({ privateHosts: [`localhost:${port}`] }, `http://localhost:${port}/${name}`)
  expect(errorOf(skills)).toBeUndefined()
  const asked = calls().find(({ args }) => args.includes('ls-remote'))
  expect(asked?.args.join(' ')).toMatch(
    new RegExp(`http\\.curloptResolve=localhost:${port}:(127\\.0\\.0\\.1|::1)`),
  )
})

test('T27: git connects to the checked address without another lookup', async () => {
  repository.commit({ 'pdf/SKILL.md': skill('pdf') })
  const { port, pathname } = new URL(server.url(name))
  const url = `http://nowhere.invalid:${port}${pathname}`
  const run = {
    settings: [`http.curloptResolve=nowhere.invalid:${port}:127.0.0.1`],
    access: { protocols: ['http'] },
  } as const
  expect((await runGit(['ls-remote', '--', url], run)).stdout.toString()).toMatch(/refs\/heads\/main/)
})

test('git gets no setting with checked addresses if the host is an IP address or a proxy is configured', async () => {
  expect(await findRemoteSettings('http://[::1]:1/a', ['[::1]:1'])).toEqual([])
  expect(await findRemoteSettings('http://localhost:1/a', ['localhost:1'])).toHaveLength(1)
  const home = mkdtempSync(join(tmpdir(), 'home-'))
  writeFileSync(join(home, '.gitconfig'), '[http]\n\tproxy = http://proxy.example:3128\n')
  vi.stubEnv('HOME', home)
  try {
    expect(await findRemoteSettings('https://only-the-proxy-knows.invalid/a', [])).toEqual([])
  } finally {
    vi.unstubAllEnvs()
    rmSync(home, { recursive: true })
  }
  await expect(findRemoteSettings('https://only-the-proxy-knows.invalid/a', [])).rejects.toThrow()
})
