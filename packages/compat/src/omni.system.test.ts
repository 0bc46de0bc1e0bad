import { mkdirSync, mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { verifies } from '@skillstoke/requirements'
import { afterEach, describe, expect, test } from 'vitest'
import { parseScriptContent, SkillManager, scanPaths } from './index.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function folder(files: Readonly<Record<string, string>>): string {
  const path = mkdtempSync(join(tmpdir(), 'omni-'))
  folders.push(path)
  write(path, files)
  return path
}

function write(path: string, files: Readonly<Record<string, string>>): void {
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(path, file)), { recursive: true })
    writeFileSync(join(path, file), content)
  }
}

const SKILL = '---\nname: git\ndescription: Git.\n---\nUse it.\n'
const script = (name: string, result: string): string =>
  `import { defineCommand } from 'skillstoke/command'\nexport const ${name} = defineCommand({ name: '${name}', description: 'Does ${name}.', run: () => ${result} })\n`

describe('SkillManager', () => {
  test(`getSkill() reloads changed scripts, so execute() runs the newest code ${verifies('OMNI-02', 'OMNI-14', 'OMNI-15', 'OMNI-X02', 'OMNI-X05')}`, async () => {
    const path = folder({ 'git/SKILL.md': SKILL, 'git/scripts/status.js': script('status', '"old"') })
    await using manager = await SkillManager.open(path)
    const skill = await manager.getSkill('git')
    expect(skill?.commands.map(({ id }) => id)).toEqual(['git.status'])
    expect(await skill?.execute('git.status')).toBe('old')
    expect(await skill?.execute('status')).toBe('old')
    write(path, { 'git/scripts/status.js': script('status', '"new"') })
    expect(await (await manager.getSkill('git'))?.execute('status')).toBe('new')
    await expect(skill?.execute('nothing')).rejects.toThrow('there are: git.status')
    expect(await manager.getSkill('nobody')).toBeNull()
    rmSync(join(path, 'git/scripts'), { recursive: true })
    expect((await manager.getSkill('git'))?.commands).toEqual([])
  })

  test(`if "detect" is "mtime", a skill is reloaded only if a script is strictly newer than its loaded version ${verifies('OMNI-03', 'OMNI-09', 'P22')}`, async () => {
    const path = folder({ 'git/SKILL.md': SKILL, 'git/scripts/status.js': script('status', '1') })
    const file = join(path, 'git/scripts/status.js')
    await using manager = await SkillManager.open(path, { detect: 'mtime' })
    const told: string[] = []
    manager.onChange((skill, transition) => void told.push(`${skill} ${transition}`))
    const ask = async (): Promise<unknown> => await (await manager.getSkill('git'))?.execute('status')
    expect(await ask()).toBe(1)
    expect(told).toEqual(['git reload'])
    const mtime = new Date(Math.floor(statSync(file).mtimeMs))
    for (const at of [mtime, new Date(mtime.getTime() - 5_000)]) {
      writeFileSync(file, script('status', '2'))
      utimesSync(file, at, at)
      expect(await ask()).toBe(1)
    }
    const later = new Date(mtime.getTime() + 5_000)
    utimesSync(file, later, later)
    expect(await ask()).toBe(2)
    expect(told).toEqual(['git reload', 'git reload'])
    expect((await manager.getSkill('git'))?.mtime).toBe(later.getTime())
    expect(told).toHaveLength(2)
  })

  test(`maxMtime() returns the newest modification time of a skill's scripts, and clearCaches() clears the caches of one skill ${verifies('OMNI-17', 'OMNI-04', 'OMNI-05', 'OMNI-06', 'OMNI-B04')}`, async () => {
    const counting = script('count', '(globalThis.n = (globalThis.n ?? 0) + 1)')
    const path = folder({
      'git/SKILL.md': SKILL,
      'git/scripts/deep/count.js': counting,
      'git_extra/SKILL.md': SKILL.replace('name: git', 'name: git_extra'),
      'git_extra/scripts/count.js': counting,
    })
    await using manager = await SkillManager.open(path)
    const at = new Date(2_000_000_000_000)
    utimesSync(join(path, 'git/scripts/deep/count.js'), at, at)
    expect(await manager.maxMtime('git')).toBe(at.getTime())
    expect(await manager.maxMtime('nobody')).toBe(0)
    const [git, extra] = [await manager.getSkill('git'), await manager.getSkill('git_extra')]
    expect([await git?.execute('count'), await git?.execute('count')]).toEqual([1, 2])
    expect(await extra?.execute('count')).toBe(1)
    await manager.clearCaches('git')
    expect(manager.listCommands()).toEqual(['git.count', 'git_extra.count'])
    expect(await git?.execute('count')).toBe(1)
    expect(await extra?.execute('count')).toBe(2)
    await expect(manager.clearCaches('nobody')).rejects.toMatchObject({ code: 'SKILL_NOT_FOUND' })
  })

  test(`reloadSkill() and unloadSkill() return whether they reloaded or unloaded the skill ${verifies('OMNI-07', 'OMNI-08', 'OMNI-13', 'OMNI-X15', 'OMNI-B08', 'P21')}`, async () => {
    const path = folder({ 'git/SKILL.md': SKILL, 'git/scripts/status.js': script('status', '1') })
    await using manager = await SkillManager.open(path)
    const told: string[] = []
    manager.onChange((skill, transition) => void told.push(`${skill} ${transition}`))
    manager.onChange(() => {
      throw new Error('an observer of no importance')
    })
    expect(await manager.reloadSkill('git')).toEqual({ status: 'reloaded', errors: [] })
    expect(await manager.unloadSkill('git')).toBe('unloaded')
    expect(await manager.unloadSkill('git')).toBe('not-loaded')
    expect(manager.listCommands()).toEqual([])
    await expect((await manager.getSkill('git'))?.execute('status')).rejects.toThrow(
      'the skill was unloaded; reload it first',
    )
    expect(await manager.reloadSkill('git')).toEqual({ status: 'loaded', errors: [] })
    expect(manager.listCommands()).toEqual(['git.status'])
    expect((await manager.reloadSkill('nobody')).status).toBe('not-found')
    expect(await manager.unloadSkill('nobody')).toBe('not-found')
    write(path, { 'git/scripts/status.js': 'import { defineCommand } from "skillstoke/command"\n{{' })
    const { status, errors } = await manager.reloadSkill('git')
    expect(status).toBe('failed')
    expect(errors[0]).toMatch(/^scripts\/status\.js:2:\d /)
    expect(told).toEqual(['git reload', 'git unload', 'git load'])
    expect(manager.listCommands()).toEqual(['git.status'])
  })
})

