import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { verifies } from '@skillstoke/requirements'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createSkillRuntime, validateSkill } from '../index.ts'
import { bundledSkills, directory, NodeFileSystem, openWriteLock } from '../node-entry.ts'

let base: string
let root: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'writing-'))
  root = join(base, 'skills')
  mkdirSync(root)
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const files = new NodeFileSystem()
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

describe('NodeFileSystem.write()', () => {
  test(`a write replaces the content and the mode of a file, and creates the folders above it ${verifies('FOX-14', 'P20')}`, async () => {
    const path = join(root, 'a/b/c.sh')
    await files.write(path, bytes('one'), { inside: root, isExecutable: true })
    const before = statSync(path)
    expect(before.mode & 0o777).toBe(0o755)
    await files.write(path, bytes('two'), { inside: root })
    expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['two', 0o644])
    expect(statSync(path).ino).not.toBe(before.ino)
    expect(readdirSync(join(root, 'a/b'))).toEqual(['c.sh'])
  })

  test(`a write changes only files inside its folder, even if the path contains links ${verifies('FOX-20', 'FOX-B11', 'FOX-X05', 'P19')}`, async () => {
    const outside = join(base, 'outside')
    mkdirSync(outside)
    writeFileSync(join(outside, 'secret.md'), 'secret')
    symlinkSync(outside, join(root, 'linked'))
    symlinkSync(join(outside, 'secret.md'), join(root, 'file.md'))
    for (const path of ['linked/x.md', 'linked/deep/x.md', '../x.md', 'a/../../x.md'])
      await expect(files.write(`${root}/${path}`, bytes('x'), { inside: root })).rejects.toMatchObject({
        code: 'OUTSIDE_ROOT',
      })
    await files.write(join(root, 'file.md'), bytes('mine'), { inside: root })
    expect(readFileSync(join(outside, 'secret.md'), 'utf8')).toBe('secret')
    expect(readFileSync(join(root, 'file.md'), 'utf8')).toBe('mine')
    expect(readdirSync(outside)).toEqual(['secret.md'])
    expect(readdirSync(base).sort()).toEqual(['outside', 'skills'])
  })

  test('a write accepts a link as the root, and removes the temporary files of a killed writer', async () => {
    symlinkSync(root, join(base, 'alias'))
    writeFileSync(join(root, '.tmp-old'), '')
    writeFileSync(join(root, '.tmp-new'), '')
    const hourAgo = Date.now() / 1000 - 3_700
    utimesSync(join(root, '.tmp-old'), hourAgo, hourAgo)
    await files.write(join(base, 'alias/a.md'), bytes('x'), { inside: join(base, 'alias') })
    expect(readdirSync(root).sort()).toEqual(['.tmp-new', 'a.md'])
  })

  test('a write fails if the target path is a folder, and does not change that folder', async () => {
    mkdirSync(join(root, 'a.md'))
    await expect(files.write(join(root, 'a.md'), bytes('x'), { inside: root })).rejects.toMatchObject({
      code: 'IO_FAILED',
    })
    expect(readdirSync(root)).toEqual(['a.md'])
  })
})

test('NodeFileSystem.remove() removes a folder with its content and never follows a link', async () => {
  const outside = join(base, 'outside')
  mkdirSync(outside)
  writeFileSync(join(outside, 'a.md'), 'a')
  await files.write(join(root, 'x/y.md'), bytes('y'), { inside: root })
  symlinkSync(outside, join(root, 'x/link'))
  await files.remove(join(root, 'x'), { inside: root })
  await files.remove(join(root, 'x'), { inside: root })
  expect([readdirSync(root), readdirSync(outside)]).toEqual([[], ['a.md']])
  symlinkSync(outside, join(root, 'linked'))
  await expect(files.remove(join(root, 'linked/a.md'), { inside: root })).rejects.toMatchObject({
    code: 'OUTSIDE_ROOT',
    message: expect.stringContaining(join(root, 'linked')),
  })
})

test(`a skill folder has precedence over links to it, whatever the names of the links ${verifies('P02')}`, async () => {
  await files.write(join(root, 'good/SKILL.md'), bytes('---\nname: good\ndescription: Use it.\n---\n'), {
    inside: root,
  })
  symlinkSync('good', join(root, 'alias'))
  await using skills = await createSkillRuntime({ sources: [directory(root, { writable: true })] })
  expect(skills.current.get('good').location).toBe('good')
  const writer = skills.writer()
  await writer.write({ skill: 'good', path: 'new.md', content: 'x' })
  expect(readdirSync(join(root, 'good')).sort()).toEqual(['SKILL.md', 'new.md'])
  await writer.quarantine('good')
  expect(skills.current.find('good')).toBeUndefined()
})

test('NodeFileSystem.move() fails if the target path exists', async () => {
  await files.write(join(root, 'a/x.md'), bytes('x'), { inside: root })
  await files.move(join(root, 'a'), join(root, '.trash/a-1'), { inside: root })
  expect(readFileSync(join(root, '.trash/a-1/x.md'), 'utf8')).toBe('x')
  await files.write(join(root, 'a/x.md'), bytes('y'), { inside: root })
  await expect(files.move(join(root, 'a'), join(root, '.trash/a-1'), { inside: root })).rejects.toMatchObject(
    { code: 'IO_FAILED', message: expect.stringContaining('already') },
  )
  await expect(files.move(join(root, 'a'), join(base, 'b'), { inside: root })).rejects.toMatchObject({
    code: 'OUTSIDE_ROOT',
  })
})

