import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NodeFileSystem } from '@skillstoke/core/node'
import { verifies } from '@skillstoke/requirements'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  collectSkills,
  EventBus,
  LocalFileWatcher,
  SkillHandler,
  SkillManager,
  SkillRegistry,
  SkillSyncManager,
  SkillToolset,
} from './index.ts'

let base: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'link-roots-'))
  mkdirSync(join(base, 'project/skills'), { recursive: true })
  mkdirSync(join(base, 'shared/pdf'), { recursive: true })
  write('First.')
  symlinkSync(join(base, 'shared/pdf'), join(base, 'project/skills/pdf'))
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

function write(body: string): void {
  writeFileSync(join(base, 'shared/pdf/SKILL.md'), `---\nname: pdf\ndescription: Does pdf.\n---\n${body}\n`)
}

interface Options {
  readonly linkRoots?: readonly string[]
}
type Names = (folder: string, options: Options) => Promise<readonly string[]>

const readers: readonly (readonly [string, Names])[] = [
  [
    'SkillRegistry and collectSkills()',
    async (folder, options) => [...(await collectSkills(folder, options)).keys()],
  ],
  [
    'SkillManager',
    async (folder, options) => {
      await using manager = await SkillManager.open(folder, options)
      return (await manager.getSkill('pdf')) === null ? [] : ['pdf']
    },
  ],
  [
    'SkillHandler',
    async (folder, options) => {
      await using handler = await SkillHandler.load([folder], options)
      return handler.skills().map(({ name }) => name)
    },
  ],
  [
    'SkillToolset',
    async (_, options) => {
      await using toolset = new SkillToolset('skills', options)
      const context = { fileOperator: new NodeFileSystem(), allowedPaths: [join(base, 'project')] }
      return (await toolset.getSkills(context)).map(({ name }) => name)
    },
  ],
]

test.each(readers)(
  `%s read a skill behind a link out of the folder only if linkRoots allows its target ${verifies('P19')}`,
  async (_, namesIn) => {
    const folder = join(base, 'project/skills')
    expect(await namesIn(folder, {})).toEqual([])
    expect(await namesIn(folder, { linkRoots: [join(base, 'shared')] })).toEqual(['pdf'])
  },
)

test(`a manager reports a change behind an allowed link once ${verifies('EXO-31', 'P19')}`, async () => {
  const folder = join(base, 'project/skills')
  const options = { linkRoots: [join(base, 'shared')] }
  await using registry = new SkillRegistry().registerSource(folder, options)
  await registry.loadAll()
  const eventBus = new EventBus()
  let told = 0
  const modified = new Promise<void>(resolve => {
    eventBus.on('skill:modified', () => {
      told++
      resolve()
    })
  })
  await using manager = new SkillSyncManager(registry, {}, { eventBus })
  manager.addWatcher(new LocalFileWatcher(folder, { ...options, debounceMs: 10 }))
  await manager.start()
  write('Second.')
  await modified
  await manager.stop()
  await manager.start()
  await registry.loadAll()
  expect([told, registry.get('pdf').usage]).toEqual([1, 'Second.'])
})
