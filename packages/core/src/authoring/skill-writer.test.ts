import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import type { SkillRuntimeOptions } from '../runtime/skill-runtime-options.ts'
import { FileSource } from '../source/file-source.ts'
import { MemorySource } from '../source/memory-source.ts'
import { NO_SETTLE } from '../source/settle.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import type { ToolDefinition, ToolResult } from '../tool/tool-definition.ts'
import { createAuthorTools } from './author-tools.ts'
import type { SkillWriterOptions } from './skill-write.ts'

const text = (name: string, body = `Body of ${name}.`): string =>
  `---\nname: ${name}\ndescription: Use when ${name} is needed.\n---\n${body}\n`

interface Harness extends AsyncDisposable {
  readonly files: MemoryFileSystem
  readonly skills: SkillRuntime
  readonly clock: FakeClock
  call(name: string, input: unknown): Promise<ToolResult>
  write(skill: string, path: string, content: string, more?: object): Promise<ToolResult>
}

/** Opens a runtime with two sources: `/instance` is writable, `/bundled` is not. */
async function open(
  files: Readonly<Record<string, string>> = {},
  options: SkillWriterOptions = {},
  runtime: Partial<SkillRuntimeOptions> = {},
): Promise<Harness> {
  const fileSystem = new MemoryFileSystem({ '/instance/.keep': '', ...files })
  const clock = new FakeClock()
  const source = (label: string): FileSource =>
    new FileSource({
      fileSystem,
      root: `/${label}`,
      label,
      watching: 'off',
      ...(label === 'instance' ? { writable: fileSystem } : {}),
    })
  const skills = await createSkillRuntime({
    sources: [source('instance'), source('bundled')],
    tuning: { settle: NO_SETTLE },
    clock,
    // In RustFox, an agent's writes go live immediately. skill-review.test.ts tests the default value, `hold`.
    review: { agentWrites: 'live' },
    ...runtime,
  })
  const tools: readonly ToolDefinition[] = [
    ...createAuthorTools(skills.writer(options)),
    ...skills.session({ id: 's' }).tools,
  ]
  const call = async (name: string, input: unknown): Promise<ToolResult> => {
    const tool = tools.find(each => each.name === name)
    if (tool === undefined) throw new Error(`no tool ${name}`)
    return await tool.execute(input)
  }
  return {
    files: fileSystem,
    skills,
    clock,
    call,
    write: (skill_name, relative_path, content, more = {}) =>
      call('write_skill_file', { skill_name, relative_path, content, ...more }),
    [Symbol.asyncDispose]: () => skills.close(),
  }
}

const read = async (files: MemoryFileSystem, path: string): Promise<string> =>
  new TextDecoder().decode((await files.read(path, { inside: ['/'], maxBytes: 1e6 })).bytes)

