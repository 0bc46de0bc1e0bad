import { execFileSync, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { linkSync, mkdirSync, renameSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { resolve } from 'node:path'
import { createSkillRuntime, SkillError } from '@skillstoke/core'
import { NodeFileSystem, nodeHasher } from '@skillstoke/core/node'
import { type DirectoryEntry, FileSource, type FileSystem } from '@skillstoke/core/source'
import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import { follow, until, untilDescribed } from './fixtures/follow.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

const codesOf = (skills: Awaited<ReturnType<typeof follow>>): string[] =>
  skills.current.reports().flatMap(report => report.diagnostics.map(each => each.code))

describe('files that are not regular files', () => {
  test(`pipes, sockets and devices are skipped with a diagnostic and never block a scan ${verifies('PROMISE-8')}`, async () => {
    using folder = new TemporaryFolder()
    for (const name of ['a', 'b', 'c', 'd']) {
      mkdirSync(folder.at(name))
      execFileSync('mkfifo', [folder.at(name, 'SKILL.md')])
    }
    folder.writeSkill('pdf')
    execFileSync('mkfifo', [folder.at('pdf/pipe')])
    symlinkSync('/dev/zero', folder.at('pdf/endless'))
    const server = createServer().listen(folder.at('pdf/socket'))
    await once(server, 'listening')
    await using skills = await follow(folder.path)
    server.close()
    expect(skills.current.get('pdf').files.map(file => file.path)).toEqual(['SKILL.md'])
    const { diagnostics } = skills.current.reports().find(report => report.name === 'pdf') ?? {
      diagnostics: [],
    }
    expect(diagnostics.map(each => each.code).sort()).toEqual([
      'FILE_SKIPPED',
      'FILE_SKIPPED',
      'LINK_REFUSED',
    ])
    const broken = skills.current.reports().filter(report => report.status === 'broken')
    expect(broken.map(report => [report.name, report.diagnostics[0]?.code])).toEqual(
      ['a', 'b', 'c', 'd'].map(name => [name, 'SKILL_FILE_UNREADABLE']),
    )
  })

  test(`a SKILL.md that links to a target outside the root is broken, and the target is never shown ${verifies('PROMISE-8', 'P19')}`, async () => {
    using folder = new TemporaryFolder()
    using outside = new TemporaryFolder()
    outside.write('secret.md', skillText('pdf', { body: 'secret' }))
    mkdirSync(folder.at('pdf'))
    symlinkSync(outside.at('secret.md'), folder.at('pdf/SKILL.md'))
    await using skills = await follow(folder.path)
    expect(skills.current.list()).toEqual([])
    expect(skills.current.reports()[0]).toMatchObject({
      status: 'broken',
      diagnostics: [{ code: 'SKILL_FILE_UNREADABLE' }],
    })
  })
})

test('a source with the trust "review" refuses and reports all links, including hard links', async () => {
  using folder = new TemporaryFolder()
  using outside = new TemporaryFolder()
  outside.write('key', 'secret')
  folder.writeSkill('pdf')
  linkSync(outside.at('key'), folder.at('pdf/hard'))
  symlinkSync('SKILL.md', folder.at('pdf/soft'))
  const admission = { admit: () => ({ kind: 'admit' as const }) }
  await using skills = await follow(folder.path, { trust: 'review' }, { review: { admission } })
  expect(skills.current.get('pdf').files.map(file => file.path)).toEqual(['SKILL.md'])
  expect(codesOf(skills)).toEqual(['LINK_REFUSED', 'LINK_REFUSED'])
})

describe('skills over a limit', () => {
  test.each([
    [
      'too many files',
      'TOO_MANY_FILES',
      (folder: TemporaryFolder) => {
        for (let i = 0; i < 512; i++) folder.write(`pdf/f/${i}`, 'x')
      },
    ],
    [
      'too many bytes',
      'FOLDER_TOO_LARGE',
      (folder: TemporaryFolder) => {
        folder.write('pdf/large.bin', '')
        truncateSync(folder.at('pdf/large.bin'), 2_000_000_000)
      },
    ],
    [
      'too deep',
      'FOLDER_TOO_DEEP',
      (folder: TemporaryFolder) => {
        folder.write('pdf/1/2/3/4/5/6/7/8/file', 'x')
      },
    ],
    [
      'a large SKILL.md',
      'SKILL_FILE_TOO_LARGE',
      (folder: TemporaryFolder) => {
        folder.write('pdf/SKILL.md', skillText('pdf', { body: 'x'.repeat(300_000) }))
      },
    ],
  ])(
    '%s: the skill is reported as broken, its last good revision stays, and a smaller folder is served again',
    async (_what, code, enlarge) => {
      using folder = new TemporaryFolder()
      folder.writeSkill('pdf')
      await using skills = await follow(folder.path)
      const before = skills.current.digest
      enlarge(folder)
      await until(skills, `the skill is broken with ${code}`, () => codesOf(skills).includes(code))
      expect(skills.current.digest).toBe(before)
      renameSync(folder.at('pdf'), folder.at('.gone'))
      folder.writeSkill('pdf', { description: 'Small again.' })
      await untilDescribed(skills, 'pdf', 'Small again.')
    },
  )

  test('a skill exactly at the limits is served', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('pdf')
    for (let i = 0; i < 511; i++) folder.write(`pdf/f/${i}`, 'x')
    folder.write('pdf/1/2/3/4/5/6/7/file', 'x')
    folder.write('pdf/f/0', '')
    await using skills = await follow(folder.path)
    expect(codesOf(skills)).toEqual(['TOO_MANY_FILES'])
    renameSync(folder.at('pdf/f/510'), folder.at('.elsewhere'))
    expect((await skills.reload()).generation.get('pdf').files).toHaveLength(512)
  })

  test('if a root has too many folders, only the upper levels are read, and a diagnostic reports this', async () => {
    using folder = new TemporaryFolder()
    for (let i = 0; i < 30; i++) folder.writeSkill(`skill-${i}`)
    folder.writeSkill('skill-0/deep/deeper/nested')
    await using skills = await follow(folder.path, { limits: { maxDirectories: 31 } })
    expect(skills.current.list().length).toBe(30)
    expect(skills.current.sources()[0]?.diagnostics).toEqual([
      expect.objectContaining({ code: 'SCAN_BUDGET_EXCEEDED' }),
    ])
  })
})

describe('file names', () => {
  test('paths that are not portable are skipped with a diagnostic, and two Unicode forms of one name are reported', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('pdf')
    folder.write('pdf/line\nbreak.md', 'x')
    folder.write('pdf/back\\slash.md', 'x')
    writeFileSync(Buffer.concat([Buffer.from(`${folder.at('pdf')}/latin`), Buffer.of(0xe9)]), 'x')
    await using skills = await follow(folder.path)
    expect(skills.current.get('pdf').files.map(file => file.path)).toEqual(['SKILL.md'])
    expect(codesOf(skills)).toEqual(['FILE_SKIPPED', 'FILE_SKIPPED', 'FILE_SKIPPED'])
    folder.write('pdf/caf\u00e9.md', 'composed')
    folder.write('pdf/cafe\u0301.md', 'decomposed')
    await until(skills, 'they collide', () => codesOf(skills).includes('PATH_COLLISION'))
  })
})

