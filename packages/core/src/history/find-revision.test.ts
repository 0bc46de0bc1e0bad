import { describe, expect, test } from 'vitest'
import type { Digest } from '../skill/digest.ts'
import { findRevision } from './find-revision.ts'
import type { RevisionRecord } from './revision-log.ts'

const digest = (letter: string): Digest => `sha256:${letter.repeat(64)}`
const [A, B, C] = [digest('a'), digest('b'), digest('c')]

function step(at: string, event: RevisionRecord['event'], revision?: Digest): RevisionRecord {
  return {
    ...{ origin: 'o', location: 'pdf', source: 's', name: 'pdf', cause: 'edit', author: { kind: 'person' } },
    event,
    at: Date.parse(`${at}Z`),
    ...(revision === undefined ? {} : { revision }),
  }
}

const NOW = Date.parse('2026-11-26T09:00Z')
const RECORDS = [
  step('2026-11-26T08:00', 'held', C),
  step('2026-11-25T18:00', 'live', A),
  step('2026-11-25T17:00', 'removed'),
  step('2026-11-24T23:30', 'live', B),
  step('2026-11-24T10:00', 'live', A),
]

const find = (text: string, serving: Digest | undefined = A, records = RECORDS): Digest =>
  findRevision(text, { records, serving, now: NOW })

describe('findRevision()', () => {
  test.each([
    ['-1', A, B],
    ['-2', A, A],
    ['-1', B, A],
    ['yesterday', A, A],
    ['2026-11-24', A, B],
    ['2026-11-24 10:00', A, A],
    ['2026-11-24T23:29', A, A],
    ['2027-01-01', A, A],
    ['cccc', A, C],
    [`SHA256:${'b'.repeat(64)}`.toLowerCase(), A, B],
  ])('%j means, while %s is served, %s', (text, serving, found) => {
    expect(find(text, serving)).toBe(found)
  })

  test('-1 of a skill that is not served means the revision that was served last', () => {
    expect(findRevision('-1', { records: RECORDS, serving: undefined, now: NOW })).toBe(A)
  })

  test.each([
    ['-3', 'REVISION_NOT_FOUND', /"-3" is before the first known revision; the oldest one is "-2"/],
    ['2026-11-23', 'REVISION_NOT_FOUND', /the history begins at 2026-11-24T10:00 UTC/],
    ['2026-11-25 17:30', 'REVISION_NOT_FOUND', /no revision was served at the time "2026-11-25 17:30"/],
    ['2026-13-45', 'INVALID_OPTION', /there is no such date/],
    ['2026-02-30', 'INVALID_OPTION', /there is no such date/],
    ['monday', 'INVALID_OPTION', /at least 4 hexadecimal digits, or -1, yesterday or a date/],
    ['dddd', 'REVISION_NOT_FOUND', /no known revision begins with dddd/],
  ])('refuses %j with %s and says why', (text, code, message) => {
    expect(() => find(text)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    )
  })
})

test('-1 of a skill with one revision says that no earlier one is known', () => {
  const records = [step('2026-11-25T00:00', 'live', A)]
  expect(() => find('-1', A, records)).toThrow(/before the first known revision; no earlier one is known/)
})

test('-1 skips a revision that was stopped and served again', () => {
  const records = [
    step('2026-11-25T00:00', 'live', A),
    step('2026-11-24T00:00', 'removed'),
    step('2026-11-23T00:00', 'live', A),
    step('2026-11-22T00:00', 'live', B),
  ]
  expect(find('-1', A, records)).toBe(B)
})