describe('write_skill_file', () => {
  test(`write_skill_file writes several files of a new skill, and the same conversation can load the new skill ${verifies('FOX-02', 'FOX-03', 'FOX-08', 'FOX-10', 'FOX-13', 'FOX-14', 'FOX-15', 'FOX-X01', 'P20')}`, async () => {
    await using it = await open()
    expect((await it.write('tone', 'templates/mail.md', 'Dear ...')).text).toMatch(
      /^Written: \/instance\/tone\/templates\/mail\.md\nbase_digest: [0-9a-f]{8}$/,
    )
    expect(it.skills.current.find('tone')).toBeUndefined()
    expect((await it.write('tone', 'SKILL.md', text('tone'))).isError).toBe(false)
    expect((await it.call('reload_skills', {})).text).toBe('Skills reloaded. 1 skill(s) now active.')
    expect((await it.call('skill', { name: 'tone' })).text).toContain('Body of tone.')
    expect(
      (await it.call('read_skill_file', { skill_name: 'tone', relative_path: 'templates/mail.md' })).text,
    ).toContain('Dear ...')
  })

  test.each([
    ['', 'is empty'],
    ['a'.repeat(65), 'has 65 characters; at most 64 are allowed'],
    ['PDF', 'has characters other than'],
    ['a_b', 'has characters other than'],
    ['über', 'has characters other than'],
    ['../x', 'has characters other than'],
    ['-a', 'starts or ends with a hyphen'],
    ['a--b', 'has two hyphens in a row'],
    ['claude-helper', 'has the reserved word "claude"'],
  ])(
    `write_skill_file refuses the name %j ${verifies('FOX-11', 'FOX-19', 'FOX-20', 'FOX-B02', 'FOX-X01', 'P09')}`,
    async (name, reason) => {
      await using it = await open()
      const result = await it.write(name, 'SKILL.md', text(name))
      expect(result.isError).toBe(true)
      expect(result.text).toContain(reason)
      expect(await it.files.list('/instance')).toEqual([{ name: '.keep', kind: 'file' }])
    },
  )

  test.each([
    ['../other/SKILL.md', 'has the segment ".."'],
    ['a/../../b', 'has the segment ".."'],
    ['/etc/passwd', 'is absolute'],
    ['a\\b', 'has a backslash'],
    ['C:x', 'has a colon'],
    ['a\0b', 'has a control character'],
    ['', 'is empty'],
    ['a//b', 'has an empty segment'],
    ['.tmp-x', 'never belongs to a skill'],
    ['.git/config', 'never belongs to a skill'],
    ['assets/.GIT/config', 'never belongs to a skill'],
    ['git~1/config', 'never belongs to a skill'],
    ['.g\u200cit/config', 'never belongs to a skill'],
    ['node_modules/kit/index.js', 'never belongs to a skill'],
    ['#SKILL.md#', 'never belongs to a skill'],
    ['.env', 'usually holds a secret'],
  ])(
    `write_skill_file refuses the unsafe path %j ${verifies('FOX-12', 'FOX-20', 'FOX-B11', 'FOX-X01', 'P19')}`,
    async (path, reason) => {
      await using it = await open()
      const result = await it.write('tone', path, 'x')
      expect([result.isError, result.text]).toEqual([true, expect.stringContaining(reason)])
      expect(await it.files.list('/instance')).toEqual([{ name: '.keep', kind: 'file' }])
    },
  )

  test.each([
    ['x/SKILL.md', 'would be a skill of its own'],
    ['skill.md', 'would be a skill of its own'],
    ['deep/er/Skill.MD', 'would be a skill of its own'],
    ['a/b/c/d/e/f/g/h/i.md', 'the skill has more than 8 levels'],
  ])(
    `write_skill_file refuses the path %j, which would belong to another skill or to no skill ${verifies('P18', 'FOX-20')}`,
    async (path, reason) => {
      await using it = await open({ '/instance/support-a/SKILL.md': text('support-a') })
      const result = await it.write('support-a', path, text('payments'))
      expect([result.isError, result.text]).toEqual([true, expect.stringContaining(reason)])
      await it.skills.reload()
      expect(it.skills.current.list().map(({ name }) => name)).toEqual(['support-a'])
    },
  )

  test('no write completes a git repository, neither from files of the skill nor from files beside it', async () => {
    await using it = await open({
      '/instance/tone/SKILL.md': text('tone'),
      '/instance/tone/mirror.git/HEAD': 'ref: refs/heads/main',
      '/instance/tone/mirror.git/objects/aa': 'x',
      '/instance/tone/mirror.git/refs/heads': 'x',
    })
    const refused = async (path: string): Promise<unknown> => {
      const { isError, text } = await it.write('tone', path, 'x')
      return isError && text.includes('would be part of a git repository')
    }
    expect(await refused('mirror.git/config')).toBe(true)
    expect(await refused('mirror.git/hooks/post-checkout')).toBe(true)
    expect((await it.write('tone', 'config', 'x')).isError).toBe(false)
    expect((await it.write('tone', 'head', 'x')).isError).toBe(false)
    expect((await it.write('tone', 'objects/a', 'x')).isError).toBe(false)
    expect(await refused('Refs/heads/main')).toBe(true)
  })

  test('a copy-up of a skill whose stored files contain git data writes nothing', async () => {
    const files = { 'SKILL.md': text('tone'), 'a/HEAD': 'x', 'a/config': 'x', 'a/objects/b': 'x' }
    const fileSystem = new MemoryFileSystem({ '/instance/.keep': '' })
    const writable = new FileSource({
      fileSystem,
      writable: fileSystem,
      root: '/instance',
      label: 'instance',
    })
    const rows = new MemorySource({ label: 'rows' })
    rows.putFolder('tone', files)
    await using skills = await createSkillRuntime({
      sources: [writable, rows],
      tuning: { settle: NO_SETTLE },
    })
    const request = { skill: 'tone', path: 'a/refs/main', content: 'x' }
    await expect(skills.writer().write(request)).rejects.toMatchObject({ code: 'INVALID_PATH' })
    expect(await fileSystem.list('/instance')).toEqual([{ name: '.keep', kind: 'file' }])
  })

  test.each([
    ['one file more', ['.GIT/config']],
    ['several files more', ['notes.md', 'a/HEAD', 'a/objects/b', 'a/refs/c']],
  ])('a rollback to a revision with git data in %s writes nothing', async (_, paths) => {
    await using it = await open({ '/instance/tone/SKILL.md': text('tone') })
    const present = it.skills.current.get('tone')
    const [file] = present.files
    if (file === undefined) throw new Error('tone has no files')
    const earlier = { ...present, files: [...present.files, ...paths.map(path => ({ ...file, path }))] }
    await expect(it.skills.writer().restore(earlier, present)).rejects.toMatchObject({ code: 'INVALID_PATH' })
    expect((await it.files.list('/instance/tone')).map(({ name }) => name)).toEqual(['SKILL.md'])
  })

  test.each([
    ['rules.asc', '-----BEGIN PGP PRIVATE KEY BLOCK-----', 'would hold a private key'],
    ['certs/guard.pem', 'x\n-----BEGIN PRIVATE KEY-----\ny', 'would hold a private key'],
    ['data.tmp', 'x', 'has a name that tools give to temporary files'],
    ['lib/sedAb12Cd', 'x', 'has a name that tools give to temporary files'],
  ])(
    'a writer refuses %s, which would take a file or the whole skill away',
    async (path, content, reason) => {
      await using it = await open({
        '/instance/tone/SKILL.md': text('tone'),
        '/instance/tone/rules.asc': 'x',
      })
      await expect(it.skills.writer().write({ skill: 'tone', path, content })).rejects.toMatchObject({
        code: 'INVALID_PATH',
        message: expect.stringContaining(reason),
      })
      expect((await it.files.list('/instance/tone')).map(({ name }) => name)).toEqual([
        'SKILL.md',
        'rules.asc',
      ])
    },
  )

  test('a writer writes a secret file if the source includes secret files', async () => {
    const fileSystem = new MemoryFileSystem({ '/w/tone/SKILL.md': text('tone') })
    const reading = { secretFiles: 'include' } as const
    const source = new FileSource({ fileSystem, writable: fileSystem, root: '/w', label: 'w', reading })
    await using skills = await createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE } })
    await skills.writer().write({ skill: 'tone', path: '.env', content: 'TOKEN=1' })
    await skills.writer().write({ skill: 'tone', path: 'k.pem', content: '-----BEGIN PRIVATE KEY-----' })
    expect(skills.current.get('tone').files.map(({ path }) => path)).toEqual(['.env', 'SKILL.md', 'k.pem'])
  })

  test('a writer writes skill.md and single-file skills, but does not move single-file or root skills to the trash', async () => {
    const fileSystem = new MemoryFileSystem({
      '/w/lower/skill.md': text('lower'),
      '/w/note.md': text('note'),
    })
    const source = new FileSource({
      fileSystem,
      writable: fileSystem,
      root: '/w',
      label: 'w',
      layout: { standaloneFiles: true },
    })
    await using skills = await createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE } })
    const writer = skills.writer()
    await writer.write({ skill: 'lower', path: 'skill.md', content: text('lower', 'New.') })
    await writer.write({ skill: 'note', path: 'note.md', content: text('note', 'New.') })
    await expect(writer.write({ skill: 'note', path: 'other.md', content: 'x' })).rejects.toMatchObject({
      message: '"note" is the single file "note.md"',
    })
    await expect(writer.quarantine('note')).rejects.toMatchObject({ code: 'READ_ONLY' })
    expect((await skills.load('lower')).body + (await skills.load('note')).body).toBe('New.New.')
    fileSystem.write('/w/SKILL.md', text('w'))
    await skills.reload()
    await expect(writer.quarantine('w')).rejects.toMatchObject({ code: 'READ_ONLY' })
  })

  test('a writer checks names against a given pattern, and also refuses unsafe folder names that match the pattern', async () => {
    await using it = await open({}, { names: /^[a-z._/-]+$/g })
    for (const name of ['.git', 'a/b', '..', 'claude-x'])
      expect((await it.write(name, 'SKILL.md', text('x'))).isError).toBe(true)
    for (const name of ['a.b', 'a.c', 'a.d'])
      expect((await it.write(name, 'SKILL.md', text(name))).isError).toBe(false)
  })

  test('two writers of one runtime write one after the other', async () => {
    await using it = await open({ '/instance/tone/SKILL.md': text('tone') })
    const baseDigest = it.skills.current.get('tone').files[0]?.digest ?? ''
    const outcomes = await Promise.allSettled(
      ['One.', 'Two.'].map(body =>
        it.skills
          .writer()
          .write({ skill: 'tone', path: 'SKILL.md', content: text('tone', body), baseDigest }),
      ),
    )
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  test(`write_skill_file accepts two dots inside a file name ${verifies('FOX-B02', 'P19')}`, async () => {
    await using it = await open()
    expect((await it.write('tone', 'notes..md', 'x')).isError).toBe(false)
    expect(await read(it.files, '/instance/tone/notes..md')).toBe('x')
  })

  test.each([
    ['', 'SKILL.md is empty'],
    ['no frontmatter', 'line 1: the first line is'],
    ['---\nname: tone\n---\nx', 'the skill has no description'],
    ['---\nname: other\ndescription: x\n---\n', 'differs from its folder "tone"'],
    ['---\nname: tone\ndescription: "x\n---\n', 'line 3: '],
  ])(
    `write_skill_file refuses a SKILL.md that cannot be served: %j ${verifies('FOX-X07', 'PROMISE-3')}`,
    async (content, reason) => {
      await using it = await open({ '/instance/tone/SKILL.md': text('tone') })
      const result = await it.write('tone', 'SKILL.md', content)
      expect([result.isError, result.text]).toEqual([true, expect.stringContaining(reason)])
      expect(await read(it.files, '/instance/tone/SKILL.md')).toBe(text('tone'))
    },
  )

  test(`write_skill_file refuses to overwrite the change of another writer ${verifies('FOX-X07', 'P20')}`, async () => {
    await using it = await open({ '/instance/tone/SKILL.md': text('tone') })
    const seen = await it.call('read_skill_file', { skill: 'tone', path: 'SKILL.md' })
    const base_digest = /^<(file_[0-9a-f]+) /.exec(seen.text)?.[1]
    it.files.write('/instance/tone/SKILL.md', text('tone', 'By a person.'))
    const refused = await it.write('tone', 'SKILL.md', text('tone', 'By the model.'), { base_digest })
    expect(refused.isError).toBe(true)
    expect(refused.text).toMatch(
      /"SKILL\.md" of "tone" is not at "[0-9a-f]{8}": it is now [0-9a-f]{8}; read it again/,
    )
    expect(await read(it.files, '/instance/tone/SKILL.md')).toBe(text('tone', 'By a person.'))
    expect((await it.write('tone', 'new.md', 'x', { base_digest: 'none' })).isError).toBe(false)
    expect((await it.write('tone', 'new.md', 'y', { base_digest: 'none' })).isError).toBe(true)
    expect((await it.write('tone', 'new.md', 'y', { base_digest: 'zz' })).isError).toBe(true)
    const again = await it.call('read_skill_file', { skill: 'tone', path: 'SKILL.md' })
    const newer = /^<file_([0-9a-f]+) /.exec(again.text)?.[1]
    expect((await it.write('tone', 'SKILL.md', text('tone', 'Both.'), { base_digest: newer })).isError).toBe(
      false,
    )
  })

  test(`write_skill_file returns advice to the author, and reports unknown and missing input fields ${verifies('FOX-19')}`, async () => {
    await using it = await open()
    const content = '---\nname: tone\ndescription: You write mails.\n---\n'
    const { text: answer } = await it.write('tone', 'SKILL.md', content)
    expect(answer).toContain('Advice: begin the description with "Use when"')
    expect(answer).toContain('third person')
    const long = `${text('tone')}${'line\n'.repeat(600)}`
    expect((await it.write('tone', 'SKILL.md', long)).text).toContain('keep it under 500')
    expect((await it.write('tone', 'a/b/c.md', 'x')).text).toContain('keep files one level below')
    expect(await it.call('write_skill_file', { name: 'x' })).toMatchObject({
      isError: true,
      text: 'there is no field "name"; the fields are "skill_name", "relative_path", "content", "base_digest"',
    })
    expect(await it.call('write_skill_file', { skill_name: 'x' })).toMatchObject({
      isError: true,
      text: '"skill_name", "relative_path" and "content" are needed',
    })
  })

  test('write_skill_file warns about a frontmatter field that is invalid YAML but readable', async () => {
    await using it = await open()
    const content = '---\nname: tone\ndescription: Use when asked.\nargument-hint: [a] or [b]\n---\nBody.\n'
    const { text: answer, isError } = await it.write('tone', 'SKILL.md', content)
    expect([isError ?? false, answer]).toEqual([
      false,
      expect.stringContaining('line 4: the value of "argument-hint"'),
    ])
    expect(answer).toContain('in double quotes')
  })

  test('with afterWrite: none, a write goes live only at reload_skills, and writes to skills outside the scope are refused', async () => {
    await using it = await open({}, { afterWrite: 'none' })
    await it.write('tone', 'SKILL.md', text('tone'))
    expect(it.skills.current.find('tone')).toBeUndefined()
    await it.call('reload_skills', {})
    expect(it.skills.current.find('tone')).toBeDefined()
    const [scoped] = createAuthorTools(it.skills.writer(), { isInScope: name => name === 'tone' })
    expect(
      await scoped?.execute({ skill_name: 'other', relative_path: 'SKILL.md', content: text('other') }),
    ).toMatchObject({ isError: true, text: 'the skill "other" may not be written here' })
  })
})

