import { expect, test } from 'vitest'
import { parseSkillUri, toSkillUri } from './skill-uri.ts'

test.each([
  ['pdf', 'SKILL.md', 'skill://pdf/SKILL.md'],
  ['pdf', '', 'skill://pdf'],
  ['café', 'references/Q&A 1.md', 'skill://caf%C3%A9/references/Q%26A%201.md'],
  ['My Skill', 'a%2Fb', 'skill://My%20Skill/a%252Fb'],
])('parseSkillUri() reverses toSkillUri(%j, %j)', (name, path, uri) => {
  expect(toSkillUri(name, path)).toBe(uri)
  expect(parseSkillUri(uri)).toEqual({ name, path })
})

test('parseSkillUri() accepts URIs that the WHATWG URL class normalised, and a folder with a trailing slash', () => {
  expect(parseSkillUri(new URL('skill://café/références/a.md').href)).toEqual({
    name: 'café',
    path: 'références/a.md',
  })
  expect(parseSkillUri('skill://pdf/references/')).toEqual({ name: 'pdf', path: 'references' })
})

test.each([
  'http://pdf/SKILL.md',
  'skill://',
  'skill:///SKILL.md',
  'skill://pdf//SKILL.md',
  'skill://pdf/../maps/SKILL.md',
  'skill://pdf/%2e%2e/maps/SKILL.md',
  'skill://pdf/a%2Fb',
  'skill://pdf/a%5Cb',
  'skill://pdf/a%00b',
  'skill://pdf/%FF',
  'skill://pdf/SKILL.md?revision=1',
  'skill://pdf/SKILL.md#part',
])('parseSkillUri(%j) returns undefined', uri => {
  expect(parseSkillUri(uri)).toBeUndefined()
})
