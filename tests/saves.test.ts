import {
  appendFileSync,
  closeSync,
  cpSync,
  linkSync,
  mkdirSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import { follow, until, untilDescribed } from './fixtures/follow.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

const LIVE = { description: 'Newer text.' }

// Every way in which people and programs save files. These tests never call reload(), so file events must be enough.
describe('saves while a runtime is running', () => {
  test(`the runtime sees a save that overwrites the file ${verifies('OMNI-20', 'EXO-02', 'PROMISE-2')}`, async () => {
    using folder = new TemporaryFolder()
    const file = folder.writeSkill('pdf')
    await using skills = await follow(folder.path)
    writeFileSync(file, skillText('pdf', LIVE))
    await untilDescribed(skills, 'pdf', 'Newer text.')
  })

  test('the runtime sees 15 saves that rename a temporary file', async () => {
    using folder = new TemporaryFolder()
    const file = folder.writeSkill('pdf')
    await using skills = await follow(folder.path)
    for (let i = 1; i <= 15; i++) {
      writeFileSync(`${file}.tmp`, skillText('pdf', { description: `Text ${i}.` }))
      renameSync(`${file}.tmp`, file)
      const generation = await untilDescribed(skills, 'pdf', `Text ${i}.`)
      expect(generation.get('pdf').files.map(each => each.path)).toEqual(['SKILL.md'])
    }
  })

  test('the runtime sees a text that is written in two parts, and never shows only the first part', async () => {
    using folder = new TemporaryFolder()
    const file = folder.writeSkill('pdf', { body: 'one two' })
    await using skills = await follow(folder.path)
    const bodies = new Set<string>()
    const unsubscribe = skills.subscribe(async () => {
      bodies.add((await skills.load('pdf')).body)
    })
    for (let i = 0; i < 10; i++) {
      const text = skillText('pdf', { description: `Text ${i}.`, body: `first ${i}\n\nlast ${i}` })
      truncateSync(file)
      const descriptor = openSync(file, 'a')
      writeSync(descriptor, text.slice(0, text.length - 8))
      await setImmediate()
      writeSync(descriptor, text.slice(text.length - 8))
      closeSync(descriptor)
      await untilDescribed(skills, 'pdf', `Text ${i}.`)
    }
    await skills.delivered()
    unsubscribe()
    const halves = [...bodies].filter(body => !/^first (\d)\n\nlast \1$/.test(body))
    expect(halves).toEqual([])
  })

  test('the runtime sees a save by vim, which creates a probe, a backup and a new file', async () => {
    using folder = new TemporaryFolder()
    const file = folder.writeSkill('pdf')
    await using skills = await follow(folder.path)
    for (let i = 1; i <= 10; i++) {
      writeFileSync(folder.at('pdf', '4913'), '')
      rmSync(folder.at('pdf', '4913'))
      renameSync(file, `${file}~`)
      writeFileSync(file, skillText('pdf', { description: `Text ${i}.` }))
      rmSync(`${file}~`)
      const generation = await untilDescribed(skills, 'pdf', `Text ${i}.`)
      expect(generation.get('pdf').files).toHaveLength(1)
    }
  })

  test(`the runtime sees a folder that is deleted and added again ${verifies('OMNI-X07')}`, async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('pdf')
    await using skills = await follow(folder.path)
    for (let i = 1; i <= 10; i++) {
      rmSync(folder.at('pdf'), { recursive: true })
      folder.writeSkill('pdf', { description: `Text ${i}.` })
      folder.write('pdf/scripts/deep/main.ts', `export const i = ${i}`)
      await untilDescribed(skills, 'pdf', `Text ${i}.`)
    }
    folder.write('pdf/scripts/deep/main.ts', 'export const i = 99')
    const size = statSync(folder.at('pdf/scripts/deep/main.ts')).size
    await until(skills, 'the nested file is read', each =>
      each.get('pdf').files.some(file => file.size === size),
    )
  })

  test(`the runtime sees an edit of a single nested file ${verifies('OMNI-B02')}`, async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('pdf')
    folder.write('pdf/references/deep/guide.md', 'old')
    await using skills = await follow(folder.path)
    const before = skills.current.get('pdf').revision
    folder.write('pdf/references/deep/guide.md', 'new')
    const { facets } = await new Promise<{ facets: readonly string[] }>(resolve => {
      skills.subscribe(({ changes }) => {
        for (const change of changes) if (change.kind === 'modified') resolve(change)
      })
    })
    expect(facets).toEqual(['files'])
    expect(skills.current.get('pdf').revision).not.toBe(before)
  })

  test('the runtime sees that a complete folder is moved into the root, and later moved out', async () => {
    using folder = new TemporaryFolder()
    using elsewhere = new TemporaryFolder()
    elsewhere.writeSkill('pdf')
    elsewhere.write('pdf/references/guide.md', 'text')
    await using skills = await follow(folder.path)
    renameSync(elsewhere.at('pdf'), folder.at('pdf'))
    const generation = await until(skills, 'pdf is served', each => each.find('pdf') !== undefined)
    expect(generation.get('pdf').files.map(file => file.path)).toEqual(['SKILL.md', 'references/guide.md'])
    folder.write('pdf/references/guide.md', 'newer text')
    await until(skills, 'its nested file is followed', each => each.get('pdf').files[1]?.size === 10)
    renameSync(folder.at('pdf'), elsewhere.at('pdf'))
    await until(skills, 'pdf is removed', each => each.find('pdf') === undefined)
  })

  test('the runtime reports a renamed folder as a moved skill', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('pdf')
    await using skills = await follow(folder.path)
    renameSync(folder.at('pdf'), folder.at('pdf-renamed'))
    const moved = await until(skills, 'it moved', each => each.find('pdf')?.location === 'pdf-renamed')
    expect(moved.list()).toHaveLength(1)
    folder.write('pdf-renamed/SKILL.md', skillText('pdf', LIVE))
    await untilDescribed(skills, 'pdf', 'Newer text.')
  })

  test('the runtime sees twenty new folders whose files are written in one burst', async () => {
    using folder = new TemporaryFolder()
    await using skills = await follow(folder.path)
    for (let i = 0; i < 20; i++) {
      folder.writeSkill(`category/skill-${i}`)
      folder.write(`category/skill-${i}/scripts/deep/x.ts`, 'x')
    }
    const all = await until(
      skills,
      'all are served',
      each => each.list().length === 20 && each.list().every(skill => skill.files.length === 2),
    )
    expect(all.list()[0]?.location).toBe('category/skill-0')
    folder.write('category/skill-7/scripts/deep/x.ts', 'longer')
    await until(skills, 'a nested file is followed', each => each.get('skill-7').files[1]?.size === 6)
  })

  test(`the runtime sees edits that keep the size, happen within a millisecond or set an older time ${verifies('OMNI-B02', 'P22')}`, async () => {
    using folder = new TemporaryFolder()
    const file = folder.writeSkill('pdf', { description: 'Text 00.' })
    await using skills = await follow(folder.path, {}, { tuning: { settle: { settleMs: 0 } } })
    for (let i = 10; i < 60; i++) {
      writeFileSync(file, skillText('pdf', { description: `Text ${i}.` }))
      utimesSync(file, 1_000, 1_000)
      expect((await skills.fresh()).get('pdf').description).toBe(`Text ${i}.`)
    }
  })
})

