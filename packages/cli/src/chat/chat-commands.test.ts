import { describe, expect, test } from 'vitest'
import { completeLine, findArgumentFault, parseChatCommand } from './chat-commands.ts'

test.each([
  ['/why  refund ', { name: 'why', argument: 'refund' }],
  ['  /skills', { name: 'skills', argument: '' }],
  ['/edit 2 May\nI?', { name: 'edit', argument: '2 May\nI?' }],
  ['/why\nrefund', { name: 'why', argument: 'refund' }],
  ['/whynot', undefined],
  ['/refund now', undefined],
  ['why', undefined],
  ['/', undefined],
])('parseChatCommand(%j)', (message, command) => {
  expect(parseChatCommand(message)).toEqual(command)
})

test('findArgumentFault() reports a missing or needless argument', () => {
  expect(findArgumentFault({ name: 'why', argument: '' })).toBe('/why needs an argument: /why <skill>')
  expect(findArgumentFault({ name: 'help', argument: 'x' })).toBe('/help has no argument, but "x" was given')
  expect(findArgumentFault({ name: 'why', argument: 'x' })).toBeUndefined()
})

describe('completeLine()', () => {
  const names = { invocable: ['refund', 'retry', 'reports'], known: ['refund', 'broken'] }

  test.each<[line: string, matches: readonly string[], typed: string]>([
    ['/re', ['/refund ', '/reload ', '/reports ', '/retry '], '/re'],
    ['/skill', ['/skills '], '/skill'],
    [' /ref', ['/refund '], '/ref'],
    ['/refund or', [], '/refund or'],
    ['/why b', ['broken'], 'b'],
    ['/why ', ['refund', 'broken'], ''],
    ['re', [], 're'],
  ])('completes %j', (line, matches, typed) => {
    expect(completeLine(line, names)).toEqual([matches, typed])
  })
})
