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

// Every way in which people and programs save files. Nothing here asks the runtime to look: events have to do.
describe('a save is followed when it is made', () => {
  test(`in place ${verifies('OMNI-20', 'EXO-02', 'PROMISE-2')}`, async () => {
    using folder = new TemporaryFolder()
    const file = folder.writeSkill('pdf')
    await using skills = await follow(folder.path)
    writeFileSync(file, skillText('pdf', LIVE))
    await untilDescribed(skills, 'pdf', 'Newer text.')
  })

  test('by a temporary file and a rename, again and again', async () => {
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

  test('by truncating and writing in two chunks, never showing a half', async () => {
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

  test("vim's way: a probe, a backup, a new file, the backup removed", async () => {
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

  test(`by deleting the folder and adding it again ${verifies('OMNI-X07')}`, async () => {
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

  test(`of a nested file only ${verifies('OMNI-B02')}`, async () => {
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

  test('by moving a packed folder in, and out again', async () => {
    using folder = new TemporaryFolder()
    using elsewhere = new TemporaryFolder()
    elsewhere.writeSkill('pdf')
    elsewhere.write('pdf/references/guide.md', 'text')
    await using skills = await follow(folder.path)
    renameSync(elsewhere.at('pdf'), folder.at('pdf'))
    const generation = await until(skills, 'pdf is there', each => each.find('pdf') !== undefined)
    expect(generation.get('pdf').files.map(file => file.path)).toEqual(['SKILL.md', 'references/guide.md'])
    folder.write('pdf/references/guide.md', 'newer text')
    await until(skills, 'its nested file is followed', each => each.get('pdf').files[1]?.size === 10)
    renameSync(folder.at('pdf'), elsewhere.at('pdf'))
    await until(skills, 'pdf is gone', each => each.find('pdf') === undefined)
  })

  test('by renaming the folder: the skill has moved, and is followed there', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('pdf')
    await using skills = await follow(folder.path)
    renameSync(folder.at('pdf'), folder.at('pdf-renamed'))
    const moved = await until(skills, 'it moved', each => each.find('pdf')?.location === 'pdf-renamed')
    expect(moved.list()).toHaveLength(1)
    folder.write('pdf-renamed/SKILL.md', skillText('pdf', LIVE))
    await untilDescribed(skills, 'pdf', 'Newer text.')
  })

  test('by making a new folder with its file at once, twenty times', async () => {
    using folder = new TemporaryFolder()
    await using skills = await follow(folder.path)
    for (let i = 0; i < 20; i++) {
      folder.writeSkill(`category/skill-${i}`)
      folder.write(`category/skill-${i}/scripts/deep/x.ts`, 'x')
    }
    const all = await until(
      skills,
      'all are there',
      each => each.list().length === 20 && each.list().every(skill => skill.files.length === 2),
    )
    expect(all.list()[0]?.location).toBe('category/skill-0')
    folder.write('category/skill-7/scripts/deep/x.ts', 'longer')
    await until(skills, 'a nested file is followed', each => each.get('skill-7').files[1]?.size === 6)
  })

  test(`with the same size, within a millisecond, and with its time set back ${verifies('OMNI-B02', 'P22')}`, async () => {
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

describe('links are followed as far as they are allowed to lead', () => {
  test('a symlinked skill folder: edits of the target, and another target', async () => {
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

  test('a folder linked from outside any allowed root is refused, and said to be', async () => {
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

  test(`links may lead anywhere where the host says so, and are followed there ${verifies('P19')}`, async () => {
    using folder = new TemporaryFolder()
    using outside = new TemporaryFolder()
    outside.writeSkill('pdf', { description: 'One.' })
    symlinkSync(outside.at('pdf'), folder.at('pdf'))
    await using skills = await follow(folder.path, { symlinks: 'follow' })
    await untilDescribed(skills, 'pdf', 'One.')
    outside.writeSkill('pdf', { description: 'Two.' })
    await untilDescribed(skills, 'pdf', 'Two.')
  })

  test('a file linked to outside is left out of its skill, and its bytes never read', async () => {
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

  test("Kubernetes' ..data swap inside a skill's folder", async () => {
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

  test('links that lead back to a folder above end there', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('category/pdf')
    for (const name of ['a', 'b', 'c']) symlinkSync('.', folder.at('category', name))
    symlinkSync('../..', folder.at('category/pdf/up'))
    await using skills = await follow(folder.path)
    expect(skills.current.list().map(skill => skill.location)).toEqual(['category/pdf'])
  })

  test('a link whose target comes later is followed from then on', async () => {
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

  test('a hard link is a file like any other', async () => {
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

describe('the root itself', () => {
  test('missing at the start: empty, and picked up with all its parents when it comes', async () => {
    using folder = new TemporaryFolder()
    await using skills = await follow(folder.at('not/yet/skills'))
    expect(skills.current.list()).toEqual([])
    expect(skills.current.sources()[0]?.diagnostics[0]).toMatchObject({
      code: 'ROOT_MISSING',
      severity: 'info',
    })
    folder.writeSkill('not/yet/skills/pdf')
    await until(skills, 'pdf is there', each => each.find('pdf') !== undefined)
    folder.write('not/yet/skills/pdf/SKILL.md', skillText('pdf', LIVE))
    await untilDescribed(skills, 'pdf', 'Newer text.')
  })

  test('removed and made again: followed as before', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    await using skills = await follow(folder.at('skills'))
    rmSync(folder.at('skills'), { recursive: true })
    folder.writeSkill('skills/pdf', { description: 'Made again.' })
    await untilDescribed(skills, 'pdf', 'Made again.')
    folder.write('skills/pdf/SKILL.md', skillText('pdf', LIVE))
    await untilDescribed(skills, 'pdf', 'Newer text.')
  })

  test('removed for good: its skills stay for a moment, then the source is empty and says so', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/pdf')
    await using skills = await follow(folder.at('skills'))
    rmSync(folder.at('skills'), { recursive: true })
    expect((await skills.reload()).generation.list()).toHaveLength(1)
    const empty = await until(skills, 'it is empty', each => each.list().length === 0)
    expect(empty.sources()[0]?.diagnostics[0]?.code).toBe('ROOT_MISSING')
  })

  test('swapped by a rename', async () => {
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

  test('a link that is pointed elsewhere', async () => {
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

describe('fresh() and reload() are barriers', () => {
  test('fresh() shows what was written right before it, a thousand times', async () => {
    using folder = new TemporaryFolder()
    const file = folder.writeSkill('pdf')
    for (let i = 0; i < 50; i++) folder.writeSkill(`other-${i}`)
    await using skills = await follow(folder.path, {}, { tuning: { settle: { settleMs: 0, burstMs: 0 } } })
    for (let i = 0; i < 1_000; i++) {
      writeFileSync(file, skillText('pdf', { description: `Text ${i}.` }))
      expect((await skills.fresh()).get('pdf').description).toBe(`Text ${i}.`)
    }
  })

  test('reload() shows what no event can have told, watching off', async () => {
    using folder = new TemporaryFolder()
    const file = folder.writeSkill('pdf')
    await using skills = await follow(folder.path, { watching: 'off' })
    writeFileSync(file, skillText('pdf', LIVE))
    expect(skills.current.get('pdf').description).not.toBe('Newer text.')
    expect((await skills.reload()).generation.get('pdf').description).toBe('Newer text.')
  })

  test(`polling finds changes without a single event ${verifies('P04')}`, async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('pdf')
    await using skills = await follow(folder.path, { watching: 'polling', pollMs: 50 })
    expect(skills.status()[0]).toMatchObject({ mode: 'polling', reason: 'polling was asked for' })
    cpSync(folder.at('pdf'), folder.at('copied'), { recursive: true })
    writeFileSync(folder.at('copied/SKILL.md'), skillText('copied', LIVE))
    await untilDescribed(skills, 'copied', 'Newer text.')
    mkdirSync(folder.at('empty'))
    rmSync(folder.at('pdf'), { recursive: true })
    await until(skills, 'pdf is gone', each => each.find('pdf') === undefined)
  })
})

test('an edit through a hard link is seen under every name at once, and nobody calls events lost', async () => {
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