describe('links are followed only to allowed targets', () => {
  test('the runtime sees edits in a linked skill folder, and sees when the link gets a new target', async () => {
    using folder = new TemporaryFolder()
    using store = new TemporaryFolder()
    store.write('v1/SKILL.md', skillText('pdf', { description: 'Version one.' }))
    store.write('v2/SKILL.md', skillText('pdf', { description: 'Version two.' }))
    symlinkSync(store.at('v1'), folder.at('pdf'))
    await using skills = await follow(folder.path, { linkRoots: [store.path] })
    expect(skills.current.get('pdf').description).toBe('Version one.')
    store.write('v1/SKILL.md', skillText('pdf', { description: 'Version one, edited.' }))
    await untilDescribed(skills, 'pdf', 'Version one, edited.')
    symlinkSync(store.at('v2'), folder.at('next'))
    renameSync(folder.at('next'), folder.at('pdf'))
    await untilDescribed(skills, 'pdf', 'Version two.')
    store.write('v2/SKILL.md', skillText('pdf', { description: 'Version two, edited.' }))
    await untilDescribed(skills, 'pdf', 'Version two, edited.')
  })

  test('a folder that is linked from outside every allowed root is refused with a diagnostic', async () => {
    using folder = new TemporaryFolder()
    using outside = new TemporaryFolder()
    outside.writeSkill('pdf')
    symlinkSync(outside.at('pdf'), folder.at('pdf'))
    await using skills = await follow(folder.path)
    expect(skills.current.list()).toEqual([])
    expect(skills.current.sources()[0]?.diagnostics).toEqual([
      expect.objectContaining({ code: 'LINK_REFUSED', path: expect.stringContaining('/pdf') }),
    ])
  })

  test(`if symlinks is set to follow, links to any target are followed ${verifies('P19')}`, async () => {
    using folder = new TemporaryFolder()
    using outside = new TemporaryFolder()
    outside.writeSkill('pdf', { description: 'One.' })
    symlinkSync(outside.at('pdf'), folder.at('pdf'))
    await using skills = await follow(folder.path, { symlinks: 'follow' })
    await untilDescribed(skills, 'pdf', 'One.')
    outside.writeSkill('pdf', { description: 'Two.' })
    await untilDescribed(skills, 'pdf', 'Two.')
  })

  test('a linked file outside the root is never read and is no part of the skill', async () => {
    using folder = new TemporaryFolder()
    using outside = new TemporaryFolder()
    outside.write('secret.txt', 'secret')
    folder.writeSkill('pdf')
    symlinkSync(outside.at('secret.txt'), folder.at('pdf', 'notes.md'))
    await using skills = await follow(folder.path)
    expect(skills.current.get('pdf').files.map(file => file.path)).toEqual(['SKILL.md'])
    expect(skills.current.reports()[0]).toMatchObject({
      status: 'warning',
      diagnostics: [{ code: 'LINK_REFUSED' }],
    })
  })

  test('an update of a Kubernetes volume, which replaces the link ..data, is seen', async () => {
    using folder = new TemporaryFolder()
    folder.write('pdf/..2026_01/SKILL.md', skillText('pdf', { description: 'Mounted one.' }))
    symlinkSync('..2026_01', folder.at('pdf/..data'))
    symlinkSync('..data/SKILL.md', folder.at('pdf/SKILL.md'))
    await using skills = await follow(folder.path)
    const before = skills.current.get('pdf')
    expect(before.files.map(file => file.path)).toEqual(['SKILL.md'])
    folder.write('pdf/..2026_02/SKILL.md', skillText('pdf', { description: 'Mounted two.' }))
    symlinkSync('..2026_02', folder.at('pdf/..data_tmp'))
    renameSync(folder.at('pdf/..data_tmp'), folder.at('pdf/..data'))
    rmSync(folder.at('pdf/..2026_01'), { recursive: true })
    await untilDescribed(skills, 'pdf', 'Mounted two.')
    expect(readlinkSync(folder.at('pdf/SKILL.md'))).toBe('..data/SKILL.md')
  })

  test('a link to a parent folder does not cause an endless scan', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('category/pdf')
    for (const name of ['a', 'b', 'c']) symlinkSync('.', folder.at('category', name))
    symlinkSync('../..', folder.at('category/pdf/up'))
    await using skills = await follow(folder.path)
    expect(skills.current.list().map(skill => skill.location)).toEqual(['category/pdf'])
  })

  test('a link is followed as soon as its target appears', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('pdf')
    folder.write('node_modules/.keep', '')
    symlinkSync('../node_modules/ref.md', folder.at('pdf/ref.md'))
    await using skills = await follow(folder.path)
    expect(skills.current.get('pdf').files).toHaveLength(1)
    folder.write('node_modules/ref.md', 'text')
    expect((await skills.reload()).generation.get('pdf').files.map(file => file.path)).toEqual([
      'SKILL.md',
      'ref.md',
    ])
  })

  test('a hard link is treated as a regular file', async () => {
    using folder = new TemporaryFolder()
    const file = folder.writeSkill('pdf')
    linkSync(file, folder.at('pdf/copy.md'))
    await using skills = await follow(folder.path)
    appendFileSync(folder.at('pdf/copy.md'), 'more\n')
    await until(skills, 'both grew', each =>
      each.get('pdf').files.every(each => each.size === statSync(file).size),
    )
  })
})