describe('a writer with a writable and a read-only source', () => {
  test(`the writer copies a read-only skill before changing the skill, and the runtime serves the changed copy ${verifies('FOX-X05', 'FOX-B05')}`, async () => {
    await using it = await open({
      '/bundled/tone/SKILL.md': text('tone', 'Bundled.'),
      '/bundled/tone/reference.md': 'Bundled reference.',
    })
    const { text: answer } = await it.write('tone', 'extra.md', 'Added.')
    expect(answer).toContain('Written: /instance/tone/extra.md')
    expect(answer).toContain('The other files of the skill were copied')
    const skill = it.skills.current.get('tone')
    expect([skill.source, skill.files.map(({ path }) => path)]).toEqual([
      'instance',
      ['SKILL.md', 'extra.md', 'reference.md'],
    ])
    expect((await it.files.list('/bundled/tone')).map(({ name }) => name)).toEqual([
      'SKILL.md',
      'reference.md',
    ])
    expect(await read(it.files, '/instance/tone/reference.md')).toBe('Bundled reference.')
    expect((await it.files.list('/instance')).map(({ name }) => name)).toEqual(['.keep', 'tone'])
  })

  test(`reload_skills reads both sources, and the skill tool loads a skill from the source that serves it ${verifies('FOX-16', 'FOX-B01', 'FOX-B03', 'FOX-B05', 'FOX-05')}`, async () => {
    await using it = await open({ '/bundled/tone/SKILL.md': text('tone', 'Bundled.') })
    it.files.write('/bundled/other/SKILL.md', text('other'))
    it.files.write('/instance/tone/SKILL.md', text('tone', 'Instance.'))
    it.files.write('/instance/bad/SKILL.md', '---\nname: "bad\n---\n')
    const { text: answer } = await it.call('reload_skills', {})
    expect(answer).toMatch(/^Skills reloaded\. 2 skill\(s\) now active\.\n\/instance\/bad\/SKILL\.md:2: /)
    expect((await it.skills.load('tone')).body).toBe('Instance.')
    it.files.remove('/instance/tone')
    await it.call('reload_skills', {})
    expect((await it.skills.load('tone')).body).toBe('Bundled.')
    expect(await it.call('reload_skills', { all: true })).toMatchObject({
      isError: true,
      text: 'there is no field "all"; there are no fields',
    })
  })

  test(`reload_skills reports a failed reload, and the runtime keeps its skills ${verifies('FOX-X01')}`, async () => {
    await using it = await open(
      { '/instance/tone/SKILL.md': text('tone') },
      {},
      {
        preScan: {
          onError: 'throw',
          hook: ({ reason }) => {
            if (reason === 'reload') throw new Error('disk on fire')
          },
        },
      },
    )
    expect(await it.call('reload_skills', {})).toMatchObject({
      isError: true,
      text: 'Failed to reload skills: the pre-scan hook failed: disk on fire',
    })
    expect(it.skills.current.find('tone')).toBeDefined()
  })
})

