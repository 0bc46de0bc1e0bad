import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verifies } from '@skillstoke/requirements'
import { expect, test } from 'vitest'
import {
  collectSkills,
  DictToolResolver,
  diffSnapshots,
  fingerprintSkill,
  fingerprintSnapshot,
  isToolResolver,
  parseGithubUrl,
  Skill,
  SkillRegistry,
} from './index.ts'

test(`Skill has Exo's defaults, is immutable, and is returned by the registry ${verifies('EXO-X02')}`, async () => {
  const skill = new Skill({ name: 'pdf', description: 'Reads PDF.' })
  expect(skill).toEqual({
    name: 'pdf',
    description: 'Reads PDF.',
    usage: '',
    toolList: {},
    skillType: '',
    active: true,
    path: '',
  })
  expect(() => {
    ;(skill as { name: string }).name = 'other'
  }).toThrow(TypeError)
  const folder = mkdtempSync(join(tmpdir(), 'exo-helpers-'))
  writeFileSync(join(folder, 'SKILL.md'), '---\nname: root\ndescription: x\n---\n')
  await using registry = new SkillRegistry().registerSource(folder)
  await registry.loadAll()
  rmSync(folder, { recursive: true })
  expect(registry.get('root')).toBeInstanceOf(Skill)
})

test.each([
  ['https://github.com/org/skills', { owner: 'org', repo: 'skills', branch: 'main', subdir: '' }],
  ['http://github.com/org/my.skills.git/', { owner: 'org', repo: 'my.skills', branch: 'main', subdir: '' }],
  [
    'https://github.com/org/x/tree/dev/skills/a%20b/',
    { owner: 'org', repo: 'x', branch: 'dev', subdir: 'skills/a b' },
  ],
  ['https://github.com/org', null],
  ['https://gitlab.com/org/x', null],
  ['https://github.com/../x', null],
  ['https://github.com/org/..', null],
  ['https://github.com/org/x/tree/..', null],
  ['https://github.com/org/x/tree/main/%2e%2e/y', null],
  ['https://github.com/org/x/tree/main/a%2fb', null],
  ['https://github.com/org/x/tree/%zz', null],
  ['https://github.com/org/x/tree/-main', null],
  ['https://github.com/org/x/blob/main/README.md', null],
  ['https://user:secret@github.com/org/x', null],
  ['org/x', null],
])(`parseGithubUrl() returns the parts of %s ${verifies('EXO-X06', 'EXO-B11')}`, (url, expected) => {
  expect(parseGithubUrl(url)).toEqual(expected)
})

test(`fingerprintSkill() depends on every field except the path, but not on the order of the fields ${verifies('EXO-X08')}`, () => {
  const base = { name: 'a', description: 'x', usage: 'Do it.', toolList: { b: [1], a: { d: 1, c: 2 } } }
  const fingerprint = fingerprintSkill(new Skill(base))
  expect(fingerprint).toMatch(/^[0-9a-f]{64}$/)
  const same = { ...base, path: '/elsewhere', toolList: { a: { c: 2, d: 1 }, b: [1] } }
  expect(fingerprintSkill(new Skill(same))).toBe(fingerprint)
  const others = [
    { name: 'b' },
    { description: 'y' },
    { usage: 'Do not.' },
    { toolList: { b: [2], a: { d: 1, c: 2 } } },
    { skillType: 'agent' },
    { active: false },
  ]
  const changed = others.map(other => fingerprintSkill(new Skill({ ...base, ...other })))
  expect(new Set([fingerprint, ...changed]).size).toBe(others.length + 1)
})

test(`diffSnapshots() returns sorted lists of added, removed and modified skills ${verifies('EXO-X09', 'EXO-36')}`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'exo-helpers-'))
  const write = (path: string, name: string, body: string): void => {
    mkdirSync(join(folder, path), { recursive: true })
    writeFileSync(join(folder, path, 'SKILL.md'), `---\nname: ${name}\ndescription: x\n---\n${body}\n`)
  }
  try {
    for (const name of ['b', 'a', 'same', 'moved', 'gone']) write(name, name, 'Old.')
    const before = await collectSkills(folder)
    expect(diffSnapshots(before, await collectSkills(folder), folder)).toEqual([])
    expect(fingerprintSnapshot(await collectSkills(folder))).toBe(fingerprintSnapshot(before))
    rmSync(join(folder, 'gone'), { recursive: true })
    rmSync(join(folder, 'moved'), { recursive: true })
    for (const name of ['b', 'a']) write(name, name, 'New.')
    write('z', 'z', 'New.')
    write('n', 'n', 'New.')
    write('elsewhere', 'moved', 'Old.')
    const after = await collectSkills(folder)
    const events = diffSnapshots(before, after, folder)
    expect(events.map(({ kind, skillName }) => `${kind} ${skillName}`)).toEqual([
      'added n',
      'added z',
      'removed gone',
      'modified a',
      'modified b',
      'modified moved',
    ])
    expect(new Set(events.map(({ sourcePath }) => sourcePath))).toEqual(new Set([folder]))
    expect([events[2]?.skill, events[3]?.skill]).toEqual([null, after.get('a')])
    expect(fingerprintSnapshot(after)).not.toBe(fingerprintSnapshot(before))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  await expect(collectSkills(folder)).rejects.toThrow('Skill source directory not found')
})

test(`isToolResolver() returns false for a map of tools, even if a skill in the map is named "resolve" ${verifies('EXO-14', 'EXO-16')}`, () => {
  const isResolver = [new DictToolResolver({}), { resolve: () => [] }]
  const isNone = [{}, { resolve: { name: 'tool' } }, { resolve: [] }, null, undefined, 'resolve']
  expect([isResolver.map(isToolResolver), isNone.map(isToolResolver)]).toEqual([
    [true, true],
    [false, false, false, false, false, false],
  ])
})
