import { expect, test } from 'vitest'
import { type ScriptAccess, toEnvironment } from './script-access.ts'

test('on Windows, scripts do not get the home folder and temporary folder of the host', () => {
  const access = { secrets: {} } as Partial<ScriptAccess> as ScriptAccess
  const names = ['HOME', 'TMPDIR', 'USERPROFILE', 'TEMP', 'TMP']
  const found = toEnvironment(access, 'C:\\scratch', [], 'win32')
  expect(names.map(name => found[name])).toEqual(names.map(() => 'C:\\scratch'))
  expect(toEnvironment(access, '/scratch', [], 'linux')).not.toHaveProperty('USERPROFILE')
})