test('a file that is replaced by a link during the read never shows a file outside the root', {
  timeout: 60_000,
}, async () => {
  using folder = new TemporaryFolder()
  using outside = new TemporaryFolder()
  outside.write('secret', 'SECRET')
  folder.write('real/file', 'inside')
  linkSync(folder.at('real/file'), folder.at('file'))
  const attacker = fork(resolve('tests/fixtures/link-swapper.ts'), [folder.path, outside.path])
  await once(attacker, 'message')
  const files = new NodeFileSystem()
  const seen = { inside: 0, refused: 0, leaked: 0 }
  for (let i = 0; i < 20_000; i++) {
    try {
      const { bytes } = await files.read(i % 2 === 0 ? folder.at('file') : folder.at('folder/secret'), {
        inside: [folder.path],
        maxBytes: 100,
      })
      if (new TextDecoder().decode(bytes) === 'SECRET') seen.leaked++
      else seen.inside++
    } catch (thrown) {
      expect(SkillError.isInstance(thrown)).toBe(true)
      seen.refused++
    }
  }
  attacker.kill('SIGKILL')
  await once(attacker, 'exit')
  expect(seen.leaked).toBe(0)
  expect(seen.inside).toBeGreaterThan(100)
  expect(seen.refused).toBeGreaterThan(100)
})

