import { expect, test } from 'vitest'
import { type ScriptAccess, toEnvironment } from './script-access.ts'

test('on Windows, environment variables of scripts never name the home folder or temporary folder of the host', () => {
  const access = { secrets: {} } as Partial<ScriptAccess> as ScriptAccess
  const names = ['HOME', 'TMPDIR', 'USERPROFILE', 'TEMP', 'TMP']
  const found = toEnvironment(access, 'C:\\scratch', [], 'win32')
  expect(names.map(name => found[name])).toEqual(names.map(() => 'C:\\scratch'))
  expect(toEnvironment(access, '/scratch', [], 'linux')).not.toHaveProperty('USERPROFILE')
})
