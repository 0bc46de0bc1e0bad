import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import {
  collectGarbage,
  directory,
  nodeHasher,
  openDecisions,
  openSkillStore,
  openState,
} from '@skillstoke/core/node'
import { describe, expect, test } from 'vitest'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

const NAMES = ['a', 'b', 'c', 'd', 'e']
const DECOMPOSED = 'cafe\u0301'

async function open(folder: TemporaryFolder): Promise<SkillRuntime> {
  return await createSkillRuntime({
    sources: [directory(folder.at('skills'), { label: 'own', watching: 'off' })],
    tuning: { hasher: nodeHasher },
    state: await openState(folder.at('state'), { decisions: { pollMs: 20 } }),
  })
}

const bodyOf = async (skills: SkillRuntime, name: string): Promise<string> => (await skills.load(name)).body

describe('a state directory that is removed while in use', () => {
  test('after the removal of the state directory, texts and decisions stay in force, and a new decision is refused', async () => {
    using folder = new TemporaryFolder()
    for (const name of NAMES) folder.writeSkill(`skills/${name}`)
    await (await open(folder)).close()
    const skills = await open(folder)
    await skills.review.disable('a')
    rmSync(folder.at('state'), { recursive: true })
    folder.writeSkill('skills/c', { body: 'Edited.' })
    await skills.reload()
    expect(skills.current.list().map(({ name }) => name)).toEqual(['b', 'c', 'd', 'e'])
    expect(await bodyOf(skills, 'b')).toBe('Instructions of b.')
    expect(await bodyOf(skills, 'c')).toBe('Edited.')
    await expect(skills.review.disable('d')).rejects.toMatchObject({
      code: 'IO_FAILED',
      message: expect.stringMatching(/were removed or replaced while they were in use.*nothing was decided$/),
    })
    expect(skills.current.find('d')).toBeDefined()
    await expect
      .poll(() => skills.current.sources().flatMap(({ diagnostics }) => diagnostics.map(({ code }) => code)))
      .toEqual(['STORE_FAILED'])
    // A process that starts now has a new state directory. The first process still has its own decisions.
    {
      await using other = await open(folder)
      await other.review.disable('b')
      expect(other.current.list().map(({ name }) => name)).toEqual(['a', 'c', 'd', 'e'])
    }
    expect(skills.current.list().map(({ name }) => name)).toEqual(['b', 'c', 'd', 'e'])
    await skills.close()
    await using again = await open(folder)
    expect(again.current.list().map(({ name }) => name)).toEqual(['a', 'c', 'd', 'e'])
  })

  test('close() works after the removal of the state directory', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/a')
    const skills = await open(folder)
    rmSync(folder.at('state'), { recursive: true })
    writeFileSync(folder.at('state'), 'a file in its place')
    folder.writeSkill('skills/a', { body: 'Edited.' })
    await skills.reload()
    expect(await bodyOf(skills, 'a')).toBe('Edited.')
    expect(skills.status()[0]?.storeFault).toBeDefined()
    await skills.close()
  })
})

/** Damages the stored bytes of the first `most` files. */
function damageBytes(folder: TemporaryFolder, most = Infinity): void {
  const store = new DatabaseSync(folder.at('state/store.sqlite'))
  store.prepare("UPDATE content SET bytes = CAST('damaged' AS BLOB) WHERE id <= ?").run(Math.min(most, 1e9))
  store.close()
}

test('collectGarbage() finds damaged files, and the next scan stores them again', async () => {
  using folder = new TemporaryFolder()
  for (const name of NAMES) folder.writeSkill(`skills/${name}`)
  await (await open(folder)).close()
  damageBytes(folder, 1)
  expect(await collectGarbage(folder.at('state'), { isDryRun: true })).toMatchObject({ damaged: 1 })
  expect(await collectGarbage(folder.at('state'))).toMatchObject({ damaged: 1, blobs: 0 })
  expect(await collectGarbage(folder.at('state'))).toMatchObject({ damaged: 0 })
  const skills = await open(folder)
  for (const skill of skills.current.list())
    expect(await skills.readBody(skill)).toBe(`Instructions of ${skill.name}.`)
  await skills.close()
  expect(await collectGarbage(folder.at('state'))).toMatchObject({ damaged: 0 })
})