describe('scanPaths()', () => {
  const virtual = '/nowhere/git/scripts/history/log.ts'
  test(`scanPaths() returns the commands of files that are not on disk, with keywords, intents and a hash ${verifies('OMNI-22', 'OMNI-23', 'OMNI-24', 'OMNI-25', 'OMNI-26', 'OMNI-X12')}`, async () => {
    const options = { keywords: ['vcs', 'git'], intents: ['inspect'] }
    const scan = async (files: readonly (readonly [string, string])[]) =>
      await scanPaths(files, 'git', options)
    const [record] = await scan([[virtual, script('log', '1')]])
    expect(record).toEqual({
      toolName: 'git.log',
      description: 'Does log.',
      skillName: 'git',
      filePath: virtual,
      functionName: 'log',
      executionMode: 'script',
      keywords: ['git', 'log', 'vcs'],
      intents: ['inspect'],
      fileHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      category: 'history',
      annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    })
    expect((await scan([[virtual, script('log', '2')]]))[0]?.fileHash).not.toBe(record?.fileHash)
    expect(await scan([])).toEqual([])
    expect((await scan([[virtual, script('log', '1')]]))[0]).toEqual(record)
  })

  test(`scanPaths() returns no command for private files, unparsable files, and files that are not code ${verifies('OMNI-X12')}`, async () => {
    const text = script('log', '1')
    expect(await parseScriptContent('scripts/_log.ts', text, 'git')).toEqual([])
    expect(await parseScriptContent('scripts/log.py', text, 'git')).toEqual([])
    expect(await parseScriptContent('log.ts', `${text}{{`, 'git')).toEqual([])
    expect(await parseScriptContent('delete-all.ts', script('delete_all', '1'), 'git')).toMatchObject([
      { annotations: { destructiveHint: true, readOnlyHint: false } },
    ])
  })

  test(`scanPaths() finds scripts only in a folder whose name is exactly "scripts" ${verifies('OMNI-22')}`, async () => {
    const content = script('status', '1')
    const paths = [
      '/home/me/my-scripts/git/tool.ts',
      '/work/userscripts/deep/tool.ts',
      '/skills/git/scripts/git-scripts/tool.ts',
      '/skills/git/scripts/more/scripts/tool.ts',
      '/home/scripts/skills/git/scripts/sub/tool.ts',
      'scripts/sub/tool.ts',
    ]
    const records = await Promise.all(paths.map(path => scanPaths([[path, content]], 'git')))
    expect(records.map(([record]) => [record?.filePath, record?.category])).toEqual([
      [paths[0], 'git'],
      [paths[1], 'git'],
      [paths[2], 'git-scripts'],
      [paths[3], 'more'],
      [paths[4], 'sub'],
      [paths[5], 'sub'],
    ])
  })

  test(`scanPaths() keeps the path of each file, also if two paths end alike ${verifies('OMNI-22', 'OMNI-X12')}`, async () => {
    const files = [
      ['/b/git/scripts/log.ts', script('log', '1')],
      ['/a/git/scripts/log.ts', script('log', '2')],
      ['/a/git/scripts/part.ts', script('status', '3')],
      ['x/tool.ts', script('pull', '4')],
      ['y/tool.ts', script('push', '5')],
    ] as const
    const records = await scanPaths(files, 'git')
    expect(records.map(({ toolName, filePath }) => [toolName, filePath])).toEqual([
      ['git.log', files[1][0]],
      ['git.log', files[0][0]],
      ['git.pull', files[3][0]],
      ['git.push', files[4][0]],
      ['git.status', files[2][0]],
    ])
    expect(new Set(records.map(({ fileHash }) => fileHash)).size).toBe(5)
  })

  test('scanPaths() finds the imports of a script in a folder whose name ends in "scripts"', async () => {
    const files = [
      ['/skills/git/scripts/git-scripts/tool.ts', `import './part.ts'\n${script('status', '1')}`],
      ['/skills/git/scripts/git-scripts/part.ts', 'export const part = 1'],
      ['/skills/git/scripts/tool.ts', script('log', '1')],
    ] as const
    const records = await scanPaths(files, 'git')
    expect(records.map(({ toolName, filePath }) => [toolName, filePath])).toEqual([
      ['git.log', files[2][0]],
      ['git.status', files[0][0]],
    ])
  })
})