test('copying a skill to a folder that has files but no SKILL.md adds only the missing files, and is refused to agents', async () => {
  await using it = await open({
    '/instance/tone/notes.txt': 'Mine.',
    '/bundled/tone/SKILL.md': text('tone', 'Bundled.'),
    '/bundled/tone/reference.md': 'Bundled reference.',
  })
  const content = text('tone', 'Changed.')
  expect(await it.write('tone', 'SKILL.md', content)).toMatchObject({
    isError: true,
    text: expect.stringContaining('exists and is not a skill'),
  })
  await it.skills.writer().write({ skill: 'tone', path: 'SKILL.md', content })
  expect(it.skills.current.get('tone').files.map(({ path }) => path)).toEqual([
    'SKILL.md',
    'notes.txt',
    'reference.md',
  ])
  expect((await it.skills.load('tone')).body).toBe('Changed.')
})

test('write() reports that another source serves the skill', async () => {
  const fileSystem = new MemoryFileSystem({
    '/first/tone/SKILL.md': text('tone', 'First.'),
    '/second/.keep': '',
  })
  const sources = ['first', 'second'].map(
    label =>
      new FileSource({
        fileSystem,
        root: `/${label}`,
        label,
        ...(label === 'second' ? { writable: fileSystem } : {}),
      }),
  )
  await using skills = await createSkillRuntime({ sources, tuning: { settle: NO_SETTLE } })
  const { errors } = await skills
    .writer()
    .write({ skill: 'tone', path: 'SKILL.md', content: text('tone', 'Second.') })
  expect(errors).toEqual(['"tone" is served from the source "first", which has precedence'])
  fileSystem.write('/second/tone/SKILL.md', '---\nname: "tone\n---\n')
  expect((await skills.reloadSkill('tone')).status).toBe('reloaded')
})