describe('a root', () => {
  test('a root that is missing at the start is watched once it appears together with its parents', async () => {
    using folder = new TemporaryFolder()
    await using skills = await follow(folder.at('not/yet/skills'))
    expect(skills.current.list()).toEqual([])
    expect(skills.current.sources()[0]?.diagnostics[0]).toMatchObject({
      code: 'ROOT_MISSING',
      severity: 'info',
    })
    folder.writeSkill('not/yet/skills/pdf')
    await until(skills, 'pdf is served', each => each.find('pdf') !== undefined)
    folder.write('not/yet/skills/pdf/SKILL.md', skillText('pdf', LIVE))
    await untilDescribed(skills, 'pdf', 'Newer text.')
  })

  test('a root that is removed and created again is still watched', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    await using skills = await follow(folder.at('skills'))
    rmSync(folder.at('skills'), { recursive: true })
    folder.writeSkill('skills/pdf', { description: 'Made again.' })
    await untilDescribed(skills, 'pdf', 'Made again.')
    folder.write('skills/pdf/SKILL.md', skillText('pdf', LIVE))
    await untilDescribed(skills, 'pdf', 'Newer text.')
  })

  test('after a root is removed, its skills stay for a moment; then the source is empty and has a diagnostic', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    await using skills = await follow(folder.at('skills'))
    rmSync(folder.at('skills'), { recursive: true })
    expect((await skills.reload()).generation.list()).toHaveLength(1)
    const empty = await until(skills, 'the source is empty', each => each.list().length === 0)
    expect(empty.sources()[0]?.diagnostics[0]?.code).toBe('ROOT_MISSING')
  })

  test('a root is still watched after another folder was renamed to its path', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf', { description: 'Old root.' })
    folder.writeSkill('skills/only-old')
    folder.writeSkill('next/pdf', { description: 'New root.' })
    await using skills = await follow(folder.at('skills'))
    renameSync(folder.at('skills'), folder.at('old'))
    renameSync(folder.at('next'), folder.at('skills'))
    await untilDescribed(skills, 'pdf', 'New root.')
    expect(skills.current.find('only-old')).toBeUndefined()
    folder.write('skills/pdf/SKILL.md', skillText('pdf', LIVE))
    await untilDescribed(skills, 'pdf', 'Newer text.')
  })

  test('a root that is a link is read again when the link gets a new target', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('v1/pdf', { description: 'Version one.' })
    folder.writeSkill('v2/pdf', { description: 'Version two.' })
    symlinkSync('v1', folder.at('skills'))
    await using skills = await follow(folder.at('skills'))
    symlinkSync('v2', folder.at('next'))
    renameSync(folder.at('next'), folder.at('skills'))
    await untilDescribed(skills, 'pdf', 'Version two.')
  })
})