/** A simulated disk with faults, such as a file system adapter written by a user could have. */
class FaultyFileSystem extends NodeFileSystem implements FileSystem {
  unreadable: string | undefined
  dropsEvents = false

  override async list(path: string): Promise<readonly DirectoryEntry[]> {
    this.#fail(path)
    return await super.list(path)
  }

  override read(...args: Parameters<NodeFileSystem['read']>): ReturnType<NodeFileSystem['read']> {
    this.#fail(args[0])
    return super.read(...args)
  }

  override watch(path: string, onEvent: () => void, onError: (error: Error) => void): () => void {
    return super.watch(
      path,
      () => {
        if (!this.dropsEvents) onEvent()
      },
      onError,
    )
  }

  #fail(path: string): void {
    if (this.unreadable !== undefined && path.endsWith(this.unreadable))
      throw new SkillError('IO_FAILED', 'EACCES: permission denied')
  }
}

describe('disk faults', () => {
  test.each(['SKILL.md', 'a.md', 'pdf', 'references'])(
    'a skill is kept while its path is unreadable: %s',
    async unreadable => {
      using folder = new TemporaryFolder()
      folder.writeSkill('pdf')
      folder.write('pdf/references/x.md', 'x')
      const fileSystem = new FaultyFileSystem()
      await using skills = await createSkillRuntime({
        sources: [new FileSource({ fileSystem, root: folder.path, label: 'skills' })],
        tuning: { hasher: nodeHasher },
      })
      const before = skills.current
      fileSystem.unreadable = unreadable
      folder.write('pdf/a.md', 'new')
      folder.write('pdf/references/y.md', 'new')
      folder.writeSkill('pdf', { description: 'Unseen.' })
      await until(skills, 'the fault is reported', each => each.reports()[0]?.status === 'broken')
      expect(skills.current.digest).toBe(before.digest)
      fileSystem.unreadable = undefined
      await skills.reload()
      expect(skills.current.get('pdf').description).toBe('Unseen.')
    },
  )

  test(`the skills of an unreadable root stay, and the root is reported and retried until it recovers ${verifies('P25', 'P08', 'OMNI-X06')}`, async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    const fileSystem = new FaultyFileSystem()
    await using skills = await createSkillRuntime({
      sources: [new FileSource({ fileSystem, root: folder.at('skills'), label: 'skills' })],
    })
    fileSystem.unreadable = 'skills'
    folder.writeSkill('skills/maps')
    await skills.reload()
    expect(skills.current.list().map(skill => skill.name)).toEqual(['pdf'])
    expect(skills.current.sources()[0]?.diagnostics).toEqual([
      expect.objectContaining({ code: 'SOURCE_FAILED', severity: 'error' }),
    ])
    expect(skills.status()[0]).toMatchObject({
      lastError: 'EACCES: permission denied',
      retryMs: expect.any(Number),
    })
    fileSystem.unreadable = undefined
    await until(skills, 'the root is read again without a call', each => each.find('maps') !== undefined)
    expect(skills.current.sources()[0]?.diagnostics).toEqual([])
    expect(skills.status()[0]?.lastError).toBeUndefined()
  })

  test(`after file events were lost, a later sweep finds every change, and the status reports the loss ${verifies('PROMISE-5', 'EXO-B02')}`, async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('pdf')
    const fileSystem = new FaultyFileSystem()
    const source = new FileSource({ fileSystem, root: folder.path, label: 'skills', reconcileMs: 100 })
    await using skills = await createSkillRuntime({ sources: [source] })
    expect(skills.status()[0]?.mode).toBe('events')
    fileSystem.dropsEvents = true
    folder.writeSkill('pdf', { description: 'Unannounced.' })
    await untilDescribed(skills, 'pdf', 'Unannounced.')
    expect(skills.status()[0]).toMatchObject({
      mode: 'degraded',
      reason: 'a change was found that no event announced',
    })
    // After lost events, the runtime no longer trusts file events, so the barrier starts a sweep.
    folder.writeSkill('pdf', { description: 'Unannounced too.' })
    expect((await skills.fresh()).get('pdf').description).toBe('Unannounced too.')
  })

  test('folders that the system cannot watch, because no watches are left, are swept, and the status explains why', () => {
    using folder = new TemporaryFolder()
    for (let i = 0; i < 100; i++) folder.writeSkill(`skill-${i}`)
    const script = `
      const { follow, untilDescribed } = await import(${JSON.stringify(resolve('tests/fixtures/follow.ts'))})
      const { writeFileSync } = await import('node:fs')
      const skills = await follow(process.argv[1], { pollMs: 100 })
      console.log(JSON.stringify(skills.status()[0]))
      for (let i = 0; i < 100; i++) {
        writeFileSync(process.argv[1] + '/skill-' + i + '/SKILL.md', '---\\nname: skill-' + i + '\\ndescription: Edited.\\n---\\nx')
      }
      for (let i = 0; i < 100; i++) await untilDescribed(skills, 'skill-' + i, 'Edited.')
      await skills.close()
      console.log('all found')`
    const command = 'echo 40 > /proc/sys/user/max_inotify_watches; exec "$0" --input-type=module -e "$1" "$2"'
    // Sets the limit in a separate user namespace, so this machine is not affected.
    const run = spawnSync('unshare', ['-Ur', 'sh', '-c', command, process.execPath, script, folder.path], {
      encoding: 'utf8',
    })
    expect(run.stderr).toBe('')
    expect(run.stdout).toContain('"mode":"degraded"')
    expect(run.stdout).toContain('ENOSPC')
    expect(run.stdout).toContain('all found')
  })
})