test('damaged bytes in the store are read from the source again and served', async () => {
  using folder = new TemporaryFolder()
  for (const name of [...NAMES, DECOMPOSED]) {
    folder.writeSkill(`skills/${name}`)
    folder.write(`skills/${name}/notes.md`, `Notes of ${name}.`)
  }
  await (await open(folder)).close()
  await using skills = await open(folder)
  damageBytes(folder)
  expect(skills.current.list()).toHaveLength(NAMES.length + 1)
  for (const skill of skills.current.list()) {
    const body = (await skills.readBody(skill)).normalize()
    expect(body).toBe(`Instructions of ${skill.name.normalize()}.`)
    const notes = Buffer.from(await skills.readFile(skill, 'notes.md')).toString()
    expect(notes.normalize()).toBe(`Notes of ${skill.name.normalize()}.`)
  }
  // Bytes that are missing in both store and source cannot be read.
  const [skill] = skills.current.list()
  if (skill === undefined) throw new Error('there is no skill')
  damageBytes(folder)
  folder.remove(`skills/${skill.name}`)
  await expect(skills.readBody(skill)).rejects.toMatchObject({ code: 'REVISION_NOT_FOUND' })
})

describe('a damaged store', () => {
  const path = (folder: TemporaryFolder): string => folder.at('state/store.sqlite')
  const pagesOf = (folder: TemporaryFolder): number => statSync(path(folder)).size / 8_192
  const damage = (folder: TemporaryFolder, page: number): void =>
    writeFileSync(path(folder), readFileSync(path(folder)).fill(0x5a, page * 8_192, (page + 1) * 8_192))
  const texts = async (skills: SkillRuntime): Promise<readonly string[]> =>
    await Promise.all(NAMES.map(name => bodyOf(skills, name)))
  const whole = NAMES.map(name => `Instructions of ${name}.`)

  test('regardless of which page is damaged, every skill is still served and the damage is reported once', async () => {
    using folder = new TemporaryFolder()
    for (const name of NAMES) folder.writeSkill(`skills/${name}`)
    await (await open(folder)).close()
    const pages = pagesOf(folder)
    let found = 0
    for (let page = 0; page < pages; page++) {
      damage(folder, page)
      const later = `Broken later, with page ${page} damaged.`
      {
        await using skills = await open(folder)
        expect([page, await texts(skills)]).toEqual([page, whole])
        // SQLite reads some pages only when it writes.
        folder.writeSkill('skills/a', { body: later })
        await skills.reload()
        const told = (): readonly string[] =>
          skills.current.sources().flatMap(({ diagnostics }) => diagnostics.map(({ message }) => message))
        await expect.poll(() => skills.load('a').then(({ body }) => body)).toBe(later)
        const moved = /^the contents of the store in .* are damaged .* and were moved to /
        for (const message of told()) expect(message).toMatch(moved)
        expect(told().length).toBeLessThan(2)
        found += told().length
      }
      folder.write('skills/a/SKILL.md', 'broken')
      {
        await using again = await open(folder)
        expect(await texts(again)).toEqual([later, ...whole.slice(1)])
        expect(again.status()[0]?.storeFault).toBeUndefined()
      }
      folder.writeSkill('skills/a')
      await (await open(folder)).close()
    }
    // Some pages are read only by a collection.
    expect(found).toBeGreaterThan(pages / 3)
  })

  test('collectGarbage() repairs a damaged store and removes no files in the same run', async () => {
    using folder = new TemporaryFolder()
    for (const name of NAMES) folder.writeSkill(`skills/${name}`)
    await (await open(folder)).close()
    const state = folder.at('state')
    const pages = pagesOf(folder)
    for (let page = 0; page < pages; page++) {
      const { keptBytes } = await collectGarbage(state)
      expect(keptBytes).toBeGreaterThan(0)
      damage(folder, page)
      const before = readdirSync(state)
      const dry = await collectGarbage(state, { isDryRun: true })
      expect(dry.indexDamage).toMatch(/^the contents of the store in ".*" are damaged \(.*\)$/)
      expect(readdirSync(state)).toEqual(before)
      const done = await collectGarbage(state, { graceMs: 0 })
      expect(done).toMatchObject({
        blobs: 0,
        freedBytes: 0,
        indexDamage: expect.stringContaining('moved to'),
      })
      await using skills = await open(folder)
      expect(await texts(skills)).toEqual(whole)
    }
  })
})