describe('fresh() and reload()', () => {
  test('fresh() shows every one of a thousand saves that finished before its call', async () => {
    using folder = new TemporaryFolder()
    const file = folder.writeSkill('pdf')
    for (let i = 0; i < 50; i++) folder.writeSkill(`other-${i}`)
    await using skills = await follow(folder.path, {}, { tuning: { settle: { settleMs: 0, burstMs: 0 } } })
    for (let i = 0; i < 1_000; i++) {
      writeFileSync(file, skillText('pdf', { description: `Text ${i}.` }))
      expect((await skills.fresh()).get('pdf').description).toBe(`Text ${i}.`)
    }
  })

  test('reload() finds changes with watching off', async () => {
    using folder = new TemporaryFolder()
    const file = folder.writeSkill('pdf')
    await using skills = await follow(folder.path, { watching: 'off' })
    writeFileSync(file, skillText('pdf', LIVE))
    expect(skills.current.get('pdf').description).not.toBe('Newer text.')
    expect((await skills.reload()).generation.get('pdf').description).toBe('Newer text.')
  })

  test(`polling finds changes without any event ${verifies('P04')}`, async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('pdf')
    await using skills = await follow(folder.path, { watching: 'polling', pollMs: 50 })
    expect(skills.status()[0]).toMatchObject({ mode: 'polling', reason: 'polling was asked for' })
    cpSync(folder.at('pdf'), folder.at('copied'), { recursive: true })
    writeFileSync(folder.at('copied/SKILL.md'), skillText('copied', LIVE))
    await untilDescribed(skills, 'copied', 'Newer text.')
    mkdirSync(folder.at('empty'))
    rmSync(folder.at('pdf'), { recursive: true })
    await until(skills, 'pdf is removed', each => each.find('pdf') === undefined)
  })
})

test('an edit through a hard link is immediately visible under every name of the file, and is not counted as a lost event', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('a')
  folder.writeSkill('b')
  folder.write('a/shared.md', 'before')
  linkSync(folder.at('a/shared.md'), folder.at('b/shared.md'))
  await using skills = await follow(folder.path)
  const read = async (name: string): Promise<string> =>
    new TextDecoder().decode(await skills.readFile(skills.current.get(name), 'shared.md'))
  for (const [edited, body] of [
    ['a', 'first'],
    ['b', 'second'],
  ] as const) {
    writeFileSync(folder.at(edited, 'shared.md'), body)
    await skills.fresh()
    expect([await read('a'), await read('b')]).toEqual([body, body])
  }
  await skills.reload()
  expect(skills.status()[0]?.mode).toBe('events')
})
