import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSkillRuntime, renderSkillText, type SkillRuntime } from '@skillstoke/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { GitRepository } from '../../../../tests/fixtures/git-repository.ts'
import { GitSshServer } from '../../../../tests/fixtures/git-ssh-server.ts'
import { type GitOptions, git } from '../index.ts'

const hasSsh = spawnSync('ssh', ['-V']).status === 0

describe.skipIf(!hasSsh)('git over ssh (skipped without an ssh client)', () => {
  let folder: string
  let server: GitSshServer
  let repository: GitRepository

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'git-ssh-'))
    repository = new GitRepository(join(folder, 'skills.git'))
    repository.commit({
      'pdf/SKILL.md': renderSkillText({ name: 'pdf', description: 'Does it.', body: 'First.' }),
    })
    server = await GitSshServer.start(folder, folder)
  })

  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  async function open(options: GitOptions = {}): Promise<SkillRuntime> {
    const source = git(`ssh://git@127.0.0.1:${server.port}/skills.git`, {
      trust: 'auto',
      stateDirectory: mkdtempSync(join(folder, 'state-')),
      privateHosts: [`127.0.0.1:${server.port}`],
      identityFile: server.identityFile,
      knownHostsFile: server.knownHostsFile,
      ...options,
    })
    return await createSkillRuntime({ sources: [source] })
  }

  test('a git source over ssh fetches skills and later changes, and requests only upload-pack', async () => {
    await using skills = await open()
    expect(skills.status()[0]?.lastError).toBeUndefined()
    expect(skills.current.list().map(({ name, source }) => [name, source])).toEqual([['pdf', 'skills']])
    repository.commit({
      'pdf/SKILL.md': renderSkillText({ name: 'pdf', description: 'Does it.', body: 'Second.' }),
    })
    await skills.reload()
    expect((await skills.load('pdf')).body).toBe('Second.')
    expect(new Set(server.commands)).toEqual(new Set(["git-upload-pack '/skills.git'"]))
  })

  test('T27: a git source over ssh connects to a server in a private network only if that server is allowed', async () => {
    await using skills = await open({ privateHosts: [] })
    expect(skills.status()[0]?.lastError).toMatch(
      /is at 127.0.0.1, in a private network .* allow it as a private host/,
    )
  })

  test('a git source over ssh refuses a server with an unknown key and shows no prompt', async () => {
    const knownHostsFile = join(folder, 'other-hosts')
    writeFileSync(knownHostsFile, '')
    await using skills = await open({ knownHostsFile })
    expect(skills.status()[0]?.lastError).toMatch(/Host key verification failed/)
  })
})