/**
 * A program that appends numbered lines to one file of a skill. After a conflict, the program reads the file again and
 * retries.
 */
const APPENDER = `
  const [root, state, name, count, modules] = process.argv.slice(2)
  const { createSkillRuntime } = await import(modules + '/index.js')
  const { directory, openWriteLock } = await import(modules + '/node-entry.js')
  await using skills = await createSkillRuntime({
    sources: [directory(root, { writable: true, watching: 'off' })],
    state: { writeLock: await openWriteLock(state) },
  })
  const writer = skills.writer()
  console.log('ready')
  for await (const _ of process.stdin) break
  let conflicts = 0
  for (let i = 0; i < Number(count); ) {
    await skills.reload()
    const skill = skills.current.get('log')
    const file = skill.files.find(each => each.path === 'lines.md')
    const before = file === undefined ? '' : new TextDecoder().decode(await skills.readFile(skill, 'lines.md'))
    try {
      await writer.write({ skill: 'log', path: 'lines.md', content: before + name + i + '\\n', baseDigest: file?.digest ?? 'none' })
      i++
    } catch (error) {
      if (error.code !== 'CHANGED_SINCE_READ') throw error
      conflicts++
    }
  }
  console.log(conflicts)
`

describe('openWriteLock()', () => {
  test(`no line is lost when two processes with the lock append to the same file ${verifies('FOX-X07', 'P20')}`, async () => {
    writeFileSync(join(base, 'append.mjs'), APPENDER)
    mkdirSync(join(root, 'log'))
    writeFileSync(join(root, 'log/SKILL.md'), '---\nname: log\ndescription: Use when logging.\n---\n')
    const modules = new URL('../../dist', import.meta.url).href
    const start = async (name: string): Promise<ChildProcessByStdio<Writable, Readable, null>> => {
      const args = [join(base, 'append.mjs'), root, join(base, 'state'), name, '60', modules]
      const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
      await once(child.stdout, 'data')
      return child
    }
    const children = await Promise.all([start('a'), start('b')])
    const conflicts = await Promise.all(
      children.map(async child => {
        const output = once(child.stdout, 'data')
        child.stdin.end('go')
        const [[text], [code]] = (await Promise.all([output, once(child, 'exit')])) as [[Buffer], [number]]
        expect(code).toBe(0)
        return Number(text.toString())
      }),
    )
    const lines = readFileSync(join(root, 'log/lines.md'), 'utf8').trim().split('\n')
    const expected = ['a', 'b'].flatMap(name => Array.from({ length: 60 }, (_, i) => `${name}${i}`))
    expect(lines.toSorted()).toEqual(expected.toSorted())
    expect(conflicts.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(0)
  })

  test('run() waits for the process that has the lock, fails after the timeout, and succeeds when that process is killed', async () => {
    const state = join(base, 'state')
    await using lock = await openWriteLock(state, { timeoutMs: 200 })
    await lock.run(async () => undefined)
    const holder = `
      const { DatabaseSync } = await import('node:sqlite')
      new DatabaseSync(${JSON.stringify(join(state, 'write-lock.sqlite'))}).exec('BEGIN IMMEDIATE')
      console.log('held')
      setInterval(() => undefined, 1000)
    `
    const child = spawn(process.execPath, ['--input-type=module', '-e', holder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(child.stdout, 'data')
    await expect(lock.run(async () => undefined)).rejects.toMatchObject({
      code: 'LOCKED',
      message: expect.stringContaining('for more than 200 ms'),
    })
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(await lock.run(async () => 'free')).toBe('free')
    expect(await lock.run(() => lock.run(async () => 'nested'))).toBe('nested')
    await lock.close()
    await lock.close()
    await expect(lock.run(async () => undefined)).rejects.toMatchObject({ code: 'CLOSED' })
  })
})

test(`the bundled skill is valid, and skills of the user take precedence ${verifies('FOX-04', 'FOX-17', 'FOX-18')}`, async () => {
  await using skills = await createSkillRuntime({
    sources: [directory(root, { writable: true }), bundledSkills()],
  })
  const skill = skills.current.get('creating-skills')
  expect(skill.diagnostics).toEqual([])
  expect(skill.description).toBe(
    'Use when the user asks to create, write, or add a new bot skill, or wants to teach the bot a new behavior or capability.',
  )
  expect(skill.metadata).toEqual({ tags: 'skills, meta' })
  const content = await skills.readFile(skill, 'SKILL.md')
  expect(validateSkill(content, { directoryName: 'creating-skills' })).toEqual([])
  const { body } = await skills.load('creating-skills')
  for (const step of ['Gather', 'Design', 'Write', 'Activate', 'Confirm'])
    expect(body).toMatch(new RegExp(`^## \\d\\. ${step}$`, 'm'))
  for (const name of ['write_skill_file', 'reload_skills', 'read_skill_file']) expect(body).toContain(name)
  const writer = skills.writer()
  const { advice, isCopiedUp } = await writer.write({ skill: 'creating-skills', path: 'SKILL.md', content })
  expect([advice, isCopiedUp, skills.current.get('creating-skills').source]).toEqual([[], true, 'skills'])
})
