import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findProgramName } from './program-name.ts'

let project: string

beforeAll(() => {
  project = realpathSync(mkdtempSync(join(tmpdir(), 'skillstoke-name-')))
  mkdirSync(join(project, 'node_modules/.bin'), { recursive: true })
  writeFileSync(join(project, 'node_modules/.bin/skillstoke'), '')
  mkdirSync(join(project, 'packages/cli/bin'), { recursive: true })
  writeFileSync(join(project, 'packages/cli/bin/stoke.js'), '')
  mkdirSync(join(project, 'bin'))
  symlinkSync(join(project, 'packages/cli/bin/stoke.js'), join(project, 'bin/stoke'))
  symlinkSync(join(project, 'packages/cli/bin/stoke.js'), join(project, 'node_modules/.bin/stoke'))
  mkdirSync(join(project, 'other'))
  writeFileSync(join(project, 'other/stoke'), '')
})

afterAll(() => rmSync(project, { recursive: true }))

test.each([
  ['the short name, if installed globally', '/usr/local/bin/stoke', '/home/me', 'stoke'],
  ['the long name, if a person typed it', '/usr/local/bin/skillstoke', '/home/me', 'skillstoke'],
  [
    'npx, if npx downloaded it',
    '/home/me/.npm/_npx/1f/node_modules/.bin/skillstoke',
    '/home/me',
    'npx skillstoke',
  ],
  ['npx, inside the project that has it', 'node_modules/.bin/stoke', 'src', 'npx skillstoke'],
  ['npx, inside a clone', 'packages/cli/bin/stoke.js', '', 'npx skillstoke'],
  [
    'npx with the path of a clone, outside of it',
    'packages/cli/bin/stoke.js',
    '/home/me',
    'npx --prefix PROJECT skillstoke',
  ],
  [
    'the short name on Windows, if installed globally',
    '/npm/node_modules/skillstoke/bin/stoke.js',
    '/home/me',
    'stoke',
  ],
])('the name of the program is %s', (_case, script, folder, name) => {
  const inProject = (path: string): string => (path.startsWith('/') ? path : join(project, path))
  expect(findProgramName(inProject(script), inProject(folder), {})).toBe(name.replace('PROJECT', project))
})

test.each<[string, string[], NodeJS.ProcessEnv, string]>([
  ['the short name, if the path has this program', ['bin'], {}, 'stoke'],
  ['the short name inside a project whose folder is on the path', ['node_modules/.bin'], {}, 'stoke'],
  [
    'npx, if only npm puts the folder on the path',
    ['node_modules/.bin'],
    { npm_execpath: 'npm' },
    'npx skillstoke',
  ],
  ['npx, if another program of this name comes first', ['other', 'bin'], {}, 'npx skillstoke'],
])('the name of the program is %s', (_case, folders, env, name) => {
  const path = folders.map(each => join(project, each)).join(delimiter)
  const script = join(project, 'packages/cli/bin/stoke.js')
  expect(findProgramName(script, project, { PATH: path, ...env })).toBe(name)
})
