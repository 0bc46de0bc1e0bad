import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createSkillRuntime } from '@skillstoke/core'
import { FileSource } from '@skillstoke/core/source'
import { type FileSystemSubject, fileSystemConformance, sourceConformance } from '@skillstoke/core/testing'
import { verifies } from '@skillstoke/requirements'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { SftpServer } from '../../../tests/fixtures/sftp-server.ts'
import { skillText } from '../../../tests/fixtures/skill-folder.ts'
import { sftpFileSystem } from './sftp-file-system.ts'

let server: SftpServer
beforeAll(async () => {
  server = await SftpServer.start()
})
afterAll(() => server[Symbol.asyncDispose]())

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** An empty folder, and functions that change it on the disk of the server. */
function disk(): Omit<FileSystemSubject, 'fileSystem'> {
  const base = mkdtempSync(join(tmpdir(), 'sftp-'))
  folders.push(base)
  const root = join(base, 'root')
  mkdirSync(root)
  return {
    root,
    put: (path, content) => {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, content)
    },
    remove: path => rmSync(path, { recursive: true }),
  }
}

describe('sftpFileSystem()', () => {
  test.each(fileSystemConformance)(`$name ${verifies('PAI-05')}`, async promise => {
    await promise.check({ fileSystem: sftpFileSystem(await server.connect()), ...disk() })
  })

  test.each(sourceConformance)('as a source: $name', async promise => {
    const { root, put, remove } = disk()
    const fileSystem = sftpFileSystem(await server.connect())
    await promise.check({
      source: new FileSource({ fileSystem, root, label: 'skills' }),
      put: (path, content) => put(join(root, path), content),
      remove: name => remove(join(root, name)),
    })
  })

  test(`skills are updated over SFTP, and are still served while the connection is lost ${verifies('PAI-05', 'PAI-12')}`, async () => {
    const { root, put } = disk()
    await put(join(root, 'pdf/SKILL.md'), skillText('pdf'))
    const client = await server.connect()
    const source = new FileSource({
      fileSystem: sftpFileSystem(client),
      root,
      label: 'remote',
      hasDirectories: true,
    })
    await using skills = await createSkillRuntime({ sources: [source] })
    expect(skills.status()[0]?.mode).toBe('polling')
    expect(skills.current.get('pdf').directory).toBe(join(root, 'pdf'))
    await put(join(root, 'pdf/SKILL.md'), skillText('pdf', { body: 'Newer, and longer.' }))
    await put(join(root, 'maps/SKILL.md'), skillText('maps'))
    expect((await skills.fresh()).list().map(({ name }) => name)).toEqual(['maps', 'pdf'])
    expect((await skills.load('pdf')).body).toBe('Newer, and longer.')
    await client.end()
    const { errors } = await skills.reload()
    expect(errors[0]?.message).toMatch(/connect/i)
    expect(skills.current.list()).toHaveLength(2)
    expect(skills.status()[0]?.lastError).toBeDefined()
  })
})