test('collectGarbage() completes despite a damaged history and keeps every revision that the history names', async () => {
  using folder = new TemporaryFolder()
  for (const name of NAMES) folder.writeSkill(`skills/${name}`)
  await (await open(folder)).close()
  for (const name of NAMES) folder.writeSkill(`skills/${name}`, { body: 'Second.' })
  await (await open(folder)).close()
  const path = folder.at('state/history.sqlite')
  writeFileSync(path, readFileSync(path).fill(0x5a, 4_096))
  expect(await collectGarbage(folder.at('state'), { graceMs: 0 })).toMatchObject({ forgotten: 0, trees: 0 })
})

test('after applying a decision, a process never returns to a revision that another process has replaced', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/a', { body: 'First.' })
  const [one, two] = [await open(folder), await open(folder)]
  await one.review.disable('a')
  await expect.poll(() => two.current.find('a')).toBeUndefined()
  await one.review.enable('a')
  await expect.poll(() => two.current.find('a')).toBeDefined()
  folder.writeSkill('skills/a', { body: 'Second.' })
  expect(await bodyOf(one, 'a')).toBe('Second.')
  folder.write('skills/a/SKILL.md', 'broken')
  expect(await bodyOf(one, 'a')).toBe('Second.')
  await one.close()
  await two.close()
  await using again = await open(folder)
  expect(await bodyOf(again, 'a')).toBe('Second.')
})

test('after close(), calls to the runtime fail with CLOSED, and its session tools answer with an error', async () => {
  using folder = new TemporaryFolder()
  for (const name of NAMES) folder.writeSkill(`skills/${name}`)
  const skills = await open(folder)
  const session = skills.session({ id: 'late' })
  const skill = skills.current.get('a')
  await skills.close()
  const closed = { code: 'CLOSED' }
  await expect(skills.readFile(skill, 'SKILL.md')).rejects.toMatchObject(closed)
  await expect(skills.history.log('a')).rejects.toMatchObject(closed)
  await expect(skills.review.disable('a')).rejects.toMatchObject(closed)
  expect(await session.tools[0]?.execute({ name: 'a' })).toMatchObject({ isError: true })
})

const CAN_MOUNT = spawnSync('unshare', ['-Urm', 'mount', '-t', 'tmpfs', 'none', '/tmp']).status === 0

/** Runs a program in its own mount namespace, where the state directory is a small disk. */
function runOnSmallDisk(folder: TemporaryFolder, mount: string, body: string): Record<string, unknown> {
  const program = `
    import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
    import { createSkillRuntime } from '@skillstoke/core'
    import { collectGarbage, directory, nodeHasher, openState } from '@skillstoke/core/node'
    const root = ${JSON.stringify(folder.path)}
    const state = root + '/state'
    const open = async () => await createSkillRuntime({
      sources: [directory(root + '/skills', { label: 'own', watching: 'off' })], tuning: { hasher: nodeHasher },
      state: await openState(state),
    })
    const write = (name, body) => {
      mkdirSync(root + '/skills/' + name, { recursive: true })
      writeFileSync(root + '/skills/' + name + '/SKILL.md', '---\\nname: ' + name + '\\ndescription: Does it.\\n---\\n' + body + '\\n')
    }
    const bodyOf = async (skills, name) => (await skills.load(name)).body
    const codes = skills => skills.current.sources().flatMap(each => each.diagnostics.map(({ code }) => code))
    ${body}`
  const script = folder.write('program.mjs', program)
  // Node 22 warns that its SQLite is experimental.
  const flags = '--disable-warning=ExperimentalWarning --input-type=module'
  const command = `${mount} && exec "$0" ${flags} < "$1"`
  const run = spawnSync('unshare', ['-Urm', 'sh', '-ec', command, process.execPath, script], {
    encoding: 'utf8',
    timeout: 60_000,
  })
  expect(run.stderr).toBe('')
  return JSON.parse(run.stdout) as Record<string, unknown>
}