test('close() releases every watch, timer and file descriptor', () => {
  using folder = new TemporaryFolder()
  for (let i = 0; i < 50; i++) folder.writeSkill(`skill-${i}`)
  // Runs in a separate process, so that no other test opens or closes resources there.
  const script = `
    const { readdirSync, writeFileSync } = await import('node:fs')
    const { follow, untilDescribed } = await import(${JSON.stringify(resolve('tests/fixtures/follow.ts'))})
    const root = process.argv[1]
    const save = text => writeFileSync(root + '/skill-1/SKILL.md', '---\\nname: skill-1\\ndescription: ' + text + '\\n---\\nx')
    const look = () => ({
      resources: process.getActiveResourcesInfo().filter(name => name !== 'Immediate' && name !== 'TTYWrap').sort(),
      descriptors: readdirSync('/proc/self/fd').length,
    })
    const use = async () => {
      const skills = await follow(root)
      save('Edited.')
      await untilDescribed(skills, 'skill-1', 'Edited.')
      save('In flight.')
      await skills.close()
      await skills.close()
      return skills
    }
    await use()
    const before = look()
    const skills = await use()
    const errors = [await skills.fresh().catch(error => error.code)]
    try { skills.session({ id: 'late' }) } catch (error) { errors.push(error.code) }
    console.log(JSON.stringify({ before, after: look(), errors }))`
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script, folder.path], {
    encoding: 'utf8',
  })
  expect(run.stderr).toBe('')
  const { before, after, errors } = JSON.parse(run.stdout) as Record<string, unknown>
  expect(after).toEqual(before)
  expect(errors).toEqual(['CLOSED', 'CLOSED'])
})