test('reload_skills reports only the skills that are in the scope of the agent', async () => {
  await using it = await open({ '/instance/tone/SKILL.md': text('tone') })
  const [, reload] = createAuthorTools(it.skills.writer(), { isInScope: name => name === 'tone' })
  it.files.write('/instance/secret/SKILL.md', '---\nname: secret\n---\n')
  it.files.write('/instance/other/SKILL.md', text('other'))
  expect((await reload?.execute({}))?.text).toBe('Skills reloaded. 1 skill(s) now active.')
})

test('quarantine() removes a skill even while the watcher reports the move to the trash', async () => {
  const fileSystem = new MemoryFileSystem({ '/w/a/SKILL.md': text('a'), '/w/c/SKILL.md': text('c') })
  const source = new FileSource({ fileSystem, writable: fileSystem, root: '/w', label: 'w' })
  await using skills = await createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE } })
  await skills.writer().quarantine('a')
  await skills.reload()
  expect(skills.current.list().map(({ name }) => name)).toEqual(['c'])
})

describe('SkillWriter.quarantine()', () => {
  test(`quarantine() moves a skill to the trash, and later reloads do not restore the skill ${verifies('FOX-X07', 'FOX-B04')}`, async () => {
    await using it = await open({
      '/instance/tone/SKILL.md': text('tone'),
      '/bundled/fixed/SKILL.md': text('fixed'),
    })
    const writer = it.skills.writer()
    const path = await writer.quarantine('tone')
    expect(path).toBe('/instance/.trash/tone-2026-01-01T00-00-00-000Z')
    expect(await read(it.files, `${path}/SKILL.md`)).toBe(text('tone'))
    await it.skills.reload()
    expect(it.skills.current.list().map(({ name }) => name)).toEqual(['fixed'])
    await expect(writer.quarantine('tone')).rejects.toMatchObject({ code: 'SKILL_NOT_FOUND' })
    await expect(writer.quarantine('fixed')).rejects.toMatchObject({
      code: 'READ_ONLY',
      message: '"fixed" is in the source "bundled", which is read-only',
    })
  })

  test('if another program removed the folder, quarantine() fails, and the skill is no longer served', async () => {
    await using it = await open({ '/instance/tone/SKILL.md': text('tone') })
    it.files.remove('/instance/tone')
    await expect(it.skills.writer().quarantine('tone')).rejects.toMatchObject({
      code: 'SKILL_NOT_FOUND',
      message: 'the folder of "tone" no longer exists; list the skills again before you retry',
    })
    expect(it.skills.current.find('tone')).toBeUndefined()
  })

  test('while SKILL.md is missing, writes and quarantine() name the missing file', async () => {
    await using it = await open({ '/instance/tone/SKILL.md': text('tone'), '/instance/tone/a.md': 'a' })
    const missing =
      'the file "/instance/tone/SKILL.md" of "tone" is missing; nothing was changed; restore the file, or retry after its author has saved it'
    it.files.remove('/instance/tone/SKILL.md')
    expect(await it.write('tone', 'b.md', 'b')).toMatchObject({ isError: true, text: missing })
    const writer = it.skills.writer()
    await expect(writer.quarantine('tone')).rejects.toMatchObject({
      code: 'SKILL_NOT_FOUND',
      message: missing,
    })
    await it.clock.advance(2_000)
    await expect(writer.quarantine('tone')).rejects.toMatchObject({ message: missing })
    expect((await it.files.list('/instance/tone')).map(({ name }) => name)).toEqual(['a.md'])
  })

  test('writer() throws if no source is writable', async () => {
    await using skills = await createSkillRuntime({ sources: [] })
    expect(() => skills.writer()).toThrow(expect.objectContaining({ code: 'READ_ONLY' }))
  })
})