describe.skipIf(!CAN_MOUNT)('a state directory on a disk', () => {
  test('a full disk is reported, edits are still served, and missing files are stored once there is space', () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/a')
    folder.write('state/.keep', '')
    const outcome = runOnSmallDisk(
      folder,
      `mount -t tmpfs -o size=16m,mode=700 tmpfs ${folder.at('state')}`,
      `const skills = await open()
       // Leaves 1.5 MB of the disk free.
       writeFileSync(state + '/filler', Buffer.alloc(14_500_000))
       const seen = []
       for (let round = 0; round < 30; round++) {
         write('a', String(round).padEnd(200_000, 'x'))
         await skills.reload()
         seen.push((await bodyOf(skills, 'a')).startsWith(round + 'x'))
       }
       const full = { codes: codes(skills), fault: skills.status()[0].storeFault }
       rmSync(state + '/filler')
       await skills.reload()
       // A scan may end before its result is reported, so scan again until the report arrives.
       const isMended = () => skills.status()[0].storeFault === undefined && codes(skills).length === 0
       for (let turn = 0; turn < 100 && !isMended(); turn++) await skills.reload()
       const mended = { fault: skills.status()[0].storeFault ?? null, codes: codes(skills) }
       await skills.close()
       writeFileSync(root + '/skills/a/SKILL.md', 'broken')
       const again = await open()
       console.log(JSON.stringify({ seen, full, mended, restored: (await bodyOf(again, 'a')).slice(0, 3) }))
       await again.close()`,
    )
    expect(outcome['seen']).toEqual(Array.from({ length: 30 }, () => true))
    expect(outcome['full']).toMatchObject({ fault: expect.stringMatching(/ENOSPC|full/) })
    expect((outcome['full'] as { codes: string[] }).codes).toContain('STORE_FAILED')
    expect(outcome['mended']).toEqual({ fault: null, codes: [] })
    expect(outcome['restored']).toBe('29x')
  })

  test('with a read-only disk, stored skills are served and earlier decisions apply', () => {
    using folder = new TemporaryFolder()
    for (const name of NAMES) folder.writeSkill(`skills/${name}`)
    const prepare = runOnSmallDisk(
      folder,
      'true',
      `const skills = await open()
       await skills.review.disable('a')
       write('b', 'broken later')
       await skills.reload()
       await skills.close()
       writeFileSync(root + '/skills/b/SKILL.md', 'broken')
       console.log('{}')`,
    )
    expect(prepare).toEqual({})
    const outcome = runOnSmallDisk(
      folder,
      `mount --bind ${folder.at('state')} ${folder.at('state')} && mount -o remount,ro,bind ${folder.at('state')}`,
      `const skills = await open()
       const names = skills.current.list().map(({ name }) => name)
       write('c', 'edited')
       await skills.reload()
       const refusal = await skills.review.disable('c').catch(error => error.message)
       const collecting = await collectGarbage(state).catch(error => error.message)
       const body = await bodyOf(skills, 'c')
       const readOnly = codes(skills)
       console.log(JSON.stringify({ names, body, old: await bodyOf(skills, 'b'), refusal, collecting, readOnly }))
       await skills.close()`,
    )
    expect(outcome).toMatchObject({
      names: ['b', 'c', 'd', 'e'],
      body: 'edited',
      old: 'broken later',
      refusal: expect.stringContaining('nothing was decided'),
      collecting: expect.stringMatching(/^nothing can be removed from .*state": EROFS/),
      readOnly: ['STORE_FAILED'],
    })
    const later = runOnSmallDisk(
      folder,
      'true',
      `const skills = await open()
       const names = skills.current.list().map(({ name }) => name)
       const log = (await skills.history.log('c')).map(({ cause }) => cause)
       console.log(JSON.stringify({ names, log, codes: codes(skills) }))
       await skills.close()`,
    )
    expect(later).toEqual({ names: ['b', 'c', 'd', 'e'], log: ['edit', 'found'], codes: [] })
  })

  test('with a full disk, no step of the history is lost', () => {
    using folder = new TemporaryFolder()
    folder.write('state/.keep', '')
    const outcome = runOnSmallDisk(
      folder,
      `mount -t tmpfs -o size=2m,mode=700 tmpfs ${folder.at('state')}`,
      `write('a', 'first')
       let skills = await open()
       for (let size = 65_536; size >= 1; size /= 4)
         try {
           for (;;) writeFileSync(state + '/filler', Buffer.alloc(size), { flag: 'a' })
         } catch (error) {
           if (error.code !== 'ENOSPC') throw error
         }
       for (const body of ['second', 'third']) {
         write('a', body)
         await skills.reload()
       }
       rmSync(state + '/filler')
       await skills.reload()
       await skills.close()
       skills = await open()
       const { revision } = (await skills.history.log('a')).at(-2)
       await skills.history.rollback('a', { revision })
       const log = (await skills.history.log('a')).map(({ cause }) => cause)
       console.log(JSON.stringify({ log, body: await bodyOf(skills, 'a') }))
       await skills.close()`,
    )
    expect(outcome).toEqual({ log: ['rollback', 'edit', 'edit', 'found'], body: 'second' })
  })

  test('with a read-only disk and a damaged store, the contents of the sources are served', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/a')
    await (await open(folder)).close()
    const path = folder.at('state/store.sqlite')
    const whole = readFileSync(path)
    for (let page = 1; page < whole.length / 8_192; page++) {
      writeFileSync(path, Buffer.from(whole).fill(0x5a, page * 8_192, (page + 1) * 8_192))
      const outcome = runOnSmallDisk(
        folder,
        `mount --bind ${folder.at('state')} ${folder.at('state')} && mount -o remount,ro,bind ${folder.at('state')}`,
        `const skills = await open()
         write('a', 'edited')
         await skills.reload()
         console.log(JSON.stringify({ body: await bodyOf(skills, 'a'), codes: codes(skills) }))
         await skills.close()`,
      )
      expect(outcome).toEqual({ body: 'edited', codes: ['STORE_FAILED'] })
    }
    expect(readdirSync(folder.at('state')).filter(name => name.includes('damaged'))).toEqual([])
  })
})

test('damaged bytes of a waiting revision are read again from their source, and without the source the revision cannot be approved', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/pdf')
  folder.write('skills/pdf/notes.md', 'Be kind.\u{e0073}\n')
  const store = await openSkillStore(folder.at('state'))
  await using skills = await createSkillRuntime({
    sources: [directory(folder.at('skills'), { trust: 'review', watching: 'off' })],
    state: { store, decisions: await openDecisions(folder.at('state')) },
  })
  const damage = async (): Promise<void> => {
    await store.flush()
    damageBytes(folder)
  }
  await expect(skills.review.approve('pdf')).rejects.toMatchObject({ code: 'HIDDEN_TEXT' })
  await damage()
  await expect(skills.review.approve('pdf')).rejects.toMatchObject({ code: 'HIDDEN_TEXT' })
  await damage()
  folder.remove('skills/pdf/notes.md')
  await expect(skills.review.approve('pdf')).rejects.toMatchObject({ code: 'REVISION_NOT_FOUND' })
  expect(skills.current.list()).toEqual([])
})
