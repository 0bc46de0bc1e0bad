import fc from 'fast-check'
import { expect, test } from 'vitest'
import { portableHasher } from '../host.ts'
import { toToolName } from './tool-name.ts'

const nameOf = (skill: string, command: string): string => toToolName(skill, command, portableHasher)

test('toToolName() joins skill and command if both are valid in a tool name', () => {
  expect(nameOf('git', 'status')).toBe('git__status')
})

test.each([
  ['a'.repeat(60), 'status', /^a{55}_[0-9a-f]{8}$/],
  ['café', 'crème', /^cafe__creme_[0-9a-f]{8}$/],
  ['日本', '語', /^___[0-9a-f]{8}$/],
  ['a__b', 'c', /^a__b__c_[0-9a-f]{8}$/],
])('toToolName(%j, %j) returns a readable prefix and eight digits', (skill, command, pattern) => {
  expect(nameOf(skill, command)).toMatch(pattern)
})

test('toToolName() always returns the same valid name for one command, and different names for different commands', () => {
  const part = fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1 }),
    fc.constantFrom('a', 'a_', '_b', 'b', 'a__b', 'b__c', 'x'.repeat(70), 'ä'),
  )
  fc.assert(
    fc.property(part, part, part, part, (skill, command, otherSkill, otherCommand) => {
      const name = nameOf(skill, command)
      expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
      expect(nameOf(skill, command)).toBe(name)
      if (skill !== otherSkill || command !== otherCommand)
        expect(nameOf(otherSkill, otherCommand)).not.toBe(name)
    }),
    { numRuns: 2_000 },
  )
})
