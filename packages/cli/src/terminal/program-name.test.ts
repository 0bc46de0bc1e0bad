import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findProgramName } from './program-name.ts'

let project: string

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'skillstoke-name-'))
  mkdirSync(join(project, 'node_modules/.bin'), { recursive: true })
  writeFileSync(join(project, 'node_modules/.bin/skillstoke'), '')
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
  expect(findProgramName(inProject(script), inProject(folder))).toBe(name.replace('PROJECT', project))
})
